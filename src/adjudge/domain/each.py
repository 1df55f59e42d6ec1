"""One of the same options for each of several numbered texts, asked for in one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

from adjudge.domain.criteria import Criteria
from adjudge.domain.question import Choice, Schema
from adjudge.domain.verdict import Chosen

_BETWEEN = "; "
MOST_AT_ONCE = 20
"""Texts that one call asks about; of more, there are several calls, each about as long as the others."""
T = TypeVar("T")


def shared_out(texts: Sequence[T]) -> list[Sequence[T]]:
    """What each of as few calls as can be asks about, in the order given."""
    calls = -(-len(texts) // MOST_AT_ONCE)
    ends = [len(texts) * call // calls for call in range(calls + 1)]
    return [texts[start:end] for start, end in pairwise(ends)]


@dataclass(frozen=True)
class ChoiceOfEach(Choice):
    """The verdict in writing: the options in the order of the texts."""

    count: int = 1

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """None: the answer is not one label, so it has to be written."""
        return ()

    @property
    def identity(self) -> str:
        """What a ballot's identity says of its question."""
        return f"None\0()\0each of {self.count}"

    def schema(self, *, feedback: bool = False) -> Schema:  # noqa: ARG002 - there is no advice on parts
        """JSON schema of an answer."""
        return _object({"answers": _numbered(self.options)})


@dataclass(frozen=True)
class Listed:
    """One question about every text of a field."""

    criteria: Criteria
    field: str
    count: int


@dataclass(frozen=True)
class ChoiceOfLists(ChoiceOfEach):
    """Several questions in one call, each about the numbered texts of a field of its own; ``count`` is of all of them."""

    lists: tuple[Listed, ...] = ()

    @classmethod
    def of(cls, lists: Sequence[Listed]) -> ChoiceOfLists:
        """The options of all questions are those of the first."""
        first = lists[0].criteria
        return cls(first.option_names, first.points, count=sum(one.count for one in lists), lists=tuple(lists))

    @property
    def identity(self) -> str:
        """What a ballot's identity says of its question."""
        asked = "\0".join(f"{one.field} {one.count} {one.criteria.identity}" for one in self.lists)
        return f"None\0()\0{asked}"

    def schema(self, *, feedback: bool = False) -> Schema:  # noqa: ARG002 - there is no advice on parts
        """JSON schema of an answer."""
        return _object({one.field: _numbered(one.criteria.option_names) for one in self.lists})


def said_of_each(options: Sequence[str]) -> Chosen:
    """The verdict on several texts."""
    return Chosen(_BETWEEN.join(options))


def each_of(verdict: Chosen) -> list[str]:
    """What was said of each."""
    return verdict.option.split(_BETWEEN)


def _numbered(options: Sequence[str]) -> Schema:
    option = {"type": "string", "enum": list(options)}
    return {"type": "array", "items": _object({"number": {"type": "integer"}, "selected_option": option})}


def _object(properties: dict[str, object]) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
