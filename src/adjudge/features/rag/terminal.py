"""Tables in the terminal: dimensions, and retriever or generator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rich.table import Table

from adjudge.core.domain.judge_criterion import of_system
from adjudge.core.domain.record import JudgmentRecord
from adjudge.features.rag.measure_numbers import MeasuresSummary, blamed_side, measure_of
from adjudge.features.rag.measure_titles import measure_title
from adjudge.messages import Message, term
from adjudge.runs.numbers import figure, limits
from adjudge.runs.view.terminal import Screen

if TYPE_CHECKING:
    from adjudge.features.rag.report import DimensionSummary, RagSummary

_MOST_ROWS = 10


def dimensions_table(summary: RagSummary, screen: Screen, system: str) -> Table:
    """Return the table of dimension means, with the composite."""
    table = screen.table((of_system(screen.render(Message("dimension")), system),))
    for heading in (Message("mean"), term("score", "normalised"), term("status", "scored")):
        table.add_column(screen.render(heading), justify="right")
    table.add_column("")
    for summary_of_dimension in summary.dimensions:
        screen.add_row(table, *_dimension(summary_of_dimension))
    overall = summary.overall
    screen.add_row(
        table,
        screen.line(Message("composite"), "bold"),
        "",
        screen.line(figure(overall.mean), "bold"),
        f"{overall.scored}/{overall.attempted}",
        Message("95% interval: {limits}", limits=limits(overall.interval))
        if overall.interval
        else Message("no interval: fewer than 8 scored rows"),
    )
    return table


def _dimension(summary: DimensionSummary) -> tuple[str, ...]:
    return (
        summary.dimension.title,
        Message("{mean} / {most}", mean=figure(summary.raw.mean), most=summary.dimension.maximum)
        if summary.raw
        else "–",
        figure(summary.mean),
        f"{summary.scored}/{summary.scored + summary.missing}",
        Message("never varies") if summary.never_varies else "",
    )


def measure_tables(
    measures: MeasuresSummary, entries: Iterable[JudgmentRecord], screen: Screen
) -> Iterator[Table]:
    """Yield tables of the measures, of the blame, and of the worst rows with a blamed side."""
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
                summary.measure.title,
                measure_title(summary.measure.of),
                figure(summary.mean),
                limits(summary.interval),
                summary.rows,
                summary.missing,
            )
            for summary in measures.each
        ),
    )
    yield screen.table(
        (Message("to blame"), term("measure", "rows")),
        ((measure_title(who), rows) for who, rows in measures.blamed.items() if rows),
    )
    worst = [
        summary for summary in entries if blamed_side(summary) in ("retriever", "generator", "both")
    ]
    if worst:
        yield _rows(measures, worst[:_MOST_ROWS], screen)


def _rows(measures: MeasuresSummary, worst: Iterable[JudgmentRecord], screen: Screen) -> Table:
    table = screen.table((Message("row"), Message("to blame")))
    for summary in measures.each:
        table.add_column(summary.measure.title, justify="right")
    for record in worst:
        figures = (figure(measure_of(record, summary.measure.name)[0]) for summary in measures.each)
        screen.add_row(table, record.name, measure_title(blamed_side(record)), *figures)
    return table
