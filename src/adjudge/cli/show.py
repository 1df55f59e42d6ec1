"""What commands print of results, rows and runs in a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from adjudge.cli.inputs import spoken
from adjudge.cli.json_text import print_results
from adjudge.cli.terminal import open_console, plain_table
from adjudge.domain.message import Usage
from adjudge.domain.results import (
    AspectResult,
    DirectInstanceResult,
    PairwiseInstanceResult,
    Result,
    Status,
)
from adjudge.domain.vote import Vote
from adjudge.exporters.workflow_commands import defused
from adjudge.messages import Message, join, plural, render, term
from adjudge.results.counts import count_calls, count_failed_calls, count_rows, count_tokens
from adjudge.results.numbers import figure, percent
from adjudge.results.russian import localised, translate_line
from adjudge.results.summary import Summary
from adjudge.results.trusted import trust_sentence
from adjudge.view.terms import rule_title

if TYPE_CHECKING:
    from adjudge.domain.multi_results import MultiCriteriaDirectInstanceResult
    from adjudge.domain.record import JudgmentRecord
    from adjudge.judges.aspect import AspectCritic
    from adjudge.results.contests import ContestSummary
    from adjudge.results.rag import DimensionSummary, RagSummary
    from adjudge.results.report import Report, Section
    from adjudge.stats.intervals import Interval


_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_VERDICT_STYLES = {"PASS": "bold green", "FAIL": "bold red"}
_LONGEST_EXPLANATION = 300


def show_results(given: Iterable[AspectResult], critic: AspectCritic, language: str) -> None:
    """One result in full, a few as a table."""
    results = list(given)
    console = open_console()
    console.print(
        Text(f"{render(Message('criterion'), language)}: {clean(critic.definition)}", style="dim")
    )
    console.print(_one(results[0], language) if len(results) == 1 else _many(results, language))
    for model, reason in _excluded(results).items():
        console.print(
            Text(
                f"{render(Message('excluded'), language)} {clean(model)}: "
                f"{clean(localised(reason, language))}",
                style="yellow",
            )
        )


def show_judgments(given: Iterable[MultiCriteriaDirectInstanceResult], language: str) -> None:
    """One row per judgment. There is no mean over several criteria."""
    results = list(given)
    several = any(len(one.item_results) > 1 for one in results)
    table = headed(
        language,
        Message("row"),
        *((Message("criterion"),) if several else ()),
        Message("verdict"),
        Message("score"),
        Message("votes"),
        Message("explanation"),
    )
    for number, result in enumerate(results, 1):
        name = Text(clean(result.instance.id or str(number)))
        for entry in result.item_results:
            table.add_row(
                name,
                *([_brief(entry.result.criteria.name)] if several else []),
                *_cells(entry.result, language),
            )
    open_console().print(table)


def show_comparisons(results: Iterable[PairwiseInstanceResult], language: str) -> None:
    """One row per comparison: the winner, everybody's rank, how certain."""
    table = headed(
        language,
        Message("row"),
        Message("winner"),
        Message("ranking"),
        Message("certainty"),
        Message("votes"),
        Message("explanation"),
    )
    for number, result in enumerate(results, 1):
        chosen = result.selected_option
        special = {
            None: render(Message("no score"), language),
            "tie": render(Message("tie"), language),
        }
        winner = Text(
            special.get(chosen if not isinstance(chosen, int) else "") or clean(result.winner or "")
        )
        ranks = " ".join("–" if rank is None else str(rank) for rank in result.ranking)
        certain = "–" if result.certainty is None else render(percent(result.certainty), language)
        votes = f"{result.votes_valid}/{result.votes_requested}"
        table.add_row(
            Text(clean(result.instance.id or str(number))),
            winner,
            ranks,
            certain,
            votes,
            _brief(_reason(result, language)),
        )
    open_console().print(table)


