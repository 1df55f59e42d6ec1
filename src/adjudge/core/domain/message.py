"""Prompts, requests and replies of models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from hashlib import sha256
from json.encoder import encode_basestring_ascii as _quoted
from operator import add, sub
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from adjudge.core.domain.frozen_mapping import NOTHING, FrozenDict, canonical_text, joined_hash
from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.light_dataclass import light_dataclass

if TYPE_CHECKING:
    from _hashlib import HASH

    from adjudge.core.domain.decision import DecisionRequest
else:
    DecisionRequest = Any  # decision.py imports this module

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One turn of a conversation."""

    role: Role
    content: str


@light_dataclass(frozen=True)
class Prompt:
    """A rendered ballot: the messages that the model is shown."""

    messages: tuple[ChatMessage, ...]
    shared: int = 0
    """Length of the part of the last message that all prompts of this kind share."""

    @property
    def shared_text(self) -> str:
        """The start of this prompt that others share."""
        return (
            "\n\n".join(message.content for message in self.messages[:-1])
            + self.messages[-1].content[: self.shared]
        )

    @property
    def text(self) -> str:
        """The whole prompt as one string, as plain functions receive it."""
        return "\n\n".join([message.content for message in self.messages])

    @property
    def hash(self) -> str:
        """The SHA-256 of the whole prompt."""
        digest = _start_hash(self.messages[:-1]).copy()
        for last in self.messages[-1:]:
            digest.update(f"[{_quoted(last.role)},{_quoted(last.content)}]".encode())
        digest.update(b"]")
        return digest.hexdigest()

    def followed_by(self, *messages: ChatMessage) -> Prompt:
        """Return this conversation with further turns."""
        return Prompt((*self.messages, *messages))


@lru_cache(maxsize=256)
def _start_hash(messages: tuple[ChatMessage, ...]) -> HASH:
    """Return the hash of everything before the last turn, which many prompts share, for
    ``Prompt.hash`` to continue.
    """
    turns = "".join(
        [f"[{_quoted(message.role)},{_quoted(message.content)}]," for message in messages]
    )
    return sha256(f"[{turns}".encode())


@light_dataclass(frozen=True)
class LogprobCalibration:
    """The calibration of log-probabilities for one kind of label.

    By default they are used unscaled, and the whole prior is taken out.
    """

    temperature: float = 1.0
    """The divisor of the log-probabilities."""
    prior_weight: float = 1.0
    """The share of the prior that is taken out."""
    threshold: float = 0.0
    """A verdict that is less likely than this has low confidence."""


class KeptPriors(Protocol):
    """A store of a model's answers to neutral texts, for the next process."""

    @property
    def weights(self) -> str:
        """Identity of the model's weights: other weights have other priors."""
        ...

    def read(self, key: str, options: Sequence[str]) -> Mapping[str, float] | None:
        """Return the log-probability of each of ``options``; None if nothing usable is stored under
        ``key``.
        """
        ...

    def keep(self, key: str, prior: Mapping[str, float]) -> None:
        """Store the prior if that is possible."""
        ...


@light_dataclass(frozen=True)
class DecisionLimits:
    """A decision-model server's limits per request."""

    questions: int = 100
    tokens: int = 30_000
    """Tokens of the state and all questions, estimated from their length."""
    levels: int = 10


@light_dataclass(frozen=True)
class Capabilities:
    """The documented abilities of a provider. The reply says what it actually did."""

    json_schema: bool = False
    logprobs: bool = False
    exact_logprobs: bool = False
    """True if any token's log-probability costs nothing more: the model is in this process."""
    seed: bool = False
    calibration: Mapping[str, LogprobCalibration] = field(default_factory=FrozenDict)
    """Kind of label → its calibration; other kinds are used as they are."""
    fresh_samples: bool = True
    """True if a repeated question gets a new answer, not the cached reply."""
    priors: KeptPriors | None = None
    """Answers about neutral texts that outlive the process; None: they are asked for again."""
    window: int | None = None
    """Most tokens of a prompt and its answer together; None: unknown."""
    text_first: bool = False
    """True if it reads only prompts that show the text before the question."""
    writes_cache: bool = False
    """True if requests ask the provider to cache the shared part of their prompts, which it
    charges for.
    """
    decisions: DecisionLimits | None = None
    """Set for a decision model: it answers typed questions with probabilities and writes no text.
    """


