"""Light dataclasses beside ordinary ones: the same in every way that can be seen."""

from __future__ import annotations

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import (
    FrozenInstanceError,
    asdict,
    dataclass,
    field,
    fields,
    is_dataclass,
    replace,
)
from inspect import signature
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.core.domain import light_dataclass as light
from adjudge.core.domain.light_dataclass import light_dataclass


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


class Wider(Light):
    """Not a dataclass itself."""


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


def test_its_fields_are_found_once_whoever_looks_first() -> None:
    for _ in range(50):

        @light_dataclass(frozen=True)
        class Base:
            kept: list[str] = field(default_factory=list)

        @light_dataclass(frozen=True)
        class Made(Base):
            name: str = field(default="a", repr=False)

        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda _: (Made(), len(fields(Made))), range(8)))
        assert {(repr(one), one.name, count) for one, count in found} == {
            (repr(Made()), "a", 2),
        }
        assert repr(Made()).endswith("Made(kept=[])")


def test_it_is_a_dataclass_and_cannot_be_changed() -> None:
    assert is_dataclass(Light)
    assert [one.name for one in fields(Lighter(name="a"))][-1] == "more"
    assert replace(Lighter(name="a"), more=2) == Lighter(name="a", more=2)
    with pytest.raises(FrozenInstanceError):
        Light(name="a").name = "b"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        del Light(name="a").name
    with pytest.raises(FrozenInstanceError):
        Light(name="a").other = "b"  # type: ignore[attr-defined]
    wider = Wider(name="a")
    wider.other = "b"  # type: ignore[attr-defined]
    with pytest.raises(FrozenInstanceError):
        wider.name = "b"  # type: ignore[misc]


@dataclass
class PlainMade:
    name: str
    doubled: str = field(init=False)
    kept: list[str] = field(default_factory=list)
    seen: list[str] = field(default_factory=list, init=False)
    last: int = field(default=3, kw_only=True)
    fixed: int = field(default=7, init=False)

    def __post_init__(self) -> None:
        self.doubled = self.name * 2


@light_dataclass()
class LightMade:
    name: str
    doubled: str = field(init=False)
    kept: list[str] = field(default_factory=list)
    seen: list[str] = field(default_factory=list, init=False)
    last: int = field(default=3, kw_only=True)
    fixed: int = field(default=7, init=False)

    def __post_init__(self) -> None:
        self.doubled = self.name * 2


@pytest.mark.parametrize("given", [("a",), ("a", ["b"])])
def test_it_is_made_like_an_ordinary_dataclass(given: tuple[Any, ...]) -> None:
    assert asdict(LightMade(*given, last=4)) == asdict(PlainMade(*given, last=4))
    assert (LightMade(*given).kept is LightMade(*given).kept) == (len(given) > 1)
    plain, light = (signature(one).parameters for one in (PlainMade, LightMade))
    assert {name: (one.kind, one.annotation) for name, one in light.items()} == {
        name: (one.kind, one.annotation) for name, one in plain.items()
    }
    wrongs: tuple[tuple[Any, ...], ...] = ((), ("a", [], 4))
    for wrong in wrongs:
        with pytest.raises(TypeError, match=r"LightMade\.__init__\(\)"):
            LightMade(*wrong)


def test_what_can_be_changed_has_no_hash() -> None:
    assert Open("a") == Open("a")
    with pytest.raises(TypeError, match="unhashable"):
        hash(Open("a"))


def test_one_that_holds_itself_is_shown() -> None:
    parts: list[object] = []
    one = Light(name="a", parts=(parts,))
    parts.append(one)
    assert "..." in repr(one)


def test_two_threads_make_classes_of_one_base(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages load their modules when they are first asked for: here one does while another is."""
    made, heavy, begun, ended = list[str](), dataclass, threading.Event(), threading.Event()
    beside = threading.Thread(target=lambda: made.extend(one.name for one in fields(Two)))

    @light_dataclass(frozen=True)
    class One(Light):
        one: int = 0

    @light_dataclass(frozen=True)
    class Two(Light):
        two: int = 0

    def overtaken(**settings: bool) -> Any:
        if threading.current_thread() is beside:
            begun.set()
            ended.wait(20)
        else:
            beside.start()
            begun.wait(0.05)  # not before this one has ended
        return heavy(**settings)

    monkeypatch.setattr(light, "dataclass", overtaken)
    assert fields(One)
    ended.set()
    beside.join()
    assert "two" in made
