"""Prints a report in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from adjudge.messages import Message, join, plural, term
from adjudge.runs.counts import count_judgments, count_rows, grouped
from adjudge.runs.numbers import figure, limits, percent, percent_range
from adjudge.runs.results.summary import ModelMean, Summary
from adjudge.runs.view.terminal import Screen
from adjudge.trust.report import trust_sentence

if TYPE_CHECKING:
    from rich.table import Table

    from adjudge.runs.results.contests import ContestSummary
    from adjudge.runs.results.report import Report, Section

_MOST_REASONS = 10
_SAME = 0.0005
"""A pass rate and a mean that differ by less look the same."""
_MOST_OPTIONS = 6


def show_figures(report: Report, screen: Screen, *, single: bool = False) -> None:
    """What each criterion comes to, and what to know of it. ``single``: of one judgment, which
    has no rate or mean.
    """
    for table in _tables(report, screen, single=single):
        screen.show(table)
    for line in report.good_answer_lines:
        screen.say(line)
    for section in report.sections:
        if section.contests:
            name = report.contest_title(section) if report.several_contests else ""
            _show_order(section.contests, screen, name)
        for line in (
            *(line for part in section.parts.values() for line in part.lines()),
            *_panel_lines(section),
            *_change_lines(section, report),
        ):
            screen.say(line)
    for text in (*report.compared_told, *report.remarks):
        screen.say(text)
    for calibration in report.calibrations:
        screen.say(trust_sentence(calibration), "bold")


def reason_lines(report: Report) -> Iterator[Message]:
    """Why rows have no score, the most frequent reasons first, each with its count: by several
    criteria a row counts several times.
    """
    told = count_rows if len(report.criteria) < 2 else count_judgments
    for reason, number in list(report.reasons.items())[:_MOST_REASONS]:
        yield Message("no score: {reason}: {rows}", reason=reason, rows=told(number))


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
    """What each model of a panel says by itself."""
    summary = section.summary
    if not summary.models or summary.attempted == 1:
        return
    name = section.title
    each = join(
        ", ",
        (
            _model_mean(model, one, summary.scored - summary.without_number)
            for model, one in summary.models.items()
        ),
    )
    yield (
        Message("{name}: each model by itself: {each}", name=name, each=each)
        if summary.passes is None
        else Message(
            "{name}: share of the panel that says PASS {mean}; each model by itself: {each}",
            name=name,
            mean=figure(summary.mean),
            each=each,
        )
    )


def _model_mean(model: str, one: ModelMean, rows: int) -> Message:
    """``rows``: those on which the panel has a score."""
    if one.rows >= rows:
        return Message("{name} {value}", name=model, value=figure(one.mean))
    return plural(
        "{name} {value} (on {own} of {count} row)",
        "{name} {value} (on {own} of {count} rows)",
        rows,
        name=model,
        value=figure(one.mean),
        own=one.rows,
    )


def _change_lines(section: Section, report: Report) -> Iterator[Message]:
    mean_title = section.lead.mean_title if section.lead else None
    for one in report.changes(section):
        yield Message(
            "{name}: {before} → {now} (compared with {run})",
            name=mean_title if mean_title and one.name == section.title else one.name,
            before=figure(one.before, 3),
            now=figure(one.now, 3),
            run=report.setup.baseline.run,
        )


def _tables(report: Report, screen: Screen, *, single: bool) -> Iterator[Table]:
    plain = [one for one in report.sections if not one.lead and not one.contests]
    if plain and not single:
        yield _criteria(plain, screen, named=len({one.judge for one in report.sections}) > 1)
    for one in report.sections:
        for part in one.parts.values():
            yield from part.tables(one, report, screen)
        if one.contests:
            name = report.contest_title(one) if report.several_contests else ""
            yield _systems(one.contests, screen, name)


def _criteria(sections: Sequence[Section], screen: Screen, *, named: bool) -> Table:
    """A line each; ``named``: with the judge, since there are several."""
    table = screen.table((Message("criterion"),), gap=3)
    for heading in (Message("result"), Message("95% interval"), term("measure", "rows")):
        table.add_column(screen.render(heading), no_wrap=True)
    table.add_column(screen.render(Message("verdicts")))
    for one in sections:
        found = one.summary
        chosen = [
            Message("{option} {count:,}", option=option, count=count)
            for option, count in found.options.items()
        ]
        screen.add_row(
            table,
            one.name if named else one.title,
            *_result(found),
            _scored(found),
            join(", ", [*chosen[:_MOST_OPTIONS], *(["…"] if len(chosen) > _MOST_OPTIONS else [])]),
        )
    return table


def _result(found: Summary) -> tuple[str, str]:
    """The rate of what passed, or the mean, with its interval. Both if they differ: a panel's score
    is the share of its models, that of several checks the share of checks, and gates use the mean.
    """
    mean = ("–", "–")
    if found.mean is not None:
        mean = (
            Message("{mean} {value}", mean=term("score", "mean"), value=figure(found.mean, 3)),
            limits(found.interval),
        )
    if found.passes is None:
        return mean
    rate = found.passes
    shown = Message("{share} pass", share=percent(rate.share))
    where = "–" if rate.interval is None else percent_range(rate.interval)
    if found.mean is None or abs(found.mean - rate.share) < _SAME:
        return shown, where
    return join("\n", (shown, mean[0])), join("\n", (where, mean[1]))


def _systems(found: ContestSummary, screen: Screen, name: str) -> Table:
    """``name``: of the comparisons, if there are others."""
    headings = (
        name or Message("system"),
        Message("wins"),
        Message("ties"),
        Message("losses"),
        Message("win rate"),
        Message("95% interval"),
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


def _show_order(found: ContestSummary, screen: Screen, name: str) -> None:
    """``name``: of the comparisons, if there are others."""
    from adjudge.runs.results.contests import order_message  # not loaded where nothing is compared

    def say(message: Message, style: str = "") -> None:
        screen.say(join(": ", (name, message)) if name else message, style)

    if not any(one.winrate is not None for one in found.systems):
        say(Message("No row could be compared."), "dim")
    elif not found.leader:
        say(Message("Too close to call on these rows."), "dim")
    if found.left_out:
        say(found.left_out)
    if found.order is not None:
        say(order_message(found.order))


def _scored(found: Summary) -> str:
    """How many were scored, and how many of them with an outcome that is not a number."""
    scored: str = (
        grouped(found.scored)
        if found.scored == found.attempted
        else Message(
            "{scored} of {attempted}",
            scored=grouped(found.scored),
            attempted=grouped(found.attempted),
        )
    )
    if not found.without_number or found.mean is None:
        return scored
    return Message(
        "{scored} ({number} without a number)", scored=scored, number=found.without_number
    )
