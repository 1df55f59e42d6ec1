"""``--dry-run``: what judging would take, before anything is asked."""

from __future__ import annotations

import click

from adjudge.engine.estimate import Estimate
from adjudge.gateway.prices import PriceTable
from adjudge.reports.words import counted

_JUDGING = (
    "The lower end is what has to be asked, answered in a word; the upper one every vote at length, each tenth asked again."
)


def show_estimate(found: Estimate, what: str = "judgments", ends: str = _JUDGING) -> None:
    """Calls, tokens and money, each from … to …; what is not known is said. ``ends`` says what both ends mean."""
    click.echo(f"{what}: {found.rows:,}")
    if found.answered:
        click.echo(f"answered already: {counted(found.answered, 'vote')}")
    click.echo(f"calls: {_span(*found.calls)}")
    click.echo(f"tokens: {_span(*found.tokens)}")
    click.echo(f"cost: {_cost(found)}")
    click.echo(ends)


def _cost(found: Estimate) -> str:
    low, high = found.usd
    unknown = f"the price of {', '.join(found.unpriced)} is not known" if found.unpriced else ""
    if not high and not found.calls[1]:
        return "nothing: all of it is answered already"
    if not high:
        return unknown or "nothing: the models run on this machine"
    known = f"${low:.4f} to ${high:.4f} (prices of {PriceTable.load().dated}, or your own)"
    return f"{known}; {unknown}" if unknown else known


def _span(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
