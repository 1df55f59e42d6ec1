"""A run's report in a terminal: a line per criteria, who won, why rows have no score, whether the gates hold."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from adjudge.cli.json_text import echo_json
from adjudge.cli.show import clean, footer, headed, say_excluded, scored_of
from adjudge.reports.trusted import trust_sentence
from adjudge.reports.words import counted, is_word, word

if TYPE_CHECKING:
    from adjudge.reports.contests import ContestSummary
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
    for calibration in report.calibrations:
        console.print(Text(clean(trust_sentence(calibration, report.language)), style="bold"))
    console.print(Text(_footer(report), style="dim"))
    for note in report.notes:
        console.print(Text(clean(note), style="yellow"))


def warn(report: Report) -> None:
    """Why rows have no score, which models did not count, and how the gates came out."""
    language = report.language
    several = len(report.sections) > 1
    for reason, rows in list(report.reasons.items())[:_MOST_REASONS]:
        click.echo(f"{word('no score', language)}: {clean(reason)}: {counted(rows, 'row', language)}", err=True)
    for section in report.sections:
        say_excluded(section.summary, language, section.name if several else "")
    for gate in report.gates:
        click.secho(clean(gate.sentence(language)), fg=_STYLES[gate.verdict], err=True)


def print_json(report: Report, results: Iterable[Mapping[str, object]], *, single: bool = False) -> None:
    """The report and its results, for machines. ``single``: the one result stands by itself."""
    found = {"schema": "adjudge.results/1", "summary": report.summary(), **report.to_dict()}
    if single:
        alone = {**next(iter(results)), "gates": found["gates"], "notes": found["notes"]}
        click.echo(json.dumps(alone, ensure_ascii=False, indent=2))
    else:
        echo_json(found, "results", results)


def say_where(language: str, output: Path | None, folder: Path | None) -> None:
    """Where every row is, when they are too many to be shown."""
    places = [str(output)] if output else []
    places += [f"adjudge export {folder}"] if folder else []
    told = f"{word('every row', language)}: {', '.join(places)}" if places else word("rows are not kept", language)
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
        mean = "–" if found.mean is None else f"{found.mean:.3f}"
        chosen = [f"{clean(option)} {count}" for option, count in found.options.items()]
        options = ", ".join(chosen[:_MOST_OPTIONS]) + (", …" if len(chosen) > _MOST_OPTIONS else "")
        counts = (str(found.attempted), scored_of(found, language))
        name = Text(clean(one.name if named else one.criteria or one.judge))
        table.add_row(name, *counts, mean, _limits(found.interval), Text(options))
    return table


def _systems(found: ContestSummary, language: str) -> Table:
    table = headed(language, "system", "wins", "ties", "losses", "win rate", "interval")
    for one in found.systems:
        rate = "–" if one.winrate is None else f"{one.winrate:.2f}"
        counts = map(str, (one.wins, one.ties, one.losses))
        style = "bold" if one is found.leader else ""
        table.add_row(Text(clean(one.name), style=style), *counts, Text(rate, style=style), _limits(one.interval))
    return table


def _show_order(console: Console, found: ContestSummary, language: str) -> None:
    if not found.leader:
        console.print(Text(word("cannot tell", language), style="dim"))
    if (order := found.order) is None:
        return
    turned = f"{word('turned with the order', language)}: {order.turned} {word('of', language)} {order.rows}"
    flips = "" if order.flip_rate is None else f"; {word('share of flips', language)}: {order.flip_rate:.2f}"
    noise = word("noise floor not measured", language)
    if order.noise_rate is not None:
        noise = f"{word('noise floor', language)}: {order.noise_rate:.2f}"
    console.print(Text(f"{turned}{flips}; {noise}"))


def _dimensions(summary: RagSummary, language: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column(word("dimension", language))
    for heading in (word("average", language), word("normalised", language), word("scored", language)):
        table.add_column(heading, justify="right")
    table.add_column("")
    for one in summary.dimensions:
        table.add_row(*_dimension(one, language))
    overall, interval = summary.overall, summary.overall.interval
    mean = "–" if overall.mean is None else f"{overall.mean:.2f}"
    limits = f"{word('interval', language)}: {_limits(interval)}" if interval else word("no interval", language)
    name = Text(word("composite", language), style="bold")
    table.add_row(name, "", Text(mean, style="bold"), f"{overall.scored}/{overall.attempted}", limits)
    return table


def _dimension(one: DimensionSummary, language: str) -> tuple[Text, str, str, str, str]:
    raw = f"{one.raw.mean:.2f} / {one.dimension.maximum}" if one.raw else "–"
    mean = f"{one.normalized.mean:.2f}" if one.normalized else "–"
    flag = word("never varies", language) if one.never_varies else ""
    return Text(clean(one.dimension.title)), raw, mean, f"{one.scored}/{one.scored + one.missing}", flag


def _limits(interval: Interval | None) -> str:
    return f"{interval.lower:.2f}–{interval.upper:.2f}" if interval else "–"


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
