"""JSON as the class that its annotations describe."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import pytest

from adjudge.core.domain.json_types import JsonObject
from adjudge.core.reading import typed_json
from adjudge.core.reading.typed_json import read_as


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
