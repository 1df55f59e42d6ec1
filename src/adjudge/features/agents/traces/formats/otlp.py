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
    """A value of OTLP, in which each says its own type."""
    if not isinstance(value, Mapping) or depth > _DEEPEST:
        return value
    for key in _SCALARS:
        if key in value:
            return value[key]
    whole = first_of(value, "intValue", "int_value")
    if whole is not None:
        found = number(whole)
        return None if found is None else int(found)
    array = first_of(value, "arrayValue", "array_value")
    if isinstance(array, Mapping):
        return [value_of(one, depth + 1) for one in array.get("values") or []]
    listed = first_of(value, "kvlistValue", "kvlist_value")
    if isinstance(listed, Mapping):
        return attributes_of(listed.get("values"), depth + 1)
    return first_of(value, "bytesValue", "bytes_value")


def attributes_of(pairs: object, depth: int = 0) -> dict[str, Any]:
    """Attributes, which are a list of keys and values; some tools write them as an object."""
    if isinstance(pairs, Mapping):
        return {str(key): value_of(one, depth) for key, one in pairs.items()}
    return {str(one.get("key")): value_of(one.get("value"), depth) for one in objects(pairs)}


def _inside(given: Sequence[Object], *path: tuple[str, str]) -> Iterator[Object]:
    found: list[Object] = list(given)
    for names in path:
        found = [below for one in found for below in objects(first_of(one, *names))]
    yield from found


def _spans(given: Sequence[Object]) -> Iterator[TraceSpan]:
    path = (("resourceSpans", "resource_spans"), ("scopeSpans", "scope_spans"), ("spans", "spans"))
    older = (path[0], ("instrumentationLibrarySpans", "instrumentation_library_spans"), path[2])
    for one in (*_inside(given, *path), *_inside(given, *older)):
        yield _span(one)


def _span(one: Object) -> TraceSpan:
    status = inner_object(one, "status")
    failed = is_error(first_of(status, "code", "status_code"))
    base = TraceSpan(
        text_at(one, "spanId", "span_id"),
        text_at(one, "parentSpanId", "parent_span_id") or None,
        text_at(one, "traceId", "trace_id"),
        text_at(one, "name"),
        # 0 is how OTLP says that a time is not known
        start=time_at(one, "startTimeUnixNano", "start_time_unix_nano") or None,
        end=time_at(one, "endTimeUnixNano", "end_time_unix_nano") or None,
        error=(text_at(status, "message") or None) if failed else None,
    )
    events = [
        {**event, "attributes": attributes_of(event.get("attributes"))}
        for event in objects(one, "events")
    ]
    attributes = attributes_of(one.get("attributes"))
    span = span_of(base, attributes, events)
    if base.parent is None and attributes.get("openinference.span.kind") == "CHAIN":
        span.agent = span.agent or span.name  # a graph, where no span below is an agent's
    if failed and span.error is None:
        span.error = "error"
        if span.result is not None:
            span.result = replace(span.result, error=span.error)
    return span


def _logs(given: Sequence[Object]) -> Iterator[Object]:
    path = (("resourceLogs", "resource_logs"), ("scopeLogs", "scope_logs"))
    for one in _inside(given, *path, ("logRecords", "log_records")):
        body = value_of(one.get("body"))
        attributes = attributes_of(one.get("attributes"))
        name = text_at(one, "eventName", "event_name") or text_at(attributes, "event.name")
        held = body if isinstance(body, Mapping) else {"content": body} if body else {}
        yield {
            "name": name,
            "body": held,
            "attributes": attributes,
            "trace": text_at(one, "traceId", "trace_id"),
            "span": text_at(one, "spanId", "span_id"),
            "time": time_at(one, "timeUnixNano", "observedTimeUnixNano", "time_unix_nano"),
        }


def _joined(spans: list[TraceSpan], logs: Sequence[Object]) -> list[TraceSpan]:
    """Spans with the messages logged for them; one is made where only the log is there."""
    known = {(span.trace, span.id): span for span in spans}
    held: dict[tuple[str, str], list[Object]] = {}
    for place, log in enumerate(logs):
        if str(log["name"]).startswith("gen_ai."):
            id = log["span"] or f"log {place}"
            held.setdefault((log["trace"], id), []).append(log)
    made = list(spans)
    for (trace, id), events in held.items():
        span = known.get((trace, id))
        if span is None:
            details = [one["attributes"] for one in events if one["name"] == DETAILS]
            given = {"gen_ai.operation.name": "chat", **(details[0] if details else {})}
            start = events[0]["time"]
            span = span_of(
                TraceSpan(id, None, trace, "chat", start=start, end=events[-1]["time"]), given
            )
            made.append(span)
        read_events(span, events)
    return made


def _read(given: Sequence[Object]) -> Iterator[TraceRow]:
    spans = _joined(list(_spans(given)), list(_logs(given)))
    for trace, found in by_trace(spans).items():
        if not _is_ours(found):
            yield row_of(trace, found)


def _is_ours(spans: Sequence[TraceSpan]) -> bool:
    """Traces of judging are not judged."""
    return all(span.name.startswith("gen_ai.evaluation") for span in spans)


def rows_of(spans: Iterable[TraceSpan]) -> Iterator[TraceRow]:
    """A row for each trace."""
    return starmap(row_of, by_trace(spans).items())


def row_of(trace: str, spans: list[TraceSpan]) -> TraceRow:
    session = next((span.session for span in spans if span.session), None)
    return TraceRow(trajectory_of_spans(spans), present(id=trace or None, session_id=session))


def _is_otlp(one: Object) -> bool:
    keys = ("resourceSpans", "resource_spans", "resourceLogs", "resource_logs")
    return any(isinstance(one.get(key), list) for key in keys)


OTLP = TraceFormat("otlp", _read, _is_otlp, lambda given: all(map(_is_otlp, given)))
