"""A server that sends the key back in every way, well-formed or not: it shows in no place that
anybody reads.

Each kind of answer × each protocol × each place: the vote's reason, log records, the bytes of the
ledger and of the cache, exported files, ``doctor``, representations and tracebacks.
``ADJUDGE_LEAKS=all`` asks every protocol with every kind (``make test-reliability``); without it,
the protocols take turns.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import html
import json
import logging
import os
import traceback
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

import aiohttp
import pytest
from click.testing import CliRunner

from adjudge import AspectCritic
from adjudge.core.aio import event_loop
from adjudge.core.gateway.opener import OpenModel, open_model
from adjudge.core.gateway.proxies import proxy_for
from adjudge.core.gateway.registry import our_providers
from adjudge.errors import AdjudgeError, ModelUnusable
from adjudge.runs.cli.main import app
from adjudge.runs.exporters.export import export
from support.asking import a_request
from support.raw_server import RawServer, answer

KEY = "sk-MARKED-7f3a91c2d4e8b605"
ALL = os.environ.get("ADJUDGE_LEAKS") == "all"
HOW: dict[str, Any] = {"max_retries": 0, "timeout": 10}
FORMATS = ("csv", "jsonl", "md", "html")


def escaped(text: str) -> str:
    """As JSON may write it."""
    return "".join(
        f"\\u{ord(character):04x}" if character in "-sMd4" else character for character in text
    )


def reply(text: str) -> bytes:
    """One body that every protocol reads ``text`` from; ``text`` is put in as it is."""
    openai = f'"choices": [{{"message": {{"content": "{text}"}}, "finish_reason": "stop"}}]'
    gemini = (
        f'"candidates": [{{"content": {{"parts": [{{"text": "{text}"}}]}}, "finishReason": '
        f'"STOP"}}]'
    )
    return (
        f'{{{openai}, {gemini}, "content": [{{"type": "text", "text": "{text}"}}], "message": '
        f'{{"content": "{text}"}}}}'
    ).encode()


def verdict(key: str) -> str:
    """A verdict with the key in it, as it stands in a JSON text."""
    return json.dumps(f'{{"explanation": "{key}", "selected_option": "PASS"}}')[1:-1]


def chunked(*pieces: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)


def head(line: str = "HTTP/1.1 200 OK", *headers: str, body: bytes | str = b"") -> bytes:
    """An answer that is not made well: no length, unless a header says one."""
    return "\r\n".join((line, *headers, "", "")).encode("latin-1") + (
        body if isinstance(body, bytes) else body.encode()
    )


def _with_key(id: str, url: str) -> OpenModel:
    if id.startswith("vertex/"):
        return _with_refresh_token(id, url)
    return open_model(id, base_url=url, api_key=KEY, **HOW)


def _with_refresh_token(id: str, url: str) -> OpenModel:
    """Open a model of Vertex, whose key is in a file and goes to the token service."""
    login = {
        "type": "authorized_user",
        "client_id": "c",
        "client_secret": KEY,
        "refresh_token": KEY,
        "quota_project_id": "p",
        "token_uri": f"{url}/identity/token",
    }
    with TemporaryDirectory() as folder:
        file = Path(folder, "login.json")
        file.write_text(json.dumps(login))
        return open_model(id, base_url=url, api_key=str(file), **HOW)


CHUNKED = "Transfer-Encoding: chunked"
MALFORMED: dict[str, Callable[[str], bytes]] = {
    "no http": lambda key: f"{key}\r\n\r\n".encode(),
    "status": lambda key: head(f"HTTP/1.1 2oo {key}"),
    "status is the key": lambda key: head(f"HTTP/1.1 {key}"),
    "version": lambda key: head(f"HTTP/{key} 200 OK"),
    "reason": lambda key: head(f"HTTP/1.1 401 {key}\x01"),
    "header without colon": lambda key: head("HTTP/1.1 200 OK", f"Bearer {key}"),
    "header name": lambda key: head("HTTP/1.1 200 OK", f"X {key}\x01: x"),
    "header value": lambda key: head("HTTP/1.1 200 OK", f"X-Key: {key}\x00\x01"),
    "space before colon": lambda key: head("HTTP/1.1 200 OK", f"{key} : x"),
    "folded header": lambda key: head("HTTP/1.1 200 OK", f"X-Key: {key[:9]}", f" {key[9:]}\x00"),
    "long header": lambda key: head("HTTP/1.1 200 OK", f"X-Key: {key * 1000}"),
    "long reason": lambda key: head(f"HTTP/1.1 200 {key * 1000}"),
    "many headers": lambda key: head(
        "HTTP/1.1 200 OK", *(f"X-{number}: {key}" for number in range(2000))
    ),
    "length": lambda key: head("HTTP/1.1 200 OK", f"Content-Length: {key}"),
    "two lengths": lambda key: head(
        "HTTP/1.1 200 OK", "Content-Length: 5", f"Content-Length: {key}"
    ),
    "length and chunks": lambda key: head(
        "HTTP/1.1 200 OK", "Content-Length: 9", CHUNKED, f"X: {key}", body=f"{key}\r\n"
    ),
    "transfer encoding": lambda key: head(
        "HTTP/1.1 200 OK", f"Transfer-Encoding: {key}, chunked, {key}", body=key
    ),
    "chunk size": lambda key: head("HTTP/1.1 200 OK", CHUNKED, body=f"{key}\r\n{key}\r\n"),
    "chunk extension": lambda key: head(
        "HTTP/1.1 200 OK", CHUNKED, body=f"5;{key}\x00={key}\r\nhello\r\n0\r\n\r\n"
    ),
    "chunk end": lambda key: head("HTTP/1.1 200 OK", CHUNKED, body=f"5\r\n{key}\r\n0\r\n\r\n"),
    "trailer": lambda key: head(
        "HTTP/1.1 200 OK", CHUNKED, body=f"2\r\n{{}}\r\n0\r\n{key}\r\n{key}\x00\r\n\r\n"
    ),
    "content encoding": lambda key: head(
        "HTTP/1.1 200 OK", f"Content-Encoding: {key}, gzip", body=key
    ),
    "no gzip": lambda key: head("HTTP/1.1 200 OK", "Content-Encoding: gzip", body=key),
    "no deflate": lambda key: head(
        "HTTP/1.1 200 OK", "Content-Encoding: deflate", body=f"x\x9c{key}"
    ),
    "no brotli": lambda key: head("HTTP/1.1 200 OK", "Content-Encoding: br", body=key),
    "no zstd": lambda key: head("HTTP/1.1 200 OK", "Content-Encoding: zstd", body=key),
    "half a gzip": lambda key: answer(
        gzip.compress(key.encode())[:-9], "Content-Encoding: gzip\r\n"
    ),
    "two encodings": lambda key: answer(
        gzip.compress(gzip.compress(key.encode())), "Content-Encoding: gzip, gzip\r\n"
    ),
    "cookies": lambda key: head(
        "HTTP/1.1 200 OK",
        f"Set-Cookie: {key}(=;,{key}",
        f"Set-Cookie: {key} {key}=1; expires={key}",
    ),
    "content type": lambda key: head(
        "HTTP/1.1 500 X", f"Content-Type: {key}; charset={key}", body=b"\xff\xfe"
    ),
    "retry after": lambda key: head("HTTP/1.1 429 X", f"Retry-After: {key}", body=key),
    "challenge": lambda key: head("HTTP/1.1 401 X", f"WWW-Authenticate: Basic {key}", body=key),
    "redirect": lambda key: head(
        "HTTP/1.1 307 X", f"Location: http://{key}:{key}@127.0.0.1:1/?{key}"
    ),
    "bad redirect": lambda key: head("HTTP/1.1 302 X", f"Location: {key}://[{key}", body=key),
    "early hints": lambda key: head("HTTP/1.1 103 X", f"Link: {key}") + head(f"HTTP/1.1 {key}"),
    "upgrade": lambda key: head(
        "HTTP/1.1 101 X", f"Upgrade: {key}", "Connection: upgrade", body=key
    ),
    "cut in the status": lambda key: f"HTTP/1.1 200 {key}".encode(),
    "cut in a header": lambda key: f"HTTP/1.1 200 OK\r\nX-Key: {key}".encode(),
    "cut in the body": lambda key: head("HTTP/1.1 200 OK", "Content-Length: 9999", body=key),
    "cut in a chunk": lambda key: head("HTTP/1.1 200 OK", CHUNKED, body=f"fff\r\n{key}"),
    "more than its length": lambda key: head(
        "HTTP/1.1 401 X", "Content-Length: 2", body=f"{{}}HTTP/1.1 {key}\r\n{key}\r\n"
    ),
}
BODIES: dict[str, Callable[[str], bytes]] = {
    "plain": lambda key: f"<p>Bearer {key}</p>".encode(),
    "json": lambda key: f'{{"error": {{"message": "no key {escaped(key)}"}}}}'.encode(),
    "json in json": lambda key: json.dumps({"error": f'{{"key": "{escaped(key)}"}}'}).encode(),
    "escaped backslash": lambda key: f'{{"error": "{escaped(key)}"}}'.replace(
        "\\", "\\u005c"
    ).encode(),
    "url": lambda key: f"GET /?key={quote(key.replace('-', '%2d'), safe='%')}".encode(),
    "url in url": lambda key: quote(quote(key.replace("s", "%73"), safe=""), safe="").encode(),
    "html": lambda key: html.escape(
        "".join(f"&#{ord(one)};" if one in "s-" else one for one in key)
    ).encode(),
    "base64": lambda key: base64.b64encode(f"user:{key}".encode()),
    "base64 of a header": lambda key: base64.urlsafe_b64encode(
        f"Authorization: Bearer {key}\r\n".encode()
    ),
}
REPLIES: dict[str, Callable[[str], bytes]] = {
    "verdict": lambda key: answer(reply(verdict(key))),
    "escaped verdict": lambda key: answer(reply(verdict(escaped(key)))),
    "twice escaped verdict": lambda key: answer(
        reply(verdict(escaped(key).replace("\\", "\\u005c")))
    ),
    "verdict in chunks": lambda key: head(
        "HTTP/1.1 200 OK",
        CHUNKED,
        body=chunked(*(bytes((one,)) for one in reply(verdict(key))), b""),
    ),
    "verdict in gzip": lambda key: answer(
        gzip.compress(reply(verdict(key))), "Content-Encoding: gzip\r\n"
    ),
    "verdict in deflate": lambda key: answer(
        zlib.compress(reply(verdict(key))), "Content-Encoding: deflate\r\n"
    ),
    "verdict in wide characters": lambda key: answer(reply(verdict(key)).decode().encode("utf-16")),
    "verdict in wide characters without a mark": lambda key: answer(
        reply(verdict(key)).decode().encode("utf-32-le")
    ),
    "refusal": lambda key: answer(reply(f"I cannot help with {key}.")),
}


def answered(make: Callable[[str], bytes], status: str, key: str) -> bytes:
    return answer(make(key), "", status)


KINDS: dict[str, Callable[[str], bytes]] = {
    **MALFORMED,
    **{f"200 {name}": partial(answered, make, "200 OK") for name, make in BODIES.items()},
    **{f"400 {name}": partial(answered, make, "400 X") for name, make in BODIES.items()},
    **REPLIES,
}
MODELS: dict[str, Callable[[str], OpenModel]] = {
    **{
        id: partial(_with_key, id)
        for id in (f"{spec.name}/{spec.example}" for spec in our_providers())
    },
    "url with a key": lambda url: open_model(f"{url}/v1#m", api_key=KEY, **HOW),
    "url with a password": lambda url: open_model(
        f"{url.replace('://', f'://me:{KEY}@')}/v1#m", **HOW
    ),
    "url with a parameter": lambda url: open_model(
        f"{url}/v1?api-version=1&api-key={KEY}#m", **HOW
    ),
}


@pytest.fixture(autouse=True)
def _no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in list(os.environ):
        if variable.lower().endswith("_proxy") or variable.endswith(
            ("_API_KEY", "_APIKEY", "_BASE_URL")
        ):
            monkeypatch.delenv(variable)
    proxy_for.cache_clear()


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[Callable[[], str]]:
    """All that any logger says, with asyncio's debug mode on."""
    for name in (
        "",
        "adjudge",
        "adjudge.gateway",
        "asyncio",
        "aiohttp",
        "aiohttp.client",
        "aiohttp.internal",
    ):
        caplog.set_level(logging.DEBUG, name)
    loop = event_loop.home_loop()
    loop.set_debug(True)
    yield lambda: "\n".join(
        logging.Formatter().format(record) + repr(record.__dict__) for record in caplog.records
    )
    loop.set_debug(False)


