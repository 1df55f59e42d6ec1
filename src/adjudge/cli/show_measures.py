"""Retriever or generator, in a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from rich.table import Table
from rich.text import Text

from adjudge.cli.terminal import plain_table
from adjudge.domain.record import JudgmentRecord
from adjudge.messages import Message, render, term
from adjudge.results import numbers
from adjudge.results.measures import MeasuresSummary, blamed, measured
from adjudge.view.measure_titles import measure_title

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
    table = _headed(
        language,
        Message("measure"),
        term("measure", "of"),
        Message("mean"),
        Message("95 % interval"),
        term("measure", "rows"),
        Message("without a number"),
    )
    for one in found.each:
        limits = render(numbers.limits(one.interval), language)
        side, counts = (
            render(measure_title(one.measure.of), language),
            (str(one.rows), str(one.missing)),
        )
        table.add_row(Text(one.measure.title), side, _figure(one.mean, language), limits, *counts)
    return table


def _blamed(found: MeasuresSummary, language: str) -> Table:
    table = _headed(language, Message("to blame"), term("measure", "rows"))
    for who, rows in found.blamed.items():
        if rows:
            table.add_row(render(measure_title(who), language), str(rows))
    return table


def _rows(
    found: MeasuresSummary,
    worst: Iterable[JudgmentRecord],
    language: str,
    clean: Callable[[str], str],
) -> Table:
    table = _headed(language, Message("row"), Message("to blame"))
    for each in found.each:
        table.add_column(each.measure.title, justify="right")
    for one in worst:
        figures = (_figure(measured(one, each.measure.name)[0], language) for each in found.each)
        table.add_row(Text(clean(one.name)), render(measure_title(blamed(one)), language), *figures)
    return table


def _headed(language: str, *headings: Message) -> Table:
    return plain_table(*(render(heading, language) for heading in headings))


def _figure(value: float | None, language: str) -> str:
    return render(numbers.figure(value), language)
