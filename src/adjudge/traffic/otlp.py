"""Spans of OpenTelemetry as they arrive: each by itself."""

from __future__ import annotations

from adjudge.domain.json_types import JsonDict, JsonObject, object_in, objects_in, text_in
from adjudge.errors import WrongData
from adjudge.traffic.source import TrafficEvent

_SPANS = ("resourceSpans", "resource_spans")
_OURS = "adjudge"


def holds_spans(row: JsonObject) -> bool:
    """Whether a line is what an exporter of OpenTelemetry writes."""
    return any(isinstance(row.get(name), list) for name in _SPANS)


def spans_in(row: JsonObject) -> tuple[list[TrafficEvent], list[str]]:
    """Its spans, each with what it needs to be read alone, not those that judging made; and what
    is wrong with others.
    """
    events: list[TrafficEvent] = []
    wrong: list[str] = []
    for name in _SPANS:
        for part in objects_in(row.get(name)):
            if _is_ours(object_in(part.get("resource"))):
                continue
            for scope in objects_in(part.get("scopeSpans", part.get("scope_spans"))):
                for span in objects_in(scope.get("spans")):
                    try:
                        events.append(_event(part, scope, span))
                    except ValueError as error:
                        wrong.append(error.args[0])
    return events, wrong


def _event(part: JsonObject, scope: JsonObject, span: JsonObject) -> TrafficEvent:
    trace = text_in(span.get("traceId", span.get("trace_id"))) or ""
    id = text_in(span.get("spanId", span.get("span_id"))) or ""
    if not trace or not id:
        raise WrongData("a span has no traceId or no spanId")
    alone: JsonDict = {
        "resource": object_in(part.get("resource")),
        "scopeSpans": [{"scope": object_in(scope.get("scope")), "spans": [span]}],
    }
    ended = span.get("endTimeUnixNano", span.get("end_time_unix_nano"))
    return TrafficEvent(
        id,
        alone,
        str(ended or ""),
        trace,
        is_root=not span.get("parentSpanId", span.get("parent_span_id")) and bool(ended),
    )


def _is_ours(resource: JsonObject) -> bool:
    """Whether we made the trace: judging is not judged."""
    named = {
        text_in(one.get("key")): text_in(object_in(one.get("value")).get("stringValue"))
        for one in objects_in(resource.get("attributes"))
    }
    return named.get("service.name") == _OURS
