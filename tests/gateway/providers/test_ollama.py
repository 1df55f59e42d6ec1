from __future__ import annotations

import pytest

from adjudge.errors import ModelError
from adjudge.gateway.open import open_model
from support.asking import ask, open_at
from support.fake_provider import FakeProvider, Status, always


def test_the_answer_is_asked_for_whole(provider: FakeProvider) -> None:
    ask(open_at(provider, "ollama"))
    assert provider.bodies[0]["stream"] is False


def test_no_key_is_needed_or_sent(provider: FakeProvider) -> None:
    ask(open_model("ollama/llama3.2:3b", base_url=provider.base_url("ollama")))
    assert "Authorization" not in provider.requests[0].headers


@pytest.mark.parametrize("scheme", ["http://", ""])
def test_the_host_is_taken_from_the_environment(provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    monkeypatch.setenv("OLLAMA_HOST", scheme + provider.base_url("ollama").removeprefix("http://"))
    assert ask(open_model("ollama/llama3.2:3b")).text


def test_its_plain_errors_are_read(provider: FakeProvider) -> None:
    provider.faults = always(Status(404, "model 'llama3.2:3b' not found"))
    with pytest.raises(ModelError, match=r"404: model 'llama3\.2:3b' not found"):
        ask(open_at(provider, "ollama"))
