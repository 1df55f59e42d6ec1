"""Vercel's AI SDK: spans as JavaScript objects, the steps of a result, messages with parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from adjudge.core.domain.message import Usage
from adjudge.core.reading.foreign_values import (
    Object,
    first_of,
    id_at,
    inner,
    inner_object,
    objects,
    text_at,
    time_at,
    usage_of,
)
from adjudge.features.agents.traces.builder import build_trajectory
from adjudge.features.agents.traces.formats.chats import is_vercel_chat, messages_in, read_chat
from adjudge.features.agents.traces.formats.otlp import rows_of
from adjudge.features.agents.traces.messages import read_turns
from adjudge.features.agents.traces.otel import error_of, span_of
from adjudge.features.agents.traces.row import TraceFormat, TraceRow, present
from adjudge.features.agents.traces.spans import TraceSpan


def _is_span(document: Object) -> bool:
    return "spanId" in document and isinstance(document.get("attributes"), Mapping)


def _span(span: Object) -> TraceSpan:
    base = TraceSpan(
        text_at(span, "spanId"),
        text_at(span, "parentSpanId", "parentId")
        or str(inner(span, "parentSpanContext", "spanId") or "")
        or None,
        text_at(span, "traceId"),
        text_at(span, "name"),
        start=time_at(span, "startTime"),
        end=time_at(span, "endTime"),
        error=error_of(
            inner(span, "status", "code"), text_at(inner_object(span, "status"), "message")
        ),
    )
    return span_of(base, span["attributes"], objects(span, "events"))


def _read_spans(documents: Sequence[Object]) -> Iterator[TraceRow]:
    yield from rows_of(map(_span, documents))


def _read_steps(documents: Sequence[Object]) -> Iterator[TraceRow]:
    for document in documents:
        prompt = first_of(document, "messages", "prompt", "input")
        turns = [] if prompt is None else read_turns(prompt)
        for step in objects(document["steps"]):
            content = step.get("content")
            if not isinstance(content, list):
                words = [{"type": "text", "text": step["text"]}] if step.get("text") else []
                calls = [{**call, "type": "tool-call"} for call in objects(step, "toolCalls")]
                backs = [{**back, "type": "tool-result"} for back in objects(step, "toolResults")]
                content = [*words, *calls, *backs]
            for turn in read_turns({"role": "assistant", "content": content}):
                turn.usage = usage_of(step.get("usage")) or Usage(1)
                turn.source = id_at(step.get("response") or {}, "id")
                turn.ended = text_at(step, "finishReason") or None
                turns.append(turn)
        system = text_at(document, "system", "instructions")
        yield TraceRow(build_trajectory(turns, system=system), present(id=document.get("id")))


def _is_steps(document: Object) -> bool:
    steps = objects(document, "steps")
    return bool(steps) and ("toolCalls" in steps[0] or "toolResults" in steps[0])


SPANS = TraceFormat("vercel", _read_spans, lines=lambda documents: all(map(_is_span, documents)))
STEPS = TraceFormat("vercel", _read_steps, _is_steps)
MESSAGES = TraceFormat(
    "vercel",
    read_chat,
    lambda document: is_vercel_chat(objects(messages_in(document))),
    is_vercel_chat,
)
