"""What judging would take, before anything is asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from adjudge.domain.ballot import Ballot
from adjudge.domain.message import Usage
from adjudge.engine.ask import prompt_for
from adjudge.engine.likelihood import likelihood_requests
from adjudge.engine.schedule import Plans
from adjudge.gateway.prices import PriceTable

I = TypeVar("I")  # noqa: E741
_RENDERED_FIRST, _THEN_EVERY = 200, 50
"""Prompts are written out for the first ballots and for some of those after."""
_CHARACTERS_A_TOKEN = {"low": (4.8, 3.5), "high": (3.2, 1.2)}
"""Of ASCII and of all other text, as tokenizers differ."""
_ANSWER = {"low": 20, "high": 300}
_REPEATED = {"low": 1.0, "high": 1.1}
"""Calls for each ballot: some replies have to be asked for again."""


Known = Callable[[Sequence[bytes]], Sequence[bool]]
"""Says of the keys of ballots whether they were answered already."""


def nothing_known(keys: Sequence[bytes]) -> Sequence[bool]:
    """Nothing was answered yet."""
    return [False] * len(keys)


@dataclass
class _Share:
    """What one model would be asked."""

    ballots: int = 0
    rendered: int = 0
    ascii: int = 0
    other: int = 0
    written: bool = False
    """Whether it writes its answers out."""


@dataclass(frozen=True)
class Estimate:
    """Calls, tokens and money, each as (low, high)."""

    rows: int
    answered: int
    """Ballots that the run's ledger knows already."""
    calls: tuple[int, int]
    tokens: tuple[int, int]
    usd: tuple[float, float]
    unpriced: tuple[str, ...] = field(default=())
    """Models whose price is not known; ``usd`` is without them."""

    def __add__(self, other: Estimate) -> Estimate:
        return Estimate(
            self.rows + other.rows,
            self.answered + other.answered,
            (self.calls[0] + other.calls[0], self.calls[1] + other.calls[1]),
            (self.tokens[0] + other.tokens[0], self.tokens[1] + other.tokens[1]),
            (self.usd[0] + other.usd[0], self.usd[1] + other.usd[1]),
            tuple(dict.fromkeys((*self.unpriced, *other.unpriced))),
        )


def estimate(
    least: Plans[I, object],
    most: Plans[I, object],
    items: Iterable[I],
    known: Callable[[Sequence[Ballot]], Sequence[bool]],
    prices: PriceTable,
) -> Estimate:
    """What ``items`` would take: ``least`` plans the fewest ballots (it may stop early), ``most`` all of them."""
    rows = answered = fewest = 0
    shares: dict[str, _Share] = {}
    for item in items:
        rows += 1
        ballots = most.plan(item, ())
        asked = [ballot for ballot, there in zip(ballots, known(ballots), strict=True) if not there]
        answered += len(ballots) - len(asked)
        fewest += sum(map(_requests, asked[: len(least.plan(item, ()))]))
        for ballot in asked:
            _count(shares.setdefault(ballot.model, _Share()), ballot)
    total = sum(share.ballots for share in shares.values())
    low, high = _usage(shares, "low", fewest / total if total else 0.0), _usage(shares, "high", 1.0)
    return Estimate(
        rows,
        answered,
        (sum(one.calls for one in low.values()), sum(one.calls for one in high.values())),
        (_tokens(low.values()), _tokens(high.values())),
        (_usd(low, prices), _usd(high, prices)),
        tuple(model for model in shares if prices.of(model) is None),
    )


def _requests(ballot: Ballot) -> int:
    """Calls that a ballot takes: letters are read in both orders."""
    return len(likelihood_requests(ballot)) if ballot.mode == "likelihood" else 1


def _count(share: _Share, ballot: Ballot) -> None:
    if share.ballots < _RENDERED_FIRST or share.ballots % _THEN_EVERY == 0:
        text = prompt_for(ballot).text
        ascii_only = sum(map(str.isascii, text)) if not text.isascii() else len(text)
        share.rendered += 1
        share.ascii += ascii_only
        share.other += len(text) - ascii_only
    share.ballots += _requests(ballot)
    share.written = share.written or ballot.mode == "generate"


def _usage(shares: Mapping[str, _Share], end: str, part: float) -> dict[str, Usage]:
    plain, other = _CHARACTERS_A_TOKEN[end]
    found = {}
    for model, share in shares.items():
        calls = round(share.ballots * part * (_REPEATED[end] if share.written else 1))
        prompt = (share.ascii / plain + share.other / other) / share.rendered
        found[model] = Usage(calls, round(calls * prompt), calls * (_ANSWER[end] if share.written else 1))
    return found


def _tokens(usages: Iterable[Usage]) -> int:
    return sum(usage.prompt_tokens + usage.completion_tokens for usage in usages)


def _usd(usages: Mapping[str, Usage], prices: PriceTable) -> float:
    return sum(prices.cost(model, usage) or 0.0 for model, usage in usages.items())
