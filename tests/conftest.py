"""What tests of every part may use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from support.fake_provider import FakeProvider

settings.register_profile("repeatable", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("repeatable")


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProvider]:
    """A server that speaks every provider's protocol."""
    with FakeProvider() as running:
        monkeypatch.setenv("WATSONX_PROJECT_ID", "project-1")
        monkeypatch.setenv("WATSONX_IAM_URL", running.token_url)
        yield running


@pytest.fixture
def fast_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retries that wait milliseconds."""
    monkeypatch.setattr("adjudge.gateway.retrying._FIRST_WAIT", 0.002)
