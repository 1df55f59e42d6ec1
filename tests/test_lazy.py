"""Patterns that are made when they are first used: the same as ``re.compile`` gives."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.lazy import lazy_pattern


@given(st.sampled_from([r"(a|i)(b?)", r"\s*(?P<name>\w+)\s*=", r"[İıi]+\Z"]), st.text("abiİı =\n"))
def test_it_finds_what_an_ordinary_pattern_finds(pattern: str, text: str) -> None:
    late, usual = lazy_pattern(pattern, re.IGNORECASE), re.compile(pattern, re.IGNORECASE)
    for _ in range(2):
        for find in ("match", "search", "fullmatch"):
            assert repr(getattr(late, find)(text)) == repr(getattr(usual, find)(text))
        assert late.findall(text) == usual.findall(text)
        assert late.sub("x", text) == usual.sub("x", text)
        assert (late.pattern, late.flags) == (usual.pattern, usual.flags)


def test_nothing_is_compiled_before_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    made, compile_now = list[str](), re.compile

    def compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
        made.append(pattern)
        return compile_now(pattern, flags)

    monkeypatch.setattr(re, "compile", compiled)
    late = lazy_pattern(r"never(seen)?before")
    assert not made
    assert late.search("neverbefore")
    assert late.search("nothing") is None
    assert len(made) == 1
