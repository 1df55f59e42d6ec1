"""Nested values as texts that people and models read: chat messages, retrieved documents, whatever
else JSON holds.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from adjudge.errors import WrongData

_ROLES = (("role", "content"), ("from", "value"))
"""How chats say who speaks, and what is said."""
_CALLS = ("tool_calls", "function_call")
"""What a message may hold instead of words."""
_LANGCHAIN = frozenset({"human", "ai", "tool", "system", "function", "chat"})
"""How messages of LangChain say who speaks, in ``type``."""
_ASSISTANT = frozenset({"assistant", "ai", "bot", "chatbot", "gpt", "model"})
_USER = frozenset({"human", "user"})
_TEXT_KEYS = ("text", "content", "page_content", "passage", "document", "chunk", "snippet", "body")
_ABOUT = frozenset({"id", "type", "score", "distance", "rank", "index", "embedding", "vector"})
"""What a retriever says of a document for itself."""
_LONGEST = 1_000_000


def parsed(text: str) -> object:
    """What a text holds that is a list or an object in JSON, or as Python writes it; else the text
    itself.
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
    """Whether this is a message, or a list of messages."""
    messages = value if isinstance(value, list | tuple) else [value]
    return bool(messages) and all(_message(one) is not None for one in messages)


def chat(value: object) -> str:
    """What the messages say, one after the other with who says it; one alone is what it says."""
    messages = [
        found
        for one in (value if isinstance(value, list | tuple) else [value])
        if (found := _message(one))
    ]
    if len(messages) == 1:
        return messages[0][1]
    return "\n".join(f"{role}: {said}" for role, said in messages)


def chat_parts(value: object) -> dict[str, str]:
    """A logged chat by our fields: the last answer of the assistant, the question before it, and
    what was said before that.

    What a tool said between the two is part of the history, which then holds the question as well.
    """
    given = [
        one for one in (value if isinstance(value, list | tuple) else [value]) if _message(one)
    ]
    messages = [_message(one) or ("", "") for one in given]
    answers = [place for place, (role, _) in enumerate(messages) if role.casefold() in _ASSISTANT]
    spoken = [place for place in answers if messages[place][1]] or answers
    if not spoken:
        raise WrongData(
            "nobody answers: the roles are {roles}",
            roles=", ".join(dict.fromkeys(role for role, _ in messages)),
        )
    before = messages[: spoken[-1]]
    asked = [place for place, (role, _) in enumerate(before) if role.casefold() in _USER]
    questions = [place for place in asked if not _is_result(given[place])]
    history = before[:-1] if questions and questions[-1] == len(before) - 1 else before
    parts = {"response": messages[spoken[-1]][1]}
    if questions:
        parts["user_input"] = before[questions[-1]][1]
    return (
        {**parts, "history": "\n".join(f"{role}: {said}" for role, said in history)}
        if history
        else parts
    )


def chat_call(value: object) -> dict[str, str]:
    """The last message of a logged chat that calls tools: its calls, and all that led to them."""
    messages = list(value) if isinstance(value, list | tuple) else [value]
    calling = [place for place, one in enumerate(messages) if _calls_of(one)]
    if not calling:
        raise WrongData("the conversation has no tool call to judge")
    last = messages[calling[-1]]
    said = "\n".join(_part(part) for part in _parts_of(last) if part and not _is_call(part))
    before = [found for one in messages[: calling[-1]] if (found := _message(one))]
    before += [("assistant", said)] if said else []
    led = (
        before[0][1] if len(before) == 1 else "\n".join(f"{role}: {text}" for role, text in before)
    )
    return {"tool_call": "\n".join(map(_call, _calls_of(last))), "before_call": led}


def rendered_calls(value: object) -> str | None:
    """Calls of tools that stand by themselves, as a log keeps them; None where this is something
    else.
    """
    calls = value if isinstance(value, list | tuple) else [value]
    named = [
        call for call in calls if isinstance(call, Mapping) and not _call(call).startswith("{")
    ]
    return "\n".join(map(_call, calls)) if calls and len(named) == len(calls) else None


def chat_turns(value: object) -> list[dict[str, str]]:
    """The parts of every question that was answered: its last answer in words, before somebody else
    asks the next one.
    """
    messages = list(value) if isinstance(value, list | tuple) else [value]
    ends: list[int] = []
    answering = False
    for place, one in enumerate(messages):
        role = (_message(one) or ("", ""))[0].casefold()
        if role in _ASSISTANT and _in_words(one):
            ends = [*(ends[:-1] if answering else ends), place]
            answering = True
        elif role in _USER and _in_words(one):
            answering = False
    if not ends:
        raise WrongData("the conversation has no assistant message with text")
    return [chat_parts(messages[: end + 1]) for end in ends]


