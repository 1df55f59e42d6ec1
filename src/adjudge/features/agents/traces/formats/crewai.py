"""CrewAI: the result of ``kickoff()``. Its log has no tool calls, and is refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NoReturn

from adjudge.core.reading.foreign_values import (
    Object,
    as_text,
    first_of,
    number,
    objects,
    text_at,
    usage_of,
)
from adjudge.errors import WrongData
from adjudge.features.agents.traces.builder import build_trajectory
from adjudge.features.agents.traces.messages import read_turns
from adjudge.features.agents.traces.row import TraceFormat, TraceRow, present
from adjudge.features.agents.traces.turns import Said, TraceTurn
from adjudge.features.agents.trajectory import Step, Trajectory


def _turns(task: Object) -> Iterator[TraceTurn]:
    agent = text_at(task, "agent")
    for turn in read_turns(task.get("messages")):
        if turn.role == "assistant":
            turn.actor = agent
        yield turn


def _with_failures(trajectory: Trajectory, failures: Sequence[Object]) -> Trajectory:
    """Add errors recorded separately from the messages, each to the next call of its tool."""
    steps: list[Step] = list(trajectory.steps)
    place = 0
    for failure in failures:
        name = text_at(failure, "tool_name", "tool", "name")
        error = as_text(first_of(failure, "error", "message", "exception") or failure)
        while place < len(steps):
            step = steps[place]
            place += 1
            if step.call is not None and (not name or step.call.name == name):
                steps[place - 1] = replace(step, call=replace(step.call, error=error))
                break
    return replace(trajectory, steps=tuple(steps))


def _read(documents: Sequence[Object]) -> Iterator[TraceRow]:
    for document in documents:
        tasks = objects(document["tasks_output"])
        trajectory = build_trajectory(turn for task in tasks for turn in _turns(task))
        trajectory = _with_failures(
            trajectory,
            [failure for task in tasks for failure in objects(task, "tool_failures")],
        )
        if not trajectory.steps:
            turns = [
                TraceTurn("assistant", [Said(text_at(task, "raw"))], text_at(task, "agent"))
                for task in tasks
            ]
            trajectory = build_trajectory(turns)
        counted = document.get("token_usage")
        calls = int(number((counted or {}).get("successful_requests")) or 0)
        goal = "\n".join(text for task in tasks if (text := text_at(task, "description")))
        expected_outputs = [text for task in tasks if (text := text_at(task, "expected_output"))]
        trajectory = replace(
            trajectory,
            goal=goal or trajectory.goal,
            answer=text_at(document, "raw") or trajectory.answer,
            usage=usage_of(counted, calls) or trajectory.usage,
        )
        yield TraceRow(trajectory, present(expected_output="\n".join(expected_outputs) or None))


def _is_log_line(line: Object) -> bool:
    return {"timestamp", "task", "agent", "status"} <= line.keys() and "messages" not in line


def _refuse(_: Sequence[Object]) -> NoReturn:
    raise WrongData(
        "contains a log of CrewAI, which does not record tool calls: save the return value of "
        "kickoff() instead, for example with output.model_dump_json()"
    )


CREWAI = TraceFormat(
    "crewai",
    _read,
    lambda document: (
        bool(tasks := objects(document, "tasks_output"))
        and "agent" in tasks[0]
        and ("token_usage" in document or "messages" in tasks[0])
    ),
)
CREWAI_LOG = TraceFormat(
    "crewai", _refuse, lines=lambda documents: all(map(_is_log_line, documents))
)
