"""Questions about several numbered texts in one call; the plainest: one of the same options for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from adjudge.domain.question import Choice, Schema
from adjudge.domain.verdict import Chosen

_BETWEEN = "; "


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

    def schema(self, *, feedback: bool = False) -> Schema:  # noqa: ARG002 - there is no advice on parts
        """JSON schema of an answer."""
        option = {"type": "string", "enum": list(self.options)}
        one = object_schema({"number": {"type": "integer"}, "selected_option": option})
        return object_schema({"answers": {"type": "array", "items": one}})


def said_of_each(options: Sequence[str]) -> Chosen:
    """The verdict on several texts."""
    return Chosen(_BETWEEN.join(options))


def each_of(verdict: Chosen) -> list[str]:
    """What was said of each."""
    return verdict.option.split(_BETWEEN)


def object_schema(properties: Mapping[str, object]) -> Schema:
    """JSON schema of an object that has all of these, and nothing else."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
