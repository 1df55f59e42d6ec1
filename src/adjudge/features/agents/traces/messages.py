"""Read messages of any provider as turns: chat completions, Anthropic, Responses, LangChain,
pydantic-ai, Vercel, Gemini, and OpenTelemetry.

Every format with messages reads them here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import replace

from adjudge.core.domain.json_types import JsonObject
from adjudge.core.reading.foreign_values import (
    Object,
    amount,
    arguments_of,
    as_text,
    first_of,
    id_at,
    inner,
    inner_object,
    media,
    objects,
    parse_json,
    parse_loosely,
    text_at,
    usage_of,
)
from adjudge.features.agents.traces.chunks import joined_chunks
from adjudge.features.agents.traces.turns import (
    CalledTool,
    Returned,
    Role,
    Said,
    Thought,
    TraceTurn,
    TurnPart,
)
from adjudge.features.agents.trajectory import Missing, ToolDefinition

REDACTED = "__REDACTED__"
_NAMES: Mapping[Role, tuple[str, ...]] = {
    "system": ("system", "developer", "SystemMessage", "SystemMessageChunk"),
    "user": ("user", "human", "HumanMessage", "HumanMessageChunk"),
    "assistant": (
        *("assistant", "ai", "model", "bot", "gpt", "agent", "chat"),
        *("AIMessage", "AIMessageChunk", "ChatMessage"),
    ),
    "tool": (
        *("tool", "function", "ToolMessage", "FunctionMessage", "tool-call", "tool-response"),
        *("ipython", "observation", "tool_result", "tool-result", "tool_response", "environment"),
    ),
}
_ROLES = {name: role for role, names in _NAMES.items() for name in names}
_LANGCHAIN = ("human", "ai", "tool", "system", "function", "chat")
_PYDANTIC = ("request", "response")
_TEXTS = ("text", "input_text", "output_text", "summary_text", "reasoning_text")
_MEDIA = (
    *("image", "image_url", "input_image", "audio", "input_audio", "video", "video_url", "file"),
    *("document", "input_file", "blob", "uri", "media", "image-url", "audio-url", "document-url"),
    *("binary", "file_data", "image-data", "file-data"),
)
_PAYLOADS = (
    *("source", "url", "uri", "data", "image_url", "input_audio", "file", "file_id", "file_data"),
    *("audio", "video_url", "image", "blob", "binary_content", "fileId", "filename", "file_uri"),
)
"""Under which of these a block of media holds what it is about."""
_FAILED = "error"
"""The error of a call that failed without a word."""
_SKIPPED = ("step-start", "redacted_thinking", "cache_control", "source", "source-url")
_REFUSED = ("error-text", "error-json", "execution-denied")


def is_message(value: object) -> bool:
    """Return True for a single message in any provider's format."""
    if isinstance(value, list | tuple):
        return len(value) == 2 and isinstance(value[0], str) and value[0] in _ROLES
    if not isinstance(value, Mapping):
        return False
    if is_langchain(value) or is_pydantic(value) or is_item(value):
        return True
    if isinstance(value.get("from"), str) and "value" in value:
        return True
    role = value.get("role")
    return isinstance(role, str) and any(key in value for key in _SAYING)


_SAYING = (
    *("content", "tool_calls", "tool_call_id", "parts", "function_call", "refusal", "audio"),
    *("reasoning", "reasoning_content", "thinking"),
)
"""What a message has beside its role."""


def are_messages(value: object) -> bool:
    """Return True for a list of messages in any provider's format; some may be of an unknown
    kind.
    """
    if not isinstance(value, list) or not any(map(is_message, value)):
        return False
    return all(
        is_message(item)
        # unknown messages and items name their kind, too
        or (
            isinstance(item, Mapping)
            and any(isinstance(item.get(key), str) for key in ("role", "type", "kind"))
        )
        for item in value
    )


