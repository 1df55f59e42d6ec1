"""MLflow traces: attributes are JSON texts inside JSON."""

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


def _span(one: Object, trace: str) -> TraceSpan:
    given = {key: _opened(key, value) for key, value in inner_object(one, "attributes").items()}
    status = one.get("status")
    code = first_of(status, "code", "status_code") if isinstance(status, Mapping) else status
    base = TraceSpan(
        text_at(one, "span_id") or text_at(inner_object(one, "context"), "span_id"),
        text_at(one, "parent_span_id", "parent_id") or None,
        trace,
        text_at(one, "name"),
        start=time_at(one, "start_time_unix_nano", "start_time"),
        end=time_at(one, "end_time_unix_nano", "end_time"),
        error=error_of(code, str(inner(status, "message") or "")),
    )
    return span_of(base, given, objects(one, "events"))


def _opened(key: str, value: object) -> object:
    """Of a text in JSON the text; results of tools stay as they are written."""
    found = parse_json(value)
    return found if isinstance(found, str) or not key.startswith("mlflow.span") else value


def _read(given: Sequence[Object]) -> Iterator[TraceRow]:
    for one in given:
        id = str(inner(one, "info", "trace_id") or inner(one, "info", "request_id") or "")
        spans = [_span(span, id) for span in objects(one, "data", "spans")]
        row = row_of(id, spans)
        session = text_at(inner_object(one, "info", "trace_metadata"), *_SESSION)
        columns = {**row.columns, **present(session_id=session or None)}
        state = inner(one, "info", "state")
        ended = row.trajectory.ended or (str(state).lower() if state else None)
        yield TraceRow(replace(row.trajectory, ended=ended), columns)


def _is_trace(one: Object) -> bool:
    named = inner(one, "info", "trace_id") or inner(one, "info", "request_id")
    return bool(named) and isinstance(inner(one, "data", "spans"), list)


MLFLOW = TraceFormat("mlflow", _read, _is_trace)
