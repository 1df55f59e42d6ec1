"""``--dry-run``: what judging would take, before anything is asked."""

from __future__ import annotations

from pathlib import Path

import click

from adjudge.cli.execute import RunDisplay, skipped_rows
from adjudge.cli.json_text import print_results
from adjudge.engine.estimate import Estimate
from adjudge.gateway.prices import PriceTable
from adjudge.reports.outcome import Outcome
from adjudge.reports.sentences import Sentence, sentence
from adjudge.reports.words import counted, number_text


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
    what: Sentence = "judgments",
    ends: Sentence = "ends of judging",
    *,
    as_json: bool,
    in_batches: bool = False,
) -> None:
    """Calls, tokens and money, each from … to …; what is not known is said.

    ``ends`` says what both ends mean.
    """
    if as_json:
        print_results(
            "estimate",
            {"judgments": found.rows},
            (_json(found) | (_batch_json(found) if in_batches else {}),),
        )
        return
    click.echo(sentence(what, language, count=_thousands(found.rows, language)))
    if found.answered:
        click.echo(
            sentence("answered already", language, votes=counted(found.answered, "vote", language))
        )
    if found.in_batches:
        click.echo(
            sentence(
                "asked in batches", language, votes=counted(found.in_batches, "vote", language)
            )
        )
    click.echo(sentence("calls", language, span=_span(*found.calls, language)))
    click.echo(sentence("tokens", language, span=_span(*found.tokens, language)))
    click.echo(sentence("cost", language, cost=_cost(found, language)))
    if in_batches and found.rounds:
        _show_batches(found, language)
    click.echo(sentence(ends, language))


def _show_batches(found: Estimate, language: str) -> None:
    """How often batches are sent, and what they save: repairs, which are asked
    one by one, are few.
    """
    click.echo(sentence("batch rounds", language, span=_span(1, found.rounds, language)))
    if found.usd[1]:
        (low, high), saved = found.batch_usd, found.usd[1] - found.batch_usd[1]
        ends = {"low": number_text(low, 4, language), "high": number_text(high, 4, language)}
        click.echo(sentence("batch cost", language, saved=number_text(saved, 4, language), **ends))


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
        sentence("price of", language, models=", ".join(found.unpriced)) if found.unpriced else ""
    )
    if not high and not found.calls[1]:
        return sentence("all asked" if found.in_batches else "all answered", language)
    if not high:
        return unknown or sentence("nothing to pay", language)
    ends = {"low": number_text(low, 4, language), "high": number_text(high, 4, language)}
    known = sentence("known price", language, dated=PriceTable.load().dated, **ends)
    return f"{known}; {unknown}" if unknown else known


def _span(low: int, high: int, language: str) -> str:
    ends = _thousands(low, language), _thousands(high, language)
    return ends[0] if low == high else sentence("to", language, low=ends[0], high=ends[1])


def _thousands(count: int, language: str) -> str:
    return f"{count:,}".replace(",", "\u00a0") if language == "ru" else f"{count:,}"
