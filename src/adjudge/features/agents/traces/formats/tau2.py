"""tau2-bench: simulations with their tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from adjudge.core.reading.foreign_values import (
    Object,
    amount,
    as_text,
    first_has,
    inner,
    objects,
    text_at,
)
from adjudge.features.agents.traces.builder import build_trajectory
from adjudge.features.agents.traces.messages import read_turns
from adjudge.features.agents.traces.row import TraceFormat, TraceRow, present, reference_call


def _messages(simulation: Object) -> Iterator[Object]:
    for message in objects(simulation, "messages"):
        inside = objects(message, "tool_messages")
        yield from inside or [message]


def _read(documents: Sequence[Object]) -> Iterator[TraceRow]:
    for document in documents:
        tasks = {str(task.get("id")): task for task in objects(document, "tasks")}
        policy = inner(document, "info", "environment_info", "policy")
        for run in objects(document["simulations"]):
            yield _row(run, tasks.get(str(run.get("task_id")), {}), policy)


def _row(run: Object, task: Object, policy: object) -> TraceRow:
    trajectory = build_trajectory(
        read_turns(list(_messages(run))), system=policy if isinstance(policy, str) else ""
    )
    criteria = task.get("evaluation_criteria") or {}
    expected = [
        reference_call(action.get("name"), action.get("arguments"))
        for action in objects(criteria, "actions")
        if action.get("requestor") != "user"
    ]
    scenario = inner(task, "user_scenario", "instructions")
    trajectory = replace(
        trajectory,
        ended=text_at(run, "termination_reason") or None,
        usd=amount(run, "agent_cost") if run.get("agent_cost") is not None else trajectory.usd,
        seconds=amount(run, "duration"),
    )
    return TraceRow(
        trajectory,
        present(
            id=run.get("id"),
            task_id=run.get("task_id"),
            trial=run.get("trial"),
            reward=inner(run, "reward_info", "reward"),
            task=as_text(scenario) if scenario else None,
            reference_calls=expected if inner(criteria, "actions") is not None else None,
        ),
    )


TAU2 = TraceFormat(
    "tau2", _read, lambda document: first_has(document.get("simulations"), "messages", "task_id")
)
