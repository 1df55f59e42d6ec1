"""The trajectory of an agent: a goal, numbered steps, an answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from adjudge.core.domain.instance import GivenFields
from adjudge.core.domain.json_types import JsonObject, JsonValue
from adjudge.core.domain.message import Usage
from adjudge.lazy import loader

StepKind = Literal["said", "called", "handed over", "thought", "retrieved", "noted"]
Missing = Literal["redacted", "cut", "not recorded"]


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool that the agent could have called."""

    name: str
    description: str = ""
    schema: JsonObject | None = None
    """The JSON schema of its arguments; None if the trace has none."""

    @property
    def text(self) -> str:
        """The tool as shown to judges: name and description, then the schema."""
        schema = "" if self.schema is None else f"\n{compact_json(self.schema)}"
        return f"{self.name}: {self.description}{schema}"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool, with its outcome."""

    name: str
    arguments: JsonObject | str
    """The arguments; the original text if it is not JSON."""
    result: str | None = None
    """The result; None if the trace does not record it."""
    error: str | None = None
    """The failure as the trace records it; guessed from the text only by a named rule."""

    @property
    def unparsed(self) -> bool:
        """True if the arguments are text that could not be parsed as JSON."""
        return isinstance(self.arguments, str)

    @property
    def line(self) -> str:
        """The call as shown to judges, with sorted keys and no spaces."""
        arguments = (
            self.arguments if isinstance(self.arguments, str) else compact_json(self.arguments)
        )
        return f"{self.name}({arguments})"


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a trajectory. A call and its result are one step."""

    number: int
    """From 1, as shown, cited and clicked."""
    actor: str
    """"user", or the agent's name; "assistant" for an agent without a name."""
    kind: StepKind
    text: str = ""
    call: ToolCall | None = None
    depth: int = 0
    """How many agents up it was started."""
    missing: Missing | None = None
    seconds: float | None = None
    usage: Usage | None = None
    """Usage of the model call that made this step; stored with the call's first step."""
    usd: float | None = None
    source: str | None = None
    """The id of the span or message it was read from."""
    started: float | None = None
    """When it began (or was recorded, if only that is known), in seconds since 1970."""

    @property
    def header(self) -> str:
        """Actor and action, in one line."""
        if self.call is not None:
            return f"{self.actor} {self.kind} {self.call.line}"
        return f"{self.actor} {self.kind}"

    @property
    def body(self) -> str:
        """The text, or the outcome of the call."""
        if self.call is None:
            return self.text
        parts = [self.text] if self.text else []
        if self.call.error is not None:
            parts.append(f"error: {self.call.error}")
        if self.call.result is not None and self.call.result != self.call.error:
            parts.append(self.call.result)
        return "\n".join(parts)

    @property
    def canonical(self) -> str:
        """The whole step without ids, times and tokens, equal for runs that did the same."""
        return f"{self.header}\n{self.body}" if self.body else self.header


@dataclass(frozen=True, slots=True)
class Trajectory:
    """An agent's run: its goal, steps and answer.

    Example::

        question = {"role": "user", "content": "Hello"}
        run = Trajectory.of([question, {"role": "assistant", "content": "Hi."}])
    """

    goal: str
    steps: tuple[Step, ...]
    answer: str | None
    """None: it ended without one."""
    system: str = ""
    """The system prompt, which is often the policy."""
    tools: tuple[ToolDefinition, ...] = ()
    ended: str | None = None
    """How it ended, as the trace says: "stop", "max steps", "error", …"""
    usage: Usage | None = None
    """Usage of all model calls, as recorded: ``calls``, and tokens if the trace has them."""
    usd: float | None = None
    seconds: float | None = None

    @classmethod
    def of(cls, value: object) -> Trajectory:
        """Read the trajectory in a list of messages or spans, or in an agent SDK's result.

        Raises a WrongData if there is not exactly one.
        """
        return cast(Callable[[object], Trajectory], _load("trajectory_of"))(value)

    @property
    def calls(self) -> tuple[Step, ...]:
        """The steps that call a tool."""
        return tuple(step for step in self.steps if step.call is not None)

    @property
    def fields(self) -> GivenFields:
        """The instance fields that judges read. Fields that the trace lacks are left out."""
        texts: dict[str, str | Sequence[str]] = {
            "user_input": self.goal,
            "response": self.answer or "",
            "steps": [step.canonical for step in self.steps],
            "contexts": [step.text for step in self.steps if step.kind == "retrieved"],
            "system": self.system,
            "tools": [tool.text for tool in self.tools],
        }
        return {name: value for name, value in texts.items() if value}


_load = loader(__name__, {"trajectory_of": "features.agents.traces.reader"})


def compact_json(value: JsonValue) -> str:
    """Return JSON with sorted keys and without spaces."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)
