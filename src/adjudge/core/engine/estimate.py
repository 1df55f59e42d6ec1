"""Estimate what judging would take, before anything is asked."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import ClassVar, Generic, Literal, TypeVar
from weakref import finalize

from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.message import DecisionLimits, Request, Usage
from adjudge.core.domain.vote import Ballot, Vote
from adjudge.core.engine.ask import prompt_for
from adjudge.core.engine.decide import asked_together, decision_request
from adjudge.core.engine.likelihood import likelihood_requests
from adjudge.core.engine.schedule import Plans
from adjudge.core.gateway.opener import OpenModel
from adjudge.core.gateway.prices import PriceTable
from adjudge.messages import Message

I = TypeVar("I")  # noqa: E741
Ends = tuple[int, int]
# Prompts are rendered for the first ballots, and then for every 50th.
_RENDERED_FIRST, _THEN_EVERY = 200, 50
# Characters per token in ASCII and in other text, since tokenizers differ.
# The embedded model takes nearly a token per Cyrillic letter.
_CHARACTERS_A_TOKEN = {"low": (6.0, 5.0), "high": (3.2, 0.75)}
_ANSWER = {"low": 1, "high": 300}
# Calls per ballot: some replies need a repair.
_REPEATED = {"low": 1.0, "high": 1.1}


class CountedRequests:
    """Ballots whose questions are part of a request that is counted already.

    Several judges share it if a decision model answers them in one request.
    """

    def __init__(self) -> None:
        self._counted = sqlite3.connect("")
        finalize(self, self._counted.close)
        self._counted.execute(
            "CREATE TABLE counted (key TEXT PRIMARY KEY, times INTEGER) WITHOUT ROWID"
        )

    def has(self, key: str) -> bool:
        """Return True if a request for this key is counted."""
        query = "SELECT 1 FROM counted WHERE key = ? AND times > 0"
        return self._counted.execute(query, (key,)).fetchone() is not None

    def add(self, keys: Iterable[str]) -> None:
        """Note that a request for each of these keys is counted."""
        self._counted.executemany(
            "INSERT INTO counted VALUES (?, 1) ON CONFLICT DO UPDATE SET times = times + 1",
            [(key,) for key in keys],
        )

    def use_up(self, key: str) -> None:
        """Note that the key needs another request the next time."""
        self._counted.execute("UPDATE counted SET times = times - 1 WHERE key = ?", (key,))


class Known:
    """The answers that exist already; by default none."""

    once: ClassVar[bool] = False
    """True if equal ballots are asked once: a run finds the second answer in its ledger."""

    def __init__(self, counted: CountedRequests | None = None) -> None:
        self.wordings: Mapping[str, str] = {}
        self.counted = counted or CountedRequests()

        # A temporary file: the keys of many rows would not fit into memory.
        self._planned = sqlite3.connect("")
        finalize(self, self._planned.close)
        self._planned.execute("CREATE TABLE planned (key BLOB PRIMARY KEY) WITHOUT ROWID")

    def recall(
        self,
        ballots: Sequence[Ballot],
        keys: Sequence[bytes],  # noqa: ARG002
    ) -> Sequence[Vote | None]:
        """Return the earlier vote on each ballot, or None."""
        return [None] * len(ballots)

    def asked(self, keys: Sequence[bytes]) -> set[bytes]:  # noqa: ARG002
        """Return the keys that were sent and will be answered without another request."""
        return set()

    def is_new(self, key: bytes) -> bool:
        """Return True for a key's first call here, and remember the key."""
        return (
            self._planned.execute("INSERT OR IGNORE INTO planned VALUES (?)", (key,)).rowcount > 0
        )


@light_dataclass()
class _Share:
    """Counts of the requests to one model."""

    fewest: int = 0
    """Calls that are certain."""
    ballots: int = 0
    """Ballots that may be asked; of a decision model, its requests."""
    rendered: int = 0
    characters: tuple[int, int] = (0, 0)
    """ASCII and other characters in the rendered prompts."""
    written: bool = False
    """True if the model writes its answers."""


@light_dataclass(frozen=True)
class ExpectedSaving:
    """Rows that the learned first step of a cascade is expected to decide."""

    step: str
    last: str
    """The model that is not asked about them."""
    rows: int
    share: float
    """The share of rows that the step decided in the data that set its threshold."""
    set_by: int
    """Rows that set the threshold."""
    promise: tuple[Message, ...] = field(default=())

    @property
    def spared(self) -> int:
        return round(self.share * self.rows)


@light_dataclass(frozen=True)
class ReplacementCost:
    """The most that the replacement of a panel's member may add, if one fails on every row."""

    model: str
    calls: int
    usd: float | None
    """None if the model's price is unknown."""


