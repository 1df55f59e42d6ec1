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
    """Print each criterion's results, with remarks. ``single``: there is one judgment, so no rate
    or mean.
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
    """Yield the reasons for missing scores with counts, most frequent first. A row counts once per
    criterion.
    """
    count_in_words = count_rows if len(report.criteria) < 2 else count_judgments
    for reason, number in list(report.reasons.items())[:_MOST_REASONS]:
        yield Message("no score: {reason}: {rows}", reason=reason, rows=count_in_words(number))


def excluded_lines(summary: Summary, name: str = "") -> Iterator[Message]:
    """Yield the number of rows on which each excluded panel model did not count."""
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
    """Yield a line with the mean of each panel model; nothing for a single judgment or model."""
    summary = section.summary
    if not summary.models or summary.attempted == 1:
        return
    name = section.title
    means = join(
        ", ",
        (
            _model_mean(model, model_mean, summary.scored - summary.without_number)
            for model, model_mean in summary.models.items()
        ),
    )
    yield (
        Message("{name}: each model alone: {each}", name=name, each=means)
        if summary.passes is None
        else Message(
            "{name}: share of the panel that says PASS {mean}; each model alone: {each}",
            name=name,
            mean=figure(summary.mean),
            each=means,
        )
    )


def _model_mean(model: str, model_mean: ModelMean, rows: int) -> Message:
    """Return a model's mean. ``rows``: how many rows have a score from the panel."""
    if model_mean.rows >= rows:
        return Message("{name} {value}", name=model, value=figure(model_mean.mean))
    return plural(
        "{name} {value} (on {own} of {count} row)",
        "{name} {value} (on {own} of {count} rows)",
        rows,
        name=model,
        value=figure(model_mean.mean),
        own=model_mean.rows,
    )


def _change_lines(section: Section, report: Report) -> Iterator[Message]:
    mean_title = section.lead.mean_title if section.lead else None
    for change in report.changes(section):
        yield Message(
            "{name}: {before} → {now} (compared with {run})",
            name=mean_title if mean_title and change.name == section.title else change.name,
            before=figure(change.before, 3),
            now=figure(change.now, 3),
            run=report.setup.baseline.run,
        )


def _tables(report: Report, screen: Screen, *, single: bool) -> Iterator[Table]:
    plain_sections = [
        section for section in report.sections if not section.lead and not section.contests
    ]
    if plain_sections and not single:
        yield _criteria(
            plain_sections, screen, named=len({section.judge for section in report.sections}) > 1
        )
    for section in report.sections:
        for part in section.parts.values():
            yield from part.tables(section, report, screen)
        if section.contests:
            name = report.contest_title(section) if report.several_contests else ""
            yield _systems(section.contests, screen, name)


def _criteria(sections: Sequence[Section], screen: Screen, *, named: bool) -> Table:
    """Return a table with one line per section. ``named``: include the judge's name."""
    # ranges are wide: they wrap before the names do
    has_ranges = any(section.summary.between for section in sections)
    table = screen.table((Message("criterion"),), gap=2 if has_ranges else 3)
    table.add_column(screen.render(Message("result")), no_wrap=not has_ranges)
    for heading in (Message("95% interval"), term("measure", "rows")):
        table.add_column(screen.render(heading), no_wrap=True)
    table.add_column(screen.render(Message("verdicts")))
    for section in sections:
        summary = section.summary
        options = [
            Message("{option} {count:,}", option=option, count=count)
            for option, count in summary.options.items()
        ]
        screen.add_row(
            table,
            section.name if named else section.title,
            *_result(summary),
            _count_scored(summary),
            join(
                ", ", [*options[:_MOST_OPTIONS], *(["…"] if len(options) > _MOST_OPTIONS else [])]
            ),
        )
    return table


def _result(summary: Summary) -> tuple[str, str]:
    """Return the pass rate or the mean, with its interval.

    Both are returned if they differ: a panel's score is the share of its models, that of several
    checks the share of checks, and gates use the mean.
    """
    mean = ("–", "–")
    if summary.mean is not None or summary.between:
        mean = (
            Message("{mean} {value}", mean=term("score", "mean"), value=summary.mean_text(3, "\n")),
            limits(summary.interval),
        )
    if summary.passes is None:
        return mean
    rate = summary.passes
    share_text = Message("{share} pass", share=percent(rate.share))
    where = "–" if rate.interval is None else percent_range(rate.interval)
    if summary.mean is None or abs(summary.mean - rate.share) < _SAME:
        return share_text, where
    return join("\n", (share_text, mean[0])), join("\n", (where, mean[1]))


def _systems(contests: ContestSummary, screen: Screen, name: str) -> Table:
    """Return the table of systems. ``name``: the title of the comparisons, if there are several."""
    headings = (
        name or Message("system"),
        Message("wins"),
        Message("ties"),
        Message("losses"),
        Message("win rate"),
        Message("95% interval"),
    )
    table = screen.table(headings)
    for system in contests.systems:
        style = "bold" if system is contests.leader else ""
        screen.add_row(
            table,
            screen.line(system.name, style),
            system.wins,
            system.ties,
            system.losses,
            screen.line(figure(system.winrate), style),
            limits(system.interval),
        )
    return table


def _show_order(contests: ContestSummary, screen: Screen, name: str) -> None:
    """Print that there is no winner, what was left out, and the effect of the order. ``name``: see
    ``_systems``.
    """
    from adjudge.runs.results.contests import order_message  # not loaded where nothing is compared

    def say(message: Message, style: str = "") -> None:
        screen.say(join(": ", (name, message)) if name else message, style)

    if not contests.leader:
        say(contests.no_leader, "dim")
    if contests.left_out:
        say(contests.left_out)
    if contests.order is not None:
        say(order_message(contests.order))


def _count_scored(summary: Summary) -> str:
    """Return how many judgments were scored, and how many of these lack a number."""
    scored: str = (
        grouped(summary.scored)
        if summary.scored == summary.attempted
        else Message(
            "{scored} of {attempted}",
            scored=grouped(summary.scored),
            attempted=grouped(summary.attempted),
        )
    )
    if not summary.without_number or summary.mean is None:
        return scored
    return Message(
        "{scored} ({number} without a number)", scored=scored, number=summary.without_number
    )
