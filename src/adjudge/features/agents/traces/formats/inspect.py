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
from adjudge.features.agents.traces.builder import built
from adjudge.features.agents.traces.messages import read_turns, tools_of
from adjudge.features.agents.traces.row import TraceFormat, TraceRow, present

_ATTACHED = "attachment://"


def _opened(value: object, attachments: Object) -> object:
    """With long texts, which are kept aside, in their places."""
    if isinstance(value, str) and value.startswith(_ATTACHED):
        return attachments.get(value.removeprefix(_ATTACHED), value)
    if isinstance(value, list):
        return [_opened(one, attachments) for one in value]
    if isinstance(value, Mapping):
        return {key: _opened(one, attachments) for key, one in value.items()}
    return value


def sample_row(sample: Object) -> TraceRow:
    attachments = sample.get("attachments")
    if isinstance(attachments, Mapping) and attachments:
        kept = {key: value for key, value in sample.items() if key != "attachments"}
        sample = _opened(kept, attachments)  # type: ignore[assignment]
    models = [one for one in objects(sample, "events") if one.get("event") == "model"]
    turns = read_turns(sample.get("messages"))
    costs = {
        inner(choice, "message", "id"): usage_of(inner(event, "output", "usage")) or Usage(1)
        for event in models
        for choice in objects(event, "output", "choices")[:1]
    }
    for turn in turns:
        turn.usage = costs.get(turn.source) or turn.usage
    tools = tools_of([tool for event in models for tool in objects(event, "tools")])
    made = built(turns, tools=tools)
    given = sample.get("input")
    asked = given if isinstance(given, str) else built(read_turns(given)).goal
    completion = inner(sample, "output", "completion")
    last = objects(sample, "output", "choices")
    if last and inner(last[0], "message", "tool_calls"):
        completion = None  # said beside a call
    stopped = inner(sample, "limit", "type") or inner(sample, "error", "message")
    made = replace(
        made,
        goal=asked or made.goal,
        answer=completion if isinstance(completion, str) and completion else made.answer,
        ended=str(stopped)
        if stopped
        else text_at(last[0], "stop_reason") or None
        if last
        else None,
        usage=_whole_usage(sample, models) or made.usage,
        seconds=amount(sample, "total_time"),
    )
    return TraceRow(made, _columns(sample))


def _whole_usage(sample: Object, models: Sequence[Object]) -> Usage | None:
    said = sample.get("model_usage")
    found = [usage_of(one, 0) for one in said.values()] if isinstance(said, Mapping) else []
    counted = [one for one in found if one is not None]
    if not counted and not models:
        return None
    return sum(counted, Usage(len(models)))


def _columns(sample: Object) -> JsonObject:
    epoch, target = sample.get("epoch"), sample.get("target")
    id = str(sample.get("id"))
    scores = sample.get("scores")
    marks = (
        {name: inner(one, "value") for name, one in scores.items()}
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


def _read(given: Sequence[Object]) -> Iterator[TraceRow]:
    for one in given:
        if _is_sample(one):
            yield sample_row(one)
        for sample in objects(one, "samples"):
            yield sample_row(sample)


def _is_sample(one: Object) -> bool:
    return {"epoch", "input", "target", "messages"} <= one.keys()


INSPECT = TraceFormat(
    "inspect",
    _read,
    lambda one: {"eval", "version", "status"} <= one.keys() or _is_sample(one),
)
