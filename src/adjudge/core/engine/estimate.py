"""What judging would take, before anything is asked."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import ClassVar, Generic, Literal, TypeVar
from weakref import finalize

from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.message import Usage
from adjudge.core.domain.vote import Ballot, Vote
from adjudge.core.engine.ask import prompt_for
from adjudge.core.engine.likelihood import likelihood_requests
from adjudge.core.engine.schedule import Plans
from adjudge.core.gateway.prices import PriceTable

I = TypeVar("I")  # noqa: E741
Ends = tuple[int, int]
_RENDERED_FIRST, _THEN_EVERY = 200, 50
"""Prompts are written out for the first ballots and for some of those after."""
_CHARACTERS_A_TOKEN = {"low": (6.0, 5.0), "high": (3.2, 0.75)}
"""Of ASCII and of all other text, as tokenizers differ. The embedded model takes nearly a token
per Cyrillic letter.
"""
_ANSWER = {"low": 1, "high": 300}
_REPEATED = {"low": 1.0, "high": 1.1}
"""Calls for each ballot: some replies have to be asked for again."""


class Known:
    """What need not be asked, or not again.

    As it stands nothing was answered yet, and nothing is kept.
    """

    once: ClassVar[bool] = False
    """Whether equal ballots are asked once: a run finds the answer to the second in its ledger."""

    def __init__(self) -> None:
        self.wordings: Mapping[str, str] = {}
        """How prompts were worded when the run began."""
        self._planned = sqlite3.connect(
            ""
        )  # a file that is gone with the process: keys of many rows are not held in memory
        finalize(self, self._planned.close)
        self._planned.execute("CREATE TABLE planned (key BLOB PRIMARY KEY) WITHOUT ROWID")

    def recall(
        self,
        ballots: Sequence[Ballot],
        keys: Sequence[bytes],  # noqa: ARG002
    ) -> Sequence[Vote | None]:
        """The vote that was cast on each before, or None."""
        return [None] * len(ballots)

    def asked(self, keys: Sequence[bytes]) -> set[bytes]:  # noqa: ARG002
        """Those that were asked and will be answered without being asked again."""
        return set()

    def is_new(self, key: bytes) -> bool:
        """Whether nobody asked this here before; from now on somebody did."""
        return (
            self._planned.execute("INSERT OR IGNORE INTO planned VALUES (?)", (key,)).rowcount > 0
        )


@light_dataclass()
class _Share:
    """What one model would be asked."""

    fewest: int = 0
    """Calls that there will be in any case."""
    ballots: int = 0
    rendered: int = 0
    characters: tuple[int, int] = (0, 0)
    """ASCII and all others, in the prompts that were rendered."""
    written: bool = False
    """Whether it writes its answers out."""


@light_dataclass(frozen=True)
class CostEstimate:
    """Calls, tokens and money, each as (low, high)."""

    rows: int
    """Judgments there would be."""
    answered: int
    """Ballots that the run's ledger knows already; equal ones count once."""
    calls: Ends
    tokens: Ends
    usd: tuple[float, float]
    unpriced: tuple[str, ...] = field(default=())
    """Models whose price is not known; ``usd`` is without them."""
    batch_usd: tuple[float, float] = (0.0, 0.0)
    """What the same costs in batches."""
    rounds: int = 0
    """How often batches are sent at most: votes that depend on others come after them."""
    in_batches: int = 0
    """Ballots that the run's open batches have asked: in neither calls, tokens nor money."""
    refused: Mapping[str, int] = field(default_factory=dict)
    """Why votes will fail before any model is asked, and how many; in nothing above."""

    def __add__(self, other: CostEstimate) -> CostEstimate:
        return CostEstimate(
            self.rows + other.rows,
            self.answered + other.answered,
            (self.calls[0] + other.calls[0], self.calls[1] + other.calls[1]),
            (self.tokens[0] + other.tokens[0], self.tokens[1] + other.tokens[1]),
            (self.usd[0] + other.usd[0], self.usd[1] + other.usd[1]),
            tuple(dict.fromkeys((*self.unpriced, *other.unpriced))),
            (self.batch_usd[0] + other.batch_usd[0], self.batch_usd[1] + other.batch_usd[1]),
            max(self.rounds, other.rounds),
            self.in_batches + other.in_batches,
            Counter(self.refused) + Counter(other.refused),
        )


@light_dataclass(frozen=True)
class Questions(Generic[I]):
    """A judge, as an estimate sees it."""

    least: Plans[I, object]
    """Plans what has to be asked: it may stop early."""
    most: Callable[[I], Sequence[Ballot]]
    """All that may be asked about an item."""
    key: Callable[[Ballot], bytes]
    """What a ballot's vote is found by."""
    has_reply: Callable[[Ballot], bool]
    """Whether a cache would answer a ballot."""
    failing_ballots: Callable[[I], Sequence[tuple[Ballot, str]]] = lambda _: ()
    """The ballots on an item that fail before anybody is asked, and why."""