def is_langchain(value: Object) -> bool:
    """Return True for a LangChain message, in any of its three forms."""
    if value.get("lc") and isinstance(value.get("kwargs"), Mapping):
        return "content" in value["kwargs"]
    kind = value.get("type")
    if kind not in _LANGCHAIN and not (
        isinstance(kind, str) and kind.endswith(("Message", "MessageChunk")) and kind in _ROLES
    ):
        return False
    return "role" not in value and ("content" in value or "content" in (value.get("data") or ()))


def is_pydantic(value: Object) -> bool:
    """Return True for a pydantic-ai message."""
    parts = value.get("parts")
    return value.get("kind") in _PYDANTIC and isinstance(parts, list)


def is_item(value: Object) -> bool:
    """Return True for an item of the OpenAI Responses API."""
    kind = value.get("type")
    if not isinstance(kind, str):
        return False
    if kind in ("function_call", "custom_tool_call"):
        return "call_id" in value or "arguments" in value
    if kind.endswith("_call_output"):
        return "call_id" in value
    if kind == "reasoning":
        return "summary" in value
    if kind == "message":
        return "role" in value
    other_keys = ("status", "arguments", "output")
    return kind.endswith("_call") and "id" in value and any(key in value for key in other_keys)


def read_turns(value: object) -> list[TraceTurn]:
    """Return the turns of a message, a list of messages, an object that holds them, or chunks.

    Plain text is a user message.
    """
    return list(_turns(parse_json(value)))


def _turns(value: object) -> Iterator[TraceTurn]:
    if isinstance(value, str):
        if value:
            yield TraceTurn("user", _text_parts(value))
    elif isinstance(value, Mapping):
        yield from _turns_of_object(value)
    elif isinstance(value, list | tuple) and is_message(value):
        yield TraceTurn(_ROLES[value[0]], _parts(value[1]))
    elif isinstance(value, list | tuple):
        for item in joined_chunks(list(value)):
            yield from _turns(item)


def _turns_of_object(value: Object) -> Iterator[TraceTurn]:
    if value.get("lc") and isinstance(value.get("kwargs"), Mapping):
        path = value.get("id")
        kind = path[-1] if isinstance(path, list) and path else ""
        yield from _langchain({"type": kind, **value["kwargs"]})
    elif is_langchain(value):
        data = value.get("data")
        yield from _langchain(
            {"type": value["type"], **data} if isinstance(data, Mapping) else value
        )
    elif is_pydantic(value):
        yield from _pydantic(value)
    elif is_item(value):
        yield from _item(value)
    elif "role" in value:
        yield from _by_role(value)
    elif isinstance(value.get("from"), str) and "value" in value:
        yield TraceTurn(_ROLES.get(value["from"], "assistant"), _parts(value["value"]))
    else:
        yield from _inside(value)


def _inside(value: Object) -> Iterator[TraceTurn]:
    """Yield the turns of an object that holds messages, such as a reply, a request or a state."""
    if isinstance(value.get("choices"), list):
        usage = usage_of(value.get("usage"))
        for choice in objects(value["choices"])[:1]:
            for turn in _turns(first_of(choice, "message", "delta") or choice.get("text") or ()):
                turn.role = "assistant"
                turn.usage, usage = turn.usage or usage, None
                turn.ended = text_at(choice, "finish_reason") or None
                yield turn
        return
    if isinstance(value.get("generations"), list):  # LLMResult of LangChain
        batch = value["generations"][0] if value["generations"] else []
        for generation in objects(batch)[:1]:
            message = generation.get("message") or {
                "role": "assistant",
                "content": generation.get("text"),
            }
            yield from _turns(message)
        return
    for key in ("messages", "input", "output", "message"):
        if isinstance(value.get(key), list | Mapping):
            if isinstance(system := value.get("system") or value.get("instructions"), str):
                yield TraceTurn("system", _text_parts(system))
            yield from _turns(value[key])
            return