def assert_no_key(text: str | bytes, where: str) -> None:
    """No piece of it, in any of the forms that are looked for."""
    text = text.encode(errors="replace") if isinstance(text, str) else text
    for piece in (
        b"MARKED",
        b"7f3a91c2",
        b"d4e8b605",
        base64.b64encode(b"MARKED-7f3a"),
        base64.b64encode(f"me:{KEY}".encode())[4:-4],
    ):
        assert piece not in text, (
            f"{where}: {text[max(0, text.index(piece) - 200) : text.index(piece) + 60]!r}"
        )


def shown(error: BaseException) -> str:
    """Every way in which an exception, and whatever hangs on it, is shown."""
    frames = traceback.TracebackException.from_exception(error, capture_locals=True)
    behind = [one for one in (error.__cause__, error.__context__) if one is not None]
    assert not isinstance(error, aiohttp.ClientError), "the client's exception hangs on ours"
    return "\n".join(
        (str(error), repr(error), repr(vars(error)), *frames.format(), *map(shown, behind))
    )


def chosen(kind: str) -> list[str]:
    """The models to be asked with this kind of answer."""
    if ALL:
        return list(MODELS)
    return [list(MODELS)[list(KINDS).index(kind) % len(MODELS)]]


@pytest.mark.parametrize("kind", KINDS)
def test_no_answer_brings_the_key_to_light(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, logged: Callable[[], str]
) -> None:
    with RawServer(lambda key: [KINDS[kind](key)]) as server:
        monkeypatch.setenv("WATSONX_PROJECT_ID", "project-1")
        monkeypatch.setenv("WATSONX_IAM_URL", f"{server.url}/identity/token")
        for number, name in enumerate(chosen(kind)):
            look_everywhere(MODELS[name](server.url), tmp_path / str(number), f"{kind}, {name}")
    assert_no_key(logged(), f"the log of {kind}")


