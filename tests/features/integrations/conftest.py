"""A test suite of a user, whose judge is a real server."""

from __future__ import annotations

import pytest

from support.fake_provider import KEY, FakeProvider
from support.suites import Suite


@pytest.fixture
def suite(
    pytester: pytest.Pytester,
    provider: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> Suite:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ADJUDGE_CACHE", str(tmp_path_factory.mktemp("own_cache")))
    return Suite(pytester, provider)
