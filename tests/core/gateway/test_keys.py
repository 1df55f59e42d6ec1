"""A key is in memory and in a request header, and nowhere else, whatever goes wrong."""

from __future__ import annotations

import asyncio
import json
import logging
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from adjudge.core.aio import event_loop
from adjudge.core.gateway.opener import OpenModel, open_model
from adjudge.errors import AdjudgeError
from adjudge.runs.cli.main import app
from adjudge.runs.folder import run_info
from support import scripts
from support.asking import MODELS, ask, critic, open_at
from support.fake_provider import (
    CUT_EARLY,
    CUT_LATE,
    EMPTY,
    EMPTY_BODY,
    ERROR_IN_200,
    FILTERED,
    HANGS,
    HTML,
    JSON_LIST,
    KEY,
    MALFORMED,
    NO_CHOICES,
    NO_HTTP,
    PROSE,
    REFUSES,
    TRUNCATED,
    EchoesKey,
    FakeProvider,
    Fault,
    Raw,
    Rejects,
    Says,
    Status,
    always,
)

SECRETS = ("MARKED", KEY, "7f3a91c2")

PATHS: dict[str, Fault] = {
    **{f"echo {code}": EchoesKey(code) for code in (400, 401, 403, 404, 422, 429, 500)},
    **{str(code): Status(code) for code in (307, 400, 401, 404, 408, 429, 503)},
    "long wait": Status(429, headers={"Retry-After": "9999"}),
    "rejected": Rejects("temperature"),
    "hangs": HANGS,
    "cut early": CUT_EARLY,
    "cut late": CUT_LATE,
    "no http": NO_HTTP,
    "empty body": EMPTY_BODY,
    "html": HTML,
    "echo in html": Raw(b"<p>you sent {key}</p>", "text/html"),
    "echo in 200": Raw(b'{"error": {"message": "you sent {key}"}}'),
    "list": JSON_LIST,
    "no choices": NO_CHOICES,
    "error in 200": ERROR_IN_200,
    "empty": EMPTY,
    "truncated": TRUNCATED,
    "malformed": MALFORMED,
    "prose": PROSE,
    "refuses": REFUSES,
    "filtered": FILTERED,
    "echo in text": Says(lambda right: "your key is {key}"),
}


