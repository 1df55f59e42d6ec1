"""Token estimates per request, and the account of what a run has spent, which outlives
the process.
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
# Tokens of a prompt besides its text: roles, separators.
_TOKENS_AROUND = 50
# Tokens set aside for an answer until the provider says how many it was.
_EXPECTED_ANSWER = 150
LONGEST_ANSWER = 4096
"""Tokens that a verdict may take if money or tokens are limited; sent along as ``max_tokens``."""
# Bytes that one token holds at most. A lower count of tokens is wrong, whatever a server says.
_MOST_BYTES_PER_TOKEN = 64
# A higher count is invalid.
_MOST_TOKENS = 1_000_000_000
NO_COUNT = -1
"""Placeholder for an impossible count, until it is estimated."""


def expected_tokens(request: Request) -> tuple[int, int]:
    """Estimate the tokens of the prompt and of the answer."""
    return _tokens_in(_byte_count(request.prompt.text)), _answer_tokens(request, _EXPECTED_ANSWER)


def _answer_tokens(request: Request, unlimited: int) -> int:
    if request.decision is not None:  # nothing is written, though some servers count a few tokens
        return len(request.decision.questions)
    return request.max_tokens or unlimited


def most_tokens(request: Request) -> tuple[int, int]:
    """Return upper bounds for the tokens of the prompt and of the answer."""
    prompt = _byte_count(request.prompt.text) // _FEWEST_BYTES_PER_TOKEN + _TOKENS_AROUND
    return prompt, _answer_tokens(request, LONGEST_ANSWER)


class RequestSizes:
    """Estimates the size of a model's requests, scaled by its largest one so far."""

    def __init__(self) -> None:
        self._larger: dict[str, tuple[float, float]] = {}
        """Model → highest ratio of actual to expected length, of its prompts and its answers."""
        self.cache_writers: set[str] = set()
        """Models whose provider may write a prompt to its cache, at a higher price."""

    def factors(self, model: str) -> tuple[float, float] | None:
        """Return the ratio of actual to expected sizes of a model's prompts and answers; None
        before its first answer.
        """
        return self._larger.get(model)

    def learn(self, model: str, request: Request, usage: Usage) -> None:
        """Raise a model's factors if this reply, or its prompt, was larger than they predict."""
        prompt, answer = expected_tokens(request)
        longer, wordier = self._larger.get(model, (0.0, 0.0))
        self._larger[model] = (
            max(longer, usage.prompt_tokens / prompt),
            max(wordier, usage.completion_tokens / answer),
        )

    def likely(self, model: str, request: Request) -> Usage:
        """Estimate the usage of a request."""
        return self.scale(model, Usage(1, *expected_tokens(request)))

    def scale(self, model: str, expected: Usage) -> Usage:
        """Multiply expected sizes by the model's factors."""
        longer, wordier = self._larger.get(model, (1.0, 1.0))
        prompt, answer = expected.prompt_tokens, expected.completion_tokens
        return Usage(expected.calls, round(prompt * longer), round(answer * wordier))

    def most(self, model: str, request: Request) -> Usage:
        """Return an upper bound of a request's usage, no lower than the estimate."""
        likely, (prompt, answer) = self.likely(model, request), most_tokens(request)
        prompt = max(prompt, likely.prompt_tokens)
        written = prompt if model in self.cache_writers else 0
        return Usage(1, prompt, max(answer, likely.completion_tokens), cache_write_tokens=written)


def token_count(value: object) -> int:
    """Return a server's count of tokens: 0 if missing, NO_COUNT if no request can have
    taken that.
    """
    if value is None:
        return 0
    # JSON has one kind of numbers, and some servers write 12.0.
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value <= _MOST_TOKENS else NO_COUNT


def token_sum(*values: object) -> int:
    """Add up a server's counts; NO_COUNT if one of them is invalid."""
    counts = [token_count(value) for value in values]
    return NO_COUNT if NO_COUNT in counts else sum(counts)


def with_counts(model: str, request: Request, reply: Reply) -> Reply:
    """Return the reply with a usage that can be added up.

    Missing or impossible counts are estimated, and marked so. Applications are left alone: they
    report no counts.
    """
    if model.startswith(TARGET):
        return reply
    prompt_size = _byte_count(request.prompt.text)
    answer_size = None if request.decision is None else 0  # a decision model writes no tokens
    usage = plausible_usage(reply, prompt_size, answer_size)
    return reply if usage is reply.usage else replace(reply, usage=usage)


def plausible_usage(reply: Reply, prompt_size: int, answer_bytes: int | None = None) -> Usage:
    """Return the usage of a reply to a prompt of ``prompt_size`` bytes; estimate bad counts.

    ``answer_bytes``: bytes that the model wrote, if these are not its text.
    """
    usage, answer_size = (
        reply.usage,
        _byte_count(reply.text) if answer_bytes is None else answer_bytes,
    )
    most = _MOST_BYTES_PER_TOKEN
    if (
        _is_plausible(usage)
        and usage.prompt_tokens * most >= prompt_size
        and usage.completion_tokens * most >= answer_size
    ):
        return usage
    # All zero: a recorded reply, which cost nothing.
    if usage == Usage():
        return Usage()
    counts = (usage.calls, usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens)
    calls, prompt, answer, cached = (max(0, token_count(count)) for count in counts)
    written = usage.cache_write_tokens
    missing_prompt = prompt == 0 or not _covers(prompt, prompt_size)
    missing_answer = answer_size > 0 and (answer == 0 or not _covers(answer, answer_size))
    doubtful = (
        missing_prompt
        or type(usage.cached_tokens) is not int
        or not 0 <= usage.cached_tokens <= prompt
        or type(written) is not int
        or not 0 <= written <= prompt - usage.cached_tokens
    )
    return Usage(
        calls=calls or 1,
        prompt_tokens=_tokens_in(prompt_size) if missing_prompt else prompt,
        completion_tokens=_tokens_in(answer_size) if missing_answer else answer,
        cached_tokens=0 if doubtful else cached,
        estimated=int(doubtful or missing_answer),
        cache_write_tokens=0 if doubtful else written,
    )


