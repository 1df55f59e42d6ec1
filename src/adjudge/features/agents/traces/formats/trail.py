"""TRAIL, and what else Patronus writes: a tree of OpenInference spans."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from adjudge.core.reading.foreign_values import (
    Object,
    first_has,
    inner_object,
    objects,
    text_at,
    time_at,
)
from adjudge.features.agents.traces.formats.otlp import row_of
from adjudge.features.agents.traces.otel import error_of, span_of
from adjudge.features.agents.traces.row import TraceFormat, TraceRow
from adjudge.features.agents.traces.spans import TraceSpan

_DURATION = re.compile(r"P(?:(\d+)D)?T?(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?")


def spans_below(given: Sequence[Object]) -> Iterator[tuple[Object, str | None]]:
    """Each span with the id of the one above it, parents first."""
    waiting: list[tuple[Object, str | None]] = [(one, None) for one in reversed(given)]
    while waiting:
        one, parent = waiting.pop()
        yield one, parent
        below = objects(one, "child_spans")
        waiting += [(child, text_at(one, "span_id")) for child in reversed(below)]


def _span(one: Object, parent: str | None) -> TraceSpan:
    start = time_at(one, "timestamp")
    took = _DURATION.fullmatch(text_at(one, "duration"))
    units = (86400, 3600, 60, 1)
    lasted = (
        None
        if took is None
        else sum(
            float(part) * unit for part, unit in zip(took.groups(), units, strict=True) if part
        )
    )
    base = TraceSpan(
        text_at(one, "span_id"),
        text_at(one, "parent_span_id") or parent,
        text_at(one, "trace_id"),
        text_at(one, "span_name"),
        start=start,
        end=None if start is None or lasted is None else start + lasted,
        error=error_of(one.get("status_code"), text_at(one, "status_message")),
    )
    events = [
        {
            "name": event.get("Name") or event.get("name"),
            "attributes": event.get("Attributes") or event.get("attributes"),
        }
        for event in objects(one, "events")
    ]
    return span_of(base, inner_object(one, "span_attributes"), events)


def _read(given: Sequence[Object]) -> Iterator[TraceRow]:
    for one in given:
        spans = [_span(*placed) for placed in spans_below(objects(one["spans"]))]
        yield row_of(text_at(one, "trace_id"), spans)


TRAIL = TraceFormat(
    "trail", _read, lambda one: first_has(one.get("spans"), "span_attributes", "child_spans")
)
