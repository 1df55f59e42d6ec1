"""JSON as the class that its annotations describe."""

from __future__ import annotations

from dataclasses import dataclass

from adjudge.domain.json_types import JsonObject
from adjudge.reading.typed_json import read_as


@dataclass(frozen=True)
class Kept:
    fields: JsonObject


def test_types_of_json_need_no_name_that_their_user_lacks() -> None:
    assert read_as(Kept, {"fields": {"a": [1, {"b": None}]}}) == Kept({"a": [1, {"b": None}]})
