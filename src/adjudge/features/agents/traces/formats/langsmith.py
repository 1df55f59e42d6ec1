"""LangSmith: the runs of a trace."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.message import Usage
from adjudge.core.reading.foreign_values import (
    Object,
    amount,
    arguments_of,
    first_of,
    inner,
    inner_object,
    objects,
    text_at,
    time_at,
    usage_of,
)
from adjudge.features.agents.traces.formats.otlp import rows_of
from adjudge.features.agents.traces.messages import read_turns, tools_of
from adjudge.features.agents.traces.otel import documents_in, read_whole, tool_result
from adjudge.features.agents.traces.row import TraceFormat, TraceRow
from adjudge.features.agents.traces.spans import SpanKind, TraceSpan
from adjudge.features.agents.traces.turns import CalledTool

_TYPES: Mapping[str, SpanKind] = {"llm": "model", "tool": "tool", "retriever": "retriever"}
_SYSTEM = re.compile(r"System: (.*?)(?=\n(?:Human|AI|Tool|Function): |\Z)", re.DOTALL)


def _is_run(one: Object) -> bool:
    return "run_type" in one and ("trace_id" in one or "dotted_order" in one)


def _span(one: Object) -> TraceSpan:
    inputs, outputs = one.get("inputs"), one.get("outputs")
    parent = text_at(one, "parent_run_id") or None
    span = TraceSpan(
        text_at(one, "id", "run_id"),
        parent,
        text_at(one, "trace_id") or text_at(one, "id"),
        text_at(one, "name"),
        _TYPES.get(str(one["run_type"]), "agent" if parent is None else "other"),
        start=time_at(one, "start_time"),
        end=time_at(one, "end_time"),
        error=text_at(one, "error") or None,
        session=text_at(one, "thread_id") or None,
    )
    if span.kind == "model":
        _read_model(span, one, inputs, outputs)
    elif span.kind == "tool":
        span.result = tool_result(outputs, span.error)
        id = span.result.id or text_at(inner_object(one, "extra"), "tool_call_id") or None
        span.call = CalledTool(span.name, _tool_arguments(inputs), id)
    elif span.kind == "retriever":
        span.documents = documents_in(outputs)
    else:
        read_whole(span, inputs, outputs)
    return span


def _tool_arguments(inputs: object) -> JsonObject | str:
    """Read what a tool was given: an object, or under ``input`` a text of one. langchain-core up to
    1.2.0 writes that text as Python does, and what cannot be read of it stays a text.
    """
    given = inner(inputs, "input")
    if not isinstance(given, str) or len(inner_object(inputs)) > 1:
        return arguments_of(inputs)
    read = arguments_of(given, or_python=True)
    is_object = isinstance(read, Mapping) or given.lstrip().startswith("{")
    return read if is_object else arguments_of(inputs)


def _read_model(span: TraceSpan, one: Object, inputs: object, outputs: object) -> None:
    prompts = inner(inputs, "prompts")
    if isinstance(prompts, list) and prompts and isinstance(prompts[0], str):
        found = _SYSTEM.match(prompts[0])  # roles are words in a text: only the first is sure
        span.system = found[1] if found else ""
    else:
        listed = inner(inputs, "messages")
        nested = isinstance(listed, list) and listed and isinstance(listed[0], list)
        span.inputs = read_turns(listed[0] if nested else listed if listed is not None else inputs)
    span.outputs = read_turns(outputs)
    span.usage = next((turn.usage for turn in span.outputs if turn.usage), None)
    span.usage = span.usage or usage_of(inner(outputs, "usage_metadata"))
    counted = {key: one.get(key) for key in ("prompt_tokens", "completion_tokens")}
    span.usage = span.usage or usage_of(counted) or Usage(1)
    span.usd = amount(one, "total_cost")
    parameters = inner_object(one, "extra", "invocation_params")
    span.tools = tools_of(first_of(parameters, "tools", "functions"))


def _runs(given: Sequence[Object]) -> Iterator[Object]:
    """The runs, those below a run among them."""
    waiting = list(reversed(given))
    while waiting:
        one = waiting.pop()
        if isinstance(listed := one.get("runs"), list):
            waiting += reversed(objects(listed))
            continue
        yield one
        waiting += reversed(objects(one, "child_runs"))


def _read(given: Sequence[Object]) -> Iterator[TraceRow]:
    yield from rows_of(_span(one) for one in _runs(given) if _is_run(one))


LANGSMITH = TraceFormat(
    "langsmith",
    _read,
    lambda one: any(map(_is_run, objects(one, "runs")[:1])),
    lambda given: all(map(_is_run, given)),
)