@light_dataclass(frozen=True)
class CostEstimate:
    """Calls, tokens and money, each as (low, high).

    Example: ``low, high = judge.estimate(items).usd``
    """

    rows: int
    """Number of judgments."""
    answered: int
    """Ballots with a vote in the run's ledger; equal ones count once."""
    calls: Ends
    tokens: Ends
    usd: tuple[float, float]
    unpriced: tuple[str, ...] = field(default=())
    """Models whose price is unknown; ``usd`` is without them."""
    batch_usd: tuple[float, float] = (0.0, 0.0)
    """The cost in batches."""
    rounds: int = 0
    """Most rounds of batches: votes that depend on others come after them."""
    in_batches: int = 0
    """Ballots in the run's open batches: in neither calls, tokens nor money."""
    refused: Mapping[str, int] = field(default_factory=dict)
    """Reason → votes that will fail before any model is asked; not counted above."""
    savings: tuple[ExpectedSaving, ...] = field(default=())
    """Expected savings of cascades. The upper ends are without them."""
    replacements: tuple[ReplacementCost, ...] = field(default=())
    """What replacements may add. The upper ends are without them, since few members fail."""

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
            (*self.savings, *other.savings),
            (*self.replacements, *other.replacements),
        )


@light_dataclass(frozen=True)
class Questions(Generic[I]):
    """The parts of a judge that an estimate needs."""

    least: Plans[I, object]
    """Plans the ballots that are needed: it may stop early."""
    most: Callable[[I], Sequence[Ballot]]
    """Returns all ballots that may be asked about an item."""
    key: Callable[[Ballot], bytes]
    """Returns the key of a ballot's vote."""
    has_reply: Callable[[Ballot], bool]
    """Returns True if a cache would answer a ballot."""
    failing_ballots: Callable[[I], Sequence[tuple[Ballot, str]]] = lambda _: ()
    """Returns the ballots on an item that fail before any model is asked, with the reason."""
    replacing: Callable[[I], Sequence[Ballot]] = lambda _: ()
    """Returns the ballots that are asked about an item if a member of the panel fails."""
    models: Mapping[str, OpenModel] = field(default_factory=dict)
    """The models by name."""


def estimate(
    judge: Questions[I], items: Iterable[I], known: Known, prices: PriceTable
) -> CostEstimate:
    """Estimate what judging ``items`` would take.

    The lower end assumes that the next ballots of each item decide, the upper end that all are
    asked.
    """
    rows = answered = rounds = in_batches = 0
    shares: dict[str, _Share] = {}
    replacement_shares: dict[str, _Share] = {}
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
            sent = known.asked(keys)
            in_batches += sum(known.is_new(b"asked" + key) for key in sent)
            open_ballots = [
                ballot
                for ballot, vote, key in zip(ballots, votes, keys, strict=True)
                if vote is None and key not in sent
            ]
            unasked = sent | {judge.key(ballot) for ballot, _ in failing}
            missing = [ballot for ballot in missing if judge.key(ballot) not in unasked]
            _add(shares, judge, known, missing, open_ballots)
            _add_replacement(replacement_shares, judge, known, item, missing)
            rounds = max(rounds, min(len(open_ballots), 1 + len(open_ballots) - len(missing)))
    low, high = _usage(shares, "low"), _usage(shares, "high")
    return CostEstimate(
        rows,
        answered,
        (sum(usage.calls for usage in low.values()), sum(usage.calls for usage in high.values())),
        (_tokens(low.values()), _tokens(high.values())),
        (_usd(low, prices), _usd(high, prices)),
        tuple(model for model in shares if prices.of(model) is None),
        (_usd(_in_batches(low), prices), _usd(_in_batches(high), prices)),
        rounds,
        in_batches,
        refused,
        replacements=tuple(
            ReplacementCost(model, usage.calls, prices.cost(model, usage))
            for model, usage in _usage(replacement_shares, "high").items()
        ),
    )


def tokens_of(text: str) -> tuple[int, int]:
    """Return the lowest and the highest likely number of tokens of a text."""
    ascii_only = sum(map(str.isascii, text))
    low, high = (
        round(ascii_only / ascii_text + (len(text) - ascii_only) / other_text)
        for ascii_text, other_text in _CHARACTERS_A_TOKEN.values()
    )
    return low, high


def _next(judge: Questions[I], item: I, known: Known) -> list[Ballot]:
    """Return the next unanswered ballots of an item, given its votes; none if those are enough."""
    votes: list[Vote] = []
    while ballots := judge.least.plan(item, votes):
        recalled = known.recall(ballots, [judge.key(ballot) for ballot in ballots])
        missing = [ballot for ballot, vote in zip(ballots, recalled, strict=True) if vote is None]
        if missing:
            return missing
        votes += [vote for vote in recalled if vote is not None]
    return []