def say_excluded(summary: Summary, language: str, name: str = "") -> None:
    """Which models of a panel did not count, and on how many rows: on standard error, so that
    nobody misses it.
    """
    for model, rows in summary.excluded.items():
        said = plural(
            "excluded {model}: {rows} of {count} row",
            "excluded {model}: {rows} of {count} rows",
            summary.attempted,
            model=clean(model),
            rows=rows,
        )
        click.echo(f"{clean(name)}{': ' if name else ''}{render(said, language)}", err=True)


def scored_of(summary: Summary, language: str) -> str:
    """How many were scored, and how many of them with an outcome that is not a number."""
    bare = summary.without_number
    return (
        f"{summary.scored} ({bare} {render(Message('without a number'), language)})"
        if bare
        else str(summary.scored)
    )


def headed(language: str, *headings: Message) -> Table:
    return plain_table(*(render(heading, language) for heading in headings))


def _cells(result: Result, language: str) -> tuple[Text, str, str, Text]:
    chosen = result.option if isinstance(result, DirectInstanceResult) else None
    verdict = (
        _option(clean(chosen))
        if chosen
        else Text(render(Message("no score"), language), style="bold yellow")
    )
    score = render(figure(result.score), language)
    return (
        verdict,
        score,
        f"{result.votes_valid}/{result.votes_requested}",
        _brief(_reason(result, language)),
    )


def _reason(result: Result, language: str) -> str:
    """The explanation; without one, the probability; without a verdict, why there is none."""
    if result.explanation:
        return result.explanation
    shown = next((_why(vote) for vote in result.votes if vote.verdict), None)
    return shown or localised(
        next((vote.reason for vote in result.votes if vote.reason), ""), language
    )


def clean(text: str, *, may_command: bool = False) -> str:
    """``text`` without what a terminal would obey, or the runner of a GitHub job (unless it is a
    command of ours).
    """
    cleaned = _CONTROL.sub("�", text)
    return cleaned if may_command else defused(cleaned)


def told(text: str) -> str:
    """The same in the language that the command speaks; what the user wrote is put in with
    ``verbatim``.
    """
    return clean(translate_line(text, spoken()))


def _one(result: AspectResult, language: str) -> Table:
    headings = (Message("model"), Message("verdict"), Message("votes"), Message("explanation"))
    table = plain_table(
        *(render(one, language) for one in headings), title=_verdict(result, language)
    )
    for entry in result.panel:
        own = [vote for vote in result.votes if vote.model == entry.model and vote.verdict]
        why = next(
            (_why(vote) for vote in own if vote.verdict and vote.verdict.option == entry.option),
            None,
        )
        votes = (
            f"{sum(vote.verdict.option == entry.option for vote in own if vote.verdict)}/"
            f"{entry.votes_requested}"
        )
        table.add_row(
            Text(clean(entry.model)),
            _option(entry.option),
            votes + (f" {render(Message('tie'), language)}" if entry.tie else ""),
            _brief(why),
        )
    for model in result.excluded_models:
        table.add_row(
            Text(clean(model)),
            Text("–"),
            f"0/{sum(vote.model == model for vote in result.votes)}",
            Text(""),
        )
    return table


def _many(results: Sequence[AspectResult], language: str) -> Table:
    table = headed(
        language,
        Message("row"),
        Message("verdict"),
        Message("score"),
        Message("votes"),
        Message("explanation"),
    )
    for number, result in enumerate(results, 1):
        score = _figure(result.score, language)
        votes = f"{result.votes_valid}/{result.votes_requested}"
        why = "; ".join(dict.fromkeys(filter(None, map(_why, _agreeing(result))))) or "; ".join(
            result.excluded_models.values()
        )
        why = localised(why, language)
        table.add_row(
            Text(clean(result.instance.id or str(number))),
            _verdict_word(result, language),
            score,
            votes,
            _brief(why),
        )
    return table


