"""Turns: the texts, calls and results of one message, independent of its format."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.message import Usage
from adjudge.features.agents.trajectory import Missing

_END_OF_CODE = "<end_code>"
"""What smolagents adds to a reply when it tells the model of it again."""
Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Said:
    text: str
    missing: Missing | None = None


@dataclass(frozen=True, slots=True)
class Thought:
    text: str


@dataclass(frozen=True, slots=True)
class CalledTool:
    """A tool call; its result comes later."""

    name: str
    arguments: JsonObject | str
    id: str | None = None
    missing: Missing | None = None
    retold: bool = False
    """True if a model is told its own call as a text: several conversations may hold it."""


@dataclass(frozen=True, slots=True)
class Returned:
    """A tool's result. ``id``: the call's id; ``text``: None if it is not recorded."""

    text: str | None
    id: str | None = None
    name: str = ""
    error: str | None = None
    missing: Missing | None = None
    retold: bool = False
    """Like that of the call."""


@dataclass(frozen=True, slots=True)
class Retrieved:
    text: str


@dataclass(frozen=True, slots=True)
class HandedOver:
    text: str
    """The agent that goes on."""


TurnPart = Said | Thought | CalledTool | Returned | Retrieved | HandedOver


@dataclass(slots=True)
class TraceTurn:
    role: Role
    parts: list[TurnPart] = field(default_factory=list)
    actor: str = ""
    """The speaker's name; empty if there is none."""
    usage: Usage | None = None
    usd: float | None = None
    seconds: float | None = None
    source: str | None = None
    depth: int = 0
    ended: str | None = None
    started: float | None = None
    """Seconds since 1970."""

    @property
    def text(self) -> str:
        return "\n".join(part.text for part in self.parts if isinstance(part, Said))

    @property
    def key(self) -> tuple[object, ...]:
        """A key that is equal for records of the same message.

        A message with calls is identified by the ids of its calls, and a result by the id of its
        call, because the texts around them differ between tools. Without an id, names and texts are
        used.
        """
        calls = [part for part in self.parts if isinstance(part, CalledTool)]
        if calls:
            return ("calls", *(part.id or (part.name, str(part.arguments)) for part in calls))
        results = [part for part in self.parts if isinstance(part, Returned)]
        if results:
            return ("results", *(part.id or part.text for part in results))
        return (self.role, " ".join(self.text.removesuffix(_END_OF_CODE).split()))
