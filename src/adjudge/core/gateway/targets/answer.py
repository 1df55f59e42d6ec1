"""What an application answers: a text, and what it says beside it."""

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

_TEXTS = ("response", "answer", "output", "text", "content", "completion", "result")
"""Where an answer stands in an object, the likeliest first."""
_CONTEXTS = ("contexts", "sources", "documents")
_TOOL_CALLS = ("tool_calls",)


class NoAnswer(ModelError):
    """The application said something in which there is no answer."""


@light_dataclass(frozen=True)
class TargetAnswer:
    """One answer of an application."""

    text: str
    contexts: tuple[str, ...] = ()
    tool_calls: str = ""
    """As JSON; empty where nothing was called."""
    state: JsonValue = None
    """The application's state after the answer, if it was asked for."""

    def to_json(self) -> str:
        """The answer as the text of a reply."""
        beside: dict[str, object] = {
            "contexts": list(self.contexts),
            "tool_calls": self.tool_calls,
            "state": self.state,
        }
        said = {"response": self.text, **{name: one for name, one in beside.items() if one}}
        return json.dumps(said, ensure_ascii=False)

    @classmethod
    def of_json(cls, text: str) -> Self:
        """The answer that ``to_json`` wrote."""
        found = json.loads(text)
        return cls(
            found["response"],
            tuple(found.get("contexts", ())),
            found.get("tool_calls", ""),
            found.get("state"),
        )


@light_dataclass(frozen=True)
class AnswerPaths:
    """Where in a JSON answer things stand; None: at the usual places."""

    answer: str | None = None
    contexts: str | None = None
    tool_calls: str | None = None
    state: str | None = None
    """None: the state is not read."""

    def read(self, said: JsonValue, target: str) -> TargetAnswer:
        """The answer in what an application said; NoAnswer where there is none."""
        answer = self._read(said, target)
        if self.state is None:
            return answer
        return replace(answer, state=self._find(said, self.state, (), target))

    def _read(self, said: JsonValue, target: str) -> TargetAnswer:
        whole = answer_text(said) if self.answer is None else None
        if whole is not None:
            return _checked(TargetAnswer(whole), target)
        if said is None:
            raise NoAnswer(Message("it answered with nothing (null)"), model=target)
        messages = _messages_in(said) if self.answer is None else None
        if messages is not None:
            return _checked(_of_messages(messages), target)
        text = self._find(said, self.answer, _TEXTS, target)
        contexts = self._find(said, self.contexts, _CONTEXTS, target)
        calls = _written(self._find(said, self.tool_calls, _TOOL_CALLS, target))
        if text is None and calls:
            return TargetAnswer("", _texts(contexts), calls)
        if text is None and self.answer is None:
            raise NoAnswer(
                "there is no answer at a usual place ({places}) in {said}: say with answer where "
                "it stands",
                model=target,
                places=", ".join(_TEXTS),
                said=_short(said),
            )
        if answer_text(text) is None and not _parts(text):
            raise NoAnswer("the answer is not a text: {said}", model=target, said=_short(text))
        return _checked(TargetAnswer(_text(text), _texts(contexts), calls), target)

    def _find(
        self, said: JsonValue, path: str | None, usual: Sequence[str], target: str
    ) -> JsonValue:
        if path is not None:
            try:
                return value_at(said, path)
            except NotThere:
                raise NoAnswer(
                    "the answer has no {path}: {said}",
                    model=target,
                    path=path,
                    said=_short(said),
                ) from None
        if not isinstance(said, Mapping):
            return None
        return next((said[name] for name in usual if said.get(name) is not None), None)


def _messages_in(said: JsonValue) -> Sequence[JsonValue] | None:
    """The turns of a conversation, where that is what was returned."""
    found = said.get("messages") if isinstance(said, Mapping) else said
    if isinstance(found, Sequence) and not isinstance(found, str) and found:
        return found if all(isinstance(one, Mapping) and "role" in one for one in found) else None
    return None


def _of_messages(messages: Sequence[JsonValue]) -> TargetAnswer:
    turns = [one for one in messages if isinstance(one, Mapping)]
    said = [one.get("content") for one in turns if one.get("role") == "assistant"]
    calls = [call for one in turns for call in _list(one.get("tool_calls"))]
    text = next((_text(one) for one in reversed(said) if _text(one)), "")
    return TargetAnswer(text, tool_calls=_written(calls))


def _list(value: JsonValue) -> Sequence[JsonValue]:
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def _text(value: JsonValue) -> str:
    """A text as it is; the parts of one, as chat messages have them; anything else as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    return "".join(_parts(value)) or _written(value)


def _parts(value: JsonValue) -> list[str]:
    """The texts of a message in parts."""
    return [
        str(part["text"])
        for part in _list(value)
        if isinstance(part, Mapping) and isinstance(part.get("text"), str)
    ]


def _texts(value: JsonValue) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,) if value else ()
    return tuple(_context(one) for one in _list(value))


def _context(value: JsonValue) -> str:
    if isinstance(value, Mapping):
        found = (value.get(name) for name in ("text", "content", "page_content"))
        return next((one for one in found if isinstance(one, str)), _written(value))
    return _text(value)


def _written(value: JsonValue) -> str:
    return "" if value in (None, [], (), {}) else json.dumps(value, ensure_ascii=False)


def _short(said: JsonValue) -> str:
    text = json.dumps(said, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:199]}…"


def _checked(found: TargetAnswer, target: str) -> TargetAnswer:
    """An empty answer is none: it is not judged as if somebody had said it."""
    if not found.text.strip() and not found.tool_calls:
        raise NoAnswer(Message("the answer is empty"), model=target)
    return found
