"""Inspect logs: samples with messages and events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.message import Usage
from adjudge.core.reading.foreign_values import (
    Object,
    amount,
    as_text,
    inner,
    objects,
    text_at,
    usage_of,
)
from adjudge.features.agents.traces.builder import build_trajectory
from adjudge.features.agents.traces.messages import read_turns, tools_of
from adjudge.features.agents.traces.row import TraceFormat, TraceRow, present

_ATTACHED = "attachment://"


def _with_attachments(value: object, attachments: Object) -> object:
    """Put long texts, which are stored separately, back in their places."""
    if isinstance(value, str) and value.startswith(_ATTACHED):
        return attachments.get(value.removeprefix(_ATTACHED), value)
    if isinstance(value, list):
        return [_with_attachments(item, attachments) for item in value]
    if isinstance(value, Mapping):
        return {key: _with_attachments(item, attachments) for key, item in value.items()}
    return value


def sample_row(sample: Object) -> TraceRow:
    attachments = sample.get("attachments")
    if isinstance(attachments, Mapping) and attachments:
        others = {key: value for key, value in sample.items() if key != "attachments"}
        sample = _with_attachments(others, attachments)  # type: ignore[assignment]
    models = [event for event in objects(sample, "events") if event.get("event") == "model"]
    turns = read_turns(sample.get("messages"))
    costs = {
        inner(choice, "message", "id"): usage_of(inner(event, "output", "usage")) or Usage(1)
        for event in models
        for choice in objects(event, "output", "choices")[:1]
    }
    for turn in turns:
        turn.usage = costs.get(turn.source) or turn.usage
    tools = tools_of([tool for event in models for tool in objects(event, "tools")])
    trajectory = build_trajectory(turns, tools=tools)
    sample_input = sample.get("input")
    goal = (
        sample_input
        if isinstance(sample_input, str)
        else build_trajectory(read_turns(sample_input)).goal
    )
    completion = inner(sample, "output", "completion")
    choices = objects(sample, "output", "choices")
    if choices and inner(choices[0], "message", "tool_calls"):
        completion = None  # a text next to a call is not the answer
    stopped = inner(sample, "limit", "type") or inner(sample, "error", "message")
    trajectory = replace(
        trajectory,
        goal=goal or trajectory.goal,
        answer=completion if isinstance(completion, str) and completion else trajectory.answer,
        ended=str(stopped)
        if stopped
        else text_at(choices[0], "stop_reason") or None
        if choices
        else None,
        usage=_total_usage(sample, models) or trajectory.usage,
        seconds=amount(sample, "total_time"),
    )
    return TraceRow(trajectory, _columns(sample))


def _total_usage(sample: Object, models: Sequence[Object]) -> Usage | None:
    usage_by_model = sample.get("model_usage")
    usages = (
        [usage_of(usage, 0) for usage in usage_by_model.values()]
        if isinstance(usage_by_model, Mapping)
        else []
    )
    counted = [usage for usage in usages if usage is not None]
    if not counted and not models:
        return None
    return sum(counted, Usage(len(models)))


def _columns(sample: Object) -> JsonObject:
    epoch, target = sample.get("epoch"), sample.get("target")
    id = str(sample.get("id"))
    scores = sample.get("scores")
    marks = (
        {name: inner(score, "value") for name, score in scores.items()}
        if isinstance(scores, Mapping)
        else None
    )
    return present(
        id=id if epoch in (None, 1) else f"{id}/{epoch}",
        task_id=id,
        trial=epoch,
        reference=target if isinstance(target, str) else as_text(target) if target else None,
        scores=marks or None,
    )


def _read(documents: Sequence[Object]) -> Iterator[TraceRow]:
    for document in documents:
        if _is_sample(document):
            yield sample_row(document)
        for sample in objects(document, "samples"):
            yield sample_row(sample)


def _is_sample(document: Object) -> bool:
    return {"epoch", "input", "target", "messages"} <= document.keys()


INSPECT = TraceFormat(
    "inspect",
    _read,
    lambda document: {"eval", "version", "status"} <= document.keys() or _is_sample(document),
)
