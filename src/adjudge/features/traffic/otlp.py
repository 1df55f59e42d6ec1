"""Split OpenTelemetry exports into single spans."""

from __future__ import annotations

from adjudge.core.domain.json_types import JsonDict, JsonObject
from adjudge.core.reading.foreign_values import first_of, inner_object, objects, text_at
from adjudge.errors import WrongData
from adjudge.features.agents.traces.formats.otlp import attributes_of
from adjudge.features.traffic.source import TrafficEvent

_SPANS = ("resourceSpans", "resource_spans")
_OURS = "adjudge"


def holds_spans(row: JsonObject) -> bool:
    """Return True if a line has the form of an OpenTelemetry export."""
    return any(isinstance(row.get(name), list) for name in _SPANS)


def spans_in(row: JsonObject) -> tuple[list[TrafficEvent], list[str]]:
    """Return the spans, each with its resource and scope, and errors for invalid ones.

    Spans that adjudge made while judging are left out.
    """
    events: list[TrafficEvent] = []
    wrong: list[str] = []
    for name in _SPANS:
        for part in objects(row, name):
            if _is_ours(part):
                continue
            for scope in objects(first_of(part, "scopeSpans", "scope_spans")):
                for span in objects(scope, "spans"):
                    try:
                        events.append(_event(part, scope, span))
                    except ValueError as error:
                        wrong.append(error.args[0])
    return events, wrong


def _event(part: JsonObject, scope: JsonObject, span: JsonObject) -> TrafficEvent:
    trace, id = text_at(span, "traceId", "trace_id"), text_at(span, "spanId", "span_id")
    if not trace or not id:
        raise WrongData("a span lacks a traceId or spanId")
    alone: JsonDict = {
        "resource": inner_object(part, "resource"),
        "scopeSpans": [{"scope": inner_object(scope, "scope"), "spans": [span]}],
    }
    ended = first_of(span, "endTimeUnixNano", "end_time_unix_nano")
    return TrafficEvent(
        id,
        alone,
        str(ended or ""),
        trace,
        is_root=not first_of(span, "parentSpanId", "parent_span_id") and bool(ended),
    )


def _is_ours(part: JsonObject) -> bool:
    """Return True if adjudge made the trace, since judging is not judged."""
    attributes = attributes_of(inner_object(part, "resource").get("attributes"))
    return attributes.get("service.name") == _OURS