def _by_role(message: Object) -> Iterator[TraceTurn]:
    role_name = message.get("role")
    role = _ROLES.get(str(role_name)) or _ROLES.get(str(role_name).lower(), "assistant")
    turn = TraceTurn(
        role,
        actor=_name(message, role_name, role),
        usage=usage_of(message.get("usage") or message.get("usage_metadata")),
        usd=amount(message, "cost"),
        source=id_at(message, "id") if role != "tool" else None,
        ended=text_at(message, "finish_reason", "stop_reason") or None,
    )
    if role != "assistant":  # a user that is a program has costs of its own
        turn.usage = turn.usd = None
    if role_name in _SMOLAGENTS and (parts := _smolagents(message.get("content"))):
        has_calls = any(isinstance(part, CalledTool) for part in parts)
        yield TraceTurn("assistant" if has_calls else "tool", parts)
        return
    if role == "tool" and "parts" not in message and not _result_blocks(message.get("content")):
        turn.parts = [_tool_result(message)]
        yield turn
        return
    for key in ("reasoning_content", "reasoning", "thinking"):
        # providers repeat the same reasoning under several keys
        thought = message.get(key)
        if isinstance(thought, str) and thought.strip():
            turn.parts.append(Thought(thought))
            break
    blocks = message.get("parts")
    turn.parts += _parts(blocks if isinstance(blocks, list) else message.get("content"))
    if isinstance(refusal := message.get("refusal"), str) and refusal:
        turn.parts.append(Said(refusal))
    if isinstance(spoken := inner(message.get("audio"), "transcript"), str) and not turn.text:
        turn.parts += _text_parts(spoken)
    call_ids = {part.id for part in turn.parts if isinstance(part, CalledTool)} - {None}
    calls = [call_of(call_data) for call_data in objects(message, "tool_calls")]
    calls += map(call_of, objects(message, "function_call"))
    turn.parts += [call for call in calls if call.id not in call_ids]
    yield turn


_SMOLAGENTS = ("tool-call", "tool-response")
_CALLING = "Calling tools:\n"
_RESULT = re.compile(
    r"(?:Call id: (?P<id>\S+)\n)?(?P<kind>Error|Observation):\n?(?P<text>.*)", re.DOTALL
)


def _smolagents(content: object) -> list[TurnPart]:
    """Parse smolagents' text form of calls and results; return nothing for any other text."""
    text = content if isinstance(content, str) else _join_texts(_parts(content))
    if text.startswith(_CALLING):
        calls = parse_loosely(text.removeprefix(_CALLING).strip())
        return [replace(call_of(call_data), retold=True) for call_data in objects(calls)]
    result = _RESULT.match(text)
    if result is None:
        return []
    result_text = result["text"].strip()
    error = result_text if result["kind"] == "Error" else None
    return [Returned(result_text, result["id"], error=error, retold=True)]


def _name(message: Object, role_name: object, role: Role) -> str:
    """Return the speaker's name; empty for users and for messages that only have a role."""
    name = first_of(message, "name", "agent", "agent_name", "sender")
    if role == "user":
        return ""
    if isinstance(name, str) and role == "assistant":
        return name
    is_role = str(role_name) in _ROLES or str(role_name).lower() in _ROLES
    return "" if is_role else str(role_name)


def _result_blocks(content: object) -> bool:
    return any(
        block.get("type") in ("tool-result", "tool_result", "tool-error")
        for block in objects(content)
    )


def _tool_result(message: Object) -> Returned:
    error = message.get("error")
    text = _result_text(message.get("content"))
    if message.get("is_error") is True or error is True or message.get("status") == "error":
        error_text: str | None = text or _FAILED
    elif isinstance(error, Mapping):
        error_text = text_at(error, "message", "type") or as_text(error)
    else:
        error_text = error if isinstance(error, str) and error else None
    ids = message.get("tool_call_ids")
    call = ids[0] if isinstance(ids, list) and ids else first_of(message, "tool_call_id", "id")
    recorded = "content" in message
    return Returned(
        text if recorded else None,
        str(call) if call else None,
        text_at(message, "name", "function"),
        error_text,
        _missing(text),
    )


