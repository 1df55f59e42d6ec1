"""``--dry-run``: what judging would take, before anything is asked."""

from __future__ import annotations

import click

from adjudge.cli.json_text import print_results
from adjudge.engine.estimate import Estimate
from adjudge.gateway.prices import PriceTable
from adjudge.reports.sentences import Sentence, sentence
from adjudge.reports.words import counted, number_text


def show_estimate(
    found: Estimate,
    language: str = "en",
    what: Sentence = "judgments",
    ends: Sentence = "ends of judging",
    *,
    as_json: bool,
) -> None:
    """Calls, tokens and money, each from … to …; what is not known is said. ``ends`` says what both ends mean."""
    if as_json:
        print_results("estimate", {"judgments": found.rows}, (_json(found),))
        return
    click.echo(sentence(what, language, count=_thousands(found.rows, language)))
    if found.answered:
        click.echo(sentence("answered already", language, votes=counted(found.answered, "vote", language)))
    click.echo(sentence("calls", language, span=_span(*found.calls, language)))
    click.echo(sentence("tokens", language, span=_span(*found.tokens, language)))
    click.echo(sentence("cost", language, cost=_cost(found, language)))
    click.echo(sentence(ends, language))


def _json(found: Estimate) -> dict[str, object]:
    return {
        "judgments": found.rows,
        "answered": found.answered,
        **{name: {"lower": low, "upper": high} for name, (low, high) in (("calls", found.calls), ("tokens", found.tokens))},
        "cost_usd": {"lower": found.usd[0], "upper": found.usd[1]},
        "unpriced_models": list(found.unpriced),
    }


def _cost(found: Estimate, language: str) -> str:
    low, high = found.usd
    unknown = sentence("price of", language, models=", ".join(found.unpriced)) if found.unpriced else ""
    if not high and not found.calls[1]:
        return sentence("all answered", language)
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
