"""Retriever or generator, in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.table import Table

from adjudge.core.domain.record import JudgmentRecord
from adjudge.features.rag.measure_numbers import MeasuresSummary, blamed, measured
from adjudge.features.rag.measure_titles import measure_title
from adjudge.messages import Message, term
from adjudge.runs.numbers import figure, limits
from adjudge.runs.view.terminal import Screen

_MOST_ROWS = 10


def measure_tables(
    found: MeasuresSummary, entries: Iterable[JudgmentRecord], screen: Screen
) -> Iterator[Table]:
    """The measures, whom the rows blame, and the worst of the rows that blame somebody."""
    headings = (
        Message("measure"),
        term("measure", "of"),
        Message("mean"),
        Message("95% interval"),
        term("measure", "rows"),
        Message("without a number"),
    )
    yield screen.table(
        headings,
        (
            (
                one.measure.title,
                measure_title(one.measure.of),
                figure(one.mean),
                limits(one.interval),
                one.rows,
                one.missing,
            )
            for one in found.each
        ),
    )
    yield screen.table(
        (Message("to blame"), term("measure", "rows")),
        ((measure_title(who), rows) for who, rows in found.blamed.items() if rows),
    )
    worst = [one for one in entries if blamed(one) in ("retriever", "generator", "both")]
    if worst:
        yield _rows(found, worst[:_MOST_ROWS], screen)


def _rows(found: MeasuresSummary, worst: Iterable[JudgmentRecord], screen: Screen) -> Table:
    table = screen.table((Message("row"), Message("to blame")))
    for each in found.each:
        table.add_column(each.measure.title, justify="right")
    for one in worst:
        figures = (figure(measured(one, each.measure.name)[0]) for each in found.each)
        screen.add_row(table, one.name, measure_title(blamed(one)), *figures)
    return table
