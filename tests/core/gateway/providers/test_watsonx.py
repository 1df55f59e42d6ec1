from __future__ import annotations

import asyncio
import time

import pytest

from adjudge.core.domain.message import Reply
from adjudge.core.gateway.http import close_session
from adjudge.core.gateway.providers import tokens
from adjudge.errors import ModelError, SetupError, Unavailable
from support.asking import a_request, ask, ask_all, open_at
from support.fake_provider import KEY, FakeProvider, Raw, Status, always


def test_the_model_and_the_project_are_in_the_body(provider: FakeProvider) -> None:
    ask(open_at(provider, "watsonx"))
    assert provider.bodies[0]["model_id"] == "ibm/granite-3-3-8b-instruct"
    assert provider.bodies[0]["project_id"] == "project-1"
    assert "model" not in provider.bodies[0]


def test_a_space_can_take_the_place_of_a_project(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WATSONX_PROJECT_ID")
    monkeypatch.setenv("WATSONX_SPACE_ID", "space-1")
    ask(open_at(provider, "watsonx"))
    assert provider.bodies[0]["space_id"] == "space-1"


def test_without_a_project_nothing_is_asked(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WATSONX_PROJECT_ID")
    with pytest.raises(SetupError, match="WATSONX_PROJECT_ID or WATSONX_SPACE_ID"):
        open_at(provider, "watsonx")


def test_the_token_is_fetched_once_for_many_that_begin_together(provider: FakeProvider) -> None:
    model = open_at(provider, "watsonx")
    assert len(ask_all(model, ["REC-00001-Y"] * 20)) == 20
    ask(model)
    assert provider.token_requests == 1
    assert {request.headers["Authorization"] for request in provider.requests} == {
        f"Bearer {provider.tokens[0]}"
    }


def test_the_token_is_renewed_shortly_before_its_end(provider: FakeProvider) -> None:
    provider.token_seconds = 299
    model = open_at(provider, "watsonx")
    for _ in range(3):
        ask(model)
    assert provider.token_requests == 3


def test_the_end_of_a_token_comes_by_the_clock_on_the_wall(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = open_at(provider, "watsonx")
    ask(model)
    monkeypatch.setattr(
        tokens, "time", lambda: time.time() + 3400
    )  # as after a night with the lid closed
    ask(model)
    assert provider.token_requests == 2


def test_a_token_is_renewed_on_any_event_loop_as_a_forked_child_has_another(
    provider: FakeProvider,
) -> None:
    provider.token_seconds = 1
    model = open_at(provider, "watsonx").provider

    async def five_at_once() -> list[Reply]:
        try:
            return await asyncio.gather(*(model.complete(a_request()) for _ in range(5)))
        finally:
            await close_session()

    assert all(len(asyncio.run(five_at_once())) == 5 for _ in range(2))


def test_the_key_goes_to_the_token_service_alone(provider: FakeProvider) -> None:
    ask(open_at(provider, "watsonx"))
    assert KEY not in str(provider.requests)


def test_a_token_service_that_fails_for_a_moment_is_asked_again(
    provider: FakeProvider, fast_retries: None
) -> None:
    provider.token_faults = lambda attempt: Status(503) if attempt == 0 else None
    assert ask(open_at(provider, "watsonx", max_retries=1)).text


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b'{"access_token": ""}',
        b'{"access_token": null}',
        b'{"access_token": "a", "expires_in": "soon"}',
    ],
)
def test_a_token_service_that_sends_no_token_is_unavailable(
    provider: FakeProvider, body: bytes
) -> None:
    provider.token_faults = lambda attempt: Raw(body)
    with pytest.raises(Unavailable, match="token"):
        ask(open_at(provider, "watsonx"))


def test_a_wrong_key_is_said_and_not_retried(provider: FakeProvider) -> None:
    with pytest.raises(ModelError, match="API key could not be found"):
        ask(open_at(provider, "watsonx", api_key="sk-another-one", max_retries=3))
    assert provider.token_requests == 1


def test_its_errors_are_read(provider: FakeProvider) -> None:
    provider.faults = always(Status(404, "Model 'x' is not supported for this environment"))
    with pytest.raises(ModelError, match="is not supported for this environment"):
        ask(open_at(provider, "watsonx"))
