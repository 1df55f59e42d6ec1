"""What goes to a model and what comes back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from hashlib import sha256
from json.encoder import encode_basestring_ascii as _quoted
from operator import add, sub
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from adjudge.core.domain.frozen_mapping import NOTHING, FrozenDict, content_hash
from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.light_dataclass import light_dataclass

if TYPE_CHECKING:
    from _hashlib import HASH

    from adjudge.core.domain.decision import DecisionRequest
else:
    DecisionRequest = Any  # that module imports this one

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
    """How many characters of the last message are the same in every prompt of the same kind."""

    @property
    def shared_text(self) -> str:
        """What this prompt begins with, as others do."""
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
        said = _hashed(self.messages[:-1]).copy()
        for last in self.messages[-1:]:
            said.update(f"[{_quoted(last.role)},{_quoted(last.content)}]".encode())
        said.update(b"]")
        return said.hexdigest()

    def followed_by(self, *messages: ChatMessage) -> Prompt:
        """This conversation with further turns."""
        return Prompt((*self.messages, *messages))


@lru_cache(maxsize=256)
def _hashed(messages: tuple[ChatMessage, ...]) -> HASH:
    """The beginning of a hash, as ``text_hash`` makes one: what stands before the last turn is the
    same in many prompts.
    """
    turns = "".join([f"[{_quoted(one.role)},{_quoted(one.content)}]," for one in messages])
    return sha256(f"[{turns}".encode())


@light_dataclass(frozen=True)
class LogprobCalibration:
    """How the log-probabilities of one kind of label are read.

    As it stands: as they are, the whole prior taken out.
    """

    temperature: float = 1.0
    """What they are divided by."""
    prior_weight: float = 1.0
    """How much of the prior is taken out."""
    threshold: float = 0.0
    """A verdict that is less likely than this is of low confidence."""


class KeptPriors(Protocol):
    """What a model says of neutral texts, kept for the next process."""

    @property
    def weights(self) -> str:
        """The very weights: other ones have other priors."""
        ...

    def read(self, key: str, options: Sequence[str]) -> Mapping[str, float] | None:
        """Log-probability of each of ``options``; None if nothing usable is kept under ``key``."""
        ...

    def keep(self, key: str, prior: Mapping[str, float]) -> None:
        """Keep it if that is possible."""
        ...


@light_dataclass(frozen=True)
class DecisionLimits:
    """How much a server of decision models takes in one request."""

    questions: int = 100
    tokens: int = 30_000
    """Of the state and all questions, as estimated from their length."""
    levels: int = 10


@light_dataclass(frozen=True)
class Capabilities:
    """What a provider documents that it can do. What it then did is on the reply."""

    json_schema: bool = False
    logprobs: bool = False
    exact_logprobs: bool = False
    """Of any token asked for, at no further cost: the model is in this process."""
    seed: bool = False
    calibration: Mapping[str, LogprobCalibration] = field(default_factory=FrozenDict)
    """Kind of label → how its log-probabilities are read; kinds that are not there are read as they
    are.
    """
    fresh_samples: bool = True
    """Whether a question that is asked again is answered anew, and not by the
    reply that was kept.
    """
    priors: KeptPriors | None = None
    """Answers about neutral texts that outlive the process; None: they are asked for again."""
    window: int | None = None
    """Tokens that a prompt and its answer may have together; None: it does not say."""
    text_first: bool = False
    """Whether it reads only prompts that show the text before the question."""
    decisions: DecisionLimits | None = None
    """Set for a decision model: it answers typed questions with probabilities and writes no text.
    """


@light_dataclass(frozen=True)
class Request:
    """One call: a prompt and how it is to be answered."""

    prompt: Prompt
    schema: JsonObject | None = None
    """JSON schema of the wanted answer; sent where the provider can constrain its output."""
    temperature: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    logprobs: int = 0
    """How many alternatives to report for each token; 0 asks for none."""
    labels: tuple[str, ...] = ()
    """Tokens whose probability as the first of the answer is wanted; the answer is then not written
    out.
    """
    sample: int = 0
    """Which repetition this is: two samples of one prompt are two requests."""
    decision: DecisionRequest | None = None
    """Typed questions for a decision model; the prompt is then only their text."""

    @property
    def key(self) -> str:
        """Equal for requests that ask the same."""
        parts = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        if self.decision is None:  # so that replies kept before there were decisions are found
            del parts["decision"]
        return content_hash(
            {**parts, "samples": 1}
        )  # as it was when several could be asked for: caches are found by it


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

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

    def in_batch(self) -> Usage:
        """The same, asked in a batch."""
        return replace(
            self,
            batch_prompt_tokens=self.prompt_tokens,
            batch_completion_tokens=self.completion_tokens,
        )


class UsageSum:
    """Adds up usage without an object for each sum on the way."""

    __slots__ = ("_amounts",)

    def __init__(self) -> None:
        self._amounts: list[int] = [*vars(Usage()).values()]

    def add(self, usage: Usage) -> None:
        self._amounts = [*map(add, self._amounts, vars(usage).values())]

    @property
    def usage(self) -> Usage:
        """The sum so far."""
        return Usage(*self._amounts)


@light_dataclass(frozen=True)
class Reply:
    """What a model returned: text, usage, latency and log-probabilities or none."""

    text: str
    usage: Usage = Usage(calls=1)
    latency: float = 0.0
    """Seconds from request to reply, waiting for a free slot left out."""
    finish: str = "stop"
    """"stop", "length" (cut off) or "refusal"."""
    logprobs: tuple[Mapping[str, float], ...] | None = None
    """For each token of the reply its alternatives and their log-probabilities."""
    ignored: tuple[str, ...] = ()
    """What was asked for and silently not done."""
    details: Mapping[str, str] = NOTHING
    """What the provider says of itself: the model that answered, a fingerprint."""

    def after(self, latency: float, ignored: tuple[str, ...]) -> Reply:
        """This reply with how long it took and what was not done."""
        return Reply(
            self.text, self.usage, latency, self.finish, self.logprobs, ignored, self.details
        )