def look_everywhere(model: OpenModel, folder: Path, which: str) -> None:
    """Ask, judge, probe and export, and look at all of it."""
    for what, asking in {
        "asked": lambda: model.complete(a_request()),
        "probed": model.probe,
    }.items():
        try:
            assert_no_key(repr(asyncio.run(asking())), f"{which}, the answer when {what}")
        except AdjudgeError as error:
            assert_no_key(shown(error), f"{which}, the error when {what}")
    try:
        result = AspectCritic("It is so.", model, max_repairs=1).evaluate("REC-00001-Y", run=folder)
    except ModelUnusable as error:  # a wrong key ends the run
        assert_no_key(shown(error), f"{which}, the error that ends the run")
    else:
        assert_no_key(json.dumps(result.to_dict()) + repr(result), f"{which}, the result")
    assert_no_key(repr(model) + repr(vars(model.provider)), f"{which}, the model")
    for to in FORMATS:
        export(folder, folder / f"results.{to}", to)
    files = [file for file in folder.rglob("*") if file.is_file()]
    assert len(files) > len(FORMATS)
    for file in files:
        assert_no_key(file.read_bytes(), f"{which}, {file.name}")


@pytest.mark.parametrize("kind", KINDS if ALL else list(KINDS)[::3])
def test_doctor_never_prints_the_key(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with RawServer(lambda key: [KINDS[kind](key)]) as server:
        for spec in our_providers():
            if spec.base_url_variable:
                monkeypatch.setenv(spec.base_url_variable, server.url)
            if spec.base_url_variable and spec.key_variable:
                monkeypatch.setenv(spec.key_variable, KEY)
        monkeypatch.setenv("WATSONX_PROJECT_ID", "project-1")
        monkeypatch.setenv("WATSONX_IAM_URL", f"{server.url}/identity/token")
        named = [
            f"{server.url.replace('://', f'://me:{KEY}@')}/v1#m",
            f"{server.url}/v1?api-key={KEY}#m",
            f"HTTP://me:{KEY}@[#m",
        ]
        own = CliRunner().invoke(app, ["doctor"])
        given = CliRunner().invoke(app, ["doctor", *(word for id in named for word in ("-m", id))])
    for run in (own, given):
        assert "reached" in run.output
        assert_no_key(run.output + repr(run.exception), f"doctor, {kind}")


@pytest.mark.parametrize("kind", [*MALFORMED, *(kind for kind in KINDS if kind.startswith("400"))])
def test_no_token_service_brings_the_key_to_light(
    kind: str, monkeypatch: pytest.MonkeyPatch, logged: Callable[[], str]
) -> None:
    with RawServer(lambda key: []) as server:
        server.token_script = lambda key: [KINDS[kind](key)]
        monkeypatch.setenv("WATSONX_PROJECT_ID", "project-1")
        monkeypatch.setenv("WATSONX_IAM_URL", f"{server.url}/identity/token")
        with pytest.raises(AdjudgeError) as caught:
            asyncio.run(
                MODELS["watsonx/ibm/granite-3-3-8b-instruct"](server.url).complete(a_request())
            )
    assert_no_key(shown(caught.value) + logged(), kind)
