"""One of the same options for each of several numbered texts, asked for in one call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from adjudge.domain.question import Choice, Schema
from adjudge.domain.verdict import Chosen

_BETWEEN = "; "


@dataclass(frozen=True)
class ChoiceOfEach(Choice):
    """The verdict in writing: the options in the order of the texts."""

    count: int = 1

    several: ClassVar[bool] = True
    repair: ClassVar[str] = "repair_each"

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
        option = {"type": "string", "enum": list(self.options)}
        one = _object({"number": {"type": "integer"}, "selected_option": option})
        return _object({"answers": {"type": "array", "items": one}})


def said_of_each(options: Sequence[str]) -> Chosen:
    """The verdict on several texts."""
    return Chosen(_BETWEEN.join(options))


def each_of(verdict: Chosen) -> list[str]:
    """What was said of each."""
    return verdict.option.split(_BETWEEN)


def _object(properties: dict[str, object]) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