def call_of(call: Object) -> CalledTool:
    """Parse one tool call in any provider's format."""
    function = first_of(call, "function", "custom")
    inside: Object = function if isinstance(function, Mapping) else call
    name = text_at(inside, "name", "toolName", "tool_name", "function_name") or (
        function if isinstance(function, str) else ""
    )
    arguments = first_of(inside, "arguments", "args", "input", "parameters", "kwargs")
    id = id_at(call, "call_id", "id", "toolCallId", "tool_call_id")
    return CalledTool(name, arguments_of(arguments), id)


def _langchain(message: Object) -> Iterator[TraceTurn]:
    role = _ROLES.get(str(message.get("type")), "assistant")
    if role == "assistant" and message.get("role") in _ROLES:
        role = _ROLES[message["role"]]
    metadata = inner_object(message, "response_metadata")
    turn = TraceTurn(
        role,
        actor=text_at(message, "name") if role == "assistant" else "",
        source=id_at(message, "id"),
    )
    if role == "tool":
        turn.parts = [_tool_result(message)]
        yield turn
        return
    turn.usage = usage_of(message.get("usage_metadata")) or usage_of(
        first_of(metadata, "token_usage", "usage")
    )
    turn.ended = text_at(metadata, "finish_reason", "stop_reason") or None
    extra = inner_object(message, "additional_kwargs")
    if thought := text_at(extra, "reasoning_content"):
        turn.parts.append(Thought(thought))
    turn.parts += _parts(message.get("content"))
    calls = objects(message, "tool_calls") or objects(extra, "tool_calls")
    calls = [*calls, *objects(message, "invalid_tool_calls")]
    call_ids = {part.id for part in turn.parts if isinstance(part, CalledTool)} - {None}
    turn.parts += [call for call in map(call_of, calls) if call.id not in call_ids]
    yield turn


def _pydantic(message: Object) -> Iterator[TraceTurn]:
    if message["kind"] == "response":
        yield TraceTurn(
            "assistant",
            [
                part
                for message_part in objects(message["parts"])
                for part in _pydantic_part(message_part)
            ],
            usage=usage_of(message.get("usage")),
            source=id_at(message, "provider_response_id"),
            ended=text_at(message, "finish_reason") or None,
        )
        return
    if isinstance(instructions := message.get("instructions"), str) and instructions:
        yield TraceTurn("system", _text_parts(instructions))
    for message_part in objects(message["parts"]):
        kind = message_part.get("part_kind")
        role: Role = "system" if kind == "system-prompt" else "user"
        is_result = kind == "tool-return" or _is_retry(message_part)
        yield TraceTurn("tool" if is_result else role, list(_pydantic_part(message_part)))


def _is_retry(part: Object) -> bool:
    """Return True if pydantic-ai asks the model to repeat a faulty call."""
    return part.get("part_kind") == "retry-prompt" and bool(part.get("tool_name"))


def _pydantic_part(part: Object) -> Iterator[TurnPart]:
    kind = str(part.get("part_kind"))
    if kind.endswith("tool-call"):
        yield call_of(part)
    elif kind.endswith("tool-return") or _is_retry(part):
        text = as_text(part.get("content"))
        failed = _is_retry(part) or part.get("outcome") in ("failed", "denied", "error")
        yield _result_of(part, text, (text or _FAILED) if failed else None)
    elif kind == "thinking":
        yield from _thought(part)
    elif kind == "file":
        yield Said(_media(part))
    else:
        yield from _parts(part.get("content"))


def _item(item: Object) -> Iterator[TraceTurn]:
    kind, source = str(item["type"]), id_at(item, "id")
    if kind == "message":
        yield from _by_role(item)
    elif kind == "reasoning":
        texts = [*objects(item, "summary"), *objects(item, "content")]
        thought = "\n".join(
            text for summary_part in texts if (text := text_at(summary_part, "text"))
        )
        yield TraceTurn("assistant", [Thought(thought)] if thought else [], source=source)
    elif kind.endswith("_call_output"):
        output = item.get("output")
        yield TraceTurn("tool", [Returned(_result_text(output), id_at(item, "call_id"))])
    elif kind in ("function_call", "custom_tool_call"):
        cut: Missing | None = "cut" if item.get("status") == "incomplete" else None
        call = call_of(item)
        tool_call = CalledTool(call.name, call.arguments, call.id, cut)
        yield TraceTurn("assistant", [tool_call], usage=usage_of(item.get("usage")), source=source)
    else:  # a tool of the provider: the call and what came of it are one item
        yield TraceTurn("assistant", list(_provider_call(item, kind)), source=source)


