"""Texts with so many copies that each forms its own stratum.

The queue draws texts, each once, but the number is about rows. Suppose 60 of 200 rows hold one
canned reply: that is one text of 141, and most samples miss it. Nothing in them shows then how
these 60 rows fare. The number of copies is known before anyone labels, so such a text is a stratum
of its own, as a survey does with its largest units. If it has a label, its rows are known; if not,
they may be anything. The other drawn texts are a random sample of the other texts.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable
from typing import NamedTuple

from adjudge.trust.rows import LabelledRow, Rows

COMPARABLE = 5
"""Labelled texts of at least half the size that show what texts of this size are like."""


class RowsApart(NamedTuple):
    """Rows whose texts are estimated separately."""

    places: frozenset[int] = frozenset()
    undrawn_rows: int = 0
    """Those that have no label and were not skipped either."""
    undrawn_texts: int = 0


def rows_apart(rows: Rows, sample: Iterable[LabelledRow]) -> RowsApart:
    """Return the rows whose texts have too many copies for ``sample`` to estimate."""
    sizes = rows.copies
    # without copies there is nothing to separate
    if not sizes:
        return RowsApart()
    labelled = {rows.texts[row.place] for row in sample}
    skipped = {rows.texts[place] for place in rows.skipped}
    count = len(labelled | skipped)
    of_labelled = [sizes.get(text, 1) for text in labelled]
    least = least_apart(sizes.values(), of_labelled, len(rows.verdicts), count)
    large = {text for text, size in sizes.items() if size >= least}
    if not large:
        return RowsApart()
    places = frozenset(place for place, text in enumerate(rows.texts) if text in large)
    settled = {row.place for row in rows.labelled if row.counts} | rows.skipped.keys()
    undrawn = places - settled
    return RowsApart(places, len(undrawn), len({rows.texts[place] for place in undrawn}))


def least_apart(
    sizes: Collection[int], of_labelled: Collection[int], rows: int, drawn: int
) -> float:
    """Return the number of copies from which a text is treated separately; infinity if none is.

    A text is large if it has more rows than each of the ``drawn`` texts represents. From the
    largest down, such texts are separate until enough labelled texts are of similar size.
    ``sizes``: of all texts with copies. ``of_labelled``: of labelled texts.
    """
    ascending, least = sorted(of_labelled), float("inf")
    for size in sorted(set(sizes), reverse=True):
        # "About the size": from half of it up to it.
        alike = bisect_right(ascending, size) - bisect_left(ascending, size / 2)
        if not drawn or size <= rows / drawn or alike >= COMPARABLE:
            break
        least = size
    return least
