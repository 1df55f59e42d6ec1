"""Nested values as readable text: chat messages, retrieved documents, any other JSON."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from adjudge.errors import WrongData

# Keys of the speaker and of the text in a message.
_ROLES = (("role", "content"), ("from", "value"))
# Keys of tool calls, which a message may hold instead of words.
_CALLS = ("tool_calls", "function_call")
# Speakers of LangChain messages, in ``type``.
_LANGCHAIN = frozenset({"human", "ai", "tool", "system", "function", "chat"})
_ASSISTANT = frozenset({"assistant", "ai", "bot", "chatbot", "gpt", "model"})
_USER = frozenset({"human", "user"})
_TEXT_KEYS = ("text", "content", "page_content", "passage", "document", "chunk", "snippet", "body")
# Data that a retriever adds to a document for its own use.
_ABOUT = frozenset({"id", "type", "score", "distance", "rank", "index", "embedding", "vector"})
_LONGEST = 1_000_000


def parse_nested(text: str) -> object:
    """Parse a text that is a list or object in JSON or Python syntax; return any other text
    unchanged.
    """
    if text[:1] not in ("[", "{") or len(text) > _LONGEST:
        return text
    value: object = text
    for read in (json.loads, ast.literal_eval):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            value = read(text)
            break
    return value if isinstance(value, list | dict) else text


def is_chat(value: object) -> bool:
    """Return True for a message, or a list of messages."""
    messages = value if isinstance(value, list | tuple) else [value]
    return bool(messages) and all(_message(message) is not None for message in messages)


def chat(value: object) -> str:
    """Return the transcript of messages, with speakers; a single message without its speaker."""
    messages = [
        turn
        for message in (value if isinstance(value, list | tuple) else [value])
        if (turn := _message(message))
    ]
    if len(messages) == 1:
        return messages[0][1]
    return "\n".join(f"{role}: {text}" for role, text in messages)


def chat_parts(value: object) -> dict[str, str]:
    """Split a logged chat into the last answer of the assistant, the question before it, and the
    history.

    If a tool spoke between question and answer, that is part of the history, and so is the
    question.
    """
    raw_messages = [
        message
        for message in (value if isinstance(value, list | tuple) else [value])
        if _message(message)
    ]
    messages = [_message(message) or ("", "") for message in raw_messages]
    answers = [place for place, (role, _) in enumerate(messages) if role.casefold() in _ASSISTANT]
    # an assistant message may only call a tool: prefer those with text
    spoken = [place for place in answers if messages[place][1]] or answers
    if not spoken:
        raise WrongData(
            "there is no assistant message: the roles are {roles}",
            roles=", ".join(dict.fromkeys(role for role, _ in messages)),
        )
    earlier = messages[: spoken[-1]]
    user_places = [place for place, (role, _) in enumerate(earlier) if role.casefold() in _USER]
    questions = [place for place in user_places if not _only_tool_results(raw_messages[place])]
    history = earlier[:-1] if questions and questions[-1] == len(earlier) - 1 else earlier
    parts = {"response": messages[spoken[-1]][1]}
    if questions:
        parts["user_input"] = earlier[questions[-1]][1]
    return (
        {**parts, "history": "\n".join(f"{role}: {text}" for role, text in history)}
        if history
        else parts
    )


def chat_call(value: object) -> dict[str, str]:
    """Return the calls of the last message that calls tools, and everything said before them."""
    messages = list(value) if isinstance(value, list | tuple) else [value]
    calling = [place for place, message in enumerate(messages) if _calls_of(message)]
    if not calling:
        raise WrongData("the conversation has no tool call to judge")
    last = messages[calling[-1]]
    spoken = "\n".join(_part(part) for part in _parts_of(last) if part and not _is_call(part))
    earlier = [turn for message in messages[: calling[-1]] if (turn := _message(message))]
    earlier += [("assistant", spoken)] if spoken else []
    context = (
        earlier[0][1]
        if len(earlier) == 1
        else "\n".join(f"{role}: {text}" for role, text in earlier)
    )
    return {"tool_call": "\n".join(map(_call, _calls_of(last))), "before_call": context}


def rendered_calls(value: object) -> str | None:
    """Return logged tool calls as text; None for anything else."""
    calls = value if isinstance(value, list | tuple) else [value]
    named_calls = [
        call for call in calls if isinstance(call, Mapping) and not _call(call).startswith("{")
    ]
    return "\n".join(map(_call, calls)) if calls and len(named_calls) == len(calls) else None


def chat_turns(value: object) -> list[dict[str, str]]:
    """Return the parts of every answered question.

    The answer is the assistant's last one in words before the next question.
    """
    messages = list(value) if isinstance(value, list | tuple) else [value]
    ends: list[int] = []
    answering = False
    for place, message in enumerate(messages):
        role = (_message(message) or ("", ""))[0].casefold()
        if role in _ASSISTANT and _in_words(message):
            ends = [*(ends[:-1] if answering else ends), place]
            answering = True
        elif role in _USER and _in_words(message):
            answering = False
    if not ends:
        raise WrongData("the conversation has no assistant message with text")
    return [chat_parts(messages[: end + 1]) for end in ends]


class SpokenMessage(NamedTuple):
    """A message of a chat with its speaker."""

    role: str
    text: str
    is_question: bool
    """True if the user says something in words."""


def spoken_messages(value: object) -> list[SpokenMessage]:
    """Return the messages of a chat. WrongData if there is none."""
    messages = []
    for message in value if isinstance(value, list | tuple) else [value]:
        if (turn := _message(message)) is not None:
            role, text = turn
            is_question = role.casefold() in _USER and _in_words(message)
            messages.append(SpokenMessage(role, text, is_question))
    if not messages:
        raise WrongData("the conversation has no message")
    return messages


def _calls_of(message: object) -> list[object]:
    """Return the tool calls of a message, wherever its format puts them."""
    if not isinstance(message, Mapping):
        return []
    flat = _bare(message)
    listed, legacy = flat.get("tool_calls"), flat.get("function_call")
    calls = (
        [*listed] if isinstance(listed, list) else [legacy] if isinstance(legacy, Mapping) else []
    )
    return calls or [part for part in _parts_of(message) if _is_call(part)]


def _parts_of(message: object) -> list[object]:
    if not isinstance(message, Mapping):
        return []
    flat = _bare(message)
    content = next((flat[name] for _, name in _ROLES if name in flat), None)
    return content if isinstance(content, list) else [content]


def _is_call(part: object) -> bool:
    return isinstance(part, Mapping) and (
        part.get("type") == "tool_use" or isinstance(part.get("functionCall"), Mapping)
    )


def _only_tool_results(message: object) -> bool:
    """Return True if a message only holds tool results, which some formats send in the
    user's name.
    """
    content = message.get("content") if isinstance(message, Mapping) else None
    parts = content if isinstance(content, list) else []
    return bool(parts) and all(
        isinstance(part, Mapping) and part.get("type") == "tool_result" for part in parts
    )


def _in_words(message: object) -> bool:
    """Return True if a message has text besides tool calls and results."""
    return any(
        isinstance(part, str) and part.strip() for part in map(_part_text, _parts_of(message))
    )


def _part_text(part: object) -> object:
    return part.get("text") if isinstance(part, Mapping) else part


def render_nested(value: object) -> str:
    """Return a nested value as lines of text."""
    if is_chat(value):
        return chat(value)
    return "\n".join(_lines(value))


def _message(value: object) -> tuple[str, str] | None:
    if not isinstance(value, Mapping):
        return None
    value = _bare(value)
    for role, content in _ROLES:
        if isinstance(value.get(role), str) and (
            content in value or any(value.get(name) for name in _CALLS)
        ):
            legacy = value.get("function_call")
            return str(value[role]), _join_parts(
                value.get(content), value.get("tool_calls") or ([legacy] if legacy else None)
            )
    return None


def _bare(message: Mapping[str, object]) -> Mapping[str, object]:
    """Return a message with its ``role``. LangChain's messages are unwrapped, also from
    ``messages_to_dict``.
    """
    if "role" in message or message.get("type") not in _LANGCHAIN:
        return message
    inner = message.get("data")
    body = inner if isinstance(inner, Mapping) else message
    return {**body, "role": message["type"]} if "content" in body else message


def _join_parts(content: object, calls: object) -> str:
    parts = content if isinstance(content, list) else [content]
    texts = [_part(part) for part in parts if part is not None]
    called = [_call(call) for call in calls] if isinstance(calls, list) else []
    return "\n".join(filter(None, (*texts, *called)))


def _call(call: object) -> str:
    """Return a tool call as code, such as ``[tool call: search(query="tower")]``; anything else as
    JSON.
    """
    entry = call if isinstance(call, Mapping) else {}
    function = next(
        (
            entry[name]
            for name in ("function", "functionCall")
            if isinstance(entry.get(name), Mapping)
        ),
        entry,
    )
    name = function.get("name")
    if not isinstance(name, str):
        return json.dumps(call, ensure_ascii=False, default=str)
    arguments: object = next(
        (function[key] for key in ("arguments", "args", "input") if key in function), {}
    )
    values_by_name = parse_nested(arguments.strip()) if isinstance(arguments, str) else arguments
    if not isinstance(values_by_name, Mapping):
        return f"[tool call: {name}({values_by_name or ''})]"
    values = (
        f"{key}={json.dumps(value, ensure_ascii=False, default=str)}"
        for key, value in values_by_name.items()
    )
    return f"[tool call: {name}({', '.join(values)})]"


def _part(part: object) -> str:
    if not isinstance(part, Mapping):
        return str(part)
    if isinstance(part.get("text"), str):
        return str(part["text"])
    if _is_call(part):
        return _call(part)
    if part.get("type") == "tool_result":
        return f"[tool result: {_join_parts(part.get('content'), None)}]"
    return f"[{part.get('type', 'attachment')}]"


def _lines(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from _mapping_lines(value)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            first_line, *more_lines = list(_lines(item)) or [""]
            yield f"- {first_line}"
            yield from (f"  {line}" for line in more_lines)
    elif value is not None:
        yield from str(value).splitlines() or [""]


def _mapping_lines(value: Mapping[object, object]) -> Iterator[str]:
    """Yield a document's title, text and other data; without a text, keys and values."""
    values = {str(name): below for name, below in value.items() if below not in (None, "", [], {})}
    text = next((name for name in _TEXT_KEYS if isinstance(values.get(name), str)), None)
    if text is None:
        yield from _named_lines(values)
        return
    if isinstance(values.get("title"), str):
        yield str(values["title"])
    yield str(values[text])
    yield from _named_lines(
        {name: below for name, below in values.items() if name not in (text, "title", *_ABOUT)}
    )


def _named_lines(values: Mapping[str, object]) -> Iterator[str]:
    for name, below in values.items():
        lines = list(_lines(below))
        if len(lines) == 1 and not isinstance(below, Mapping | list | tuple):
            yield f"{name}: {lines[0]}"
        else:
            yield f"{name}:"
            yield from (f"  {line}" for line in lines)