def _calls_of(message: object) -> list[object]:
    """The calls of tools in a message, wherever its format puts them."""
    if not isinstance(message, Mapping):
        return []
    found = _bare(message)
    listed, legacy = found.get("tool_calls"), found.get("function_call")
    calls = (
        [*listed] if isinstance(listed, list) else [legacy] if isinstance(legacy, Mapping) else []
    )
    return calls or [part for part in _parts_of(message) if _is_call(part)]


def _parts_of(message: object) -> list[object]:
    if not isinstance(message, Mapping):
        return []
    found = _bare(message)
    content = next((found[name] for _, name in _ROLES if name in found), None)
    return content if isinstance(content, list) else [content]


def _is_call(part: object) -> bool:
    return isinstance(part, Mapping) and (
        part.get("type") == "tool_use" or isinstance(part.get("functionCall"), Mapping)
    )


def _is_result(message: object) -> bool:
    """Whether a message is nothing but what tools returned, which some send in the user's name."""
    content = message.get("content") if isinstance(message, Mapping) else None
    parts = content if isinstance(content, list) else []
    return bool(parts) and all(
        isinstance(part, Mapping) and part.get("type") == "tool_result" for part in parts
    )


def _in_words(message: object) -> bool:
    """Whether a message says something beside calling tools and telling what they returned."""
    return any(isinstance(part, str) and part.strip() for part in map(_text_of, _parts_of(message)))


def _text_of(part: object) -> object:
    return part.get("text") if isinstance(part, Mapping) else part


def shown(value: object) -> str:
    """A nested value as lines of text."""
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
            return str(value[role]), _said(
                value.get(content), value.get("tool_calls") or ([legacy] if legacy else None)
            )
    return None


def _bare(message: Mapping[str, object]) -> Mapping[str, object]:
    """A message with its ``role``, also one of LangChain, by itself or as ``messages_to_dict``
    wraps it.
    """
    if "role" in message or message.get("type") not in _LANGCHAIN:
        return message
    inner = message.get("data")
    held = inner if isinstance(inner, Mapping) else message
    return {**held, "role": message["type"]} if "content" in held else message


def _said(content: object, calls: object) -> str:
    parts = content if isinstance(content, list) else [content]
    texts = [_part(part) for part in parts if part is not None]
    called = [_call(call) for call in calls] if isinstance(calls, list) else []
    return "\n".join(filter(None, (*texts, *called)))


def _call(call: object) -> str:
    """A call of a tool as programs write it, such as ``[tool call: search(query="tower")]``; what
    is no such call, as JSON.
    """
    given = call if isinstance(call, Mapping) else {}
    function = next(
        (
            given[name]
            for name in ("function", "functionCall")
            if isinstance(given.get(name), Mapping)
        ),
        given,
    )
    name = function.get("name")
    if not isinstance(name, str):
        return json.dumps(call, ensure_ascii=False, default=str)
    said: object = next(
        (function[key] for key in ("arguments", "args", "input") if key in function), {}
    )
    given_as = parsed(said.strip()) if isinstance(said, str) else said
    if not isinstance(given_as, Mapping):
        return f"[tool call: {name}({given_as or ''})]"
    values = (
        f"{key}={json.dumps(value, ensure_ascii=False, default=str)}"
        for key, value in given_as.items()
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
        return f"[tool result: {_said(part.get('content'), None)}]"
    return f"[{part.get('type', 'attachment')}]"


def _lines(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from _mapping_lines(value)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            first, *others = list(_lines(item)) or [""]
            yield f"- {first}"
            yield from (f"  {line}" for line in others)
    elif value is not None:
        yield from str(value).splitlines() or [""]


def _mapping_lines(value: Mapping[object, object]) -> Iterator[str]:
    """A document is its title and its text, with what else is known about it below; other keys
    stand before their values.
    """
    given = {str(name): below for name, below in value.items() if below not in (None, "", [], {})}
    text = next((name for name in _TEXT_KEYS if isinstance(given.get(name), str)), None)
    if text is None:
        yield from _named(given)
        return
    if isinstance(given.get("title"), str):
        yield str(given["title"])
    yield str(given[text])
    yield from _named(
        {name: below for name, below in given.items() if name not in (text, "title", *_ABOUT)}
    )


def _named(given: Mapping[str, object]) -> Iterator[str]:
    for name, below in given.items():
        lines = list(_lines(below))
        if len(lines) == 1 and not isinstance(below, Mapping | list | tuple):
            yield f"{name}: {lines[0]}"
        else:
            yield f"{name}:"
            yield from (f"  {line}" for line in lines)