def estimate(
    judge: Questions[I], items: Iterable[I], known: Known, prices: PriceTable
) -> CostEstimate:
    """What ``items`` would take.

    At the lower end the next ballots of each are asked, and decide; at the upper end all are.
    """
    rows = answered = rounds = in_batches = 0
    shares: dict[str, _Share] = {}
    refused: Counter[str] = Counter()
    for item in items:
        rows += 1
        failing = judge.failing_ballots(item)
        refused.update(reason for _, reason in failing)
        ballots = judge.most(item)
        keys = [judge.key(ballot) for ballot in ballots]
        votes = known.recall(ballots, keys)
        answered += sum(
            vote is not None and known.is_new(b"answered" + key)
            for vote, key in zip(votes, keys, strict=True)
        )
        if missing := _next(judge, item, known):
            asked = known.asked(keys)
            in_batches += sum(known.is_new(b"asked" + key) for key in asked)
            left = [
                ballot
                for ballot, vote, key in zip(ballots, votes, keys, strict=True)
                if vote is None and key not in asked
            ]
            nobody = asked | {judge.key(ballot) for ballot, _ in failing}
            missing = [ballot for ballot in missing if judge.key(ballot) not in nobody]
            _add(shares, judge, known, missing, left)
            rounds = max(rounds, min(len(left), 1 + len(left) - len(missing)))
    low, high = _usage(shares, "low"), _usage(shares, "high")
    return CostEstimate(
        rows,
        answered,
        (sum(one.calls for one in low.values()), sum(one.calls for one in high.values())),
        (_tokens(low.values()), _tokens(high.values())),
        (_usd(low, prices), _usd(high, prices)),
        tuple(model for model in shares if prices.of(model) is None),
        (_usd(_in_batches(low), prices), _usd(_in_batches(high), prices)),
        rounds,
        in_batches,
        refused,
    )


def tokens_of(text: str) -> tuple[int, int]:
    """How many tokens a text is, at least and at most."""
    ascii_only = sum(map(str.isascii, text))
    low, high = (
        round(ascii_only / plain + (len(text) - ascii_only) / other)
        for plain, other in _CHARACTERS_A_TOKEN.values()
    )
    return low, high


def _next(judge: Questions[I], item: I, known: Known) -> list[Ballot]:
    """The first ballots of an item that nobody answered, given the votes there are; none where
    those are enough.
    """
    votes: list[Vote] = []
    while ballots := judge.least.plan(item, votes):
        found = known.recall(ballots, [judge.key(ballot) for ballot in ballots])
        missing = [ballot for ballot, vote in zip(ballots, found, strict=True) if vote is None]
        if missing:
            return missing
        votes += [vote for vote in found if vote is not None]
    return []


def _add(
    shares: dict[str, _Share],
    judge: Questions[I],
    known: Known,
    missing: Sequence[Ballot],
    left: Sequence[Ballot],
) -> None:
    """Count what has to be asked, and all that may be. What a cache would answer is in neither."""
    needed = {judge.key(ballot) for ballot in missing}
    for key, ballot in {judge.key(ballot): ballot for ballot in (*missing, *left)}.items():
        if judge.has_reply(ballot):
            continue
        share = shares.setdefault(ballot.model, _Share())
        if key in needed and known.is_new(b"fewest" + key):
            share.fewest += _requests(ballot)
        if known.is_new(b"most" + key) or not known.once:
            _count(share, ballot)


def _requests(ballot: Ballot) -> int:
    """Calls that a ballot takes: letters are read in both orders."""
    return len(likelihood_requests(ballot)) if ballot.mode == "likelihood" else 1


def _count(share: _Share, ballot: Ballot) -> None:
    if share.ballots < _RENDERED_FIRST or share.ballots % _THEN_EVERY == 0:
        text = prompt_for(ballot).text
        ascii_only = sum(map(str.isascii, text)) if not text.isascii() else len(text)
        share.rendered += 1
        plain, other = share.characters
        share.characters = plain + ascii_only, other + len(text) - ascii_only
    share.ballots += _requests(ballot)
    share.written = share.written or ballot.mode == "generate"


def _usage(shares: Mapping[str, _Share], end: Literal["low", "high"]) -> dict[str, Usage]:
    plain, other = _CHARACTERS_A_TOKEN[end]
    found = {}
    for model, share in shares.items():
        repeated = round(share.ballots * (_REPEATED[end] if share.written else 1))
        calls = share.fewest if end == "low" else max(repeated, share.fewest)
        ascii_only, others = share.characters
        prompt = (ascii_only / plain + others / other) / max(share.rendered, 1)
        found[model] = Usage(
            calls, round(calls * prompt), calls * (_ANSWER[end] if share.written else 1)
        )
    return found


def _in_batches(usages: Mapping[str, Usage]) -> dict[str, Usage]:
    return {model: usage.in_batch() for model, usage in usages.items()}


def _tokens(usages: Iterable[Usage]) -> int:
    return sum(usage.prompt_tokens + usage.completion_tokens for usage in usages)


def _usd(usages: Mapping[str, Usage], prices: PriceTable) -> float:
    return sum(prices.cost(model, usage) or 0.0 for model, usage in usages.items())