def _provider_call(item: Object, kind: str) -> Iterator[TurnPart]:
    name = text_at(item, "name") or kind.removesuffix("_call")
    raw_arguments = first_of(item, "arguments", "action", "queries", "code", "input")
    arguments = arguments_of(raw_arguments)
    is_text = isinstance(raw_arguments, str) and raw_arguments is not item.get("arguments")
    if is_text and isinstance(arguments, str):
        arguments = {"code" if "code" in item else "input": raw_arguments}
    id = id_at(item, "call_id", "id")
    yield CalledTool(name, arguments if raw_arguments is not None else {}, id)
    error = item.get("error")
    failed = as_text(error) if error else None
    result = first_of(item, "output", "outputs", "results", "result")
    failed = failed or ("failed" if item.get("status") == "failed" else None)
    yield Returned(None if result is None else as_text(result), id, name, failed)


def _text_parts(text: str) -> list[TurnPart]:
    return [Said(text, _missing(text))] if text else []


def _missing(text: str) -> Missing | None:
    return "redacted" if text.strip() == REDACTED else None


def _join_texts(parts: list[TurnPart]) -> str:
    return "\n".join(part.text for part in parts if isinstance(part, Said))


def _result_text(content: object) -> str:
    """Return a tool's output as text: text and media blocks as text, anything else as JSON."""
    if isinstance(content, Mapping):
        return _join_texts(_parts(content)) if _is_content_block(content) else as_text(content)
    if not isinstance(content, list):
        return as_text(content)
    if not any(map(_is_content_block, content)) and not all(
        isinstance(block, str) for block in content
    ):
        return as_text(content)
    return _join_texts(
        _parts([block if _is_content_block(block) else as_text(block) for block in content])
    )


def _is_content_block(block: object) -> bool:
    """Return True for a text or media block; False for an object that a tool returned."""
    if not isinstance(block, Mapping):
        return False
    kind = block.get("type")
    if kind is None:
        return block.keys() == {"text"} or "inlineData" in block or "inline_data" in block
    if kind in _TEXTS:
        return isinstance(first_of(block, "text", "content", "value"), str)
    return kind in _MEDIA and any(key in block for key in _PAYLOADS)


def _parts(content: object) -> list[TurnPart]:
    """Return the parts of a message's content: plain text, or blocks in any provider's format."""
    if isinstance(content, Mapping) and "type" in content:
        return list(_block(content))
    if not isinstance(content, list | tuple):
        return _text_parts(as_text(content))
    parts: list[TurnPart] = []
    for block in content:
        if isinstance(block, str):
            parts += _text_parts(as_text(block))
        elif isinstance(block, Mapping):
            parts += _block(block)
    # citations split a text within its sentences
    is_cited = any(cited_block.get("citations") for cited_block in objects(content))
    return _merge_texts(parts, "" if is_cited else "\n")


def _merge_texts(parts: list[TurnPart], between: str) -> list[TurnPart]:
    """Join adjacent texts."""
    merged: list[TurnPart] = []
    for part in parts:
        previous = merged[-1] if merged else None
        if (
            isinstance(part, Said)
            and isinstance(previous, Said)
            and part.missing == previous.missing
        ):
            merged[-1] = Said(f"{previous.text}{between}{part.text}", part.missing)
        else:
            merged.append(part)
    return merged