def _add(
    shares: dict[str, _Share],
    judge: Questions[I],
    known: Known,
    missing: Sequence[Ballot],
    open_ballots: Sequence[Ballot],
) -> None:
    """Count the requests that are needed and those that are possible, except for those that a cache
    would answer.
    """
    needed = {judge.key(ballot) for ballot in missing}
    possible = {judge.key(ballot): ballot for ballot in (*missing, *open_ballots)}
    for key, ballot in possible.items():
        if ballot.mode == "decide":
            if key in needed and _opened_request(judge, known, "fewest", ballot, missing):
                shares.setdefault(ballot.model, _Share()).fewest += 1
            if request := _opened_request(judge, known, "most", ballot, [*possible.values()]):
                _count_prompt(shares.setdefault(ballot.model, _Share()), request.prompt.text)
            continue
        if judge.has_reply(ballot):
            continue
        share = shares.setdefault(ballot.model, _Share())
        if key in needed and known.is_new(b"fewest" + key):
            share.fewest += _requests(ballot)
        if known.is_new(b"most" + key) or not known.once:
            _count(share, ballot)


def _add_replacement(
    shares: dict[str, _Share],
    judge: Questions[I],
    known: Known,
    item: I,
    missing: Sequence[Ballot],
) -> None:
    """Count the requests of a replacement that are possible but not counted as needed."""
    if not (ballots := judge.replacing(item)):
        return
    needed = {judge.key(ballot) for ballot in missing}
    keys = [judge.key(ballot) for ballot in ballots]
    for ballot, key, vote in zip(ballots, keys, known.recall(ballots, keys), strict=True):
        if vote is not None or key in needed:
            continue
        if ballot.mode == "decide":
            if request := _opened_request(judge, known, "replacing", ballot, ballots):
                _count_prompt(shares.setdefault(ballot.model, _Share()), request.prompt.text)
            continue
        if judge.has_reply(ballot):
            continue
        if known.is_new(b"replacing" + key) or not known.once:
            _count(shares.setdefault(ballot.model, _Share()), ballot)


def _opened_request(
    judge: Questions[I], known: Known, end: str, ballot: Ballot, siblings: Sequence[Ballot]
) -> Request | None:
    """Return the request that a decision model gets because of this ballot.

    None if the question is in a request that is counted already, or if a cache would answer.
    """
    counted = known.counted

    def place(member: Ballot) -> str:
        return f"{end} {member.id}"

    if counted.has(place(ballot)):
        if end == "most" and not known.once:
            counted.use_up(place(ballot))
        return None

    def without_vote(ballots: Sequence[Ballot]) -> list[Ballot]:
        open_ballots = [member for member in ballots if not counted.has(place(member))]
        votes = known.recall(open_ballots, [judge.key(member) for member in open_ballots])
        pairs = zip(open_ballots, votes, strict=True)
        return [member for member, vote in pairs if vote is None]

    model = judge.models.get(ballot.model)
    limits = (model.capabilities.decisions if model else None) or DecisionLimits()
    members = asked_together(ballot, siblings, limits, without_vote)
    used_up = {ballot.id} if end == "most" and not known.once else set()
    counted.add(place(member) for member, _ in members if member.id not in used_up)
    request = decision_request(members)
    return None if model and model.keeps_replies and model.has_reply(request) else request


def _requests(ballot: Ballot) -> int:
    """Return the number of calls for a ballot: two if letters are read in both orders."""
    return len(likelihood_requests(ballot)) if ballot.mode == "likelihood" else 1


def _count(share: _Share, ballot: Ballot) -> None:
    if share.ballots < _RENDERED_FIRST or share.ballots % _THEN_EVERY == 0:
        _add_characters(share, prompt_for(ballot).text)
    share.ballots += _requests(ballot)
    share.written = share.written or ballot.mode == "generate"


def _count_prompt(share: _Share, text: str) -> None:
    _add_characters(share, text)
    share.ballots += 1


def _add_characters(share: _Share, text: str) -> None:
    ascii_only = sum(map(str.isascii, text)) if not text.isascii() else len(text)
    share.rendered += 1
    ascii_count, other_count = share.characters
    share.characters = ascii_count + ascii_only, other_count + len(text) - ascii_only


def _usage(shares: Mapping[str, _Share], end: Literal["low", "high"]) -> dict[str, Usage]:
    ascii_text, other_text = _CHARACTERS_A_TOKEN[end]
    usages = {}
    for model, share in shares.items():
        repeated = round(share.ballots * (_REPEATED[end] if share.written else 1))
        calls = share.fewest if end == "low" else max(repeated, share.fewest)
        ascii_count, other_count = share.characters
        prompt = (ascii_count / ascii_text + other_count / other_text) / max(share.rendered, 1)
        usages[model] = Usage(
            calls, round(calls * prompt), calls * (_ANSWER[end] if share.written else 1)
        )
    return usages


def _in_batches(usages: Mapping[str, Usage]) -> dict[str, Usage]:
    return {model: usage.in_batch() for model, usage in usages.items()}


def _tokens(usages: Iterable[Usage]) -> int:
    return sum(usage.prompt_tokens + usage.completion_tokens for usage in usages)


def _usd(usages: Mapping[str, Usage], prices: PriceTable) -> float:
    return sum(prices.cost(model, usage) or 0.0 for model, usage in usages.items())
