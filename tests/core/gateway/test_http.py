"""What a status code, a header and a body mean."""

from __future__ import annotations

import copy
import gzip
import json
import pickle
import socket
import time
import zlib
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge import Reply
from adjudge.core.gateway.http import Endpoint, Secret, error_message
from adjudge.core.gateway.opener import open_model
from adjudge.core.gateway.redaction import strike_out
from adjudge.core.gateway.replies import retry_after
from adjudge.errors import ModelError, ModelUnusable, RateLimited, Refused, Unavailable
from support.asking import ask, ask_all, open_at
from support.fake_provider import (
    CUT_EARLY,
    CUT_LATE,
    EMPTY_BODY,
    ERROR_IN_200,
    HTML,
    JSON_LIST,
    KEY,
    FakeProvider,
    Raw,
    RetryAt,
    Status,
    always,
)
from support.raw_server import RawServer, answer


def failure(provider: FakeProvider, fault: object) -> ModelError:
    provider.faults = always(fault)  # type: ignore[arg-type]
    with pytest.raises(ModelError) as caught:
        ask(open_at(provider))
    return caught.value


# -- status codes --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        *((status, ModelError) for status in (300, 301, 307, 400, 405, 410, 413, 418, 422)),
        *((status, ModelUnusable) for status in (401, 402, 403, 404)),
        *((status, Unavailable) for status in (408, 409, 500, 502, 503, 504, 520, 529)),
        (429, RateLimited),
    ],
)
def test_a_status_code_says_what_kind_of_error_it_is(
    provider: FakeProvider, status: int, kind: type[ModelError]
) -> None:
    error = failure(provider, Status(status))
    assert type(error) is kind
    assert str(error).startswith(f"openai/gpt-4o-mini: {status}: something went wrong")
    assert (error.provider, error.model) == ("openai", "gpt-4o-mini")


@pytest.mark.parametrize(
    ("status", "hint"),
    [
        (401, "API key"),
        (402, "no credit"),
        (403, "has no access to the model"),
        (404, "base URL"),
        (413, "too long"),
        (400, ""),
    ],
)
def test_an_error_says_what_to_do(provider: FakeProvider, status: int, hint: str) -> None:
    assert hint in failure(provider, Status(status)).hint


@pytest.mark.parametrize("status", [408, 429, 503, 529])
def test_whoever_names_a_wait_asks_us_to_slow_down(provider: FakeProvider, status: int) -> None:
    error = failure(provider, Status(status, headers={"Retry-After": "17"}))
    assert isinstance(error, RateLimited)
    assert error.retry_after == 17


def test_a_wait_may_be_given_as_a_date(provider: FakeProvider) -> None:
    error = failure(provider, RetryAt(30))
    assert isinstance(error, RateLimited)
    assert 25 < (error.retry_after or 0) <= 30


def test_a_wait_named_with_an_error_that_no_wait_mends_changes_nothing(
    provider: FakeProvider,
) -> None:
    assert type(failure(provider, Status(410, headers={"Retry-After": "1"}))) is ModelError


def test_a_redirect_is_not_followed_so_the_key_stays_at_home(provider: FakeProvider) -> None:
    error = failure(
        provider,
        Status(307, headers={"Location": f"{provider.url}/compatible/v1/chat/completions"}),
    )
    assert "307" in error.message
    assert [request.protocol for request in provider.requests] == ["openai"]


@pytest.mark.parametrize("code", ["content_filter", "content_policy_violation"])
def test_a_filter_that_stops_a_request_is_a_refusal(provider: FakeProvider, code: str) -> None:
    assert type(failure(provider, Status(400, f"stopped by {code}"))) is Refused


def test_a_server_error_about_a_filter_is_still_worth_a_retry(provider: FakeProvider) -> None:
    assert type(failure(provider, Status(500, "the content filter crashed"))) is Unavailable


# -- bodies --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (EMPTY_BODY, r"not JSON: \(empty\)"),
        (HTML, "not JSON: <html><body>502 Bad Gateway"),
        (JSON_LIST, "JSON, but not an object"),
        (ERROR_IN_200, "an error: Provider returned error"),
        (Raw(b'{"error": "overloaded"}'), "an error: overloaded"),
        (Raw(b'\xff\xfe{"choices"'), "not JSON"),
        (Raw(b"[" * 100_000), "not JSON"),
        (CUT_EARLY, "the connection failed"),
        (CUT_LATE, "the connection failed"),
        (Status(500, "\ud800 half a pair"), r"500: \? half a pair"),
    ],
    ids=[
        "empty",
        "html",
        "list",
        "error",
        "plain error",
        "no text",
        "nested",
        "cut early",
        "cut late",
        "surrogate",
    ],
)
def test_an_answer_that_is_none_is_worth_a_retry(
    provider: FakeProvider, fault: object, said: str
) -> None:
    error = failure(provider, fault)
    assert type(error) is Unavailable
    with pytest.raises(ModelError, match=said):
        raise error


def test_a_server_that_is_not_there_is_worth_a_retry() -> None:
    with pytest.raises(
        Unavailable, match=r"the connection failed: Cannot connect to host 127\.0\.0\.1:1 "
    ):
        ask(open_model("http://127.0.0.1:1/v1#m", max_retries=0))