def _block(block: Object) -> Iterator[TurnPart]:
    kind = block.get("type")
    if kind is None or kind == "function":
        yield from (_pydantic_part if "part_kind" in block else _gemini_part)(block)
    elif (reader := _BLOCKS.get(kind)) is not None:
        yield from reader(block)
    elif isinstance(kind, str) and kind.endswith("tool_result"):
        yield _anthropic_result(block)
    elif isinstance(kind, str) and "toolCallId" in block:
        yield from _interface_part(block, kind)
    elif kind not in _SKIPPED:
        yield from _text_parts(as_text(first_of(block, "text", "content") or ""))


def _text(block: Object) -> list[TurnPart]:
    return _text_parts(as_text(first_of(block, "text", "content", "value", "refusal")))


def _gemini_part(block: Object) -> Iterator[TurnPart]:
    """Parse a Gemini part, whose key names its kind."""
    if isinstance(call := first_of(block, "functionCall", "function_call"), Mapping):
        yield call_of(call)
    elif isinstance(back := first_of(block, "functionResponse", "function_response"), Mapping):
        response = back.get("response")
        error = inner(response, "error")
        error_text = None if not error else as_text(error)
        yield Returned(as_text(response), id_at(back, "id"), text_at(back, "name"), error_text)
    elif isinstance(inline := first_of(block, "inlineData", "inline_data"), Mapping):
        yield Said(_media(inline))
    elif isinstance(file := first_of(block, "fileData", "file_data"), Mapping):
        yield Said(_media(file))
    elif isinstance(block.get("function"), Mapping):
        yield call_of(block)
    elif block.get("thought") is True:
        yield from _thought(block)
    elif isinstance(text := first_of(block, "text", "content"), str):
        yield from _text_parts(as_text(text))


def _thought(block: Object) -> Iterator[TurnPart]:
    text = first_of(block, "thinking", "text", "reasoning", "content")
    if isinstance(summary := block.get("summary"), list):
        text = "\n".join(text_at(summary_part, "text") for summary_part in objects(summary))
    if isinstance(text, str) and text.strip():
        yield Thought(text)


def _result_of(block: Object, result: object, error: str | None = None) -> Returned:
    text = as_text(result)
    name = text_at(block, "name", "toolName", "tool_name")
    id = id_at(block, "id", "toolCallId", "tool_use_id", "tool_call_id")
    return Returned(None if result is None else text, id, name, error, _missing(text))


def _anthropic_result(block: Object) -> Returned:
    content = block.get("content")
    text = _result_text(content)
    failed = block.get("is_error") is True or "error" in str(inner(content, "type") or "")
    return _result_of(block, text, (text or _FAILED) if failed else None)


def _vercel_result(block: Object) -> Returned:
    output = first_of(block, "output", "result")
    error = None
    if (
        isinstance(output, Mapping)
        and "type" in output
        and ("value" in output or "reason" in output)
    ):
        kind, output = output["type"], first_of(output, "value", "reason")
        if kind == "content":
            output = _result_text(output)
        error = (as_text(output) or _FAILED) if kind in _REFUSED else None
    if block.get("isError") is True:
        error = as_text(output) or _FAILED
    return _result_of(block, output, error)


def _interface_part(block: Object, kind: str) -> Iterator[TurnPart]:
    """Parse a call and its result from a part of a Vercel UI message."""
    name = text_at(block, "toolName") or kind.removeprefix("tool-")
    inside = block.get("toolInvocation")
    invocation: Object = inside if isinstance(inside, Mapping) else block
    id = id_at(invocation, "toolCallId")
    yield CalledTool(
        text_at(invocation, "toolName") or name,
        arguments_of(first_of(invocation, "input", "args")),
        id,
    )
    result, error = (
        first_of(invocation, "output", "result"),
        text_at(invocation, "errorText") or None,
    )
    if result is not None or error:
        yield Returned(None if result is None else as_text(result), id, name, error)


