"""The one-method boundary to the outside world."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple, Protocol, runtime_checkable

from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.message import Capabilities, Reply, Request
from adjudge.errors import ModelError, SetupError
from adjudge.messages import Message

Replying = Coroutine[object, object, Reply]
"""The coroutine that ``complete`` returns. A link that only picks the next one is a plain function
that passes it through: each ``async def`` link is one more coroutine per request under way.
"""


class PartRejected(ModelError):
    """Raised if the server does not take an optional part of the request. The provider leaves that
    part out of the next attempt.
    """


class Presence(StrEnum):
    """Result of a free check if a server has a model."""

    THERE = "there"
    NOT_SAID = "not said"
    ANY_NAME = "any name"
    """The server accepts every name, even a made-up one, so the check proves nothing."""


@runtime_checkable
class Model(Protocol):
    """Anything that can be asked, such as an HTTP provider or a fake of three lines.

    Example:
        class Fake:
            name, capabilities = "fake", Capabilities()

            async def complete(self, request: Request) -> Reply:
                return Reply(text='{"selected_option": "PASS"}')
    """

    @property
    def name(self) -> str:
        """Name of the model in votes and reports."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """Documented abilities of the model."""
        ...

    async def complete(self, request: Request) -> Reply:
        """Answer, or raise a ModelError."""
        ...


class OtherForm(SetupError):
    """Raised for a prompt of a form that the model was not trained to read."""

    def __init__(self, name: str) -> None:
        super().__init__(
            Message(
                "{name} only accepts prompts with the text first, as written by 'adjudge serve "
                "--text-first': use another model for other prompts",
                name=name,
            )
        )


def check_form(model: Model, *, text_first: bool = False) -> None:
    """Raise SetupError if the model reads only text-first prompts and this is not one."""
    if model.capabilities.text_first and not text_first:
        raise OtherForm(model.name)


@runtime_checkable
class Identified(Protocol):
    """A model that can name the server or file behind it."""

    @property
    def identity(self) -> str:
        """Name of the model, with its server or file."""
        ...


@runtime_checkable
class Noted(Protocol):
    """A model with a caveat that readers of its scores must know."""

    @property
    def note(self) -> str | None:
        """Caveat that a reader of its scores must know, if there is one."""
        ...


class Accepting(NamedTuple):
    """The confidence at which a cascade may accept a learned model's verdicts, and its promise."""

    confidence: float | None
    """None: it may never take them."""
    share: float
    """Expected share of rows that reach it."""
    reference: str
    """The model that the promise compares with; empty if it holds for any."""
    lines: tuple[Message, ...]
    """The promised accuracy, for people to read."""
    rows: int = 0
    """Rows that set the confidence and the share."""
    risk: float | None = None
    """Most errors per row that it adds to those of the reference; None if unknown."""
    delta: float | None = None
    """How often that may fail; None if nothing is proven."""


@runtime_checkable
class TrainedModel(Protocol):
    """A model that was trained on labelled rows."""

    @property
    def learned_rows(self) -> Sequence[str]:
        """Prefixes of the identities of the training rows: these rows cannot measure the model."""
        ...

    @property
    def learned_from(self) -> JsonObject:
        """Number, authors and date of the labels or votes, for people to read."""
        ...

    @property
    def accepting(self) -> Accepting | None:
        """Learned limits of acceptance, or None."""
        ...


class Layer:
    """A link of the chain: a model around a model.

    Example:
        class Logged(Layer):
            async def complete(self, request: Request) -> Reply:
                print(request.key)
                return await self.inner.complete(request)
    """

    def __init__(self, inner: Model) -> None:
        self.inner = inner
        self.provider: Model = inner.provider if isinstance(inner, Layer) else inner

    @cached_property
    def name(self) -> str:
        """Name of the innermost model."""
        return self.provider.name

    @cached_property
    def identity(self) -> str:
        """Name of the innermost model, with its server or file if it has one."""
        return (
            self.provider.identity if isinstance(self.provider, Identified) else self.provider.name
        )

    @property
    def capabilities(self) -> Capabilities:
        """Capabilities of the innermost model."""
        return self.provider.capabilities

    async def complete(self, request: Request) -> Reply:
        """Pass the request on. Links override this and add one thing."""
        return await self.inner.complete(request)
