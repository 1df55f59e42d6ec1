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


def _is_span(one: Object) -> bool:
    named = "context.span_id" in one or isinstance(inner(one, "context", "span_id"), str)
    return named and "span_kind" in one


def _span(one: Object) -> TraceSpan:
    given = {**inner_object(one, "attributes")}
    given |= {key.removeprefix(_PREFIX): one[key] for key in one if key.startswith(_PREFIX)}
    base = TraceSpan(
        text_at(one, "context.span_id") or text_at(inner_object(one, "context"), "span_id"),
        text_at(one, "parent_id") or None,
        text_at(one, "context.trace_id") or text_at(inner_object(one, "context"), "trace_id"),
        text_at(one, "name"),
        start=time_at(one, "start_time"),
        end=time_at(one, "end_time"),
        error=error_of(one.get("status_code"), text_at(one, "status_message")),
    )
    events = objects(parse_loosely(one.get("events")))
    return span_of(base, given, events, text_at(one, "span_kind"))


def _read(given: Sequence[Object]) -> Iterator[TraceRow]:
    listed = objects(given[0].get("data")) if len(given) == 1 and "data" in given[0] else given
    yield from rows_of(map(_span, listed))


PHOENIX = TraceFormat(
    "phoenix",
    _read,
    lambda one: any(map(_is_span, objects(one, "data")[:1])),
    lambda given: all(map(_is_span, given)),
)