def _media(block: Object) -> str:
    """Describe an image, a sound or a file, without its data."""
    source = block.get("source")
    holder: Object = source if isinstance(source, Mapping) else block
    for key in (
        "image_url",
        "input_audio",
        "file",
        "audio",
        "video_url",
        "image",
        "binary_content",
    ):
        if isinstance(block.get(key), Mapping):
            holder = block[key]
    place = first_of(
        holder, "url", "uri", "image_url", "file_id", "fileUri", "filename", "file_data"
    )
    data = first_of(holder, "data", "image", "blob", "bytes", "b64_json") or ""
    kind = text_at(holder, "media_type", "mime_type", "mimeType", "mediaType", "format")
    kind = kind or str(block.get("type") or "file").removeprefix("input_").removesuffix("_url")
    if isinstance(place, str) and place.startswith("data:"):
        return as_text(place) if len(place) > 200 else media(kind)
    if isinstance(data, str) and data.startswith(("http:", "https:")):
        place, data = data, ""
    size = len(data) if isinstance(data, str) else 0
    return media(kind, size, place if isinstance(place, str) else "")


_BLOCKS: Mapping[str, Callable[[Object], Iterable[TurnPart]]] = {
    **dict.fromkeys((*_TEXTS, "refusal"), _text),
    **dict.fromkeys(("thinking", "reasoning"), _thought),
    **dict.fromkeys(_MEDIA, lambda block: [Said(_media(block))]),
    **dict.fromkeys(
        ("tool-call", "tool_call", "tool_use", "server_tool_use", "mcp_tool_use"),
        lambda block: [call_of(block)],
    ),
    "tool_call_response": lambda block: [
        _result_of(block, first_of(block, "response", "result", "content"))
    ],
    "tool-result": lambda block: [_vercel_result(block)],
    "tool-error": lambda block: [_result_of(block, None, as_text(block.get("error")) or _FAILED)],
}
"""Kind of a block → its parts."""


def tools_of(value: object) -> tuple[ToolDefinition, ...]:
    """Return the tool definitions in any provider's format, without repeated names."""
    definitions: dict[str, ToolDefinition] = {}
    for definition in _definitions(parse_json(value)):
        function = definition.get("function")
        inside: Object = function if isinstance(function, Mapping) else definition
        schema = first_of(
            inside, "parameters", "input_schema", "inputSchema", "parameters_json_schema", "schema"
        )
        schema = inner(schema, "jsonSchema") or schema
        if name := text_at(inside, "name"):
            schema_object: JsonObject | None = schema if isinstance(schema, Mapping) else None
            definitions.setdefault(
                name, ToolDefinition(name, text_at(inside, "description"), schema_object)
            )
    return tuple(definitions.values())


def _definitions(value: object) -> Iterator[Object]:
    for entry in value if isinstance(value, list) else [value]:
        data = parse_json(entry)
        if isinstance(data, Mapping):
            declared = first_of(data, "functionDeclarations", "function_declarations")
            yield from objects(declared) if declared is not None else [data]


def plain_name(name: str) -> str:
    """Return an agent's name in the form that tool names contain."""
    return "".join(filter(str.isalnum, name)).casefold()


_HANDED_OVER = "transferred to"
"""How frameworks answer a handoff."""


def handed_to(call: CalledTool, result: str | None, agents: Container[str]) -> str | None:
    """Return the agent that a call hands over to; None for any other call.

    The tool's name alone proves nothing: ``transfer_to_savings`` may move money. So the result must
    name an agent or confirm the handover, or an agent of that name must act in the run.
    ``transfer_to_agent`` and ``handoff`` name the agent in their arguments.
    """
    if call.name in ("transfer_to_agent", "handoff") and isinstance(call.arguments, Mapping):
        to = first_of(call.arguments, "agent_name", "agent", "agentName", "to")
        return to if isinstance(to, str) else None
    for prefix in ("transfer_to_", "handoff_to_", "transferTo", "delegate_to_"):
        if call.name.startswith(prefix) and len(call.name) > len(prefix):
            named_agent, to = inner(parse_json(result), "assistant"), call.name[len(prefix) :]
            if isinstance(named_agent, str) and named_agent:
                return named_agent
            is_handover = plain_name(to) in agents or _HANDED_OVER in (result or "").lower()
            return to if is_handover else None
    return None
