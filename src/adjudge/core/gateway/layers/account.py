"""How many tokens a request takes, and what a run has spent, in a form that outlives the process:
whatever is sent, it knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, field, replace

from adjudge.core.domain.json_types import JsonDict, JsonValue
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.message import Amounts, Reply, Request, Usage
from adjudge.core.gateway.prices import TARGET
from adjudge.core.reading.typed_json import read_as

_BYTES_PER_TOKEN = 4
_FEWEST_BYTES_PER_TOKEN = 2
_TOKENS_AROUND = 50
"""Of a prompt, beside its text: roles, separators."""
_EXPECTED_ANSWER = 150
"""Tokens set aside for an answer until the provider says how many it was."""
LONGEST_ANSWER = 4096
"""Tokens that a verdict may take where money or tokens are limited; sent along as the most that is
wanted.
"""
_MOST_BYTES_PER_TOKEN = 64
"""A text has more tokens than one for each of so many bytes, whatever a server says."""
_MOST_TOKENS = 1_000_000_000
"""A count above this is none."""
NO_COUNT = -1
"""What stands for a count that cannot be true, until it is estimated."""


def expected_tokens(request: Request) -> tuple[int, int]:
    """About how many tokens the prompt and the answer will be."""
    return _tokens(request.prompt.text), request.max_tokens or _EXPECTED_ANSWER


def most_tokens(request: Request) -> tuple[int, int]:
    """How many tokens the prompt and the answer will be at most."""
    prompt = _byte_count(request.prompt.text) // _FEWEST_BYTES_PER_TOKEN + _TOKENS_AROUND
    return prompt, request.max_tokens or LONGEST_ANSWER


class RequestSizes:
    """How long a model's requests are likely to be: as its largest turned out so far."""

    def __init__(self) -> None:
        self._larger: dict[str, tuple[float, float]] = {}
        """Model → how many times as long as expected its prompts and its answers were at most."""

    def known(self, model: str) -> tuple[float, float] | None:
        """What was learnt of a model; None before its first answer."""
        return self._larger.get(model)

    def learn(self, model: str, request: Request, usage: Usage) -> None:
        """How a model's prompts and answers turn out."""
        prompt, answer = expected_tokens(request)
        longer, wordier = self._larger.get(model, (0.0, 0.0))
        self._larger[model] = (
            max(longer, usage.prompt_tokens / prompt),
            max(wordier, usage.completion_tokens / answer),
        )

    def likely(self, model: str, request: Request) -> Usage:
        """What a request will take."""
        return self.scaled(model, Usage(1, *expected_tokens(request)))

    def scaled(self, model: str, expected: Usage) -> Usage:
        """Expected sizes, as long as the model's largest turned out so far."""
        longer, wordier = self._larger.get(model, (1.0, 1.0))
        prompt, answer = expected.prompt_tokens, expected.completion_tokens
        return Usage(expected.calls, round(prompt * longer), round(answer * wordier))

    def most(self, model: str, request: Request) -> Usage:
        """What a request takes at most; no less than is likely."""
        likely, (prompt, answer) = self.likely(model, request), most_tokens(request)
        return Usage(1, max(prompt, likely.prompt_tokens), max(answer, likely.completion_tokens))


def token_count(value: object) -> int:
    """A count of tokens as a server sent it: 0 where it is missing, NO_COUNT where no request can
    have taken that.
    """
    if value is None:
        return 0
    if (
        isinstance(value, float) and value.is_integer()
    ):  # JSON knows no whole numbers, and some servers write 12.0
        value = int(value)
    return value if type(value) is int and 0 <= value <= _MOST_TOKENS else NO_COUNT


def token_sum(*values: object) -> int:
    """Counts as a server sent them, together; NO_COUNT where one of them is none."""
    counts = [token_count(value) for value in values]
    return NO_COUNT if NO_COUNT in counts else sum(counts)


def measured(model: str, request: Request, reply: Reply) -> Reply:
    """The reply with a usage that can be added up: counts that are missing or cannot be true are
    estimated, and marked so. An application has none to count.
    """
    if model.startswith(TARGET):
        return reply
    asked = _byte_count(request.prompt.text)
    answered = None if request.decision is None else 0  # a decision model writes no tokens
    usage = believable(reply, asked, answered)
    return reply if usage is reply.usage else replace(reply, usage=usage)


