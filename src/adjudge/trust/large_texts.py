"""Texts with so many copies that each is counted apart.

The queue draws texts, each once, but the number is about rows. A canned reply that 60 of 200 rows
hold is one text of 141: most samples miss it, and then nothing in them shows what these 60 rows
are. How many copies a text has is known before anybody labels it, so such a text is a stratum of
its own, as a survey does with its largest units. If it has a label, its rows are known; if not,
they may be anything. The other texts that were drawn are a random sample of the other texts.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable
from typing import NamedTuple

from adjudge.trust.rows import LabelledRow, Rows

COMPARABLE = 5
"""Labelled texts of at least half the size that show what texts of this size are like."""


class RowsApart(NamedTuple):
    """The rows of texts that are counted apart."""

    places: frozenset[int] = frozenset()
    undrawn_rows: int = 0
    """Those that have no label and were not skipped either."""
    undrawn_texts: int = 0


def rows_apart(rows: Rows, sample: Iterable[LabelledRow]) -> RowsApart:
    """Return the rows of the texts that are too large to be estimated by ``sample``."""
    sizes = rows.copies
    if not sizes:
        return RowsApart()
    labelled = {rows.texts[one.place] for one in sample}
    skipped = {rows.texts[place] for place in rows.skipped}
    count = len(labelled | skipped)
    of_labelled = [sizes.get(text, 1) for text in labelled]
    least = least_apart(sizes.values(), of_labelled, len(rows.verdicts), count)
    large = {text for text, size in sizes.items() if size >= least}
    if not large:
        return RowsApart()
    places = frozenset(place for place, text in enumerate(rows.texts) if text in large)
    known = {one.place for one in rows.labelled if one.counts} | rows.skipped.keys()
    undrawn = places - known
    return RowsApart(places, len(undrawn), len({rows.texts[place] for place in undrawn}))


def least_apart(
    sizes: Collection[int], of_labelled: Collection[int], rows: int, drawn: int
) -> float:
    """Return the number of rows from which on a text is counted apart; infinity if none is.

    A text is large if it has more rows than one of the ``drawn`` texts stands for. From the largest
    text down, large ones are apart until enough labelled texts of about their size are left.
    ``sizes``: those of all texts with copies. ``of_labelled``: those of labelled texts.
    """
    ascending, least = sorted(of_labelled), float("inf")
    for size in sorted(set(sizes), reverse=True):
        alike = bisect_right(ascending, size) - bisect_left(ascending, size / 2)
        if not drawn or size <= rows / drawn or alike >= COMPARABLE:
            break
        least = size
    return least
