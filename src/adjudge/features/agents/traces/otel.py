"""Read attributes of OpenTelemetry spans: the GenAI conventions, OpenInference, OpenLLMetry,
Vercel's SDK and MLflow.

The names are still changing; all of them are in this module.
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
from adjudge.features.agents.traces.turns import CalledTool, Returned, Role, Said, TraceTurn

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
    """Fill in ``base``, which has ids and times, from its attributes and events."""
    values = {key: value for key, value in attributes.items() if value is not None}
    base.kind = _kind(values, kind)
    base.agent = text_at(values, "gen_ai.agent.name", "agent.name", "agent_name") or (
        text_at(values, "ai.telemetry.functionId") if base.kind == "agent" else ""
    )
    if base.kind == "agent" and not base.agent:
        base.agent = text_at(values, "traceloop.entity.name") or base.name
    base.session = text_at(values, *_SESSIONS) or None
    base.inputs = _messages(values, "gen_ai.input.messages", "llm.input_messages", "user")
    base.outputs = _messages(values, "gen_ai.output.messages", "llm.output_messages", "assistant")
    _read_older(base, values)
    read_events(base, events)
    base.system = base.system or _system(values)
    base.error = (
        base.error or text_at(values, "error.message", "error.type", "exception.message") or None
    )
    if base.kind == "model":
        _read_model(base, values)
    elif base.kind == "tool":
        _read_tool(base, values)
    elif base.kind == "retriever":
        base.documents = _documents(values)
    else:
        read_whole(base, first_of(values, *_INPUTS), first_of(values, *_OUTPUTS))
    return base


def _kind(values: Object, fallback: str) -> SpanKind:
    for value in (*(values.get(key) for key in _KIND_KEYS), fallback):
        if (span_kind := _KINDS.get(str(parse_json(value)))) is not None:
            return span_kind
    if "gen_ai.tool.name" in values and "gen_ai.tool.call.id" in values:
        return "tool"
    has_prompt = any(key.startswith("gen_ai.prompt.") for key in values)
    return "model" if has_prompt or "gen_ai.prompt" in values else "other"


def _messages(values: Object, genai: str, openinference: str, role: Role) -> list[TraceTurn]:
    if (genai_messages := values.get(genai)) is not None:
        return _read_messages(genai_messages, role)
    messages = unflatten(values, openinference)
    return [turn for message in _as_list(messages) for turn in read_turns(_openinference(message))]


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _read_messages(value: object, role: Role) -> list[TraceTurn]:
    """Read messages. If a list is cut off, read its complete messages, and keep the rest as
    text.
    """
    if isinstance(value, str) and is_cut(value):
        complete, fragment = whole_items(value) if value.startswith("[") else ([], value)
        role_match = _ROLE.search(fragment)
        last = read_turns({"role": role_match[1], "content": ""}) if role_match else []
        spoken: Role = last[0].role if last else role
        return [*read_turns(complete), TraceTurn(spoken, [Said(as_text(fragment), "cut")])]
    data = parse_loosely(value)
    if isinstance(data, str):
        return [TraceTurn(role, [Said(data, "redacted" if data == REDACTED else None)])]
    turns = read_turns(data)
    for turn in turns:
        if role == "assistant" and turn.role == "user":
            turn.role = role
    return turns


def _openinference(flattened: Any) -> Object:
    """Convert a message that OpenInference flattened to a chat message."""
    message = inner(flattened, "message")
    if not isinstance(message, Mapping):
        return inner_object(flattened)
    blocks = [inner(block, "message_content") for block in _as_list(message.get("contents"))]
    content = first_of(message, "content") or [_content(block) for block in objects(blocks)]
    calls = [inner(call, "tool_call") for call in _as_list(message.get("tool_calls"))]
    return {**message, "content": content or None, "tool_calls": objects(calls)}


def _content(block: Object) -> Object:
    if isinstance(picture := inner(block, "image"), Mapping):
        url = inner(picture, "image", "url") or inner(picture, "url")
        return {"type": "image", "url": url}
    return block


def _read_older(span: TraceSpan, values: Object) -> None:
    """Read deprecated attribute names, which still occur."""
    if not span.inputs:
        prompt = unflatten(values, "gen_ai.prompt") or values.get("ai.prompt.messages")
        span.inputs = (
            _read_messages(prompt, "user") if isinstance(prompt, str) else read_turns(prompt)
        )
    if not span.outputs:
        completion = unflatten(values, "gen_ai.completion")
        turns = (
            _read_messages(completion, "assistant")
            if isinstance(completion, str)
            else read_turns(completion)
        )
        span.outputs = turns
    text, calls = values.get("ai.response.text"), values.get("ai.response.toolCalls")
    if not span.outputs and span.kind == "model" and (text or calls):
        calls_read = [call_of(call_data) for call_data in objects(parse_json(calls))]
        words = [Said(str(text))] if text else []
        span.outputs = [TraceTurn("assistant", [*words, *calls_read])]


def read_events(span: TraceSpan, events: Sequence[Object]) -> None:
    """Read messages that were recorded as events, and errors."""
    inputs: list[TraceTurn] = []
    outputs: list[TraceTurn] = []
    for event in events:
        name = text_at(event, "name", "eventName", "event_name")
        body: Object = {**inner_object(event, "attributes"), **inner_object(event, "body")}
        if name == DETAILS:
            inputs += _messages(body, "gen_ai.input.messages", "", "user")
            outputs += _messages(body, "gen_ai.output.messages", "", "assistant")
        elif name in _EVENT_ROLES:
            message: Object = {**body, **inner_object(parse_json(body.get("message")))}
            if "tool_calls" in message:
                message = {**message, "tool_calls": parse_json(message["tool_calls"])}
            if _EVENT_ROLES[name] == "tool":
                message = {**message, "tool_call_id": first_of(message, "tool_call_id", "id")}
            turns = read_turns(
                {
                    **message,
                    "role": message.get("role") or _EVENT_ROLES[name],
                    "content": message.get("content"),
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


def _system(values: Object) -> str:
    instructions = parse_json(values.get("gen_ai.system_instructions"))
    if instructions is None:
        prompt = parse_json(values.get("ai.prompt"))
        system_prompt = inner(prompt, "system")
        return system_prompt if isinstance(system_prompt, str) else ""
    if isinstance(instructions, str):
        return instructions
    return "\n".join(
        text
        for instruction in _as_list(instructions)
        if (
            text := instruction
            if isinstance(instruction, str)
            else text_at(inner_object(instruction), "content", "text")
        )
    )


def _read_model(span: TraceSpan, values: Object) -> None:
    span.usage = _usage(values)
    span.usd = amount(first_of(values, "llm.cost.total", "gen_ai.usage.cost", "mlflow.llm.cost"))
    tools = unflatten(values, "llm.tools")
    for key in _TOOL_KEYS[:-1]:
        tools = tools or parse_loosely(values.get(key))
    definitions = [inner(tool, "tool", "json_schema") or tool for tool in _as_list(tools)]
    span.tools = tools_of([parse_json(tool) for tool in definitions])
    if not span.tools:
        span.tools = tools_of(inner(parse_json(values.get("llm.invocation_parameters")), "tools"))
    reasons = parse_loosely(values.get("gen_ai.response.finish_reasons"))
    reason = reasons[-1] if isinstance(reasons, list) and reasons else None
    span.ended = (
        reason
        if isinstance(reason, str)
        else text_at(values, "llm.finish_reason", "ai.response.finishReason") or None
    )
    for keys, side in ((_INPUTS, "inputs"), (_OUTPUTS, "outputs")):
        if not getattr(span, side):
            role: Role = "user" if side == "inputs" else "assistant"
            setattr(span, side, _messages_in(first_of(values, *keys), role))


def _messages_in(value: object, role: Role) -> list[TraceTurn]:
    """Return the messages in a span's input or output; plain text is one message."""
    if value is None:
        return []
    if isinstance(value, str) and is_cut(value):
        return [TraceTurn(role, [Said(as_text(value), "cut")])]
    data = parse_loosely(value)
    turns = read_turns(data) if isinstance(data, Mapping | list) else []
    for turn in turns:
        if role == "assistant" and turn.role == "user" and len(turns) == 1:
            turn.role = role
    if turns:
        return turns
    text = (
        data
        if isinstance(data, str)
        else _text_under(data, _ASKED if role == "user" else _ANSWERED)
    )
    if not text:
        return []
    return [TraceTurn(role, [Said(text, "redacted" if text == REDACTED else None)])]