def _agreeing(result: AspectResult) -> list[Vote]:
    return [
        vote for vote in result.votes if vote.verdict and vote.verdict.option == result.verdict
    ][:1]


def _why(vote: Vote) -> str | None:
    """A vote's explanation; of one that was not written, the probability behind it."""
    return (vote.verdict.explanation or vote.how_sure) if vote.verdict else None


def _verdict(result: AspectResult, language: str) -> Text:
    title = Text.assemble(_verdict_word(result, language))
    if result.score is not None:
        title.append(
            f"  {render(Message('score'), language)} {render(figure(result.score, 2), language)}",
            style="bold",
        )
    if result.agreement is not None:
        title.append(
            f"  {render(Message('agreement'), language)} "
            f"{render(percent(result.agreement), language)}"
        )
    if result.tie:
        title.append(f"  ({render(Message('tie'), language)})", style="yellow")
    return title


def _verdict_word(result: AspectResult, language: str) -> Text:
    if result.status is not Status.SCORED or result.verdict is None:
        return Text(render(Message("no score"), language), style="bold yellow")
    return _option(result.verdict)


def _option(name: str) -> Text:
    return Text(name, style=_VERDICT_STYLES.get(name, ""))


def _brief(text: str | None) -> Text:
    line = clean(" ".join((text or "").split()))
    return Text(
        line if len(line) <= _LONGEST_EXPLANATION else line[: _LONGEST_EXPLANATION - 1] + "…"
    )


def _excluded(results: Sequence[AspectResult]) -> dict[str, str]:
    """Each model that was excluded somewhere, with the first reason."""
    found: dict[str, str] = {}
    for result in results:
        for model, reason in result.excluded_models.items():
            found.setdefault(model, reason)
    return found


def footer(
    summary: Summary | None, language: str, usage: Usage | None = None, failed_calls: int = 0
) -> str:
    """What it took; of several judgments by one criterion how many were scored before it."""
    taken = usage or (summary.usage if summary else Usage())
    tokens = taken.prompt_tokens + taken.completion_tokens
    guessed = f" ({render(Message('estimated'), language)})" if taken.estimated else ""
    failed = f"{render(count_failed_calls(failed_calls), language)}, " if failed_calls else ""
    used = (
        f"{render(count_calls(taken.calls), language)}, "
        f"{failed}{render(count_tokens(tokens), language)}{guessed}"
    )
    if summary is None or summary.attempted == 1:
        return used
    bare = (
        summary.without_number == summary.scored > 0
    )  # comparisons, and options without scores: there is no mean to be had
    mean = (
        ""
        if bare
        else (
            f"{render(term('score', 'mean'), language)} "
            f"{'–' if summary.mean is None else render(figure(summary.mean, 3), language)}; "
        )
    )
    scored = summary.scored if bare else scored_of(summary, language)
    counts = Message(
        "attempted {attempted}, scored {scored}, failed {failed}",
        attempted=summary.attempted,
        scored=scored,
        failed=summary.abstained + summary.failed,
    )
    return f"{mean}{render(counts, language)}; {used}"


_MOST_REASONS = 10
_MOST_OPTIONS = 6
_GATE_STYLES = {"holds": "green", "failed": "red", "inconclusive": "yellow"}


def show_report(report: Report, *, rows_shown: bool = False) -> None:
    """The figures; of a single row only where ``rows_shown`` does not say that it stands above."""
    console = open_console()
    for table in _tables(report, rows_shown=rows_shown):
        console.print(table)
    for section in report.sections:
        if section.contests:
            _show_order(console, section.contests, report.language)
    for section in report.sections:
        _show_panel(console, section, report.language)
        _show_changes(console, section, report)
    for line in (*report.compared_told, *report.remarks):
        console.print(Text(clean(render(line, report.language))))
    for calibration in report.calibrations:
        console.print(
            Text(clean(render(trust_sentence(calibration), report.language)), style="bold")
        )
    console.print(Text(_footer(report), style="dim"))
    for note in report.notes:
        console.print(Text(clean(localised(note, report.language)), style="yellow"))


