from __future__ import annotations

import pytest

from adjudge import AspectCritic
from adjudge.core.domain.vote import Outcome
from adjudge.core.gateway.opener import OpenModel, open_model
from adjudge.errors import ModelError, SetupError
from support.asking import ask, open_at
from support.fake_provider import FakeProvider, Status, always


def served(provider: FakeProvider, model: str) -> OpenModel:
    return open_model(
        f"ollama/{model}", base_url=provider.base_url("ollama"), max_retries=0, timeout=60
    )


def windows(provider: FakeProvider) -> list[int]:
    return [body["options"]["num_ctx"] for body in provider.bodies]


def test_the_answer_is_asked_for_whole(provider: FakeProvider) -> None:
    ask(open_at(provider, "ollama"))
    assert provider.bodies[0]["stream"] is False


def test_no_key_is_needed_or_sent(provider: FakeProvider) -> None:
    ask(open_model("ollama/llama3.2:3b", base_url=provider.base_url("ollama")))
    assert "Authorization" not in provider.requests[0].headers


@pytest.mark.parametrize("scheme", ["http://", ""])
def test_the_host_is_taken_from_the_environment(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", scheme + provider.base_url("ollama").removeprefix("http://"))
    assert ask(open_model("ollama/llama3.2:3b")).text


def test_its_plain_errors_are_read(provider: FakeProvider) -> None:
    provider.faults = always(Status(404, "model 'llama3.2:3b' not found"))
    with pytest.raises(ModelError, match=r"404: model 'llama3\.2:3b' not found"):
        ask(open_at(provider, "ollama"))


def test_a_long_context_is_given_a_window_that_holds_it_and_its_answer(
    provider: FakeProvider,
) -> None:
    """The server's default of 2048 or 4096 tokens cut long contexts, and what
    was left was scored.
    """
    ask(served(provider, "llama3.2:3b"), "word " * 20_000)
    (window,) = windows(provider)
    assert window == 65_536  # 100,000 characters are 20,000 to 33,000 tokens


def test_text_that_is_not_ascii_gets_a_token_a_character(provider: FakeProvider) -> None:
    ask(served(provider, "llama3.2:3b"), "слово " * 2_000)
    assert windows(provider) == [16_384]


def test_the_window_only_grows_so_that_the_model_is_not_reloaded_for_every_row(
    provider: FakeProvider,
) -> None:
    model = served(provider, "llama3.2:3b")
    for length in (100, 3_000, 20_000, 100, 24_000, 100):
        ask(model, "x" * length)
    assert windows(provider) == [4096, 4096, 16_384, 16_384, 16_384, 16_384]


def test_a_server_is_told_not_to_cut_and_not_to_forget(provider: FakeProvider) -> None:
    ask(served(provider, "llama3.2:3b"))
    assert (provider.bodies[0]["truncate"], provider.bodies[0]["shift"]) == (False, False)


def test_the_users_own_window_is_used_as_it_is(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_CONTEXT_LENGTH", "6000")
    model = served(provider, "llama3.2:3b")
    ask(model)
    ask(model, "x" * 20_000)
    assert windows(provider) == [6000, 6000]
    with pytest.raises(
        ModelError,
        match=r"400: request \(7\d\d\d tokens\) exceeds the available context size \(6000 tokens\)",
    ):
        ask(model, "x" * 30_000)


def test_a_window_that_is_no_number_is_said_before_anything_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OLLAMA_CONTEXT_LENGTH", "8k")
    with pytest.raises(
        SetupError, match="OLLAMA_CONTEXT_LENGTH must be a number of tokens, such as 8192, not '8k'"
    ):
        open_model("ollama/llama3.2:3b")


@pytest.mark.parametrize(
    ("model", "left"),
    [("old-2048", 2048), ("half-2048", 1026), ("old-8192", 8192), ("half-4096", 2050)],
)
def test_an_answer_about_a_prompt_that_the_server_cut_is_no_verdict(
    provider: FakeProvider, model: str, left: int
) -> None:
    """The model was trained with a window smaller than was asked for, and the server is too old to
    say so.
    """
    critic = AspectCritic("The mark must end in Y.", [served(provider, model)], max_repairs=0)
    long, short = critic.evaluate(["word " * 20_000 + "REC-00001-Y", "REC-00001-Y"])
    assert (long.status.value, short.status.value) == ("failed", "scored")
    (vote,) = long.votes
    assert vote.outcome is Outcome.MODEL_ERROR
    assert f"truncated the prompt to {left} tokens" in (vote.reason or "")
    assert "OLLAMA_CONTEXT_LENGTH" in (vote.reason or "")


def test_a_full_window_is_a_cut_prompt(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_CONTEXT_LENGTH", "1000")
    with pytest.raises(ModelError, match="truncated the prompt to 1000 tokens"):
        ask(served(provider, "old"), "x" * 5000)


@pytest.mark.parametrize("counted", [0, 1, 17, 300, 1500])
def test_a_small_count_of_a_server_that_had_the_prompt_in_its_cache_is_no_alarm(
    provider: FakeProvider, counted: int
) -> None:
    assert ask(served(provider, f"cached:{counted}"), "word " * 4_000).text
