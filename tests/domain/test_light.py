"""Light dataclasses beside ordinary ones: the same in every way that can be seen."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, dataclass, field, fields, is_dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.domain.light import light_dataclass


@dataclass(frozen=True, kw_only=True)
class Plain:
    name: str
    count: float = 0
    note: str = field(default="", compare=False)
    hidden: str = field(default="", repr=False)
    parts: tuple[object, ...] = field(default=(), hash=False)


@light_dataclass(frozen=True, kw_only=True)
class Light:
    name: str
    count: float = 0
    note: str = field(default="", compare=False)
    hidden: str = field(default="", repr=False)
    parts: tuple[object, ...] = field(default=(), hash=False)


@light_dataclass(frozen=True, kw_only=True)
class Lighter(Light):
    more: int = 0


@light_dataclass()
class Open:
    name: str


VALUES = st.fixed_dictionaries(
    {"name": st.sampled_from("ab")},
    optional={
        "count": st.sampled_from([0, 1.5]),
        "note": st.sampled_from("xy"),
        "hidden": st.sampled_from("xy"),
        "parts": st.sampled_from([(), (1,)]),
    },
)


@given(VALUES, VALUES)
def test_equality_hash_and_text_are_an_ordinary_dataclasss(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    assert (Light(**one) == Light(**other)) == (Plain(**one) == Plain(**other))
    assert hash(Light(**one)) == hash(Plain(**one))
    assert repr(Light(**one)) == repr(Plain(**one)).replace("Plain", "Light")
    assert pickle.loads(pickle.dumps(Light(**one))) == Light(**one)


def test_another_class_is_never_the_same() -> None:
    assert Light(name="a") != Plain(name="a")
    assert Lighter(name="a") != Light(name="a")
    assert len({Lighter(name="a"), Lighter(name="a"), Lighter(name="a", more=1)}) == 2


def test_it_is_a_dataclass_and_cannot_be_changed() -> None:
    assert is_dataclass(Light)
    assert [one.name for one in fields(Lighter(name="a"))][-1] == "more"
    assert replace(Lighter(name="a"), more=2) == Lighter(name="a", more=2)
    with pytest.raises(FrozenInstanceError):
        Light(name="a").name = "b"  # type: ignore[misc]


def test_what_can_be_changed_has_no_hash() -> None:
    assert Open("a") == Open("a")
    with pytest.raises(TypeError, match="unhashable"):
        hash(Open("a"))


def test_one_that_holds_itself_is_shown() -> None:
    parts: list[object] = []
    one = Light(name="a", parts=(parts,))
    parts.append(one)
    assert "..." in repr(one)
