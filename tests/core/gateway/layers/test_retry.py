"""What is tried again, how often, and after how long."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.core.gateway.layers import retry
from adjudge.core.gateway.layers.retry import wait_before_retry
from adjudge.core.gateway.opener import open_model
from adjudge.errors import ModelError, RateLimited, Unavailable
from support.asking import ask, ask_all, open_at
from support.fake_provider import (
    CUT_EARLY,
    CUT_LATE,
    EMPTY_BODY,
    ERROR_IN_200,
    HANGS,
    HTML,
    JSON_LIST,
    NO_CHOICES,
    NO_HTTP,
    FakeProvider,
    Fault,
    RetryAt,
    Status,
    always,
    at_first,
)

MENDABLE: list[Fault] = [
    *(Status(code) for code in (408, 409, 429, 500, 502, 503, 504)),
    *(CUT_EARLY, CUT_LATE, NO_HTTP, EMPTY_BODY, HTML, JSON_LIST, NO_CHOICES, ERROR_IN_200),
]


@pytest.mark.parametrize("fault", MENDABLE)
def test_what_a_retry_can_mend_is_mended(
    provider: FakeProvider, fast_retries: None, fault: Fault
) -> None:
    provider.faults = at_first(fault, fault)
    assert "PASS" in ask(open_at(provider, max_retries=2)).text
    assert len(provider.requests) == 3


@pytest.mark.parametrize("code", [400, 401, 402, 403, 404, 405, 413, 422])
def test_what_a_retry_cannot_mend_is_asked_once(
    provider: FakeProvider, fast_retries: None, code: int
) -> None:
    provider.faults = always(Status(code))
    with pytest.raises(ModelError, match=str(code)):
        ask(open_at(provider, max_retries=5))
    assert len(provider.requests) == 1


@pytest.mark.parametrize("max_retries", [0, 1, 4])
def test_the_number_of_retries_is_exact(
    provider: FakeProvider, fast_retries: None, max_retries: int
) -> None:
    provider.faults = always(Status(500))
    with pytest.raises(Unavailable):
        ask(open_at(provider, max_retries=max_retries))
    assert len(provider.requests) == max_retries + 1


def test_six_retries_are_the_default(provider: FakeProvider, fast_retries: None) -> None:
    provider.faults = always(Status(500))
    with pytest.raises(Unavailable):
        ask(open_model(f"{provider.base_url('compatible')}#m"))
    assert len(provider.requests) == 7


def test_the_last_error_is_the_one_that_is_raised(
    provider: FakeProvider, fast_retries: None
) -> None:
    provider.faults = at_first(Status(500, "first"), Status(502, "second"), Status(404, "third"))
    with pytest.raises(ModelError, match="404: third"):
        ask(open_at(provider, max_retries=6))


def test_a_retry_asks_the_same(provider: FakeProvider, fast_retries: None) -> None:
    provider.faults = at_first(Status(500))
    ask(open_at(provider, max_retries=1), seed=3, temperature=0.5)
    assert provider.bodies[0] == provider.bodies[1]


# -- waiting -------------------------------------------------------------------------


def test_a_wait_asked_for_in_seconds_is_kept(provider: FakeProvider, fast_retries: None) -> None:
    provider.faults = at_first(Status(429, headers={"Retry-After": "0.4"}))
    ask(open_at(provider, max_retries=1))
    first, second = provider.requests
    assert second.at - first.at >= 0.4


def test_a_wait_asked_for_with_an_unavailable_server_is_kept(
    provider: FakeProvider, fast_retries: None
) -> None:
    provider.faults = at_first(Status(503, headers={"Retry-After": "0.4"}))
    ask(open_at(provider, max_retries=1))
    first, second = provider.requests
    assert second.at - first.at >= 0.4


def test_a_wait_asked_for_as_a_date_is_kept(provider: FakeProvider, fast_retries: None) -> None:
    provider.faults = at_first(RetryAt(1.5))
    ask(open_at(provider, max_retries=1))
    first, second = provider.requests
    assert second.at - first.at >= 0.4, (
        "the date has whole seconds, so up to one of the 1.5 is lost"
    )


def test_a_wait_that_tries_our_patience_is_not_begun(provider: FakeProvider) -> None:
    provider.faults = always(Status(429, "quota used up", {"Retry-After": "3600"}))
    with pytest.raises(RateLimited, match="quota used up"):
        ask(open_at(provider, max_retries=6))
    assert len(provider.requests) == 1


def test_others_are_asked_while_one_waits(provider: FakeProvider, fast_retries: None) -> None:
    provider.faults = lambda record, attempt: (
        Status(429, headers={"Retry-After": "0.3"}) if (record, attempt) == (1, 0) else None
    )
    ask_all(
        open_at(provider, max_concurrency=1, max_retries=1),
        ["REC-00001-Y", "REC-00002-Y", "REC-00003-Y"],
    )
    assert [request.record for request in provider.requests] == [1, 2, 3, 1]


@given(st.floats(0, 1e6), st.integers(0, 5000))
def test_a_wait_that_was_asked_for_is_kept_and_a_little_more(asked: float, attempt: int) -> None:
    wait = wait_before_retry(RateLimited("", retry_after=asked), attempt)
    assert asked <= wait <= asked + min(1.0, 0.1 + asked * 0.1)


@given(st.sampled_from([Unavailable(""), RateLimited("")]), st.integers(0, 5000))
def test_otherwise_the_wait_doubles_up_to_a_limit_with_jitter_below(
    error: ModelError, attempt: int
) -> None:
    ceiling = min(retry._LONGEST_WAIT, retry._FIRST_WAIT * 2 ** min(attempt, 20))
    assert ceiling / 2 <= wait_before_retry(error, attempt) <= ceiling


def test_no_two_callers_return_at_once() -> None:
    for error in (Unavailable(""), RateLimited("", retry_after=10)):
        assert len({wait_before_retry(error, 3) for _ in range(20)}) > 10


def test_a_retry_is_logged_with_its_reason(
    provider: FakeProvider, fast_retries: None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "adjudge.gateway")
    provider.faults = at_first(Status(500, "sorry"))
    ask(open_at(provider, max_retries=1))
    assert caplog.messages[0].startswith("openai/gpt-4o-mini: 500: sorry; asking again in 0.0 s")


def test_a_hang_is_tried_again(provider: FakeProvider, fast_retries: None) -> None:
    provider.faults = at_first(HANGS)
    assert ask(open_at(provider, max_retries=1, timeout=0.3)).text