def _usage(values: Object) -> Usage:
    counted = {
        key.rpartition(".")[2]: value
        for prefix in ("gen_ai.usage.", "ai.usage.", "llm.token_count.", "llm.usage.")
        for key, value in values.items()
        if key.startswith(prefix) and key.count(".") == prefix.count(".")
    }
    cached = first_of(
        values,
        "gen_ai.usage.cache_read.input_tokens",
        "llm.token_count.prompt_details.cache_read",
        "ai.usage.cachedInputTokens",
        "gen_ai.usage.cache_read_input_tokens",
    )
    for key in ("cache_read_input_tokens", "cache_creation_input_tokens"):
        counted.pop(key, None)  # they are among the input tokens
    counts = {**counted, **inner_object(parse_json(values.get("mlflow.chat.tokenUsage")))}
    usage = usage_of({**counts, **({"cached_tokens": cached} if cached is not None else {})})
    return usage or Usage(1)


def _read_tool(span: TraceSpan, values: Object) -> None:
    name = text_at(
        values, "gen_ai.tool.name", "tool.name", "ai.toolCall.name", "traceloop.entity.name"
    )
    raw_arguments = first_of(
        values, "gen_ai.tool.call.arguments", "ai.toolCall.args", *_INPUTS, "tool.parameters"
    )
    back = first_of(values, "gen_ai.tool.call.result", "ai.toolCall.result", *_OUTPUTS)
    id = text_at(values, "gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id", "tool.id") or None
    result = tool_result(back, span.error)
    span.call = CalledTool(name or span.name, _arguments(raw_arguments), id or result.id)
    if isinstance(span.call.arguments, str) and is_cut(span.call.arguments):
        span.call = CalledTool(span.call.name, span.call.arguments, span.call.id, "cut")
    span.result = result