def _show_panel(console: Console, section: Section, language: str) -> None:
    if section.summary.models and section.summary.attempted > 1:
        each = ", ".join(
            f"{model} {_figure(one.mean, language)}"
            for model, one in section.summary.models.items()
        )
        console.print(
            Text(
                clean(
                    f"{section.criteria or section.judge}: "
                    f"{render(Message('each model by itself'), language)}: {each}"
                )
            )
        )


def _show_changes(console: Console, section: Section, report: Report) -> None:
    language, baseline = report.language, report.setup.baseline
    for one in report.changes(section):
        moved = f"{_figure(one.before, language, 3)} → {_figure(one.now, language, 3)}"
        name = (
            render(Message("composite"), language)
            if section.rag and one.name == section.criteria
            else one.name
        )
        console.print(
            Text(
                clean(
                    f"{name}: {moved} ({render(Message('compared with'), language)} {baseline.run})"
                )
            )
        )


def reasons_told(report: Report) -> Iterator[str]:
    """Why rows have no score, the most frequent reasons first, each with its count."""
    language = report.language
    for reason, rows in list(report.reasons.items())[:_MOST_REASONS]:
        yield (
            f"{render(Message('no score'), language)}: {clean(localised(reason, language))}: "
            f"{render(count_rows(rows), language)}"
        )


def warn(report: Report) -> None:
    """Why rows have no score, which models did not count, and how the gates came out."""
    language = report.language
    several = len(report.sections) > 1
    for line in reasons_told(report):
        click.echo(line, err=True)
    for section in report.sections:
        say_excluded(section.summary, language, section.name if several else "")
    for gate in report.gates:
        click.secho(
            clean(render(gate.sentence(), language)), fg=_GATE_STYLES[gate.verdict], err=True
        )


def print_json(
    report: Report,
    results: Iterable[JudgmentRecord],
    aggregates: Iterable[Mapping[str, object]] | None = None,
    files: Sequence[Path] = (),
    run: Mapping[str, object] | None = None,
) -> None:
    """The report and its judgments, for machines.

    ``files``: what was written; ``run``: the folder that keeps it.
    """
    more: dict[str, object] = {
        **report.to_dict(),
        **({"files": list(map(str, files))} if files else {}),
    }
    more |= {"run": run} if run else {}
    more |= {"aggregates": iter(aggregates)} if aggregates is not None else {}
    print_results("judgments", report.summary(), (one.to_dict() for one in results), more)


def say_where(language: str, output: Path | None, folder: Path | None) -> None:
    """Where every row is, when they are too many to be shown."""
    places = [str(output)] if output else []
    places += [f"adjudge export {folder}"] if folder else []
    told = (
        f"{render(Message('Every row'), language)}: {', '.join(places)}"
        if places
        else render(Message("The rows are not kept: add -o rows.csv or --run FOLDER"), language)
    )
    click.echo(clean(told))


def say_columns(columns: Mapping[str, str], language: str) -> None:
    """Which column was taken for which field."""
    taken = ", ".join(f"{field} = {clean(column)}" for field, column in columns.items())
    click.echo(f"{render(Message('columns'), language)}: {taken}", err=True)


def _tables(report: Report, *, rows_shown: bool) -> Iterable[Table]:
    plain = [one for one in report.sections if not one.rag and not one.contests]
    if len(plain) > 1 or any(one.summary.attempted > rows_shown for one in plain):
        yield _criteria(
            plain, report.language, named=len({one.judge for one in report.sections}) > 1
        )
    for one in report.sections:
        if one.rag:
            yield _dimensions(one.rag, report.language)
        if one.rag and one.rag.measures:
            from adjudge.cli.show_measures import measure_tables

            own = [each for each in report.entries if each.judge == one.judge]
            yield from measure_tables(one.rag.measures, own, report.language, clean)
        if one.contests:
            yield _systems(one.contests, report.language)


