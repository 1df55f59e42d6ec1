"""A run's report in a terminal: a line per criteria, who won, why rows have no score, whether the gates hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from adjudge.cli.json_text import print_results
from adjudge.cli.show import clean, footer, headed, say_excluded, scored_of
from adjudge.reports.numbers import number_text
from adjudge.reports.russian import localised
from adjudge.reports.sentences import sentence
from adjudge.reports.table import record
from adjudge.reports.trusted import trust_sentence
from adjudge.reports.words import counted, is_word, word

if TYPE_CHECKING:
    from adjudge.reports.contests import ContestSummary
    from adjudge.reports.judgment import Judgment
    from adjudge.reports.rag import DimensionSummary, RagSummary
    from adjudge.reports.report import Report, Section
    from adjudge.stats.intervals import Interval

_MOST_REASONS = 10
_MOST_OPTIONS = 6
_STYLES = {"holds": "green", "failed": "red", "inconclusive": "yellow"}


def show_report(report: Report) -> None:
    """The figures on standard output; what nobody should miss on standard error."""
    console = Console(highlight=False, soft_wrap=False)
    for table in _tables(report):
        console.print(table)
    for section in report.sections:
        if section.contests:
            _show_order(console, section.contests, report.language)
    for section in report.sections:
        _show_panel(console, section, report.language)
        _show_changes(console, section, report)
    for calibration in report.calibrations:
        console.print(Text(clean(trust_sentence(calibration, report.language)), style="bold"))
    console.print(Text(_footer(report), style="dim"))
    for note in report.notes:
        console.print(Text(clean(localised(note, report.language)), style="yellow"))


def _show_panel(console: Console, section: Section, language: str) -> None:
    if section.summary.models and section.summary.attempted > 1:
        each = ", ".join(f"{model} {_figure(one.mean, language)}" for model, one in section.summary.models.items())
        console.print(Text(clean(f"{section.criteria or section.judge}: {word('models of the panel', language)}: {each}")))


def _show_changes(console: Console, section: Section, report: Report) -> None:
    language, baseline = report.language, report.setup.baseline
    for one in report.changes(section):
        moved = f"{_figure(one.before, language, 3)} → {_figure(one.now, language, 3)}"
        name = word("composite", language) if section.rag and one.name == section.criteria else one.name
        console.print(Text(clean(f"{name}: {moved} ({word('compared with', language)} {baseline.run})")))


def warn(report: Report) -> None:
    """Why rows have no score, which models did not count, and how the gates came out."""
    language = report.language
    several = len(report.sections) > 1
    for reason, rows in list(report.reasons.items())[:_MOST_REASONS]:
        click.echo(
            f"{word('no score', language)}: {clean(localised(reason, language))}: {counted(rows, 'row', language)}", err=True
        )
    for section in report.sections:
        say_excluded(section.summary, language, section.name if several else "")
    for gate in report.gates:
        click.secho(clean(gate.sentence(language)), fg=_STYLES[gate.verdict], err=True)


def print_json(
    report: Report,
    results: Iterable[Judgment],
    aggregates: Iterable[Mapping[str, object]] | None = None,
    files: Sequence[Path] = (),
    run: Mapping[str, object] | None = None,
) -> None:
    """The report and its judgments, for machines. ``files``: what was written; ``run``: the folder that keeps it."""
    more: dict[str, object] = {**report.to_dict(), **({"files": list(map(str, files))} if files else {})}
    more |= {"run": run} if run else {}
    more |= {"aggregates": iter(aggregates)} if aggregates is not None else {}
    print_results("judgments", report.summary(), map(record, results), more)


def say_where(language: str, output: Path | None, folder: Path | None) -> None:
    """Where every row is, when they are too many to be shown."""
    places = [str(output)] if output else []
    places += [f"adjudge export {folder}"] if folder else []
    told = f"{word('every row', language)}: {', '.join(places)}" if places else sentence("rows are not kept", language)
    click.echo(clean(told))


def say_columns(columns: Mapping[str, str], language: str) -> None:
    """Which column was taken for which field."""
    taken = ", ".join(f"{field} = {clean(column)}" for field, column in columns.items())
    click.echo(f"{word('columns', language)}: {taken}", err=True)


def _tables(report: Report) -> Iterable[Table]:
    plain = [one for one in report.sections if not one.rag and not one.contests]
    if len(plain) > 1 or any(one.summary.attempted > 1 for one in plain):
        yield _criteria(plain, report.language, named=len({one.judge for one in report.sections}) > 1)
    for one in report.sections:
        if one.rag:
            yield _dimensions(one.rag, report.language)
        if one.contests:
            yield _systems(one.contests, report.language)


def _criteria(sections: Sequence[Section], language: str, *, named: bool) -> Table:
    """A line each; ``named``: with the judge, since there are several."""
    table = headed(language, "criteria", "attempted", "scored", "mean", "interval", "options")
    for one in sections:
        found = one.summary
        mean = _figure(found.mean, language, 3)
        chosen = [f"{clean(option)} {count}" for option, count in found.options.items()]
        options = ", ".join(chosen[:_MOST_OPTIONS]) + (", …" if len(chosen) > _MOST_OPTIONS else "")
        counts = (str(found.attempted), scored_of(found, language))
        name = Text(clean(one.name if named else one.criteria or one.judge))
        table.add_row(name, *counts, mean, _limits(found.interval, language), Text(options))
    return table


def _systems(found: ContestSummary, language: str) -> Table:
    table = headed(language, "system", "wins", "ties", "losses", "win rate", "interval")
    for one in found.systems:
        rate = _figure(one.winrate, language)
        counts = map(str, (one.wins, one.ties, one.losses))
        style = "bold" if one is found.leader else ""
        table.add_row(Text(clean(one.name), style=style), *counts, Text(rate, style=style), _limits(one.interval, language))
    return table


def _show_order(console: Console, found: ContestSummary, language: str) -> None:
    if not found.leader:
        console.print(Text(word("cannot tell", language), style="dim"))
    if (order := found.order) is None:
        return
    turned = f"{word('turned with the order', language)}: {order.turned} {word('of', language)} {order.rows}"
    flips = "" if order.flip_rate is None else f"; {word('share of flips', language)}: {_figure(order.flip_rate, language)}"
    noise = word("noise floor not measured", language)
    if order.noise_rate is not None:
        noise = f"{word('noise floor', language)}: {_figure(order.noise_rate, language)}"
    console.print(Text(f"{turned}{flips}; {noise}"))


def _dimensions(summary: RagSummary, language: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column(word("dimension", language))
    for heading in (word("average", language), word("normalised score", language), word("scored", language)):
        table.add_column(heading, justify="right")
    table.add_column("")
    for one in summary.dimensions:
        table.add_row(*_dimension(one, language))
    overall, interval = summary.overall, summary.overall.interval
    mean = _figure(overall.mean, language)
    limits = f"{word('interval', language)}: {_limits(interval, language)}" if interval else word("no interval", language)
    name = Text(word("composite", language), style="bold")
    table.add_row(name, "", Text(mean, style="bold"), f"{overall.scored}/{overall.attempted}", limits)
    return table


def _dimension(one: DimensionSummary, language: str) -> tuple[Text, str, str, str, str]:
    raw = f"{_figure(one.raw.mean, language)} / {one.dimension.maximum}" if one.raw else "–"
    mean = _figure(one.mean, language)
    flag = word("never varies", language) if one.never_varies else ""
    return Text(clean(one.dimension.title)), raw, mean, f"{one.scored}/{one.scored + one.missing}", flag


def _limits(interval: Interval | None, language: str) -> str:
    return f"{_figure(interval.lower, language)}–{_figure(interval.upper, language)}" if interval else "–"


def _figure(value: float | None, language: str, digits: int = 2) -> str:
    return "–" if value is None else number_text(value, digits, language)


def _footer(report: Report) -> str:
    """What it took; with one criteria the counts before it, with RAG answers the rules that fired."""
    language = report.language
    only = report.sections[0] if len(report.sections) == 1 else None
    if only and not only.rag:
        return footer(only.summary, language)
    used = footer(None, language, report.usage)
    rules = only.rag.rules.items() if only and only.rag else ()
    named = ((word(name, language) if is_word(name) else clean(name), count) for name, count in rules if name != "mean")
    fired = ", ".join(f"{name} {count}" for name, count in named if count)
    return f"{fired}; {used}" if fired else used