def believable(reply: Reply, asked: int, answered: int | None = None) -> Usage:
    """What a reply to a prompt of ``asked`` bytes took. ``answered``: the bytes that the model
    wrote, if these are not its text.
    """
    usage, said = reply.usage, _byte_count(reply.text) if answered is None else answered
    most = _MOST_BYTES_PER_TOKEN
    if (
        _whole(usage)
        and usage.prompt_tokens * most >= asked
        and usage.completion_tokens * most >= said
    ):
        return usage
    if usage == Usage():  # a recorded reply: it cost nothing
        return Usage()
    counts = (usage.calls, usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens)
    calls, prompt, answer, cached = (max(0, token_count(count)) for count in counts)
    missing_prompt = prompt == 0 or not _covers(prompt, asked)
    missing_answer = said > 0 and (answer == 0 or not _covers(answer, said))
    doubtful = (
        missing_prompt
        or type(usage.cached_tokens) is not int
        or not 0 <= usage.cached_tokens <= prompt
    )
    return Usage(
        calls=calls or 1,
        prompt_tokens=_tokens_in(asked) if missing_prompt else prompt,
        completion_tokens=_tokens_in(said) if missing_answer else answer,
        cached_tokens=0 if doubtful else cached,
        estimated=int(doubtful or missing_answer),
    )


def _whole(usage: Usage) -> bool:
    """Whether every count is there and sensible."""
    calls, prompt, answer, cached = (
        usage.calls,
        usage.prompt_tokens,
        usage.completion_tokens,
        usage.cached_tokens,
    )
    if not type(calls) is type(prompt) is type(answer) is type(cached) is int:
        return False
    most = _MOST_TOKENS
    return 0 < calls <= most and 0 < prompt <= most and 0 < answer <= most and 0 <= cached <= prompt


def _covers(tokens: int, size: int) -> bool:
    """Whether so many tokens can be a text of so many bytes."""
    return tokens * _MOST_BYTES_PER_TOKEN >= size


def _tokens_in(size: int) -> int:
    return size // _BYTES_PER_TOKEN + 1


def _tokens(text: str) -> int:
    return _tokens_in(_byte_count(text))


def _byte_count(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


@light_dataclass(frozen=True)
class Spent(Amounts):
    """Calls, tokens, dollars and calls without a known price."""

    tokens: int = 0
    usd: float = 0.0
    unpriced: int = 0
    """Calls whose price is not known; ``usd`` is without them."""


@light_dataclass(frozen=True)
class _KeptAccount:
    """An account as a ledger keeps it: each amount by its numbers."""

    used: Mapping[str, tuple[float, ...]]
    failed: int
    lost: tuple[float, ...]
    leased: int
    each: tuple[float, ...]


@light_dataclass()
class Account:
    """Requests by what came of them.

    ``leased`` is on the disk before they are sent, so that a kill loses none of them.
    """

    used: dict[str, Usage] = field(default_factory=dict)
    """Model → what its replies took."""
    failed: int = 0
    """Requests that brought no reply."""
    lost: Spent = Spent()
    """Requests that may have been under way when the process was killed, or were given up; what
    they took is estimated. So is what failed requests took whose replies did not arrive: those
    are in ``failed`` and not in the calls here.
    """
    leased: int = 0
    """Requests that may have been sent, as the disk knows or is about to know."""
    each: Spent = Spent()
    """What one of those is expected to take, at the dearest."""
    changes: int = field(default=0, compare=False)
    """Counts what came in, so that others know when to add up anew."""

    @property
    def settled(self) -> int:
        """Requests of which it is known what came of them, or that nobody will ever know."""
        return sum(usage.calls for usage in self.used.values()) + self.failed + self.lost.calls

    def add(self, model: str, usage: Usage) -> None:
        known = self.used.get(model)
        self.used[model] = usage if known is None else known + usage
        self.changes += 1

    def fail(self) -> None:
        """A request brought no reply."""
        self.failed += 1
        self.changes += 1

    def lose(self, amount: Spent) -> None:
        """Of requests that may have taken so much nobody will ever know."""
        self.lost += amount
        self.changes += 1

    def lease(self, calls: int, each: Spent) -> None:
        """So many requests may be sent; of what each takes, the most so far counts."""
        self.leased = max(self.leased, calls)
        self.each = Spent(
            1, max(self.each.tokens, each.tokens), max(self.each.usd, each.usd), each.unpriced
        )

    def write_off(self) -> None:
        """After a kill: whatever was leased and never settled counts as sent."""
        self.lost += self.each * max(0, self.leased - self.settled)
        self.leased = self.settled

    def absorb(self, other: Account) -> None:
        """Add what another process spent; what it leased and never settled counts as sent."""
        other.write_off()
        for model, usage in other.used.items():
            self.add(model, usage)
        self.failed += other.failed
        self.lost += other.lost
        self.leased = self.settled

    def to_dict(self) -> JsonDict:
        """The account as a JSON-ready dict."""
        return {
            "used": {model: list(astuple(usage)) for model, usage in self.used.items()},
            "failed": self.failed,
            "lost": list(astuple(self.lost)),
            "leased": self.leased,
            "each": list(astuple(self.each)),
        }

    @classmethod
    def of(cls, data: JsonValue) -> Account:
        """As ``to_dict`` wrote it."""
        kept = read_as(_KeptAccount, data)
        used = {model: Usage(*each) for model, each in kept.used.items()}  # type: ignore[arg-type]
        lost, each = Spent(*kept.lost), Spent(*kept.each)  # type: ignore[arg-type]
        return cls(used, kept.failed, lost, kept.leased, each)
