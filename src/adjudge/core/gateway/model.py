"""The one-method boundary to the outside world."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple, Protocol, runtime_checkable

from adjudge.core.domain.message import Capabilities, Reply, Request
from adjudge.errors import ModelError, SetupError
from adjudge.messages import Message

Replying = Coroutine[object, object, Reply]
"""What ``complete`` gives. A link that only chooses who goes on is a plain function that passes
this through: each link that waits for itself is one more coroutine for every request under way.
"""


class PartRejected(ModelError):
    """The server does not take an optional part of the request; asked again, the provider leaves
    that out.
    """


class Presence(StrEnum):
    """What a server says of a model when it is asked nothing."""

    THERE = "there"
    NOT_SAID = "not said"
    ANY_NAME = "any name"
    """It has every model that is named, also one that nobody has made: so it says nothing of this
    one.
    """


@runtime_checkable
class Model(Protocol):
    """Anything that can be asked. A fake needs three lines."""

    @property
    def name(self) -> str:
        """What votes and reports call it."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What it documents that it can do."""
        ...

    async def complete(self, request: Request) -> Reply:
        """Answer, or raise a ModelError."""
        ...


class OtherForm(SetupError):
    """A prompt of a form that the model was not trained to read."""

    def __init__(self, name: str) -> None:
        super().__init__(
            Message(
                "{name} reads only prompts that show the text first, as 'adjudge serve "
                "--text-first' writes them: name another model for everything else",
                name=name,
            )
        )


def check_form(model: Model, *, text_first: bool = False) -> None:
    """Raise SetupError if the model was trained to read prompts of another form alone."""
    if model.capabilities.text_first and not text_first:
        raise OtherForm(model.name)


@runtime_checkable
class Identified(Protocol):
    """A model that says which server or file is behind its name."""

    @property
    def identity(self) -> str:
        """Its name, and what is behind it."""
        ...


@runtime_checkable
class Noted(Protocol):
    """A model whose scores need an explanation."""

    @property
    def note(self) -> str | None:
        """What a reader of its scores must know."""
        ...


class Accepting(NamedTuple):
    """From which confidence on a cascade may take a model's verdicts, as the model itself says."""

    confidence: float | None
    """None: never."""
    share: float
    """Expected share of rows that reach it."""
    reference: str
    """The model that the promise compares with; empty if it holds for any."""
    lines: tuple[Message, ...]
    """What was promised of it, for people to read."""


@runtime_checkable
class Learned(Protocol):
    """A model that has learned from labelled rows."""

    @property
    def learned_rows(self) -> Sequence[str]:
        """Beginnings of the identities of these rows: they cannot measure the model."""
        ...

    @property
    def accepting(self) -> Accepting | None:
        """None if nothing was learned about that."""
        ...


class Layer:
    """A link of the chain: a model around a model."""

    def __init__(self, inner: Model) -> None:
        self.inner = inner
        self.provider: Model = inner.provider if isinstance(inner, Layer) else inner

    @cached_property
    def name(self) -> str:
        """The innermost model's name."""
        return self.provider.name

    @cached_property
    def identity(self) -> str:
        """The innermost model's name, and where it has one, which server or file is behind it."""
        return (
            self.provider.identity if isinstance(self.provider, Identified) else self.provider.name
        )

    @property
    def capabilities(self) -> Capabilities:
        """The innermost model's capabilities."""
        return self.provider.capabilities

    async def complete(self, request: Request) -> Reply:
        """Pass the request on; links override this and add one thing."""
        return await self.inner.complete(request)
