"""Prints a report in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.table import Table

from adjudge.domain.message import Usage
from adjudge.messages import Message, join, plural, term
from adjudge.results.counts import count_calls, count_failed_calls, count_rows, count_tokens
from adjudge.results.numbers import figure, limits
from adjudge.results.summary import Summary
from adjudge.results.trusted import trust_sentence
from adjudge.view.terminal import Screen
from adjudge.view.terms import rule_title

if TYPE_CHECKING:
    from adjudge.results.contests import ContestSummary
    from adjudge.results.rag import DimensionSummary, RagSummary
    from adjudge.results.report import Report, Section

_MOST_REASONS = 10
_MOST_OPTIONS = 6


def show_report(report: Report, screen: Screen, *, rows_shown: bool = False) -> None:
    """The figures; of a single row only where ``rows_shown`` does not say that it stands above."""
    for table in _tables(report, screen, rows_shown=rows_shown):
        screen.show(table)
    for section in report.sections:
        if section.contests:
            _show_order(section.contests, screen)
    for section in report.sections:
        for line in (*_panel_lines(section), *_change_lines(section, report)):
            screen.say(line)
    for text in (*report.compared_told, *report.remarks):
        screen.say(text)
    for calibration in report.calibrations:
        screen.say(trust_sentence(calibration), "bold")
    screen.say(_footer(report), "dim")
    for note in report.notes:
        screen.say(note, "yellow")


def reason_lines(report: Report) -> Iterator[Message]:
    """Why rows have no score, the most frequent reasons first, each with its count."""
    for reason, rows in list(report.reasons.items())[:_MOST_REASONS]:
        yield Message("no score: {reason}: {rows}", reason=reason, rows=count_rows(rows))


def excluded_lines(summary: Summary, name: str = "") -> Iterator[Message]:
    """Which models of a panel did not count, and on how many rows."""
    for model, rows in summary.excluded.items():
        line = plural(
            "excluded {model}: {rows} of {count} row",
            "excluded {model}: {rows} of {count} rows",
            summary.attempted,
            model=model,
            rows=rows,
        )
        yield join(": ", (name, line)) if name else line


def _panel_lines(section: Section) -> Iterator[Message]:
    if section.summary.models and section.summary.attempted > 1:
        each = (
            Message("{name} {value}", name=model, value=figure(one.mean))
            for model, one in section.summary.models.items()
        )
        yield Message(
            "{name}: each model by itself: {each}",
            name=section.criteria or section.judge,
            each=join(", ", each),
        )


def _change_lines(section: Section, report: Report) -> Iterator[Message]:
    for one in report.changes(section):
        composite = section.rag and one.name == section.criteria
        yield Message(
            "{name}: {before} → {now} (compared with {run})",
            name=Message("composite") if composite else one.name,
            before=figure(one.before, 3),
            now=figure(one.now, 3),
            run=report.setup.baseline.run,
        )


def _tables(report: Report, screen: Screen, *, rows_shown: bool) -> Iterator[Table]:
    plain = [one for one in report.sections if not one.rag and not one.contests]
    if len(plain) > 1 or any(one.summary.attempted > rows_shown for one in plain):
        yield _criteria(plain, screen, named=len({one.judge for one in report.sections}) > 1)
    for one in report.sections:
        if one.rag:
            yield _dimensions(one.rag, screen)
        if one.rag and one.rag.measures:
            from adjudge.view.terminal_measures import measure_tables

            own = [each for each in report.entries if each.judge == one.judge]
            yield from measure_tables(one.rag.measures, own, screen)
        if one.contests:
            yield _systems(one.contests, screen)


def _criteria(sections: Sequence[Section], screen: Screen, *, named: bool) -> Table:
    """A line each; ``named``: with the judge, since there are several."""
    headings = (
        Message("criterion"),
        Message("attempted"),
        term("status", "scored"),
        term("score", "mean"),
        Message("95 % interval"),
        Message("options"),
    )
    table = screen.table(headings)
    for one in sections:
        found = one.summary
        chosen = [f"{option} {count}" for option, count in found.options.items()]
        screen.add_row(
            table,
            one.name if named else one.criteria or one.judge,
            found.attempted,
            _scored(found),
            figure(found.mean, 3),
            limits(found.interval),
            ", ".join(chosen[:_MOST_OPTIONS]) + (", …" if len(chosen) > _MOST_OPTIONS else ""),
        )
    return table


def _systems(found: ContestSummary, screen: Screen) -> Table:
    headings = (
        Message("system"),
        Message("wins"),
        Message("ties"),
        Message("losses"),
        Message("win rate"),
        Message("95 % interval"),
    )
    table = screen.table(headings)
    for one in found.systems:
        style = "bold" if one is found.leader else ""
        screen.add_row(
            table,
            screen.line(one.name, style),
            one.wins,
            one.ties,
            one.losses,
            screen.line(figure(one.winrate), style),
            limits(one.interval),
        )
    return table


def _show_order(found: ContestSummary, screen: Screen) -> None:
    from adjudge.results.contests import order_message  # not loaded where nothing is compared

    if not found.leader:
        screen.say(Message("Too close to call on these rows."), "dim")
    if found.order is not None:
        screen.say(order_message(found.order))


def _dimensions(summary: RagSummary, screen: Screen) -> Table:
    table = screen.table((Message("dimension"),))
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
        Message("95 % interval: {limits}", limits=limits(overall.interval))
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


def _scored(summary: Summary) -> str:
    """How many were scored, and how many of them with an outcome that is not a number."""
    if not summary.without_number:
        return str(summary.scored)
    return Message(
        "{scored} ({number} without a number)",
        scored=summary.scored,
        number=summary.without_number,
    )


def _footer(report: Report) -> Message:
    """What it took; with one criterion the counts before it, with RAG answers
    the rules that fired.
    """
    only = report.sections[0] if len(report.sections) == 1 else None
    if only and not only.rag:
        return join(
            "; ",
            (
                *_counts(only.summary),
                _usage(only.summary.usage, report.failed_calls),
            ),
        )
    rules = only.rag.rules.items() if only and only.rag else ()
    fired = [
        Message("{rule} {count}", rule=rule_title(name), count=count)
        for name, count in rules
        if name != "mean" and count
    ]
    used = _usage(report.usage, report.failed_calls)
    return join("; ", ((join(", ", fired), used) if fired else (used,)))


def _usage(taken: Usage, failed_calls: int) -> Message:
    tokens = count_tokens(taken.prompt_tokens + taken.completion_tokens)
    return join(
        ", ",
        (
            count_calls(taken.calls),
            *((count_failed_calls(failed_calls),) if failed_calls else ()),
            Message("{tokens} (estimated)", tokens=tokens) if taken.estimated else tokens,
        ),
    )


def _counts(summary: Summary) -> Iterator[Message]:
    """Of several judgments by one criterion, how many were scored, and their mean."""
    if summary.attempted == 1:
        return
    bare = (
        summary.without_number == summary.scored > 0
    )  # comparisons, and options without scores: there is no mean to be had
    if not bare:
        yield Message("{mean} {value}", mean=term("score", "mean"), value=figure(summary.mean, 3))
    yield Message(
        "attempted {attempted}, scored {scored}, failed {failed}",
        attempted=summary.attempted,
        scored=summary.scored if bare else _scored(summary),
        failed=summary.abstained + summary.failed,
    )
