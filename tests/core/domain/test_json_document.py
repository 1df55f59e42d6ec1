"""Documents have the keys of their type, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, NotRequired, TypedDict

import pytest

from adjudge.core.domain.json_document import Count, fill


class Colour(Enum):
    RED = "red"


class InnerShape(TypedDict):
    rows: int


class OuterShape(InnerShape):
    colour: str
    notes: NotRequired[Annotated[list[str], "what a reader must know"]]
    extra: NotRequired[str]
    counts: Count


@dataclass
class Inner:
    rows: int


@dataclass
class Outer:
    rows: int = 2
    colour: Colour = Colour.RED
    notes: tuple[str, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)
    secret: str = "not in the type"


def test_keys_and_their_order_are_of_the_type() -> None:
    document = fill(OuterShape, Outer(notes=("a",)), counts={"b": 1})
    assert list(document.items()) == [
        ("rows", 2),
        ("colour", "red"),
        ("notes", ["a"]),
        ("counts", {"b": 1}),
    ]


def test_a_key_that_is_not_required_is_left_out_if_empty() -> None:
    assert fill(OuterShape, Outer()) == {"rows": 2, "colour": "red", "counts": {}}
    assert fill(OuterShape, Outer(), extra="x")["extra"] == "x"


def test_a_required_key_stays_if_empty() -> None:
    assert fill(InnerShape, rows=None) == {"rows": None}


def test_a_key_without_a_value_is_an_error() -> None:
    with pytest.raises(AttributeError, match="colour"):
        fill(OuterShape, Inner(1))


def test_a_value_without_a_key_is_an_error() -> None:
    with pytest.raises(TypeError, match="InnerShape has no cols"):
        fill(InnerShape, Inner(1), cols=2)
