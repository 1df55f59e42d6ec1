"""Vercel's AI SDK: spans as JavaScript holds them, the steps of a result, messages with parts."""

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
from adjudge.features.agents.traces.builder import built
from adjudge.features.agents.traces.formats.chats import is_vercel_chat, messages_in, read_chat
from adjudge.features.agents.traces.formats.otlp import rows_of
from adjudge.features.agents.traces.messages import read_turns
from adjudge.features.agents.traces.otel import error_of, span_of
from adjudge.features.agents.traces.row import TraceFormat, TraceRow, present
from adjudge.features.agents.traces.spans import TraceSpan


def _is_span(one: Object) -> bool:
    return "spanId" in one and isinstance(one.get("attributes"), Mapping)


def _span(one: Object) -> TraceSpan:
    base = TraceSpan(
        text_at(one, "spanId"),
        text_at(one, "parentSpanId", "parentId")
        or str(inner(one, "parentSpanContext", "spanId") or "")
        or None,
        text_at(one, "traceId"),
        text_at(one, "name"),
        start=time_at(one, "startTime"),
        end=time_at(one, "endTime"),
        error=error_of(
            inner(one, "status", "code"), text_at(inner_object(one, "status"), "message")
        ),
    )
    return span_of(base, one["attributes"], objects(one, "events"))


def _read_spans(given: Sequence[Object]) -> Iterator[TraceRow]:
    yield from rows_of(map(_span, given))


def _read_steps(given: Sequence[Object]) -> Iterator[TraceRow]:
    for one in given:
        prompt = first_of(one, "messages", "prompt", "input")
        turns = [] if prompt is None else read_turns(prompt)
        for step in objects(one["steps"]):
            content = step.get("content")
            if not isinstance(content, list):
                words = [{"type": "text", "text": step["text"]}] if step.get("text") else []
                named = [{**call, "type": "tool-call"} for call in objects(step, "toolCalls")]
                backs = [{**back, "type": "tool-result"} for back in objects(step, "toolResults")]
                content = [*words, *named, *backs]
            for turn in read_turns({"role": "assistant", "content": content}):
                turn.usage = usage_of(step.get("usage")) or Usage(1)
                turn.source = id_at(step.get("response") or {}, "id")
                turn.ended = text_at(step, "finishReason") or None
                turns.append(turn)
        system = text_at(one, "system", "instructions")
        yield TraceRow(built(turns, system=system), present(id=one.get("id")))


def _is_steps(one: Object) -> bool:
    steps = objects(one, "steps")
    return bool(steps) and ("toolCalls" in steps[0] or "toolResults" in steps[0])


SPANS = TraceFormat("vercel", _read_spans, lines=lambda given: all(map(_is_span, given)))
STEPS = TraceFormat("vercel", _read_steps, _is_steps)
MESSAGES = TraceFormat(
    "vercel",
    read_chat,
    lambda one: is_vercel_chat(objects(messages_in(one))),
    is_vercel_chat,
)
