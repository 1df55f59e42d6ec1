"""Dimensions, and retriever or generator, in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rich.table import Table

from adjudge.core.domain.judge_criterion import of_system
from adjudge.core.domain.record import JudgmentRecord
from adjudge.features.rag.measure_numbers import MeasuresSummary, blamed, measured
from adjudge.features.rag.measure_titles import measure_title
from adjudge.messages import Message, term
from adjudge.runs.numbers import figure, limits
from adjudge.runs.view.terminal import Screen

if TYPE_CHECKING:
    from adjudge.features.rag.report import DimensionSummary, RagSummary

_MOST_ROWS = 10


def dimensions_table(summary: RagSummary, screen: Screen, system: str) -> Table:
    """The mean of each dimension, and the composite."""
    table = screen.table((of_system(screen.render(Message("dimension")), system),))
    for heading in (Message("mean"), term("score", "normalised"), term("status", "scored")):
        table.add_column(screen.render(heading), justify="right")
    table.add_column("")
    for one in summary.dimensions:
        screen.add_row(table, *_dimension(one))
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


def _dimension(one: DimensionSummary) -> tuple[str, ...]:
    return (
        one.dimension.title,
        Message("{mean} / {most}", mean=figure(one.raw.mean), most=one.dimension.maximum)
        if one.raw
        else "–",
        figure(one.mean),
        f"{one.scored}/{one.scored + one.missing}",
        Message("never varies") if one.never_varies else "",
    )


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
