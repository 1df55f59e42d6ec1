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
from adjudge.features.agents.traces.turns import CalledTool, Said, TraceTurn

_TYPES: Mapping[str, SpanKind] = {
    **{"GENERATION": "model", "TOOL": "tool", "AGENT": "agent", "RETRIEVER": "retriever"},
    **{"SPAN": "other", "EVENT": "other", "CHAIN": "other", "EVALUATOR": "other"},
    **{"EMBEDDING": "other", "GUARDRAIL": "other"},
}


def _is_observation(observation: Object) -> bool:
    has_trace = "traceId" in observation or "trace_id" in observation
    return (
        has_trace
        and observation.get("type") in _TYPES
        and ("startTime" in observation or "start_time" in observation)
    )


def _turns(value: object, role: str) -> list[TraceTurn]:
    """Return a generation's messages; plain text is the prompt or the reply, according to
    ``role``.
    """
    data = parse_json(value)
    if isinstance(data, Mapping) and (isinstance(data.get("messages"), list) or "choices" in data):
        return read_turns(data)
    if are_messages(data) or (isinstance(data, Mapping) and are_messages([data])):
        return read_turns(data)
    text = data if isinstance(data, str) else as_text(data)
    return [TraceTurn("user" if role == "user" else "assistant", [Said(text)])] if text else []


def _span(observation: Object) -> TraceSpan:
    failed = observation.get("level") == "ERROR"
    span_input, back = observation.get("input"), observation.get("output")
    span = TraceSpan(
        text_at(observation, "id"),
        text_at(observation, "parentObservationId", "parent_observation_id") or None,
        text_at(observation, "traceId", "trace_id"),
        text_at(observation, "name"),
        _TYPES[observation["type"]],
        start=time_at(observation, "startTime", "start_time"),
        end=time_at(observation, "endTime", "end_time"),
        error=(text_at(observation, "statusMessage", "status_message") or "error")
        if failed
        else None,
        session=text_at(observation, "sessionId", "session_id") or None,
    )
    if span.kind == "model":
        span.inputs, span.outputs = _turns(span_input, "user"), _turns(back, "assistant")
        counted = first_of(observation, "usageDetails", "usage_details", "usage")
        span.usage = usage_of(counted) or Usage(1)
        cost = inner(first_of(observation, "costDetails", "cost_details"), "total")
        span.usd = amount(
            first_of(observation, "totalCost", "calculatedTotalCost", "total_cost") or cost
        )
        span.tools = tools_of(inner(parse_json(span_input), "tools"))
    elif span.kind == "tool":
        span.result = tool_result(back, span.error)
        span.call = CalledTool(span.name, arguments_of(span_input), span.result.id)
    elif span.kind == "retriever":
        span.documents = documents_in(parse_json(back))
    else:
        read_whole(span, span_input, back)
    return span


def _observations(documents: Sequence[Object]) -> Iterator[Object]:
    for document in documents:
        if isinstance(listed := first_of(document, "observations", "data"), list):
            trace = document.get("id")
            for below in objects(listed):
                yield {"traceId": trace, **below} if "observations" in document else below
        else:
            yield document


def _read(documents: Sequence[Object]) -> Iterator[TraceRow]:
    traces = {
        document.get("id"): document
        for document in documents
        if isinstance(document.get("observations"), list)
    }
    all_spans = [
        _span(observation)
        for observation in _observations(documents)
        if _is_observation(observation)
    ]
    for id, spans in by_trace(all_spans).items():
        trace = traces.get(id, {})
        row = row_of(id, _below_trace(trace, id, spans))
        session = trace.get("sessionId")
        yield TraceRow(row.trajectory, {**row.columns, **present(session_id=session)})


def _below_trace(trace: Object, id: str, spans: list[TraceSpan]) -> list[TraceSpan]:
    """Put the observations below a span for the trace itself, if it has an input or an output."""
    if "input" not in trace and "output" not in trace:
        return spans
    root = TraceSpan(f"trace {id}", None, id, text_at(trace, "name"))
    read_whole(root, trace.get("input"), trace.get("output"))
    root.start = min((span.start for span in spans if span.start is not None), default=None)
    span_ids = {span.id for span in spans}
    for span in spans:
        span.parent = span.parent if span.parent in span_ids else root.id
    return [root, *spans]


def _has_observations(document: Object) -> bool:
    listed = objects(first_of(document, "observations", "data"))
    if not listed:
        return False
    observation = (
        {"traceId": document.get("id"), **listed[0]} if "observations" in document else listed[0]
    )
    return _is_observation(observation)


LANGFUSE = TraceFormat(
    "langfuse", _read, _has_observations, lambda documents: all(map(_is_observation, documents))
)
