"""Attributes of OpenTelemetry spans → what a span is: the GenAI conventions, OpenInference,
OpenLLMetry, Vercel's SDK and MLflow. The names are still changing; all of them stand here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from adjudge.core.domain.message import Usage
from adjudge.core.reading.foreign_values import (
    Object,
    amount,
    arguments_of,
    as_text,
    first_of,
    inner,
    inner_object,
    is_cut,
    objects,
    parse_json,
    parse_loosely,
    text_at,
    unflatten,
    usage_of,
    whole_items,
)
from adjudge.features.agents.traces.messages import (
    REDACTED,
    are_messages,
    call_of,
    read_turns,
    tools_of,
)
from adjudge.features.agents.traces.spans import SpanKind, TraceSpan
from adjudge.features.agents.traces.turns import CalledTool, Returned, Role, Said, Turn

_NAMES: Mapping[SpanKind, tuple[str, ...]] = {
    "model": (
        *("chat", "text_completion", "generate_content", "completion"),
        *("LLM", "CHAT_MODEL", "GENERATION"),
        *("ai.generateText.doGenerate", "ai.streamText.doStream"),
        *("ai.generateObject.doGenerate", "ai.streamObject.doStream"),
    ),
    "tool": ("execute_tool", "TOOL", "tool", "ai.toolCall"),
    "agent": (
        *("invoke_agent", "create_agent", "invoke_workflow", "AGENT", "agent"),
        *("ai.generateText", "ai.streamText", "ai.generateObject", "ai.streamObject"),
    ),
    "retriever": ("retrieval", "RETRIEVER"),
}
_KINDS = {name: kind for kind, names in _NAMES.items() for name in names}
_KIND_KEYS = (
    *("gen_ai.operation.name", "openinference.span.kind", "mlflow.spanType", "ai.operationId"),
    *("traceloop.span.kind", "llm.request.type"),
)
_SESSIONS = (
    *(
        "gen_ai.conversation.id",
        "session.id",
        "sessionId",
        "thread_id",
        "ai.telemetry.metadata.sessionId",
    ),
    *("traceloop.association.properties.session_id", "mlflow.trace.session"),
)
_INPUTS = ("input.value", "mlflow.spanInputs", "traceloop.entity.input", "ai.prompt")
_OUTPUTS = (
    *("output.value", "mlflow.spanOutputs", "traceloop.entity.output", "final_result"),
    "ai.response.text",
)
_ASKED = (
    "question",
    "query",
    "task",
    "input",
    "prompt",
    "user_input",
    "message",
    "text",
    "content",
)
_ANSWERED = ("output", "answer", "response", "result", "text", "content", "final_answer", "return")
_EVENT_ROLES: Mapping[str, Role] = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    "gen_ai.choice": "assistant",
}
DETAILS = "gen_ai.client.inference.operation.details"
_ROLE = re.compile(r'"role"\s*:\s*"(\w+)"')
_TOOL_KEYS = ("gen_ai.tool.definitions", "mlflow.chat.tools", "ai.prompt.tools", "llm.tools")


def span_of(
    base: TraceSpan, attributes: Object, events: Sequence[Object] = (), kind: str = ""
) -> TraceSpan:
    """``base``, which has ids and times, with what its attributes and events say."""
    given = {key: value for key, value in attributes.items() if value is not None}
    base.kind = _kind(given, kind)
    base.agent = text_at(given, "gen_ai.agent.name", "agent.name", "agent_name") or (
        text_at(given, "ai.telemetry.functionId") if base.kind == "agent" else ""
    )
    if base.kind == "agent" and not base.agent:
        base.agent = text_at(given, "traceloop.entity.name") or base.name
    base.session = text_at(given, *_SESSIONS) or None
    base.inputs = _messages(given, "gen_ai.input.messages", "llm.input_messages", "user")
    base.outputs = _messages(given, "gen_ai.output.messages", "llm.output_messages", "assistant")
    _read_older(base, given)
    read_events(base, events)
    base.system = base.system or _system(given)
    base.error = (
        base.error or text_at(given, "error.message", "error.type", "exception.message") or None
    )
    if base.kind == "model":
        _read_model(base, given)
    elif base.kind == "tool":
        _read_tool(base, given)
    elif base.kind == "retriever":
        base.documents = _documents(given)
    else:
        read_whole(base, first_of(given, *_INPUTS), first_of(given, *_OUTPUTS))
    return base


def _kind(given: Object, said: str) -> SpanKind:
    for value in (*(given.get(key) for key in _KIND_KEYS), said):
        if (found := _KINDS.get(str(parse_json(value)))) is not None:
            return found
    if "gen_ai.tool.name" in given and "gen_ai.tool.call.id" in given:
        return "tool"
    has_prompt = any(key.startswith("gen_ai.prompt.") for key in given)
    return "model" if has_prompt or "gen_ai.prompt" in given else "other"


def _messages(given: Object, genai: str, openinference: str, role: Role) -> list[Turn]:
    if (said := given.get(genai)) is not None:
        return _maybe_cut(said, role)
    found = unflatten(given, openinference)
    return [turn for one in _listed(found) for turn in read_turns(_openinference(one))]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _maybe_cut(said: object, role: Role) -> list[Turn]:
    """Messages; of a list that breaks off those that are whole, and the rest as it stands."""
    if isinstance(said, str) and is_cut(said):
        whole, rest = whole_items(said) if said.startswith("[") else ([], said)
        named = _ROLE.search(rest)
        last = read_turns({"role": named[1], "content": ""}) if named else []
        spoken: Role = last[0].role if last else role
        return [*read_turns(whole), Turn(spoken, [Said(as_text(rest), "cut")])]
    found = parse_loosely(said)
    if isinstance(found, str):
        return [Turn(role, [Said(found, "redacted" if found == REDACTED else None)])]
    turns = read_turns(found)
    for turn in turns:
        if role == "assistant" and turn.role == "user":
            turn.role = role
    return turns


def _openinference(one: Any) -> Object:
    """A message as OpenInference flattens it, as a chat message."""
    message = inner(one, "message")
    if not isinstance(message, Mapping):
        return inner_object(one)
    blocks = [inner(block, "message_content") for block in _listed(message.get("contents"))]
    content = first_of(message, "content") or [_content(block) for block in objects(blocks)]
    calls = [inner(call, "tool_call") for call in _listed(message.get("tool_calls"))]
    return {**message, "content": content or None, "tool_calls": objects(calls)}


def _content(block: Object) -> Object:
    if isinstance(picture := inner(block, "image"), Mapping):
        url = inner(picture, "image", "url") or inner(picture, "url")
        return {"type": "image", "url": url}
    return block


def _read_older(span: TraceSpan, given: Object) -> None:
    """Names that are no longer written, and are still met."""
    if not span.inputs:
        prompt = unflatten(given, "gen_ai.prompt") or given.get("ai.prompt.messages")
        span.inputs = _maybe_cut(prompt, "user") if isinstance(prompt, str) else read_turns(prompt)
    if not span.outputs:
        said = unflatten(given, "gen_ai.completion")
        turns = _maybe_cut(said, "assistant") if isinstance(said, str) else read_turns(said)
        span.outputs = turns
    text, calls = given.get("ai.response.text"), given.get("ai.response.toolCalls")
    if not span.outputs and span.kind == "model" and (text or calls):
        named = [call_of(one) for one in objects(parse_json(calls))]
        words = [Said(str(text))] if text else []
        span.outputs = [Turn("assistant", [*words, *named])]


def read_events(span: TraceSpan, events: Sequence[Object]) -> None:
    """Messages that were recorded as events, one each; and what went wrong."""
    inputs: list[Turn] = []
    outputs: list[Turn] = []
    for event in events:
        name = text_at(event, "name", "eventName", "event_name")
        body: Object = {**inner_object(event, "attributes"), **inner_object(event, "body")}
        if name == DETAILS:
            inputs += _messages(body, "gen_ai.input.messages", "", "user")
            outputs += _messages(body, "gen_ai.output.messages", "", "assistant")
        elif name in _EVENT_ROLES:
            said: Object = {**body, **inner_object(parse_json(body.get("message")))}
            if "tool_calls" in said:
                said = {**said, "tool_calls": parse_json(said["tool_calls"])}
            if _EVENT_ROLES[name] == "tool":
                said = {**said, "tool_call_id": first_of(said, "tool_call_id", "id")}
            turns = read_turns(
                {
                    **said,
                    "role": said.get("role") or _EVENT_ROLES[name],
                    "content": said.get("content"),
                }
            )
            if name == "gen_ai.choice":
                outputs += turns
            else:
                inputs += turns
        elif name in ("exception", "gen_ai.content.prompt"):
            span.error = span.error or text_at(body, "exception.message", "exception.type") or None
    span.inputs = span.inputs or inputs
    span.outputs = span.outputs or outputs


def _system(given: Object) -> str:
    said = parse_json(given.get("gen_ai.system_instructions"))
    if said is None:
        prompt = parse_json(given.get("ai.prompt"))
        found = inner(prompt, "system")
        return found if isinstance(found, str) else ""
    if isinstance(said, str):
        return said
    return "\n".join(
        text
        for one in _listed(said)
        if (text := one if isinstance(one, str) else text_at(inner_object(one), "content", "text"))
    )


def _read_model(span: TraceSpan, given: Object) -> None:
    span.usage = _usage(given)
    span.usd = amount(first_of(given, "llm.cost.total", "gen_ai.usage.cost", "mlflow.llm.cost"))
    tools = unflatten(given, "llm.tools")
    for key in _TOOL_KEYS[:-1]:
        tools = tools or parse_loosely(given.get(key))
    definitions = [inner(one, "tool", "json_schema") or one for one in _listed(tools)]
    span.tools = tools_of([parse_json(one) for one in definitions])
    if not span.tools:
        span.tools = tools_of(inner(parse_json(given.get("llm.invocation_parameters")), "tools"))
    reasons = parse_loosely(given.get("gen_ai.response.finish_reasons"))
    reason = reasons[-1] if isinstance(reasons, list) and reasons else None
    span.ended = (
        reason
        if isinstance(reason, str)
        else text_at(given, "llm.finish_reason", "ai.response.finishReason") or None
    )
    for keys, side in ((_INPUTS, "inputs"), (_OUTPUTS, "outputs")):
        if not getattr(span, side):
            role: Role = "user" if side == "inputs" else "assistant"
            setattr(span, side, _held(first_of(given, *keys), role))


def _held(value: object, role: Role) -> list[Turn]:
    """Messages inside what a span was given or gave, as a whole."""
    if value is None:
        return []
    if isinstance(value, str) and is_cut(value):
        return [Turn(role, [Said(as_text(value), "cut")])]
    found = parse_loosely(value)
    turns = read_turns(found) if isinstance(found, Mapping | list) else []
    for turn in turns:
        if role == "assistant" and turn.role == "user" and len(turns) == 1:
            turn.role = role
    if turns:
        return turns
    text = (
        found if isinstance(found, str) else _asked(found, _ASKED if role == "user" else _ANSWERED)
    )
    if not text:
        return []
    return [Turn(role, [Said(text, "redacted" if text == REDACTED else None)])]


def _usage(given: Object) -> Usage:
    counted = {
        key.rpartition(".")[2]: value
        for prefix in ("gen_ai.usage.", "ai.usage.", "llm.token_count.", "llm.usage.")
        for key, value in given.items()
        if key.startswith(prefix) and key.count(".") == prefix.count(".")
    }
    cached = first_of(
        given,
        "gen_ai.usage.cache_read.input_tokens",
        "llm.token_count.prompt_details.cache_read",
        "ai.usage.cachedInputTokens",
        "gen_ai.usage.cache_read_input_tokens",
    )
    for key in ("cache_read_input_tokens", "cache_creation_input_tokens"):
        counted.pop(key, None)  # they are among the input tokens
    whole = {**counted, **inner_object(parse_json(given.get("mlflow.chat.tokenUsage")))}
    found = usage_of({**whole, **({"cached_tokens": cached} if cached is not None else {})})
    return found or Usage(1)


def _read_tool(span: TraceSpan, given: Object) -> None:
    name = text_at(
        given, "gen_ai.tool.name", "tool.name", "ai.toolCall.name", "traceloop.entity.name"
    )
    said = first_of(
        given, "gen_ai.tool.call.arguments", "ai.toolCall.args", *_INPUTS, "tool.parameters"
    )
    back = first_of(given, "gen_ai.tool.call.result", "ai.toolCall.result", *_OUTPUTS)
    id = text_at(given, "gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id", "tool.id") or None
    result = tool_result(back, span.error)
    span.call = CalledTool(name or span.name, _arguments(said), id or result.id)
    if isinstance(span.call.arguments, str) and is_cut(span.call.arguments):
        span.call = CalledTool(span.call.name, span.call.arguments, span.call.id, "cut")
    span.result = result


def _arguments(said: object) -> Any:
    """Those of a call; a decorator's record of ``args`` and ``kwargs`` is opened."""
    found = arguments_of(said, or_python=True)
    if isinstance(found, Mapping) and "kwargs" in found and found.keys() <= _WRAPPED:
        named = found["kwargs"]
        if isinstance(named, Mapping) and not found.get("args"):
            return named
    return found