def _is_plausible(usage: Usage) -> bool:
    """Return True if every count is there and plausible."""
    calls, prompt, answer, cached, written = (
        usage.calls,
        usage.prompt_tokens,
        usage.completion_tokens,
        usage.cached_tokens,
        usage.cache_write_tokens,
    )
    if not type(calls) is type(prompt) is type(answer) is type(cached) is type(written) is int:
        return False
    most = _MOST_TOKENS
    return (
        0 < calls <= most
        and 0 < prompt <= most
        and 0 < answer <= most
        and cached >= 0
        and 0 <= written <= prompt - cached
    )


def _covers(tokens: int, size: int) -> bool:
    """Return True if that many tokens can hold a text of ``size`` bytes."""
    return tokens * _MOST_BYTES_PER_TOKEN >= size


def _tokens_in(size: int) -> int:
    return size // _BYTES_PER_TOKEN + 1


def _byte_count(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


@light_dataclass(frozen=True)
class Spent(Amounts):
    """Calls, tokens, dollars and calls without a known price."""

    tokens: int = 0
    usd: float = 0.0
    unpriced: int = 0
    """Calls with an unknown price; ``usd`` leaves them out."""


@light_dataclass(frozen=True)
class _KeptAccount:
    """Form of an account in a ledger: each amount as a list of numbers."""

    used: Mapping[str, tuple[float, ...]]
    failed: int
    lost: tuple[float, ...]
    leased: int
    each: tuple[float, ...]


@light_dataclass()
class Account:
    """Requests of a run by their outcome.

    ``leased`` is on the disk before the requests are sent, so that a kill loses none of them.
    """

    used: dict[str, Usage] = field(default_factory=dict)
    """Model → usage of its replies."""
    failed: int = 0
    """Requests that brought no reply."""
    lost: Spent = Spent()
    """Estimated cost of requests that were under way when the process was killed, or given up.

    Failed requests that may have been paid for add tokens and dollars here, but their calls are in
    ``failed``.
    """
    leased: int = 0
    """Number of requests that the disk has recorded, or is about to, as possibly sent."""
    each: Spent = Spent()
    """Expected cost of the dearest of these requests."""
    changes: int = field(default=0, compare=False)
    """Number of changes, so that cached totals know when they are out of date."""

    @property
    def settled_calls(self) -> int:
        """Number of requests whose outcome is known, or is lost for good."""
        return sum(usage.calls for usage in self.used.values()) + self.failed + self.lost.calls

    def add(self, model: str, usage: Usage) -> None:
        """Count a reply's usage."""
        earlier = self.used.get(model)
        self.used[model] = usage if earlier is None else earlier + usage
        self.changes += 1

    def fail(self) -> None:
        """Count a request that brought no reply."""
        self.failed += 1
        self.changes += 1

    def lose(self, amount: Spent) -> None:
        """Count requests whose outcome is lost, with the amount that they may have cost."""
        self.lost += amount
        self.changes += 1

    def lease(self, calls: int, each: Spent) -> None:
        """Lease ``calls`` requests in total. Each counts as much as the largest estimate."""
        self.leased = max(self.leased, calls)
        self.each = Spent(
            1, max(self.each.tokens, each.tokens), max(self.each.usd, each.usd), each.unpriced
        )

    def write_off(self) -> None:
        """Count leased requests without an outcome as sent, after a kill."""
        self.lost += self.each * max(0, self.leased - self.settled_calls)
        self.leased = self.settled_calls

    def absorb(self, other: Account) -> None:
        """Add what another process spent. Its leased requests without an outcome count as sent."""
        other.write_off()
        for model, usage in other.used.items():
            self.add(model, usage)
        self.failed += other.failed
        self.lost += other.lost
        self.leased = self.settled_calls

    def to_dict(self) -> JsonDict:
        """Return the account as a JSON-ready dict."""
        return {
            "used": {model: list(astuple(usage)) for model, usage in self.used.items()},
            "failed": self.failed,
            "lost": list(astuple(self.lost)),
            "leased": self.leased,
            "each": list(astuple(self.each)),
        }

    @classmethod
    def of(cls, data: JsonValue) -> Account:
        """Read the output of ``to_dict``."""
        record = read_as(_KeptAccount, data)
        used = {
            model: Usage(*amount)  # type: ignore[arg-type]
            for model, amount in record.used.items()
        }
        lost, amount = Spent(*record.lost), Spent(*record.each)  # type: ignore[arg-type]
        return cls(used, record.failed, lost, record.leased, amount)
