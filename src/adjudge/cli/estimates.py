"""``--dry-run``: what judging would take, before anything is asked."""

from __future__ import annotations

from pathlib import Path

import click

from adjudge.cli.execute import RunDisplay, skipped_rows
from adjudge.cli.json_text import print_results
from adjudge.engine.estimate import Estimate
from adjudge.gateway.prices import PriceTable
from adjudge.messages import Message, render
from adjudge.results.counts import count_votes
from adjudge.results.numbers import figure
from adjudge.results.outcome import Outcome


def estimated(
    outcome: Outcome, *, fork_of: Path | None = None, retry_failed: bool = False
) -> Estimate:
    """What the run would take; the rows that it could not judge are told of, as they will be when
    it judges.
    """
    found = outcome.run.estimate(
        RunDisplay(outcome, quiet=True).show, fork_of=fork_of, retry_failed=retry_failed
    )
    if outcome.skipped:
        click.echo(skipped_rows(outcome), err=True)
    return found


def show_estimate(
    found: Estimate,
    language: str = "en",
    *,
    as_json: bool,
    in_batches: bool = False,
    of_candidates: bool = False,
) -> None:
    """Calls, tokens and money, each from … to …; what is not known is said."""
    if as_json:
        print_results(
            "estimate",
            {"judgments": found.rows},
            (_json(found) | (_batch_json(found) if in_batches else {}),),
        )
        return
    rows = _thousands(found.rows, language)
    what = (
        Message("candidates: {count}", count=rows)
        if of_candidates
        else Message("judgments: {count}", count=rows)
    )
    click.echo(render(what, language))
    if found.answered:
        click.echo(
            render(
                Message(
                    "answered already: {votes}", votes=render(count_votes(found.answered), language)
                ),
                language,
            )
        )
    if found.in_batches:
        click.echo(
            render(
                Message(
                    "asked in batches that are under way, and in nothing below: {votes}",
                    votes=render(count_votes(found.in_batches), language),
                ),
                language,
            )
        )
    click.echo(render(Message("calls: {span}", span=_span(*found.calls, language)), language))
    click.echo(render(Message("tokens: {span}", span=_span(*found.tokens, language)), language))
    click.echo(render(Message("cost: {cost}", cost=_cost(found, language)), language))
    if in_batches and found.rounds:
        _show_batches(found, language)
    ends = (
        Message(
            "The lower end is a first text of every candidate; the upper one every try of each, at "
            "length, with all its samples."
        )
        if of_candidates
        else Message(
            "The lower end is what has to be asked, answered in a word; the upper one every vote "
            "at length, each tenth asked again."
        )
    )
    click.echo(render(ends, language))


def _show_batches(found: Estimate, language: str) -> None:
    """How often batches are sent, and what they save: repairs, which are asked
    one by one, are few.
    """
    click.echo(
        render(
            Message("rounds of batches: {span}", span=_span(1, found.rounds, language)), language
        )
    )
    if found.usd[1]:
        (low, high), saved = found.batch_usd, found.usd[1] - found.batch_usd[1]
        ends = {"low": render(figure(low, 4), language), "high": render(figure(high, 4), language)}
        click.echo(
            render(
                Message(
                    "in batches: ${low} to ${high}, ${saved} less at the upper end",
                    saved=render(figure(saved, 4), language),
                    **ends,
                ),
                language,
            )
        )


def _batch_json(found: Estimate) -> dict[str, object]:
    low, high = found.batch_usd
    cost = {"lower": low, "upper": high}
    return {
        "batch": {
            "cost_usd": cost,
            "saved_usd": found.usd[1] - high,
            "rounds": {"lower": min(1, found.rounds), "upper": found.rounds},
        }
    }


def _json(found: Estimate) -> dict[str, object]:
    return {
        "judgments": found.rows,
        "answered": found.answered,
        "in_batches": found.in_batches,
        **{
            name: {"lower": low, "upper": high}
            for name, (low, high) in (("calls", found.calls), ("tokens", found.tokens))
        },
        "cost_usd": {"lower": found.usd[0], "upper": found.usd[1]},
        "unpriced_models": list(found.unpriced),
    }


def _cost(found: Estimate, language: str) -> str:
    low, high = found.usd
    unknown = (
        render(
            Message("the price of {models} is not known", models=", ".join(found.unpriced)),
            language,
        )
        if found.unpriced
        else ""
    )
    if not high and not found.calls[1]:
        return render(
            Message("nothing: all of it is answered, or asked in batches")
            if found.in_batches
            else Message("nothing: all of it is answered already"),
            language,
        )
    if not high:
        return unknown or render(Message("nothing: the models run on this machine"), language)
    ends = {"low": render(figure(low, 4), language), "high": render(figure(high, 4), language)}
    known = render(
        Message(
            "${low} to ${high} (prices of {dated}, or your own)",
            dated=PriceTable.load().dated,
            **ends,
        ),
        language,
    )
    return f"{known}; {unknown}" if unknown else known


def _span(low: int, high: int, language: str) -> str:
    ends = _thousands(low, language), _thousands(high, language)
    return (
        ends[0]
        if low == high
        else render(Message("{low} to {high}", low=ends[0], high=ends[1]), language)
    )


def _thousands(count: int, language: str) -> str:
    return f"{count:,}".replace(",", "\u00a0") if language == "ru" else f"{count:,}"
