"""Questions about several numbered texts in one call. The plainest asks for one of the same options
for each.
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
    lists_differ,
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


def split_evenly(texts: Sequence[T]) -> list[Sequence[T]]:
    """Split the texts, in order, into as few groups as possible, with about equally many texts."""
    # rounded up
    calls = -(-len(texts) // MOST_AT_ONCE)
    ends = [len(texts) * call // calls for call in range(calls + 1)]
    return [texts[start:end] for start, end in pairwise(ends)]


@dataclass(frozen=True)
class OfEach(Choice):
    """A question about each of several numbered texts."""

    count: int = 1
    about: ClassVar[str] = "each of {}"
    """The subject of the question in a ballot's identity."""

    several: ClassVar[bool] = True
    repair: ClassVar[str] = "repair_each"

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Always empty: the answer is not a single label, so it has to be written."""
        return ()

    @property
    def identity(self) -> str:
        """The part of a ballot's identity that identifies the question."""
        return f"None\0()\0{self.about.format(self.count)}"


@dataclass(frozen=True)
class ChoiceOfEach(OfEach):
    """A question with the same options for each of several texts.

    The verdict's text lists the chosen options in order.
    """

    # there is no advice on parts
    def schema(self, *, feedback: bool = False) -> Schema:  # noqa: ARG002
        """Return the JSON schema of an answer."""
        return object_schema({"answers": _numbered_schema(self.options)})

    def read_objects(
        self,
        objects: Sequence[JsonObject],
        ballot: Ballot,  # noqa: ARG002
        *,
        settle: bool,  # noqa: ARG002
    ) -> Reading | None:
        """Read one option per number; None if no object in the reply holds a list."""
        lists = lists_under(one_list(objects))
        # some models name the list otherwise; if there is only one list, it is meant
        answers = lists.get("answers") or [
            entries for lists_of_name in lists.values() for entries in lists_of_name
        ]
        if len(answers) > 1:
            return lists_differ("answers")
        expected = [("answers", self.count, self.options)]
        return _reading(read_numbered(expected, {"answers": answers[0]})) if answers else None


@dataclass(frozen=True)
class Listed:
    """One question about each text of a field."""

    criteria: Criteria
    field: str
    count: int


@dataclass(frozen=True)
class ChoiceOfLists(ChoiceOfEach):
    """Several questions in one call, each about the numbered texts of its own field.

    ``count`` is the total number of texts.
    """

    lists: tuple[Listed, ...] = ()
    repair: ClassVar[str] = "repair_lists"

    @classmethod
    def of(cls, lists: Sequence[Listed]) -> ChoiceOfLists:
        """Combine questions that all have the same options."""
        criteria = lists[0].criteria
        return cls(
            criteria.option_names,
            criteria.points,
            count=sum(listed.count for listed in lists),
            lists=tuple(lists),
        )

    @property
    def identity(self) -> str:
        """The part of a ballot's identity that identifies the questions."""
        parts = "\0".join(
            f"{listed.field} {listed.count} {listed.criteria.identity}" for listed in self.lists
        )
        return f"None\0()\0{parts}"

    @property
    def at_once(self) -> Sequence[tuple[str, Criteria]]:
        """The questions asked in one call, each with the field that holds its texts."""
        return [(listed.field, listed.criteria) for listed in self.lists]

    # there is no advice on parts
    def schema(self, *, feedback: bool = False) -> Schema:  # noqa: ARG002
        """Return the JSON schema of an answer."""
        return object_schema(
            {listed.field: _numbered_schema(listed.criteria.option_names) for listed in self.lists}
        )

    def read_objects(
        self,
        objects: Sequence[JsonObject],
        ballot: Ballot,  # noqa: ARG002
        *,
        settle: bool,  # noqa: ARG002
    ) -> Reading | None:
        """Read one option per number of every list; None if no object holds a list."""
        lists = lists_under(objects)
        expected = [
            (field_question.field, field_question.count, field_question.criteria.option_names)
            for field_question in self.lists
        ]
        if twice := next((name for name, _, _ in expected if len(lists.get(name, ())) > 1), None):
            return lists_differ(twice)
        first_lists = {name: listed[0] for name, listed in lists.items()}
        return _reading(read_numbered(expected, first_lists)) if lists else None


def _reading(answers: Sequence[str] | Reading) -> Reading:
    return answers if isinstance(answers, Reading) else Reading(Outcome.OK, join_options(answers))


def join_options(options: Sequence[str]) -> Chosen:
    """Combine the options chosen for several texts into one verdict."""
    return Chosen(_BETWEEN.join(options))


def split_options(verdict: Chosen) -> list[str]:
    return verdict.option.split(_BETWEEN)


def _numbered_schema(options: Sequence[str]) -> Schema:
    option = {"type": "string", "enum": list(options)}
    return {
        "type": "array",
        "items": object_schema({"number": {"type": "integer"}, "selected_option": option}),
    }


def object_schema(properties: JsonObject) -> Schema:
    """Return the JSON schema of an object with exactly these properties, all required."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