_WRAPPED = {"args", "kwargs", "sanitize_inputs_outputs", "tags", "metadata", "inputs"}


def tool_result(back: object, error: str | None) -> Returned:
    """What a tool's own record says came of a call; a message of LangChain in it is opened."""
    found = parse_loosely(back)
    held = inner(found, "output") if isinstance(found, Mapping) and len(found) == 1 else None
    for message in (found, held):
        if isinstance(message, Mapping) and are_messages([message]):
            for turn in read_turns(message):
                for part in turn.parts:
                    if isinstance(part, Returned):
                        return Returned(part.text, part.id, part.name, error or part.error)
    text = None if back is None else as_text(back)
    missing = "redacted" if text == REDACTED else "cut" if is_cut(back) else None
    return Returned(text, error=error, missing=missing)  # type: ignore[arg-type]


def _documents(given: Object) -> list[str]:
    found = unflatten(given, "retrieval.documents") or parse_json(
        given.get("gen_ai.retrieval.documents")
    )
    if found is None:
        found = parse_loosely(first_of(given, *_OUTPUTS))
    return documents_in(found)


def documents_in(found: object) -> list[str]:
    """The texts of what was retrieved, as any tool writes documents."""
    if isinstance(found, Mapping) and isinstance(found.get("documents"), list):
        found = found["documents"]
    texts: list[str] = []
    for one in _listed(found):
        held = inner(one, "document") or one
        text = (
            first_of(held, "page_content", "content", "text", "pageContent", "body")
            if isinstance(held, Mapping)
            else held
        )
        if isinstance(text, str) and text:
            texts.append(text)
    return texts


