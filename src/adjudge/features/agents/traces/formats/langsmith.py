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


def _is_run(document: Object) -> bool:
    return "run_type" in document and ("trace_id" in document or "dotted_order" in document)


def _span(run: Object) -> TraceSpan:
    inputs, outputs = run.get("inputs"), run.get("outputs")
    parent = text_at(run, "parent_run_id") or None
    span = TraceSpan(
        text_at(run, "id", "run_id"),
        parent,
        text_at(run, "trace_id") or text_at(run, "id"),
        text_at(run, "name"),
        _TYPES.get(str(run["run_type"]), "agent" if parent is None else "other"),
        start=time_at(run, "start_time"),
        end=time_at(run, "end_time"),
        error=text_at(run, "error") or None,
        session=text_at(run, "thread_id") or None,
    )
    if span.kind == "model":
        _read_model(span, run, inputs, outputs)
    elif span.kind == "tool":
        span.result = tool_result(outputs, span.error)
        id = span.result.id or text_at(inner_object(run, "extra"), "tool_call_id") or None
        span.call = CalledTool(span.name, _tool_arguments(inputs), id)
    elif span.kind == "retriever":
        span.documents = documents_in(outputs)
    else:
        read_whole(span, inputs, outputs)
    return span


def _tool_arguments(inputs: object) -> JsonObject | str:
    """Read a tool's input: an object, or an object as text under ``input``.

    langchain-core up to 1.2.0 writes the text as Python. Text that cannot be parsed stays text.
    """
    text = inner(inputs, "input")
    if not isinstance(text, str) or len(inner_object(inputs)) > 1:
        return arguments_of(inputs)
    read = arguments_of(text, or_python=True)
    is_object = isinstance(read, Mapping) or text.lstrip().startswith("{")
    return read if is_object else arguments_of(inputs)


def _read_model(span: TraceSpan, run: Object, inputs: object, outputs: object) -> None:
    prompts = inner(inputs, "prompts")
    if isinstance(prompts, list) and prompts and isinstance(prompts[0], str):
        # roles are words in a text, so only the first one is certain
        match = _SYSTEM.match(prompts[0])
        span.system = match[1] if match else ""
    else:
        listed = inner(inputs, "messages")
        nested = isinstance(listed, list) and listed and isinstance(listed[0], list)
        span.inputs = read_turns(listed[0] if nested else listed if listed is not None else inputs)
    span.outputs = read_turns(outputs)
    span.usage = next((turn.usage for turn in span.outputs if turn.usage), None)
    span.usage = span.usage or usage_of(inner(outputs, "usage_metadata"))
    counted = {key: run.get(key) for key in ("prompt_tokens", "completion_tokens")}
    span.usage = span.usage or usage_of(counted) or Usage(1)
    span.usd = amount(run, "total_cost")
    parameters = inner_object(run, "extra", "invocation_params")
    span.tools = tools_of(first_of(parameters, "tools", "functions"))


def _runs(documents: Sequence[Object]) -> Iterator[Object]:
    """Yield all runs, including child runs."""
    waiting = list(reversed(documents))
    while waiting:
        run = waiting.pop()
        if isinstance(listed := run.get("runs"), list):
            waiting += reversed(objects(listed))
            continue
        yield run
        waiting += reversed(objects(run, "child_runs"))


def _read(documents: Sequence[Object]) -> Iterator[TraceRow]:
    yield from rows_of(_span(run) for run in _runs(documents) if _is_run(run))


LANGSMITH = TraceFormat(
    "langsmith",
    _read,
    lambda document: any(map(_is_run, objects(document, "runs")[:1])),
    lambda documents: all(map(_is_run, documents)),
)