@pytest.mark.parametrize("length", ["Content-Length: 400000000\r\n", ""])
def test_a_reply_is_read_up_to_its_limit(length: str) -> None:
    head = f"HTTP/1.1 200 OK\r\n{length}\r\n".encode()
    with (
        RawServer(lambda key: [head, *[b"x" * 1_000_000] * 40]) as server,
        pytest.raises(ModelError, match="the reply is longer than 32 MB") as caught,
    ):
        ask(open_model(f"{server.url}/v1#m", max_retries=3))
    assert not caught.value.retryable
    assert len(server.requests) == 1


@pytest.mark.filterwarnings("ignore:Sending a large body")
def test_a_server_that_does_not_take_the_question_is_given_up_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        model = open_model(
            f"http://127.0.0.1:{server.getsockname()[1]}/v1#m", max_retries=0, timeout=0.3
        )
        with pytest.raises(Unavailable, match=r"no reply within 0\.3 s"):
            ask(model, "x" * 20_000_000)


@pytest.mark.parametrize("kind", ["gzip", "deflate"])
def test_a_compressed_reply_is_read(kind: str) -> None:
    body = b'{"choices": [{"message": {"content": "Yes"}}]}'
    sent = gzip.compress(body) if kind == "gzip" else zlib.compress(body)
    with RawServer(lambda key: [answer(sent, f"Content-Encoding: {kind}\r\n")]) as server:
        assert ask(open_model(f"{server.url}/v1#m", max_retries=0)).text == "Yes"


def test_large_replies_are_read_though_few_at_once() -> None:
    body = b'{"choices": [{"message": {"content": "' + b"x" * 2_000_000 + b'"}}]}'
    with RawServer(lambda key: [answer(body, "Connection: close\r\n")]) as server:
        replies = ask_all(
            open_model(f"{server.url}/v1#m", max_retries=0), [f"{number}" for number in range(8)]
        )
    assert [len(reply.text) for reply in replies if isinstance(reply, Reply)] == [2_000_000] * 8


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"error": {"message": "bad", "code": 1}}', "bad"),
        (b'{"error": "bad"}', "bad"),
        (b'{"message": "bad"}', "bad"),
        (b'{"detail": "bad"}', "bad"),
        (
            b'{"object": "error", "message": {"detail": [{"loc": ["body", "seed"]}]}}',
            "{'detail': [{'loc': ['body', 'seed']}]}",
        ),
        (
            b'{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}',
            "Overloaded",
        ),
        (b'[{"error": "bad"}]', "[{'error': 'bad'}]"),
        (b"<h1>bad\n\n   gateway</h1>", "<h1>bad gateway</h1>"),
        (b"null", "None"),
        (b"", "(empty)"),
        (b"x" * 5000, "x" * 297 + "…"),
    ],
)
def test_the_message_of_an_error_is_found_in_every_shape(body: bytes, message: str) -> None:
    assert error_message(body) == message


SHAPES = st.dictionaries(
    st.sampled_from(["error", "message", "detail", "code"]), st.none() | st.integers() | st.text()
)


@given(
    st.binary(max_size=400)
    | (SHAPES | st.lists(SHAPES)).map(lambda data: json.dumps(data).encode())
)
def test_the_message_of_an_error_is_one_short_line_whatever_the_body(body: bytes) -> None:
    message = error_message(body)
    assert 0 < len(message) <= 300
    assert "\n" not in message


# -- Retry-After ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("0", 0),
        ("12", 12),
        (" 1.5 ", 1.5),
        ("-3", 0),
        ("soon", None),
        ("", None),
        ("inf", None),
        ("nan", None),
    ],
)
def test_a_wait_is_given_in_seconds(value: str | None, seconds: float | None) -> None:
    assert retry_after(value) == seconds


def test_a_wait_is_given_as_a_date() -> None:
    assert 55 < (retry_after(formatdate(time.time() + 60, usegmt=True)) or 0) <= 60


def test_a_date_that_has_passed_is_no_wait() -> None:
    assert retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0


@given(st.text())
def test_no_header_breaks_anything(value: str) -> None:
    wait = retry_after(value)
    assert wait is None or wait >= 0


# -- secrets -------------------------------------------------------------------------


def test_a_secret_shows_nowhere() -> None:
    secret = Secret(f" {KEY}\n")
    endpoint = Endpoint("openai", "m", f"http://me:{KEY}@host/v1", {"Authorization": KEY}, secret)
    assert secret.reveal() == KEY
    for shown in (repr(secret), str(secret), f"{secret}", repr(endpoint), repr([endpoint])):
        assert KEY not in shown


@pytest.mark.parametrize("copier", [pickle.dumps, copy.deepcopy])
def test_a_secret_is_not_written_anywhere(copier: object) -> None:
    with pytest.raises(TypeError, match="not written anywhere"):
        copier(Secret(KEY))  # type: ignore[operator]


def test_a_secret_is_struck_out_of_what_a_server_sends() -> None:
    assert (
        strike_out(f"your key {KEY} and again {KEY}".encode(), (KEY,))
        == b"your key *** and again ***"
    )


@pytest.mark.parametrize(
    "echo", [rb"sk\/MARKED\u002b7f3a\u003d", b"sk/MARKED+7f3a=", rb"\u0073k/MARKED+7f3a="]
)
def test_a_secret_is_struck_out_however_json_has_written_it(echo: bytes) -> None:
    body = b'{"error": {"message": "no such key: ' + echo + b'"}}'
    assert error_message(body, {"sk/MARKED+7f3a="}) == "no such key: ***"


def test_no_secret_strikes_nothing_out() -> None:
    assert strike_out(b"plain", ("",)) == b"plain"
    assert not Secret("")
