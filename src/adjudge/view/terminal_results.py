"""Results in a terminal: one in full, several as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from adjudge.domain.check_result import CheckResult
from adjudge.domain.results import (
    AspectResult,
    DirectInstanceResult,
    PairwiseInstanceResult,
    Result,
    Status,
)
from adjudge.domain.vote import Vote
from adjudge.messages import Message, join
from adjudge.results.numbers import figure, percent
from adjudge.view.terminal import Screen
from adjudge.view.terms import option_title

if TYPE_CHECKING:
    from adjudge.domain.multi_results import MultiCriteriaDirectInstanceResult
    from adjudge.judges.aspect import AspectCritic

_VERDICT_STYLES = {"PASS": "bold green", "FAIL": "bold red"}
_LONGEST_EXPLANATION = 300
_HEADINGS = (Message("verdict"), Message("score"), Message("votes"), Message("explanation"))


def show_results(given: Iterable[AspectResult], critic: AspectCritic, screen: Screen) -> None:
    """One result in full, a few as a table."""
    results = list(given)
    screen.say(Message("criterion: {text}", text=critic.definition), "dim")
    screen.show(_one(results[0], screen) if len(results) == 1 else _many(results, screen))
    for model, reason in _excluded(results).items():
        screen.say(Message("excluded {model}: {reason}", model=model, reason=reason), "yellow")


def show_checks(given: Iterable[CheckResult], screen: Screen) -> None:
    """A line for each row and check: whether it passes, and what was found."""
    table = screen.table((Message("row"), Message("check"), Message("verdict"), Message("found")))
    rows: Counter[str] = Counter()
    for result in given:
        rows[result.criteria.name] += 1
        found = result.reason if result.verdict is None else result.explanation
        screen.add_row(
            table,
            result.instance.id or rows[result.criteria.name],
            _shorten(result.criteria.name, screen),
            _option(result.verdict, screen),
            _shorten(found, screen),
        )
    screen.show(table)


def show_judgments(given: Iterable[MultiCriteriaDirectInstanceResult], screen: Screen) -> None:
    """One row per judgment. There is no mean over several criteria."""
    results = list(given)
    several = any(len(one.item_results) > 1 for one in results)
    criterion = (Message("criterion"),) if several else ()
    table = screen.table((Message("row"), *criterion, *_HEADINGS))
    for number, result in enumerate(results, 1):
        for entry in result.item_results:
            one = entry.result
            chosen = one.option if isinstance(one, DirectInstanceResult) else None
            screen.add_row(
                table,
                result.instance.id or number,
                *([_shorten(one.criteria.name, screen)] if several else []),
                _option(chosen, screen),
                figure(one.score),
                _votes(one),
                _shorten(_reason(one), screen),
            )
    screen.show(table)


def show_comparisons(results: Iterable[PairwiseInstanceResult], screen: Screen) -> None:
    """One row per comparison: the winner, everybody's rank, how certain."""
    headings = (
        Message("row"),
        Message("winner"),
        Message("ranking"),
        Message("certainty"),
        Message("votes"),
        Message("explanation"),
    )
    table = screen.table(headings)
    for number, result in enumerate(results, 1):
        chosen = result.selected_option
        screen.add_row(
            table,
            result.instance.id or number,
            Message("no score")
            if chosen is None
            else result.winner or ""
            if isinstance(chosen, int)
            else option_title(chosen),
            " ".join("–" if rank is None else str(rank) for rank in result.ranking),
            "–" if result.certainty is None else percent(result.certainty),
            _votes(result),
            _shorten(_reason(result), screen),
        )
    screen.show(table)


def _votes(result: Result) -> str:
    return f"{result.votes_valid}/{result.votes_requested}"


def _reason(result: Result) -> str:
    """The explanation; without one, the probability; without a verdict, why there is none."""
    if result.explanation:
        return result.explanation
    shown = next((_why(vote) for vote in result.votes if vote.verdict), None)
    return shown or next((vote.reason for vote in result.votes if vote.reason), "")


def _one(result: AspectResult, screen: Screen) -> Table:
    headings = (Message("model"), Message("verdict"), Message("votes"), Message("explanation"))
    table = screen.table(headings, title=_title(result, screen))
    for entry in result.panel:
        own = [vote for vote in result.votes if vote.model == entry.model and vote.verdict]
        agreeing = [vote for vote in own if vote.verdict and vote.verdict.option == entry.option]
        votes = f"{len(agreeing)}/{entry.votes_requested}"
        screen.add_row(
            table,
            entry.model,
            _option(entry.option, screen),
            Message("{votes} tie", votes=votes) if entry.tie else votes,
            _shorten(_why(agreeing[0]) if agreeing else None, screen),
        )
    for model in result.excluded_models:
        asked = sum(vote.model == model for vote in result.votes)
        screen.add_row(table, model, "–", f"0/{asked}", "")
    return table


def _many(results: Sequence[AspectResult], screen: Screen) -> Table:
    table = screen.table((Message("row"), *_HEADINGS))
    for number, result in enumerate(results, 1):
        agreeing = [
            vote for vote in result.votes if vote.verdict and vote.verdict.option == result.verdict
        ]
        why = _why(agreeing[0]) if agreeing else None
        screen.add_row(
            table,
            result.instance.id or number,
            _verdict(result, screen),
            figure(result.score),
            _votes(result),
            _shorten(why or join("; ", result.excluded_models.values()), screen),
        )
    return table


def _why(vote: Vote) -> str | None:
    """A vote's explanation; of one that was not written, the probability behind it."""
    return (vote.verdict.explanation or vote.how_sure) if vote.verdict else None


def _title(result: AspectResult, screen: Screen) -> Text:
    title = Text.assemble(_verdict(result, screen))
    if result.score is not None:
        score = Message("score {score}", score=figure(result.score))
        title.append("  ").append(screen.line(score, "bold"))
    if result.agreement is not None:
        agreement = Message("agreement {share}", share=percent(result.agreement))
        title.append("  ").append(screen.line(agreement))
    if result.tie:
        title.append("  ").append(screen.line(Message("(tie)"), "yellow"))
    return title


def _verdict(result: AspectResult, screen: Screen) -> Text:
    return _option(result.verdict if result.status is Status.SCORED else None, screen)


def _option(name: str | None, screen: Screen) -> Text:
    if name is None:
        return screen.line(Message("no score"), "bold yellow")
    return screen.line(name, _VERDICT_STYLES.get(name, ""))


def _shorten(text: str | None, screen: Screen) -> Text:
    line = screen.render(text or "")
    line = " ".join(line.split())
    most = _LONGEST_EXPLANATION
    return Text(line if len(line) <= most else line[: most - 1] + "…")


def _excluded(results: Sequence[AspectResult]) -> dict[str, str]:
    """Each model that was excluded somewhere, with the first reason."""
    found: dict[str, str] = {}
    for result in results:
        for model, reason in result.excluded_models.items():
            found.setdefault(model, reason)
    return found
