"""Retriever or generator, in a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from rich.table import Table
from rich.text import Text

from adjudge.cli.terminal import plain_table
from adjudge.domain.record import JudgmentRecord
from adjudge.reports.measure_words import measure_word
from adjudge.reports.measures import MeasuresSummary, blamed, measured
from adjudge.reports.words import number_text, word

_MOST_ROWS = 10


def measure_tables(
    found: MeasuresSummary,
    entries: Iterable[JudgmentRecord],
    language: str,
    clean: Callable[[str], str],
) -> Iterator[Table]:
    """The measures, whom the rows blame, and the worst of the rows that blame somebody.

    ``clean``: for what rows are called.
    """
    yield _means(found, language)
    yield _blamed(found, language)
    worst = [one for one in entries if blamed(one) in ("retriever", "generator", "both")][
        :_MOST_ROWS
    ]
    if worst:
        yield _rows(found, worst, language, clean)


def _means(found: MeasuresSummary, language: str) -> Table:
    table = _headed(language, "measure", "of", "mean", "interval", "rows", "without a number")
    for one in found.each:
        ends = (one.interval.lower, one.interval.upper) if one.interval else ()
        limits = "–".join(number_text(end, 2, language) for end in ends) or "–"
        side, counts = measure_word(one.measure.of, language), (str(one.rows), str(one.missing))
        table.add_row(
            Text(one.measure.title), side, number_text(one.mean, 2, language), limits, *counts
        )
    return table


def _blamed(found: MeasuresSummary, language: str) -> Table:
    table = _headed(language, "to blame", "rows")
    for who, rows in found.blamed.items():
        if rows:
            table.add_row(measure_word(who, language), str(rows))
    return table


def _rows(
    found: MeasuresSummary,
    worst: Iterable[JudgmentRecord],
    language: str,
    clean: Callable[[str], str],
) -> Table:
    table = plain_table()
    for heading in (word("row", language), measure_word("to blame", language)):
        table.add_column(heading)
    for each in found.each:
        table.add_column(each.measure.title, justify="right")
    for one in worst:
        figures = (
            number_text(measured(one, each.measure.name)[0], 2, language) for each in found.each
        )
        table.add_row(Text(clean(one.name)), measure_word(blamed(one), language), *figures)
    return table


def _headed(language: str, *names: str) -> Table:
    return plain_table(*(measure_word(name, language) for name in names))
