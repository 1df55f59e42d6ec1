"""Results in a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from adjudge.cli.language import spoken
from adjudge.domain.message import Usage
from adjudge.domain.results import (
    AspectResult,
    DirectInstanceResult,
    MultiCriteriaDirectInstanceResult,
    PairwiseInstanceResult,
    Result,
    Status,
)
from adjudge.domain.vote import Vote
from adjudge.reports.numbers import number_text, percent
from adjudge.reports.russian import in_russian, localised
from adjudge.reports.summary import Summary
from adjudge.reports.words import Word, counted, word

if TYPE_CHECKING:
    from adjudge.judges.aspect import AspectCritic

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_STYLES = {"PASS": "bold green", "FAIL": "bold red"}
_LONGEST_EXPLANATION = 300


def show_results(given: Iterable[AspectResult], critic: AspectCritic, language: str) -> None:
    """One result in full, a few as a table."""
    results = list(given)
    console = Console(highlight=False, soft_wrap=False)
    console.print(Text(f"{word('criterion', language)}: {clean(critic.definition)}", style="dim"))
    console.print(_one(results[0], language) if len(results) == 1 else _many(results, language))
    for model, reason in _excluded(results).items():
        console.print(Text(f"{word('excluded', language)} {clean(model)}: {clean(localised(reason, language))}", style="yellow"))


def show_judgments(given: Iterable[MultiCriteriaDirectInstanceResult], language: str) -> None:
    """One row per judgment. There is no mean over several criteria."""
    results = list(given)
    several = any(len(one.item_results) > 1 for one in results)
    table = headed(language, "row", *(("criterion",) if several else ()), "verdict", "score", "votes", "explanation")
    for number, result in enumerate(results, 1):
        name = Text(clean(result.instance.id or str(number)))
        for entry in result.item_results:
            table.add_row(name, *([_brief(entry.result.criteria.name)] if several else []), *_cells(entry.result, language))
    Console(highlight=False, soft_wrap=False).print(table)


def show_comparisons(results: Iterable[PairwiseInstanceResult], language: str) -> None:
    """One row per comparison: the winner, everybody's rank, how certain."""
    table = headed(language, "row", "winner", "ranking", "certainty", "votes", "explanation")
    for number, result in enumerate(results, 1):
        chosen = result.selected_option
        special = {None: word("no score", language), "tie": word("tie", language)}
        winner = Text(special.get(chosen if not isinstance(chosen, int) else "") or clean(result.winner or ""))
        ranks = " ".join("–" if rank is None else str(rank) for rank in result.ranking)
        certain = "–" if result.certainty is None else percent(result.certainty, language)
        votes = f"{result.votes_valid}/{result.votes_requested}"
        table.add_row(
            Text(clean(result.instance.id or str(number))), winner, ranks, certain, votes, _brief(_reason(result, language))
        )
    Console(highlight=False, soft_wrap=False).print(table)


def say_excluded(summary: Summary, language: str, name: str = "") -> None:
    """Which models of a panel did not count, and on how many rows: on standard error, so that nobody misses it."""
    for model, rows in summary.excluded.items():
        share = f"{rows} {word('of', language)} {counted(summary.attempted, 'row of all', language)}"
        click.echo(f"{clean(name)}{': ' if name else ''}{word('excluded', language)} {clean(model)}: {share}", err=True)


def scored_of(summary: Summary, language: str) -> str:
    """How many were scored, and how many of them with an outcome that is no number."""
    bare = summary.without_number
    return f"{summary.scored} ({bare} {word('without a number', language)})" if bare else str(summary.scored)


