"""Questions about several numbered texts in one call; the plainest: one of the same options for
each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import ClassVar, TypeVar

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.question import Choice, Schema
from adjudge.core.domain.reading import Reading
from adjudge.core.domain.verdict import Chosen
from adjudge.core.domain.vote import Ballot, Outcome
from adjudge.features.evidence.reply_lists import (
    differing,
    lists_under,
    one_list,
    read_numbered,
)

_BETWEEN = "; "
MOST_AT_ONCE = 20
"""Texts that one call asks about; of more, there are several calls, each about as long as the
others.
"""
T = TypeVar("T")


def shared_out(texts: Sequence[T]) -> list[Sequence[T]]:
    """What each of as few calls as can be asks about, in the order given."""
    calls = -(-len(texts) // MOST_AT_ONCE)
    ends = [len(texts) * call // calls for call in range(calls + 1)]
    return [texts[start:end] for start, end in pairwise(ends)]


@dataclass(frozen=True)
class OfEach(Choice):
    """A question about each of several numbered texts."""

    count: int = 1
    about: ClassVar[str] = "each of {}"
    """What a ballot's identity says that is asked about."""

    several: ClassVar[bool] = True
    repair: ClassVar[str] = "repair_each"

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """None: the answer is not one label, so it has to be written."""
        return ()

    @property
    def identity(self) -> str:
        """What a ballot's identity says of its question."""
        return f"None\0()\0{self.about.format(self.count)}"


@dataclass(frozen=True)
class ChoiceOfEach(OfEach):
    """The verdict in writing: the options in the order of the texts."""

    # there is no advice on parts
    def schema(self, *, feedback: bool = False) -> Schema:  # noqa: ARG002
        """JSON schema of an answer."""
        return object_schema({"answers": _numbered(self.options)})

    def read_objects(
        self,
        objects: Sequence[JsonObject],
        ballot: Ballot,  # noqa: ARG002
        *,
        settle: bool,  # noqa: ARG002
    ) -> Reading | None:
        """Read one option for every number; None if no object of the reply holds a list."""
        held = lists_under(one_list(objects))
        listed = held.get("answers") or [one for named in held.values() for one in named]
        if len(listed) > 1:
            return differing("answers")
        asked = [("answers", self.count, self.options)]
        return _reading(read_numbered(asked, {"answers": listed[0]})) if listed else None


@dataclass(frozen=True)
class Listed:
    """One question about every text of a field."""

    criteria: Criteria
    field: str
    count: int


@dataclass(frozen=True)
class ChoiceOfLists(ChoiceOfEach):
    """Several questions in one call, each about the numbered texts of a field of its own; ``count``
    is of all of them.
    """

    lists: tuple[Listed, ...] = ()
    repair: ClassVar[str] = "repair_lists"

    @classmethod
    def of(cls, lists: Sequence[Listed]) -> ChoiceOfLists:
        """The options of all questions are those of the first."""
        first = lists[0].criteria
        return cls(
            first.option_names,
            first.points,
            count=sum(one.count for one in lists),
            lists=tuple(lists),
        )

    @property
    def identity(self) -> str:
        """What a ballot's identity says of its question."""
        asked = "\0".join(f"{one.field} {one.count} {one.criteria.identity}" for one in self.lists)
        return f"None\0()\0{asked}"

    @property
    def at_once(self) -> Sequence[tuple[str, Criteria]]:
        """The questions that are asked in one call, each with the field whose texts it is about."""
        return [(one.field, one.criteria) for one in self.lists]

    # there is no advice on parts
    def schema(self, *, feedback: bool = False) -> Schema:  # noqa: ARG002
        """JSON schema of an answer."""
        return object_schema(
            {one.field: _numbered(one.criteria.option_names) for one in self.lists}
        )

    def read_objects(
        self,
        objects: Sequence[JsonObject],
        ballot: Ballot,  # noqa: ARG002
        *,
        settle: bool,  # noqa: ARG002
    ) -> Reading | None:
        """Read one option for every number of every list; None if no object holds a list."""
        held = lists_under(objects)
        asked = [(one.field, one.count, one.criteria.option_names) for one in self.lists]
        if twice := next((name for name, _, _ in asked if len(held.get(name, ())) > 1), None):
            return differing(twice)
        first = {name: listed[0] for name, listed in held.items()}
        return _reading(read_numbered(asked, first)) if held else None


def _reading(answers: Sequence[str] | Reading) -> Reading:
    return answers if isinstance(answers, Reading) else Reading(Outcome.OK, said_of_each(answers))


def said_of_each(options: Sequence[str]) -> Chosen:
    """The verdict on several texts."""
    return Chosen(_BETWEEN.join(options))


def each_of(verdict: Chosen) -> list[str]:
    return verdict.option.split(_BETWEEN)


def _numbered(options: Sequence[str]) -> Schema:
    option = {"type": "string", "enum": list(options)}
    return {
        "type": "array",
        "items": object_schema({"number": {"type": "integer"}, "selected_option": option}),
    }


def object_schema(properties: JsonObject) -> Schema:
    """JSON schema of an object that has all of these, and nothing else."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
