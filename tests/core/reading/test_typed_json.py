"""JSON as the class that its annotations describe."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass

import pytest

from adjudge.core.domain.json_types import JsonObject
from adjudge.core.reading import typed_json
from adjudge.core.reading.typed_json import WrongType, read_as


@dataclass(frozen=True)
class Kept:
    fields: JsonObject


def test_types_of_json_need_no_name_that_their_user_lacks() -> None:
    assert read_as(Kept, {"fields": {"a": [1, {"b": None}]}}) == Kept({"a": [1, {"b": None}]})


@dataclass(frozen=True)
class Pair:
    first: str
    second: int = 0


def test_two_threads_that_read_a_kind_for_the_first_time_read_all_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One is at the second member of the kind when the other reads."""
    kinds, said, beside = typed_json._kinds, {"first": "a", "second": 1}, list[Pair]()
    read_beside = threading.Thread(target=lambda: beside.append(read_as(Pair, said)))

    def interrupted(kind: object) -> frozenset[type]:
        if kind is int and not read_beside.ident:
            read_beside.start()
            read_beside.join()
        return kinds(kind)

    monkeypatch.setattr(typed_json, "_kinds", interrupted)
    assert [read_as(Pair, said), *beside] == [Pair("a", 1), Pair("a", 1)]


@dataclass(frozen=True, kw_only=True)
class Named:
    """Members whose names a reader could use itself."""

    value: int
    kind: str = "a"
    type: float | None = None
    object: tuple[int, ...] = ()
    read: Pair | None = None


def test_members_may_have_any_name() -> None:
    stored = {"value": 1, "type": 2.5, "object": [3], "read": {"first": "b"}}
    assert read_as(Named, stored) == Named(value=1, type=2.5, object=(3,), read=Pair("b"))
    assert vars(read_as(Named, {"value": 1})) == vars(Named(value=1))


@pytest.mark.parametrize(
    ("stored", "reason"),
    [
        ({"value": "1"}, "value must be a whole number, not '1'"),
        ({"value": True}, "value must be a whole number, not True"),
        ({}, "value is missing"),
        ({"value": 1, "object": [1, "2"]}, "object.1 must be a whole number, not '2'"),
        ({"value": 1, "read": {"first": "b", "second": None}}, "read.second must be a whole"),
        ([], "it must be an object, not []"),
        (None, "it must be an object, not None"),
    ],
)
def test_a_wrong_value_is_refused_with_its_place(stored: object, reason: str) -> None:
    with pytest.raises(WrongType, match=re.escape(reason)):
        read_as(Named, stored)


@dataclass(frozen=True, slots=True)
class Slotted:
    first: str


@dataclass
class Doubled:
    number: int

    def __post_init__(self) -> None:
        self.number *= 2


def test_classes_with_slots_or_more_to_do_are_read_too() -> None:
    assert read_as(Slotted, {"first": "a"}) == Slotted("a")
    assert read_as(Doubled, {"number": 2}).number == 4