def headed(language: str, *headings: Word) -> Table:
    """A table without lines."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in headings:
        table.add_column(word(heading, language))
    return table


def _cells(result: Result, language: str) -> tuple[Text, str, str, Text]:
    chosen = result.option if isinstance(result, DirectInstanceResult) else None
    verdict = Text(clean(chosen)) if chosen else Text(word("no score", language), style="bold yellow")
    score = "–" if result.score is None else number_text(result.score, 2, language)
    return verdict, score, f"{result.votes_valid}/{result.votes_requested}", _brief(_reason(result, language))


def _reason(result: Result, language: str) -> str:
    """The explanation; without one, the probability; without a verdict, why there is none."""
    if result.explanation:
        return result.explanation
    shown = next((_why(vote) for vote in result.votes if vote.verdict), None)
    return shown or localised(next((vote.reason for vote in result.votes if vote.reason), ""), language)


def clean(text: str) -> str:
    """``text`` without what a terminal would obey."""
    return _CONTROL.sub("�", text)


def told(text: str) -> str:
    """``text`` in the language that the command speaks, where it is one of ours; without what a terminal would obey."""
    indent = text[: len(text) - len(text.lstrip(" "))]
    return clean(indent + in_russian(text[len(indent) :], terminal=True) if spoken() == "ru" else text)


def _one(result: AspectResult, language: str) -> Table:
    table = Table(title=_verdict(result, language), title_justify="left", box=None, padding=(0, 2, 0, 0))
    for heading in ("model", "verdict", "votes", "explanation"):
        table.add_column(word(heading, language))
    for entry in result.panel:
        own = [vote for vote in result.votes if vote.model == entry.model and vote.verdict]
        why = next((_why(vote) for vote in own if vote.verdict and vote.verdict.option == entry.option), None)
        votes = f"{sum(vote.verdict.option == entry.option for vote in own if vote.verdict)}/{entry.votes_requested}"
        table.add_row(
            Text(clean(entry.model)),
            _option(entry.option),
            votes + (f" {word('tie', language)}" if entry.tie else ""),
            _brief(why),
        )
    for model in result.excluded_models:
        table.add_row(Text(clean(model)), Text("–"), f"0/{sum(vote.model == model for vote in result.votes)}", Text(""))
    return table


def _many(results: Sequence[AspectResult], language: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("row", "verdict", "score", "votes", "explanation"):
        table.add_column(word(heading, language))
    for number, result in enumerate(results, 1):
        score = "–" if result.score is None else number_text(result.score, 2, language)
        votes = f"{result.votes_valid}/{result.votes_requested}"
        why = "; ".join(dict.fromkeys(filter(None, map(_why, _agreeing(result))))) or "; ".join(result.excluded_models.values())
        why = localised(why, language)
        table.add_row(Text(clean(result.instance.id or str(number))), _verdict_word(result, language), score, votes, _brief(why))
    return table


def _agreeing(result: AspectResult) -> list[Vote]:
    return [vote for vote in result.votes if vote.verdict and vote.verdict.option == result.verdict][:1]


def _why(vote: Vote) -> str | None:
    """A vote's explanation; of one that was not written, the probability behind it."""
    return (vote.verdict.explanation or vote.how_sure) if vote.verdict else None


def _verdict(result: AspectResult, language: str) -> Text:
    title = Text.assemble(_verdict_word(result, language))
    if result.score is not None:
        title.append(f"  {word('score', language)} {number_text(result.score, 2, language)}", style="bold")
    if result.agreement is not None:
        title.append(f"  {word('agreement', language)} {percent(result.agreement, language)}")
    if result.tie:
        title.append(f"  ({word('tie', language)})", style="yellow")
    return title


def _verdict_word(result: AspectResult, language: str) -> Text:
    if result.status is not Status.SCORED or result.verdict is None:
        return Text(word("no score", language), style="bold yellow")
    return _option(result.verdict)


def _option(name: str) -> Text:
    return Text(name, style=_STYLES.get(name, ""))


def _brief(text: str | None) -> Text:
    line = clean(" ".join((text or "").split()))
    return Text(line if len(line) <= _LONGEST_EXPLANATION else line[: _LONGEST_EXPLANATION - 1] + "…")


def _excluded(results: Sequence[AspectResult]) -> dict[str, str]:
    """Each model that was excluded somewhere, with the first reason."""
    found: dict[str, str] = {}
    for result in results:
        for model, reason in result.excluded_models.items():
            found.setdefault(model, reason)
    return found


def footer(summary: Summary | None, language: str, usage: Usage | None = None) -> str:
    """What it took; of several judgments by one criteria how many were scored before it."""
    taken = usage or (summary.usage if summary else Usage())
    tokens = taken.prompt_tokens + taken.completion_tokens
    guessed = f" ({word('estimated', language)})" if taken.estimated else ""
    used = f"{counted(taken.calls, 'call', language)}, {counted(tokens, 'token', language)}{guessed}"
    if summary is None or summary.attempted == 1:
        return used
    bare = summary.without_number == summary.scored > 0  # comparisons, and options without scores: there is no mean to be had
    mean = "" if bare else f"{word('mean', language)} {'–' if summary.mean is None else number_text(summary.mean, 3, language)}; "
    scored = summary.scored if bare else scored_of(summary, language)
    counts = f"{word('attempted', language)} {summary.attempted}, {word('scored', language)} {scored}"
    return f"{mean}{counts}, {word('failed', language)} {summary.abstained + summary.failed}; {used}"