@pytest.fixture(autouse=True)
def everything_logged(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """All that any logger says, and no key in it."""
    loggers = [
        logging.getLogger(name)
        for name in ("", "adjudge", "adjudge.gateway", "asyncio", "aiohttp", "aiohttp.client")
    ]
    for logger in loggers:
        caplog.set_level(logging.DEBUG, logger.name)
    yield
    logged = [
        logging.Formatter().format(record) + repr(record.__dict__) for record in caplog.records
    ]
    assert_no_key(*logged)


def assert_no_key(*texts: str) -> None:
    for text in texts:
        for secret in SECRETS:
            assert secret not in text


def shown(error: BaseException) -> Iterator[str]:
    """Every way in which an exception, and what led to it, is shown."""
    yield from (str(error), repr(error), repr(error.args), repr(vars(error)))
    yield "".join(traceback.format_exception(error))
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if before is not None:
        yield from shown(before)


def representations(model: OpenModel) -> Iterator[str]:
    """Every way in which a model is shown."""
    provider: Any = model.provider
    yield from map(
        repr, (model, provider, provider.connection, provider._endpoint("/x"), model.inner)
    )
    yield from (model.name, repr(vars(model)), repr(vars(provider)))


@pytest.mark.parametrize(
    "name", ["openai", "groq", "mistral", "ollama", "anthropic", "google", "watsonx"]
)
@pytest.mark.parametrize("path", PATHS)
def test_no_failing_path_shows_the_key(
    provider: FakeProvider, fast_retries: None, name: str, path: str
) -> None:
    provider.faults = always(PATHS[path])
    model = open_at(provider, name, max_retries=1, timeout=0.2 if path == "hangs" else 60)
    assert_no_key(*representations(model))
    try:
        assert_no_key(repr(ask(model, temperature=0.0)))
    except AdjudgeError as error:
        assert_no_key(*shown(error))
    try:
        result = critic(model, max_repairs=1).evaluate("REC-00001-Y")
        assert_no_key(json.dumps(result.to_dict()), repr(result))
    except AdjudgeError as error:
        assert_no_key(*shown(error))
    assert provider.requests, "the path was walked"


@pytest.mark.parametrize("code", [400, 401, 403, 429, 500])
def test_no_failing_token_service_shows_the_key(
    provider: FakeProvider, fast_retries: None, code: int
) -> None:
    provider.token_faults = lambda attempt: EchoesKey(code)
    model = open_at(provider, "watsonx", max_retries=1)
    with pytest.raises(AdjudgeError) as caught:
        ask(model)
    assert_no_key(*shown(caught.value), *representations(model))
    assert "***" in str(caught.value), "it was there, and was struck out"


def test_a_judgment_that_is_raised_does_not_show_the_key(provider: FakeProvider) -> None:
    provider.faults = always(EchoesKey(401))
    with pytest.raises(AdjudgeError) as caught:
        critic(open_at(provider), on_failure="raise").evaluate("REC-00001-Y")
    assert_no_key(*shown(caught.value))


@pytest.mark.parametrize("name", MODELS)
def test_a_server_that_cannot_be_reached_does_not_show_the_key(
    provider: FakeProvider, name: str
) -> None:
    model = open_model(MODELS[name][0], api_key=KEY, base_url="http://127.0.0.1:1", max_retries=0)
    for asking in (lambda: ask(model), lambda: event_loop.run(model.probe())):
        with pytest.raises(AdjudgeError) as caught:
            asking()
        assert_no_key(*shown(caught.value))


@pytest.mark.parametrize("name", ["openai", "anthropic", "google", "watsonx"])
def test_a_probe_does_not_show_the_key(provider: FakeProvider, name: str) -> None:
    provider.faults = always(EchoesKey(403))
    with pytest.raises(AdjudgeError) as caught:
        event_loop.run(open_at(provider, name).probe())
    assert_no_key(*shown(caught.value))


def test_a_cancelled_request_does_not_show_the_key(provider: FakeProvider) -> None:
    provider.faults = always(HANGS)

    async def main() -> None:
        async with asyncio.timeout(0.1):
            await critic(open_at(provider)).aevaluate("REC-00001-Y")

    with pytest.raises(TimeoutError) as caught:
        asyncio.run(main())
    assert_no_key(*shown(caught.value))


def test_a_password_in_a_url_does_not_show(provider: FakeProvider) -> None:
    provider.faults = always(Status(500))
    url = provider.base_url("compatible").replace("http://", f"http://me:{KEY}@")
    model = open_model(f"{url}#m", max_retries=0)
    with pytest.raises(AdjudgeError) as caught:
        ask(model)
    assert_no_key(*shown(caught.value), *representations(model))
    with pytest.raises(AdjudgeError) as unusable:
        open_model("m", base_url=f"ftp://me:{KEY}@host/v1")
    assert_no_key(*shown(unusable.value))


@pytest.mark.parametrize(
    "parameter", ["api-key", "api_key", "key", "apikey", "access_token", "subscription-key"]
)
def test_a_key_in_the_query_of_a_url_is_sent_and_does_not_show(
    provider: FakeProvider, tmp_path: Path, parameter: str
) -> None:
    url = f"{provider.base_url('compatible')}?api-version=2024-10-21&{parameter}={KEY}"
    model = open_model(f"{url}#m", max_retries=0)
    provider.faults = always(Raw(f"<p>{url}</p>".encode(), "text/html"))
    with pytest.raises(AdjudgeError) as caught:
        ask(model)
    assert provider.requests[0].url.endswith(
        f"/compatible/v1/chat/completions?api-version=2024-10-21&{parameter}={KEY}"
    )
    assert "?api-version=2024-10-21&" in str(caught.value)
    assert_no_key(*shown(caught.value), *representations(model), model.identity)
    assert model.name == f"{provider.base_url('compatible')}?api-version=2024-10-21#m"
    critic(model).evaluate("REC-00001-Y", run=tmp_path)
    for file in tmp_path.iterdir():
        assert_no_key(file.read_bytes().decode("latin-1"))


@pytest.mark.parametrize(
    "id",
    [
        f"http://me:{KEY}@host/v1",
        f"HTTP://me:{KEY}@host/v1",
        f"HTTPS://me:{KEY}@host:0/v1#m",
        f"ftp://me:{KEY}@host/v1#m",
        f"http://host/v1?api-key={KEY}",
        f"ws://host/v1?api-key={KEY}#m",
        f"http://me:{KEY}#x@host/v1#m",
        f"http://me:{KEY}/x@host/v1#m",
        f"http://me:{KEY}?x@host/v1#m",
        f"http://me:12#{KEY}@host/v1#m",
        f"http://me:{KEY}@[host/v1#m",
        f"http://me:{KEY}@host:port/v1#m",
        f"me:{KEY}@host/v1#m",
        f"me:{KEY}@host",
        f"host:80/v1?api-key={KEY}#m",
        f"openai:http://me:{KEY}@host/v1#m",
        f"mistral/https://host/v1?api-key={KEY}#m",
        f"http://host/v1#m?api-key={KEY}",
    ],
)
def test_a_url_that_is_refused_does_not_show_its_password(id: str) -> None:
    with pytest.raises(AdjudgeError) as caught:
        open_model(id)
    assert_no_key(*shown(caught.value))
    assert_no_key(CliRunner().invoke(app, ["doctor", "-m", id]).output)


@pytest.mark.parametrize(
    "base_url",
    [
        f"http://me:{KEY}/x@host/v1",
        f"host/v1?api-key={KEY}",
        f"me:{KEY}@host",
        f"gopher://me:{KEY}@host",
    ],
)
def test_a_base_url_that_is_refused_does_not_show_its_password(base_url: str) -> None:
    with pytest.raises(AdjudgeError, match=r"^openai/gpt-4o-mini: .*is not a base URL") as caught:
        open_model("openai/gpt-4o-mini", base_url=base_url, api_key="another key")
    assert_no_key(*shown(caught.value))


# -- files and the command line --------------------------------------------------------


def test_no_recording_shows_the_key(provider: FakeProvider, tmp_path: Path) -> None:
    provider.faults = always(
        Says(lambda right: '{"selected_option": "PASS", "explanation": "{key}"}')
    )
    critic(open_at(provider, cache=tmp_path / "replies.jsonl")).evaluate("REC-00001-Y")
    assert "PASS" in (tmp_path / "replies.jsonl").read_text()
    assert_no_key((tmp_path / "replies.jsonl").read_text())


@pytest.mark.parametrize("path", ["echo 401", "echo 404", "echo in text", "refuses", "prose"])
@pytest.mark.parametrize("arguments", [["--json"], []], ids=["json", "table"])
def test_no_command_prints_the_key(
    provider: FakeProvider,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    path: str,
    arguments: list[str],
) -> None:
    provider.faults = always(PATHS[path])
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url("openai"))
    written = tmp_path / "results.jsonl"
    command = [
        "check",
        "REC-00001-Y",
        "--criterion",
        "x",
        "-m",
        "openai/gpt-4o-mini",
        "-o",
        str(written),
        *arguments,
    ]
    run = CliRunner().invoke(app, command)
    assert provider.requests
    assert_no_key(run.output, repr(run.exception), written.read_text() if written.exists() else "")