@light_dataclass(frozen=True)
class Request:
    """One call: a prompt with the settings of its answer."""

    prompt: Prompt
    schema: JsonObject | None = None
    """JSON schema of the wanted answer; sent if the provider can constrain its output."""
    temperature: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    logprobs: int = 0
    """Number of alternatives to report for each token; 0 asks for none."""
    labels: tuple[str, ...] = ()
    """Tokens whose probability as the first of the answer is wanted; the answer is then not written
    out.
    """
    sample: int = 0
    """The number of the repetition: two samples of one prompt are two requests."""
    decision: DecisionRequest | None = None
    """Typed questions for a decision model; the prompt is then only their text."""

    @cached_property
    def key(self) -> str:
        """A hash that is equal for requests that ask the same."""
        # Five layers look it up, and to compute it was a third of the work of a call.
        texts = {
            entry.name: canonical_text(getattr(self, entry.name))
            for entry in fields(self)
            if entry.name != "decision"
        }
        # Replies cached before decisions existed have no such key.
        if self.decision is not None:
            texts["decision"] = self.decision.canonical_text
        # Requests could once ask for several samples; existing caches have 1 in their keys.
        texts["samples"] = "1"
        return joined_hash(texts)


@light_dataclass(frozen=True)
class Amounts:
    """Counts that are added up field by field."""

    calls: int = 0

    def __add__(self, other: Self) -> Self:
        return type(self)(*map(add, vars(self).values(), vars(other).values()))

    def __sub__(self, other: Self) -> Self:
        return type(self)(*map(sub, vars(self).values(), vars(other).values()))

    def __mul__(self, times: int) -> Self:
        return type(self)(*[count * times for count in vars(self).values()])


@light_dataclass(frozen=True)
class Usage(Amounts):
    """Tokens, seconds and dollars that a reply took."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    """Prompt tokens that the provider read from its own cache."""
    estimated: int = 0
    """Calls whose tokens are estimated by the length of the texts, since the provider did not say,
    or not sensibly.
    """
    batch_prompt_tokens: int = 0
    """Prompt tokens that went through a provider's batches, at their price."""
    batch_completion_tokens: int = 0
    cache_write_tokens: int = 0
    """Prompt tokens that the provider wrote to its cache, at a higher price."""

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def in_batch(self) -> Usage:
        """Return the usage as spent in a provider's batch."""
        return replace(
            self,
            batch_prompt_tokens=self.prompt_tokens,
            batch_completion_tokens=self.completion_tokens,
        )


class UsageSum:
    """Adds up usage without creating an object per addition."""

    __slots__ = ("_amounts", "_waiting")
    _AT_ONCE = 256

    def __init__(self) -> None:
        self._amounts: list[int] = [*vars(Usage()).values()]
        self._waiting: list[Usage] = []

    def add(self, usage: Usage) -> None:
        self._waiting.append(usage)
        if len(self._waiting) >= self._AT_ONCE:
            self._add_waiting()

    def _add_waiting(self) -> None:
        # column by column, which takes a third of the time
        amounts = [self._amounts, *(vars(usage).values() for usage in self._waiting)]
        self._amounts = [*map(sum, zip(*amounts, strict=True))]
        self._waiting.clear()

    @property
    def usage(self) -> Usage:
        """The sum so far."""
        self._add_waiting()
        return Usage(*self._amounts)


@light_dataclass(frozen=True)
class Reply:
    """The answer of a model: text, usage, latency and log-probabilities, if any."""

    text: str
    usage: Usage = Usage(calls=1)
    latency: float = 0.0
    """Seconds from request to reply, waiting for a free slot left out."""
    finish: str = "stop"
    """"stop", "length" (cut off) or "refusal"."""
    logprobs: tuple[Mapping[str, float], ...] | None = None
    """For each token of the reply its alternatives and their log-probabilities."""
    ignored: tuple[str, ...] = ()
    """Settings that the provider silently ignored."""
    details: Mapping[str, str] = NOTHING
    """Details that the provider reports: the model that answered, a fingerprint."""

    def after(self, latency: float, ignored: tuple[str, ...]) -> Reply:
        """Return this reply with its latency and the ignored settings."""
        return Reply(
            self.text, self.usage, latency, self.finish, self.logprobs, ignored, self.details
        )
