"""MLflow traces, whose attributes are JSON texts inside JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from adjudge.core.reading.foreign_values import (
    Object,
    first_of,
    inner,
    inner_object,
    objects,
    parse_json,
    text_at,
    time_at,
)
from adjudge.features.agents.traces.formats.otlp import row_of
from adjudge.features.agents.traces.otel import error_of, span_of
from adjudge.features.agents.traces.row import TraceFormat, TraceRow, present
from adjudge.features.agents.traces.spans import TraceSpan

_SESSION = ("mlflow.trace.session", "session_id")


def _span(span: Object, trace: str) -> TraceSpan:
    attributes = {
        key: _decode(key, value) for key, value in inner_object(span, "attributes").items()
    }
    status = span.get("status")
    code = first_of(status, "code", "status_code") if isinstance(status, Mapping) else status
    base = TraceSpan(
        text_at(span, "span_id") or text_at(inner_object(span, "context"), "span_id"),
        text_at(span, "parent_span_id", "parent_id") or None,
        trace,
        text_at(span, "name"),
        start=time_at(span, "start_time_unix_nano", "start_time"),
        end=time_at(span, "end_time_unix_nano", "end_time"),
        error=error_of(code, str(inner(status, "message") or "")),
    )
    return span_of(base, attributes, objects(span, "events"))


def _decode(key: str, value: object) -> object:
    """Decode a value that is a JSON string; leave other values, such as tool results, as they
    are.
    """
    decoded = parse_json(value)
    return decoded if isinstance(decoded, str) or not key.startswith("mlflow.span") else value


def _read(documents: Sequence[Object]) -> Iterator[TraceRow]:
    for document in documents:
        id = str(inner(document, "info", "trace_id") or inner(document, "info", "request_id") or "")
        spans = [_span(span_data, id) for span_data in objects(document, "data", "spans")]
        row = row_of(id, spans)
        session = text_at(inner_object(document, "info", "trace_metadata"), *_SESSION)
        columns = {**row.columns, **present(session_id=session or None)}
        state = inner(document, "info", "state")
        ended = row.trajectory.ended or (str(state).lower() if state else None)
        yield TraceRow(replace(row.trajectory, ended=ended), columns)


def _is_trace(document: Object) -> bool:
    trace_id = inner(document, "info", "trace_id") or inner(document, "info", "request_id")
    return bool(trace_id) and isinstance(inner(document, "data", "spans"), list)


MLFLOW = TraceFormat("mlflow", _read, _is_trace)
