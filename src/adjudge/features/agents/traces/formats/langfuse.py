"""Langfuse: observations of its API, or a trace that holds them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from adjudge.core.domain.message import Usage
from adjudge.core.reading.foreign_values import (
    Object,
    amount,
    arguments_of,
    as_text,
    first_of,
    inner,
    objects,
    parse_json,
    text_at,
    time_at,
    usage_of,
)
from adjudge.features.agents.traces.formats.otlp import row_of
from adjudge.features.agents.traces.messages import are_messages, read_turns, tools_of
from adjudge.features.agents.traces.otel import documents_in, read_whole, tool_result
from adjudge.features.agents.traces.row import TraceFormat, TraceRow, present
from adjudge.features.agents.traces.spans import SpanKind, TraceSpan, by_trace
from adjudge.features.agents.traces.turns import CalledTool, Said, Turn

_TYPES: Mapping[str, SpanKind] = {
    **{"GENERATION": "model", "TOOL": "tool", "AGENT": "agent", "RETRIEVER": "retriever"},
    **{"SPAN": "other", "EVENT": "other", "CHAIN": "other", "EVALUATOR": "other"},
    **{"EMBEDDING": "other", "GUARDRAIL": "other"},
}


def _is_observation(one: Object) -> bool:
    named = "traceId" in one or "trace_id" in one
    return named and one.get("type") in _TYPES and ("startTime" in one or "start_time" in one)


def _turns(value: object, role: str) -> list[Turn]:
    """Messages of a generation; a text is what the model was asked, or said."""
    found = parse_json(value)
    if isinstance(found, Mapping) and (
        isinstance(found.get("messages"), list) or "choices" in found
    ):
        return read_turns(found)
    if are_messages(found) or (isinstance(found, Mapping) and are_messages([found])):
        return read_turns(found)
    text = found if isinstance(found, str) else as_text(found)
    return [Turn("user" if role == "user" else "assistant", [Said(text)])] if text else []


def _span(one: Object) -> TraceSpan:
    failed = one.get("level") == "ERROR"
    given, back = one.get("input"), one.get("output")
    span = TraceSpan(
        text_at(one, "id"),
        text_at(one, "parentObservationId", "parent_observation_id") or None,
        text_at(one, "traceId", "trace_id"),
        text_at(one, "name"),
        _TYPES[one["type"]],
        start=time_at(one, "startTime", "start_time"),
        end=time_at(one, "endTime", "end_time"),
        error=(text_at(one, "statusMessage", "status_message") or "error") if failed else None,
        session=text_at(one, "sessionId", "session_id") or None,
    )
    if span.kind == "model":
        span.inputs, span.outputs = _turns(given, "user"), _turns(back, "assistant")
        counted = first_of(one, "usageDetails", "usage_details", "usage")
        span.usage = usage_of(counted) or Usage(1)
        cost = inner(first_of(one, "costDetails", "cost_details"), "total")
        span.usd = amount(first_of(one, "totalCost", "calculatedTotalCost", "total_cost") or cost)
        span.tools = tools_of(inner(parse_json(given), "tools"))
    elif span.kind == "tool":
        span.result = tool_result(back, span.error)
        span.call = CalledTool(span.name, arguments_of(given), span.result.id)
    elif span.kind == "retriever":
        span.documents = documents_in(parse_json(back))
    else:
        read_whole(span, given, back)
    return span


def _observations(given: Sequence[Object]) -> Iterator[Object]:
    for one in given:
        if isinstance(listed := first_of(one, "observations", "data"), list):
            trace = one.get("id")
            for below in objects(listed):
                yield {"traceId": trace, **below} if "observations" in one else below
        else:
            yield one


def _read(given: Sequence[Object]) -> Iterator[TraceRow]:
    traces = {one.get("id"): one for one in given if isinstance(one.get("observations"), list)}
    found = [_span(one) for one in _observations(given) if _is_observation(one)]
    for id, spans in by_trace(found).items():
        held = traces.get(id, {})
        row = row_of(id, _below_trace(held, id, spans))
        session = held.get("sessionId")
        yield TraceRow(row.trajectory, {**row.columns, **present(session_id=session)})


def _below_trace(held: Object, id: str, spans: list[TraceSpan]) -> list[TraceSpan]:
    """The observations below the trace itself, where it says what was asked and answered."""
    if "input" not in held and "output" not in held:
        return spans
    root = TraceSpan(f"trace {id}", None, id, text_at(held, "name"))
    read_whole(root, held.get("input"), held.get("output"))
    root.start = min((span.start for span in spans if span.start is not None), default=None)
    known = {span.id for span in spans}
    for span in spans:
        span.parent = span.parent if span.parent in known else root.id
    return [root, *spans]


def _holds(one: Object) -> bool:
    listed = objects(first_of(one, "observations", "data"))
    if not listed:
        return False
    first = {"traceId": one.get("id"), **listed[0]} if "observations" in one else listed[0]
    return _is_observation(first)


LANGFUSE = TraceFormat("langfuse", _read, _holds, lambda given: all(map(_is_observation, given)))
