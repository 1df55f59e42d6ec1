"""OpenAI Agents SDK: a trace and its spans, which hold neither question nor answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from adjudge.core.domain.message import Usage
from adjudge.core.reading.foreign_values import (
    Object,
    arguments_of,
    as_text,
    first_of,
    inner,
    objects,
    text_at,
    time_at,
    usage_of,
)
from adjudge.features.agents.traces.formats.otlp import row_of
from adjudge.features.agents.traces.messages import read_turns
from adjudge.features.agents.traces.row import TraceFormat, TraceRow, present
from adjudge.features.agents.traces.spans import TraceSpan, by_trace
from adjudge.features.agents.traces.turns import CalledTool, Returned
from adjudge.features.agents.trajectory import ToolDefinition


def _is_record(record: Object) -> bool:
    return record.get("object") == "trace" or (
        record.get("object") == "trace.span" and isinstance(record.get("span_data"), Mapping)
    )


def _span(record: Object) -> TraceSpan:
    data = record["span_data"]
    error = record.get("error")
    failed = None if not error else str(inner(error, "message") or as_text(error))
    span = TraceSpan(
        text_at(record, "id"),
        text_at(record, "parent_id") or None,
        text_at(record, "trace_id"),
        text_at(data, "name"),
        start=time_at(record, "started_at"),
        end=time_at(record, "ended_at"),
        error=failed,
    )
    kind = data.get("type")
    if kind == "agent":
        span.kind, span.agent = "agent", text_at(data, "name")
        names = data.get("tools")
        listed = names if isinstance(names, list) else []
        span.tools = tuple(ToolDefinition(name) for name in listed if isinstance(name, str))
    elif kind in ("response", "generation"):
        span.kind, span.usage = "model", usage_of(data.get("usage")) or Usage(1)
        span.inputs = read_turns(data.get("input")) if data.get("input") else []
        output = first_of(data, "output") or inner(data, "response", "output")
        span.outputs = read_turns(output) if output else []
    elif kind in ("function", "mcp_tools") and "input" in data:
        back = data.get("output")
        span.kind = "tool"
        span.call = CalledTool(span.name, arguments_of(data.get("input")))
        span.result = Returned(None if back is None else as_text(back), error=failed)
    elif kind == "handoff":
        span.kind, span.agent, span.to = (
            "handoff",
            text_at(data, "from_agent"),
            text_at(data, "to_agent"),
        )
    return span


def _read(documents: Sequence[Object]) -> Iterator[TraceRow]:
    listed = (
        objects(documents[0].get("data"))
        if len(documents) == 1 and "data" in documents[0]
        else documents
    )
    traces = {record.get("id"): record for record in listed if record.get("object") == "trace"}
    spans = (_span(record) for record in listed if record.get("object") == "trace.span")
    for id, trace_spans in by_trace(spans).items():
        row = row_of(id, trace_spans)
        about = traces.get(id, {})
        session, name = about.get("group_id"), about.get("workflow_name")
        columns = {**row.columns, **present(session_id=session, workflow=name)}
        yield TraceRow(row.trajectory, columns)


OPENAI_AGENTS = TraceFormat(
    "openai-agents",
    _read,
    lambda document: any(map(_is_record, objects(document, "data")[:1])),
    lambda documents: all(map(_is_record, documents)),
)
