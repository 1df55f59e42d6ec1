"""SWE-agent and mini-SWE-agent: trajectories of one task in a shell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from adjudge.core.domain.message import Usage
from adjudge.core.reading.foreign_values import (
    Object,
    amount,
    as_text,
    first_has,
    inner,
    inner_object,
    number,
    objects,
    text_at,
    usage_of,
)
from adjudge.features.agents.traces.builder import built
from adjudge.features.agents.traces.messages import read_turns
from adjudge.features.agents.traces.row import TraceFormat, TraceRow, present
from adjudge.features.agents.traces.turns import CalledTool, Returned, Said, Turn
from adjudge.features.agents.trajectory import Trajectory

_SHELL = "bash"


def _finished(made: Trajectory, one: Object) -> Trajectory:
    info = inner_object(one, "info")
    stats = info.get("model_stats")
    calls = int(number(stats, "api_calls") or 0)
    usage = usage_of(stats, calls) or (Usage(calls) if calls else None)
    submission = info.get("submission")
    return replace(
        made,
        answer=submission if isinstance(submission, str) and submission else None,
        ended=text_at(info, "exit_status") or None,
        usage=usage or made.usage,
        usd=amount(stats, "instance_cost"),
    )


def _read(given: Sequence[Object]) -> Iterator[TraceRow]:
    for one in given:
        history = [
            message
            for message in objects(one, "history")
            if not message.get("is_demo") and message.get("message_type") != "demonstration"
        ]
        if any(message.get("tool_calls") for message in history):
            turns = read_turns(history)
        else:
            turns = [*_before(history), *_steps(objects(one["trajectory"]), history)]
        made = _finished(built(turns), one)
        yield TraceRow(made, present(id=text_at(one, "instance_id") or None))


def _before(history: Sequence[Object]) -> list[Turn]:
    """What stands before the agent's first word."""
    spoken = [place for place, one in enumerate(history) if one.get("role") == "assistant"]
    return read_turns(list(history[: spoken[0]] if spoken else history))


def _steps(trajectory: Sequence[Object], history: Sequence[Object]) -> Iterator[Turn]:
    """Where the history holds no calls, what was done stands in the steps alone."""
    names = [text_at(one, "agent") for one in history if one.get("role") == "assistant"]
    actor = names[0] if names else ""
    for step in trajectory:
        said = text_at(step, "thought", "response").strip()
        action = text_at(step, "action").strip()
        words = [Said(said)] if said else []
        calls = [CalledTool(_SHELL, {"command": action})] if action else []
        yield Turn("assistant", [*words, *calls], actor, seconds=amount(step, "execution_time"))
        if action:
            yield Turn("tool", [Returned(as_text(step.get("observation")))])


def _read_mini(given: Sequence[Object]) -> Iterator[TraceRow]:
    for one in given:
        turns: list[Turn] = []
        acted = False
        for message in objects(one["messages"]):
            if message.get("role") == "exit":
                continue
            for turn in read_turns(message):
                turns.append(_observed(turn, message, acted))
                acted = turn.role == "assistant" and _acts(turn, message)
        made = _finished(built(turns), one)
        yield TraceRow(made, present(id=one.get("instance_id")))


def _acts(turn: Turn, message: Object) -> bool:
    """Whether a message acts without a call of a tool; its commands become calls."""
    actions = objects(message, "extra", "actions")
    if not actions or any(isinstance(part, CalledTool) for part in turn.parts):
        return False
    turn.parts += [CalledTool(_SHELL, {"command": text_at(one, "command")}) for one in actions]
    return True


def _observed(turn: Turn, message: Object, acted: bool) -> Turn:
    """A result, with the error that stands beside it."""
    turn.usd = amount(message, "extra", "cost") if turn.role == "assistant" else None
    code = inner(message, "extra", "returncode")
    failure = inner(message, "extra", "exception_info")
    error = as_text(failure) if failure else f"returncode {code}" if code else None
    if turn.role == "user" and acted:
        return Turn("tool", [Returned(turn.text, error=error)])
    turn.parts = [
        Returned(part.text, part.id, part.name, error) if isinstance(part, Returned) else part
        for part in turn.parts
    ]
    return turn


SWE_AGENT = TraceFormat(
    "swe-agent", _read, lambda one: first_has(one.get("trajectory"), "action", "observation")
)
MINI_SWE_AGENT = TraceFormat(
    "mini-swe-agent",
    _read_mini,
    lambda one: (
        str(one.get("trajectory_format", "")).startswith("mini-swe-agent")
        and isinstance(one.get("messages"), list)
    ),
)