def _arguments(value: object) -> Any:
    """Return the arguments of a call; unwrap a decorator's record of ``args`` and ``kwargs``."""
    arguments = arguments_of(value, or_python=True)
    if isinstance(arguments, Mapping) and "kwargs" in arguments and arguments.keys() <= _WRAPPED:
        keyword_arguments = arguments["kwargs"]
        if isinstance(keyword_arguments, Mapping) and not arguments.get("args"):
            return keyword_arguments
    return arguments


_WRAPPED = {"args", "kwargs", "sanitize_inputs_outputs", "tags", "metadata", "inputs"}


def tool_result(back: object, error: str | None) -> Returned:
    """Return a tool's own record of a call's outcome; unwrap a LangChain message."""
    data = parse_loosely(back)
    output = inner(data, "output") if isinstance(data, Mapping) and len(data) == 1 else None
    for message in (data, output):
        if isinstance(message, Mapping) and are_messages([message]):
            for turn in read_turns(message):
                for part in turn.parts:
                    if isinstance(part, Returned):
                        return Returned(part.text, part.id, part.name, error or part.error)
    text = None if back is None else as_text(back)
    missing = "redacted" if text == REDACTED else "cut" if is_cut(back) else None
    return Returned(text, error=error, missing=missing)  # type: ignore[arg-type]


def _documents(values: Object) -> list[str]:
    documents = unflatten(values, "retrieval.documents") or parse_json(
        values.get("gen_ai.retrieval.documents")
    )
    if documents is None:
        documents = parse_loosely(first_of(values, *_OUTPUTS))
    return documents_in(documents)


def documents_in(documents: object) -> list[str]:
    """Return the texts of retrieved documents, in any tool's format."""
    if isinstance(documents, Mapping) and isinstance(documents.get("documents"), list):
        documents = documents["documents"]
    texts: list[str] = []
    for entry in _as_list(documents):
        document = inner(entry, "document") or entry
        text = (
            first_of(document, "page_content", "content", "text", "pageContent", "body")
            if isinstance(document, Mapping)
            else document
        )
        if isinstance(text, str) and text:
            texts.append(text)
    return texts


def read_whole(span: TraceSpan, asked: object, answered: object) -> None:
    """Read the request and answer of an agent or of a whole run, as messages or as text."""
    span.goal, span.inputs = _text_or_turns(asked, span.inputs, _ASKED)
    span.answer, span.outputs = _text_or_turns(answered, span.outputs, _ANSWERED)


def _text_or_turns(
    value: object, turns: list[TraceTurn], keys: Sequence[str]
) -> tuple[str, list[TraceTurn]]:
    data = parse_loosely(value)
    if turns or data is None:
        return "", turns
    if messages := _unwrap_messages(data):
        return "", read_turns(messages)
    text = data if isinstance(data, str) else _text_under(data, keys)
    if not text and keys is _ANSWERED and isinstance(data, Mapping):
        text = as_text(data)
    return ("" if text == REDACTED else text), []


def _unwrap_messages(value: object) -> Any:
    """Return messages, or the messages inside an object; None if there are none."""
    if isinstance(value, list):
        return value if are_messages(value) else None
    if not isinstance(value, Mapping):
        return None
    if "choices" in value or are_messages([value]):
        return value
    messages = value.get("messages")
    if (
        isinstance(messages, list)
        and len(messages) == 1
        and isinstance(messages[0], list)
        and not are_messages(messages)
    ):
        messages = messages[0]
    return messages if are_messages(messages) else None


def _text_under(value: object, keys: Sequence[str]) -> str:
    """Return the text under one of these keys, or an object's only value; empty if there is
    none.
    """
    if not isinstance(value, Mapping):
        return ""
    for key in keys:
        if isinstance(value.get(key), str) and value[key]:
            return str(value[key])
    texts = [text for text in value.values() if isinstance(text, str) and text]
    return texts[0] if len(texts) == 1 and len(value) == 1 else ""


def is_error(code: object) -> bool:
    """Return True if a span's status code means failure."""
    return code in (2, "2") or str(code).upper().removeprefix("STATUS_CODE_") == "ERROR"


def error_of(code: object, said: str) -> str | None:
    """Return a span's error if its status code means failure, else None."""
    return (said or "error") if is_error(code) else None