@pytest.mark.parametrize(
    "command", [["doctor"], ["models"], ["doctor", "-m", "openai/gpt-4o-mini"]], ids=" ".join
)
@pytest.mark.parametrize("fault", [EchoesKey(401), None], ids=["wrong", "right"])
def test_looking_at_the_installation_prints_no_key(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, command: list[str], fault: Fault
) -> None:
    provider.faults = always(fault)
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(variable, KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url("openai"))
    monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.base_url("anthropic"))
    run = CliRunner().invoke(app, command)
    assert "openai" in run.output
    assert_no_key(run.output, repr(run.exception))


@pytest.mark.parametrize(
    "address",
    [
        "http://me:{key}@{host}/v1#m",
        "http://{host}/v1?api-key={key}#m",
        "HTTP://me:{key}@{host}/v1#m",
        " http://me:{key}@{host}/v1#m",
        "http://me:{key}@{host}/v1#m\n",
    ],
)
def test_no_key_in_an_address_is_kept_with_the_command(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, address: str
) -> None:
    id = address.format(key=KEY, host=f"{provider.url.removeprefix('http://')}/compatible")
    text = "REC-00001-Y see http://me@host/?key=value"
    words = ["check", text, "--criterion", "x", "-m", id, "--run", str(tmp_path / "run"), "--json"]
    monkeypatch.setattr("sys.argv", ["adjudge", *words])
    done = CliRunner().invoke(app, words)
    assert_no_key(done.output, repr(done.exception))
    for file in (tmp_path / "run").iterdir():
        assert_no_key(file.read_bytes().decode("latin-1"))
    kept = json.dumps(run_info(tmp_path / "run").facts["resume"], ensure_ascii=False)
    assert text in kept, "what is judged is kept as it is"
    assert f"{provider.url}/compatible/v1#m" in kept.lower()


def test_an_uncaught_error_of_a_program_does_not_show_the_key(provider: FakeProvider) -> None:
    provider.faults = always(EchoesKey(401))
    code, out, err = scripts.run(
        "critic(model(), on_failure='raise').evaluate('REC-00001-Y')", provider
    )
    assert code == 1
    assert "401" in err
    assert_no_key(out, err)