def _criteria(sections: Sequence[Section], language: str, *, named: bool) -> Table:
    """A line each; ``named``: with the judge, since there are several."""
    table = headed(
        language,
        Message("criteria"),
        Message("attempted"),
        term("status", "scored"),
        term("score", "mean"),
        Message("95 % interval"),
        Message("options"),
    )
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
    table = headed(
        language,
        Message("system"),
        Message("wins"),
        Message("ties"),
        Message("losses"),
        Message("win rate"),
        Message("95 % interval"),
    )
    for one in found.systems:
        rate = _figure(one.winrate, language)
        counts = map(str, (one.wins, one.ties, one.losses))
        style = "bold" if one is found.leader else ""
        table.add_row(
            Text(clean(one.name), style=style),
            *counts,
            Text(rate, style=style),
            _limits(one.interval, language),
        )
    return table


def _show_order(console: Console, found: ContestSummary, language: str) -> None:
    from adjudge.results.contests import noise_floor  # not loaded where nothing is compared

    if not found.leader:
        console.print(
            Text(render(Message("these rows cannot tell who is better"), language), style="dim")
        )
    if (order := found.order) is None:
        return
    turned = Message(
        "rows that turn with the order: {turned} of {rows}", turned=order.turned, rows=order.rows
    )
    said = [turned]
    if order.flip_rate is not None:
        flips = figure(order.flip_rate)
        said.append(Message("votes that change with the order: {flips}", flips=flips))
    console.print(Text(render(join("; ", [*said, noise_floor(order)]), language)))


def _dimensions(summary: RagSummary, language: str) -> Table:
    table = headed(language, Message("dimension"))
    for heading in (
        render(Message("mean"), language),
        render(term("score", "normalised"), language),
        render(term("status", "scored"), language),
    ):
        table.add_column(heading, justify="right")
    table.add_column("")
    for one in summary.dimensions:
        table.add_row(*_dimension(one, language))
    overall, interval = summary.overall, summary.overall.interval
    mean = _figure(overall.mean, language)
    limits = (
        f"{render(Message('95 % interval'), language)}: {_limits(interval, language)}"
        if interval
        else render(Message("no interval: fewer than 8 scored rows"), language)
    )
    name = Text(render(Message("composite"), language), style="bold")
    table.add_row(
        name, "", Text(mean, style="bold"), f"{overall.scored}/{overall.attempted}", limits
    )
    return table


def _dimension(one: DimensionSummary, language: str) -> tuple[Text, str, str, str, str]:
    raw = f"{_figure(one.raw.mean, language)} / {one.dimension.maximum}" if one.raw else "–"
    mean = _figure(one.mean, language)
    flag = render(Message("never varies"), language) if one.never_varies else ""
    return (
        Text(clean(one.dimension.title)),
        raw,
        mean,
        f"{one.scored}/{one.scored + one.missing}",
        flag,
    )


def _limits(interval: Interval | None, language: str) -> str:
    return (
        f"{_figure(interval.lower, language)}–{_figure(interval.upper, language)}"
        if interval
        else "–"
    )


def _figure(value: float | None, language: str, digits: int = 2) -> str:
    return render(figure(value, digits), language)


def _footer(report: Report) -> str:
    """What it took; with one criterion the counts before it, with RAG answers
    the rules that fired.
    """
    language = report.language
    only = report.sections[0] if len(report.sections) == 1 else None
    if only and not only.rag:
        return footer(only.summary, language, failed_calls=report.failed_calls)
    used = footer(None, language, report.usage, report.failed_calls)
    rules = only.rag.rules.items() if only and only.rag else ()
    named = (
        (clean(render(rule_title(name), language)), count)
        for name, count in rules
        if name != "mean"
    )
    fired = ", ".join(f"{name} {count}" for name, count in named if count)
    return f"{fired}; {used}" if fired else used
