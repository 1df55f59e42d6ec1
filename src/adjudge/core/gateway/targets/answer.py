"""The answer of an application: a text, its contexts, tool calls and state."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Self

from adjudge.core.domain.instance import answer_text
from adjudge.core.domain.json_types import JsonValue
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.reading.json_path import NotThere, value_at
from adjudge.errors import ModelError
from adjudge.messages import Message

# Keys that may hold the answer, the likeliest first.
_TEXTS = ("response", "answer", "output", "text", "content", "completion", "result")
_CONTEXTS = ("contexts", "sources", "documents")
_TOOL_CALLS = ("tool_calls",)


class NoAnswer(ModelError):
    """Raised if there is no answer in an application's output."""


@light_dataclass(frozen=True)
class TargetAnswer:
    """One answer of an application."""

    text: str
    contexts: tuple[str, ...] = ()
    tool_calls: str = ""
    """As JSON; empty without calls."""
    state: JsonValue = None
    """The application's state after the answer, if it was asked for."""

    def to_json(self) -> str:
        """Return the answer as the text of a reply."""
        extras: dict[str, object] = {
            "contexts": list(self.contexts),
            "tool_calls": self.tool_calls,
        }
        fields = {"response": self.text, **{name: extra for name, extra in extras.items() if extra}}
        # an empty state is one, too
        fields |= {} if self.state is None else {"state": self.state}
        return json.dumps(fields, ensure_ascii=False)

    @classmethod
    def of_json(cls, text: str) -> Self:
        """Read the output of ``to_json``."""
        data = json.loads(text)
        return cls(
            data["response"],
            tuple(data.get("contexts", ())),
            data.get("tool_calls", ""),
            data.get("state"),
        )


@light_dataclass(frozen=True)
class AnswerPaths:
    """Paths into a JSON answer; None: the usual places.

    Example: ``AnswerPaths(answer="data.reply", contexts="data.sources")``
    """

    answer: str | None = None
    contexts: str | None = None
    tool_calls: str | None = None
    state: str | None = None
    """None: the state is not read."""

    def read(self, said: JsonValue, target: str) -> TargetAnswer:
        """Read the answer of an application, or raise NoAnswer."""
        answer = self._read(said, target)
        if self.state is None:
            return answer
        return replace(answer, state=self._find(said, self.state, (), target))

    def _read(self, output: JsonValue, target: str) -> TargetAnswer:
        plain_text = answer_text(output) if self.answer is None else None
        if plain_text is not None:
            return _check_not_empty(TargetAnswer(plain_text), target)
        if output is None:
            raise NoAnswer(Message("it returned nothing (null)"), model=target)
        messages = _messages_in(output) if self.answer is None else None
        if messages is not None:
            return _check_not_empty(_of_messages(messages), target)
        text = self._find(output, self.answer, _TEXTS, target)
        contexts = self._find(output, self.contexts, _CONTEXTS, target)
        calls = _to_json(self._find(output, self.tool_calls, _TOOL_CALLS, target))
        if text is None and calls:
            return TargetAnswer("", _texts(contexts), calls)
        if text is None and self.answer is None:
            raise NoAnswer(
                "{said} has no answer in the usual places ({places}): give its path with 'answer'",
                model=target,
                places=", ".join(_TEXTS),
                said=_short(output),
            )
        if answer_text(text) is None and not _parts(text):
            raise NoAnswer("the answer is not a string: {said}", model=target, said=_short(text))
        return _check_not_empty(TargetAnswer(_text(text), _texts(contexts), calls), target)

    def _find(
        self, output: JsonValue, path: str | None, usual: Sequence[str], target: str
    ) -> JsonValue:
        if path is not None:
            try:
                return value_at(output, path)
            except NotThere:
                raise NoAnswer(
                    "the answer has no {path}: {said}",
                    model=target,
                    path=path,
                    said=_short(output),
                ) from None
        if not isinstance(output, Mapping):
            return None
        return next((output[name] for name in usual if output.get(name) is not None), None)


def _messages_in(output: JsonValue) -> Sequence[JsonValue] | None:
    """Return the turns of a conversation, or None if the output is not one."""
    messages = output.get("messages") if isinstance(output, Mapping) else output
    if isinstance(messages, Sequence) and not isinstance(messages, str) and messages:
        return (
            messages
            if all(isinstance(message, Mapping) and "role" in message for message in messages)
            else None
        )
    return None


def _of_messages(messages: Sequence[JsonValue]) -> TargetAnswer:
    turns = [turn for turn in messages if isinstance(turn, Mapping)]
    contents = [turn.get("content") for turn in turns if turn.get("role") == "assistant"]
    calls = [call for turn in turns for call in _list(turn.get("tool_calls"))]
    text = next((_text(turn) for turn in reversed(contents) if _text(turn)), "")
    return TargetAnswer(text, tool_calls=_to_json(calls))


def _list(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def _text(value: JsonValue) -> str:
    """Return a text as it is, the joined parts of a chat message, or anything else as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    return "".join(_parts(value)) or _to_json(value)


def _parts(value: JsonValue) -> list[str]:
    """Return the texts of a message in parts."""
    return [
        str(part["text"])
        for part in _list(value)
        if isinstance(part, Mapping) and isinstance(part.get("text"), str)
    ]


def _texts(value: JsonValue) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,) if value else ()
    return tuple(_context(context) for context in _list(value))


def _context(value: JsonValue) -> str:
    if isinstance(value, Mapping):
        candidates = (value.get(name) for name in ("text", "content", "page_content"))
        return next(
            (candidate for candidate in candidates if isinstance(candidate, str)), _to_json(value)
        )
    return _text(value)


def _to_json(value: JsonValue) -> str:
    return "" if value in (None, [], (), {}) else json.dumps(value, ensure_ascii=False)


def _short(output: JsonValue) -> str:
    text = json.dumps(output, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:199]}…"


def _check_not_empty(answer: TargetAnswer, target: str) -> TargetAnswer:
    """Raise NoAnswer for an empty answer, so that it is not judged."""
    if not answer.text.strip() and not answer.tool_calls:
        raise NoAnswer(Message("the answer is empty"), model=target)
    return answer
