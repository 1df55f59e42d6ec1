"""OTLP JSON, as a collector's file exporter writes it: spans, logs, or both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import starmap
from typing import Any

from adjudge.core.reading.foreign_values import (
    Object,
    first_of,
    inner_object,
    number,
    objects,
    text_at,
    time_at,
)
from adjudge.features.agents.traces.otel import DETAILS, is_error, read_events, span_of
from adjudge.features.agents.traces.row import TraceFormat, TraceRow, present
from adjudge.features.agents.traces.spans import TraceSpan, by_trace, trajectory_of_spans

_DEEPEST = 100
_SCALARS = ("stringValue", "boolValue", "doubleValue", "string_value", "bool_value", "double_value")


def value_of(value: object, depth: int = 0) -> Any:
    """Convert an OTLP value, which states its own type, to a Python value."""
    if not isinstance(value, Mapping) or depth > _DEEPEST:
        return value
    for key in _SCALARS:
        if key in value:
            return value[key]
    integer = first_of(value, "intValue", "int_value")
    if integer is not None:
        parsed = number(integer)
        return None if parsed is None else int(parsed)
    array = first_of(value, "arrayValue", "array_value")
    if isinstance(array, Mapping):
        return [value_of(item, depth + 1) for item in array.get("values") or []]
    listed = first_of(value, "kvlistValue", "kvlist_value")
    if isinstance(listed, Mapping):
        return attributes_of(listed.get("values"), depth + 1)
    return first_of(value, "bytesValue", "bytes_value")


def attributes_of(pairs: object, depth: int = 0) -> dict[str, Any]:
    """Return attributes as a dict. They are a list of key-value pairs; some tools write an
    object.
    """
    if isinstance(pairs, Mapping):
        return {str(key): value_of(pair, depth) for key, pair in pairs.items()}
    return {str(pair.get("key")): value_of(pair.get("value"), depth) for pair in objects(pairs)}


def _inside(documents: Sequence[Object], *path: tuple[str, str]) -> Iterator[Object]:
    nodes: list[Object] = list(documents)
    for names in path:
        nodes = [below for node in nodes for below in objects(first_of(node, *names))]
    yield from nodes


def _spans(documents: Sequence[Object]) -> Iterator[TraceSpan]:
    path = (("resourceSpans", "resource_spans"), ("scopeSpans", "scope_spans"), ("spans", "spans"))
    older = (path[0], ("instrumentationLibrarySpans", "instrumentation_library_spans"), path[2])
    for span in (*_inside(documents, *path), *_inside(documents, *older)):
        yield _span(span)


def _span(span_data: Object) -> TraceSpan:
    status = inner_object(span_data, "status")
    failed = is_error(first_of(status, "code", "status_code"))
    base = TraceSpan(
        text_at(span_data, "spanId", "span_id"),
        text_at(span_data, "parentSpanId", "parent_span_id") or None,
        text_at(span_data, "traceId", "trace_id"),
        text_at(span_data, "name"),
        # 0 is how OTLP says that a time is not known
        start=time_at(span_data, "startTimeUnixNano", "start_time_unix_nano") or None,
        end=time_at(span_data, "endTimeUnixNano", "end_time_unix_nano") or None,
        error=(text_at(status, "message") or None) if failed else None,
    )
    events = [
        {**event, "attributes": attributes_of(event.get("attributes"))}
        for event in objects(span_data, "events")
    ]
    attributes = attributes_of(span_data.get("attributes"))
    span = span_of(base, attributes, events)
    if base.parent is None and attributes.get("openinference.span.kind") == "CHAIN":
        span.agent = span.agent or span.name  # a graph, which has no agent spans below
    if failed and span.error is None:
        span.error = "error"
        if span.result is not None:
            span.result = replace(span.result, error=span.error)
    return span


def _logs(documents: Sequence[Object]) -> Iterator[Object]:
    path = (("resourceLogs", "resource_logs"), ("scopeLogs", "scope_logs"))
    for log_record in _inside(documents, *path, ("logRecords", "log_records")):
        body = value_of(log_record.get("body"))
        attributes = attributes_of(log_record.get("attributes"))
        name = text_at(log_record, "eventName", "event_name") or text_at(attributes, "event.name")
        body_data = body if isinstance(body, Mapping) else {"content": body} if body else {}
        yield {
            "name": name,
            "body": body_data,
            "attributes": attributes,
            "trace": text_at(log_record, "traceId", "trace_id"),
            "span": text_at(log_record, "spanId", "span_id"),
            "time": time_at(log_record, "timeUnixNano", "observedTimeUnixNano", "time_unix_nano"),
        }


def _join_logs(spans: list[TraceSpan], logs: Sequence[Object]) -> list[TraceSpan]:
    """Add logged messages to their spans; make a span if only the log exists."""
    spans_by_id = {(span.trace, span.id): span for span in spans}
    events_by_span: dict[tuple[str, str], list[Object]] = {}
    for place, log in enumerate(logs):
        if str(log["name"]).startswith("gen_ai."):
            id = log["span"] or f"log {place}"
            events_by_span.setdefault((log["trace"], id), []).append(log)
    all_spans = list(spans)
    for (trace, id), events in events_by_span.items():
        span = spans_by_id.get((trace, id))
        if span is None:
            details = [event["attributes"] for event in events if event["name"] == DETAILS]
            attributes = {"gen_ai.operation.name": "chat", **(details[0] if details else {})}
            start = events[0]["time"]
            span = span_of(
                TraceSpan(id, None, trace, "chat", start=start, end=events[-1]["time"]), attributes
            )
            all_spans.append(span)
        read_events(span, events)
    return all_spans


def _read(documents: Sequence[Object]) -> Iterator[TraceRow]:
    spans = _join_logs(list(_spans(documents)), list(_logs(documents)))
    for trace, trace_spans in by_trace(spans).items():
        # traces that judging itself wrote are not judged
        if not all(span.name.startswith("gen_ai.evaluation") for span in trace_spans):
            yield row_of(trace, trace_spans)


def rows_of(spans: Iterable[TraceSpan]) -> Iterator[TraceRow]:
    """Yield one row per trace."""
    return starmap(row_of, by_trace(spans).items())


def row_of(trace: str, spans: list[TraceSpan]) -> TraceRow:
    session = next((span.session for span in spans if span.session), None)
    return TraceRow(trajectory_of_spans(spans), present(id=trace or None, session_id=session))


def _is_otlp(document: Object) -> bool:
    keys = ("resourceSpans", "resource_spans", "resourceLogs", "resource_logs")
    return any(isinstance(document.get(key), list) for key in keys)


OTLP = TraceFormat("otlp", _read, _is_otlp, lambda documents: all(map(_is_otlp, documents)))
