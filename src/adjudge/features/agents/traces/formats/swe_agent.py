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
from adjudge.features.agents.traces.builder import build_trajectory
from adjudge.features.agents.traces.messages import read_turns
from adjudge.features.agents.traces.row import TraceFormat, TraceRow, present
from adjudge.features.agents.traces.turns import CalledTool, Returned, Said, TraceTurn
from adjudge.features.agents.trajectory import Trajectory

_SHELL = "bash"


def _with_info(trajectory: Trajectory, document: Object) -> Trajectory:
    info = inner_object(document, "info")
    stats = info.get("model_stats")
    calls = int(number(stats, "api_calls") or 0)
    usage = usage_of(stats, calls) or (Usage(calls) if calls else None)
    submission = info.get("submission")
    return replace(
        trajectory,
        answer=submission if isinstance(submission, str) and submission else None,
        ended=text_at(info, "exit_status") or None,
        usage=usage or trajectory.usage,
        usd=amount(stats, "instance_cost"),
    )


def _read(documents: Sequence[Object]) -> Iterator[TraceRow]:
    for document in documents:
        history = [
            message
            for message in objects(document, "history")
            if not message.get("is_demo") and message.get("message_type") != "demonstration"
        ]
        if any(message.get("tool_calls") for message in history):
            turns = read_turns(history)
        else:
            # everything before the agent's first message
            places = [
                place for place, message in enumerate(history) if message.get("role") == "assistant"
            ]
            prompts = read_turns(list(history[: places[0]] if places else history))
            turns = [*prompts, *_steps(objects(document["trajectory"]), history)]
        trajectory = _with_info(build_trajectory(turns), document)
        yield TraceRow(trajectory, present(id=text_at(document, "instance_id") or None))


def _steps(trajectory: Sequence[Object], history: Sequence[Object]) -> Iterator[TraceTurn]:
    """Yield the turns from the trajectory's steps, for a history that records no calls."""
    names = [text_at(message, "agent") for message in history if message.get("role") == "assistant"]
    actor = names[0] if names else ""
    for step in trajectory:
        thought = text_at(step, "thought", "response").strip()
        action = text_at(step, "action").strip()
        words = [Said(thought)] if thought else []
        calls = [CalledTool(_SHELL, {"command": action})] if action else []
        yield TraceTurn(
            "assistant", [*words, *calls], actor, seconds=amount(step, "execution_time")
        )
        if action:
            yield TraceTurn("tool", [Returned(as_text(step.get("observation")))])


def _read_mini(documents: Sequence[Object]) -> Iterator[TraceRow]:
    for document in documents:
        turns: list[TraceTurn] = []
        acted = False
        for message in objects(document["messages"]):
            if message.get("role") == "exit":
                continue
            for turn in read_turns(message):
                turns.append(_with_error(turn, message, acted))
                acted = turn.role == "assistant" and _add_commands(turn, message)
        trajectory = _with_info(build_trajectory(turns), document)
        yield TraceRow(trajectory, present(id=document.get("instance_id")))


def _add_commands(turn: TraceTurn, message: Object) -> bool:
    """Add a message's commands as calls; return True if it acts without a tool call."""
    actions = objects(message, "extra", "actions")
    if not actions or any(isinstance(part, CalledTool) for part in turn.parts):
        return False
    turn.parts += [
        CalledTool(_SHELL, {"command": text_at(action, "command")}) for action in actions
    ]
    return True


def _with_error(turn: TraceTurn, message: Object, acted: bool) -> TraceTurn:
    """Add the error and the cost recorded with a message.

    A user message after an action without a tool call becomes the action's result.
    """
    turn.usd = amount(message, "extra", "cost") if turn.role == "assistant" else None
    code = inner(message, "extra", "returncode")
    failure = inner(message, "extra", "exception_info")
    error = as_text(failure) if failure else f"returncode {code}" if code else None
    if turn.role == "user" and acted:
        return TraceTurn("tool", [Returned(turn.text, error=error)])
    turn.parts = [
        Returned(part.text, part.id, part.name, error) if isinstance(part, Returned) else part
        for part in turn.parts
    ]
    return turn


SWE_AGENT = TraceFormat(
    "swe-agent",
    _read,
    lambda document: first_has(document.get("trajectory"), "action", "observation"),
)
MINI_SWE_AGENT = TraceFormat(
    "mini-swe-agent",
    _read_mini,
    lambda document: (
        str(document.get("trajectory_format", "")).startswith("mini-swe-agent")
        and isinstance(document.get("messages"), list)
    ),
)
