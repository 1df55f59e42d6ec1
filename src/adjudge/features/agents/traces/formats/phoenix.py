"""Phoenix: spans of its API, and the table of spans that its client writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from adjudge.core.reading.foreign_values import (
    Object,
    inner,
    inner_object,
    objects,
    parse_loosely,
    text_at,
    time_at,
)
from adjudge.features.agents.traces.formats.otlp import rows_of
from adjudge.features.agents.traces.otel import error_of, span_of
from adjudge.features.agents.traces.row import TraceFormat, TraceRow
from adjudge.features.agents.traces.spans import TraceSpan

_PREFIX = "attributes."


def _is_span(span: Object) -> bool:
    has_id = "context.span_id" in span or isinstance(inner(span, "context", "span_id"), str)
    return has_id and "span_kind" in span


def _span(span: Object) -> TraceSpan:
    attributes = {**inner_object(span, "attributes")}
    attributes |= {key.removeprefix(_PREFIX): span[key] for key in span if key.startswith(_PREFIX)}
    base = TraceSpan(
        text_at(span, "context.span_id") or text_at(inner_object(span, "context"), "span_id"),
        text_at(span, "parent_id") or None,
        text_at(span, "context.trace_id") or text_at(inner_object(span, "context"), "trace_id"),
        text_at(span, "name"),
        start=time_at(span, "start_time"),
        end=time_at(span, "end_time"),
        error=error_of(span.get("status_code"), text_at(span, "status_message")),
    )
    events = objects(parse_loosely(span.get("events")))
    return span_of(base, attributes, events, text_at(span, "span_kind"))


def _read(documents: Sequence[Object]) -> Iterator[TraceRow]:
    listed = (
        objects(documents[0].get("data"))
        if len(documents) == 1 and "data" in documents[0]
        else documents
    )
    yield from rows_of(map(_span, listed))


PHOENIX = TraceFormat(
    "phoenix",
    _read,
    lambda document: any(map(_is_span, objects(document, "data")[:1])),
    lambda documents: all(map(_is_span, documents)),
)
