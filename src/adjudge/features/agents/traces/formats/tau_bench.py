"""tau-bench: a list of runs, each with its task, its reward and a chat."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from adjudge.core.reading.foreign_values import Object, first_of, inner, objects
from adjudge.features.agents.traces.builder import build_trajectory
from adjudge.features.agents.traces.messages import read_turns
from adjudge.features.agents.traces.row import TraceFormat, TraceRow, present, reference_call
from adjudge.features.agents.traces.turns import Returned, TraceTurn


def _with_errors(turns: list[TraceTurn]) -> list[TraceTurn]:
    """Mark results that start with "Error" as errors, which is the benchmark's convention."""
    for turn in turns:
        turn.parts = [
            Returned(part.text, part.id, part.name, part.text)
            if isinstance(part, Returned) and part.text and part.text.startswith("Error")
            else part
            for part in turn.parts
        ]
    return turns


def _read(documents: Sequence[Object]) -> Iterator[TraceRow]:
    for run in documents:
        task = inner(run, "info", "task") or {}
        turns = _with_errors(read_turns(run.get("traj")))
        expected = [
            reference_call(action.get("name"), first_of(action, "kwargs", "arguments"))
            for action in objects(task, "actions")
        ]
        id = f"{run.get('task_id')}/{run['trial']}" if "trial" in run else run.get("task_id")
        columns = present(
            id=str(id),
            task_id=run.get("task_id"),
            trial=run.get("trial"),
            reward=run.get("reward"),
            task=task.get("instruction"),
            reference_calls=expected if "actions" in task else None,
            reference_outputs=task.get("outputs") or None,
        )
        yield TraceRow(build_trajectory(turns), columns)


TAU_BENCH = TraceFormat(
    "tau-bench",
    _read,
    lambda document: (
        "task_id" in document and "reward" in document and isinstance(document.get("traj"), list)
    ),
)
