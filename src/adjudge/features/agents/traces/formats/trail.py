"""TRAIL and other traces by Patronus: a tree of OpenInference spans."""

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


def spans_below(roots: Sequence[Object]) -> Iterator[tuple[Object, str | None]]:
    """Yield each span with the id of its parent, parents first."""
    waiting: list[tuple[Object, str | None]] = [(span, None) for span in reversed(roots)]
    while waiting:
        span, parent = waiting.pop()
        yield span, parent
        below = objects(span, "child_spans")
        waiting += [(child, text_at(span, "span_id")) for child in reversed(below)]


def _span(span: Object, parent: str | None) -> TraceSpan:
    start = time_at(span, "timestamp")
    took = _DURATION.fullmatch(text_at(span, "duration"))
    units = (86400, 3600, 60, 1)
    lasted = (
        None
        if took is None
        else sum(
            float(part) * unit for part, unit in zip(took.groups(), units, strict=True) if part
        )
    )
    base = TraceSpan(
        text_at(span, "span_id"),
        text_at(span, "parent_span_id") or parent,
        text_at(span, "trace_id"),
        text_at(span, "span_name"),
        start=start,
        end=None if start is None or lasted is None else start + lasted,
        error=error_of(span.get("status_code"), text_at(span, "status_message")),
    )
    events = [
        {
            "name": event.get("Name") or event.get("name"),
            "attributes": event.get("Attributes") or event.get("attributes"),
        }
        for event in objects(span, "events")
    ]
    return span_of(base, inner_object(span, "span_attributes"), events)


def _read(documents: Sequence[Object]) -> Iterator[TraceRow]:
    for document in documents:
        spans = [_span(*placed) for placed in spans_below(objects(document["spans"]))]
        yield row_of(text_at(document, "trace_id"), spans)


TRAIL = TraceFormat(
    "trail",
    _read,
    lambda document: first_has(document.get("spans"), "span_attributes", "child_spans"),
)