def read_whole(span: TraceSpan, asked: object, answered: object) -> None:
    """What an agent, or the whole of a run, was asked and answered: as messages, or as a text."""
    span.goal, span.inputs = _as_said(asked, span.inputs, _ASKED)
    span.answer, span.outputs = _as_said(answered, span.outputs, _ANSWERED)


def _as_said(value: object, turns: list[Turn], keys: Sequence[str]) -> tuple[str, list[Turn]]:
    found = parse_loosely(value)
    if turns or found is None:
        return "", turns
    if held := _messages_held(found):
        return "", read_turns(held)
    text = found if isinstance(found, str) else _asked(found, keys)
    if not text and keys is _ANSWERED and isinstance(found, Mapping):
        text = as_text(found)
    return ("" if text == REDACTED else text), []


def _messages_held(value: object) -> Any:
    """Messages, or what holds them under a name of its own."""
    if isinstance(value, list):
        return value if are_messages(value) else None
    if not isinstance(value, Mapping):
        return None
    if "choices" in value or are_messages([value]):
        return value
    held = value.get("messages")
    if (
        isinstance(held, list)
        and len(held) == 1
        and isinstance(held[0], list)
        and not are_messages(held)
    ):
        held = held[0]
    return held if are_messages(held) else None


def _asked(value: object, keys: Sequence[str]) -> str:
    """The text of an object that has one under a usual name, or only one at all."""
    if not isinstance(value, Mapping):
        return ""
    for key in keys:
        if isinstance(value.get(key), str) and value[key]:
            return str(value[key])
    texts = [one for one in value.values() if isinstance(one, str) and one]
    return texts[0] if len(texts) == 1 and len(value) == 1 else ""


def is_error(code: object) -> bool:
    """Whether the code of a span's status says that it failed."""
    return code in (2, "2") or str(code).upper().removeprefix("STATUS_CODE_") == "ERROR"


def error_of(code: object, said: str) -> str | None:
    """What went wrong in a span, by its status; None where nothing did."""
    return (said or "error") if is_error(code) else None
