"""Both servers under clients that send what no honest one sends, byte by byte over real sockets."""

from __future__ import annotations

import http.client
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from adjudge import AspectCritic, ScriptedModel
from adjudge.core.catalog.lint import Finding, lint
from adjudge.core.domain.criteria import Criteria
from adjudge.runs.project import ModelEntry
from adjudge.runs.service.judging import JudgingService
from adjudge.web.api import LARGEST
from adjudge.web.api_guard import ApiAccess
from support.api import Served, command, serving
from support.labels import judged
from support.page import Page, served

SILENT = 500


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    root = tmp_path_factory.mktemp("runs")
    AspectCritic("Names a date.", ScriptedModel(["PASS"]), name="dates").evaluate(
        ["On May 1, 1889."], run=root / "one"
    )
    yield from serving(JudgingService([ModelEntry(model="scripted/Yes")]), root)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    root = tmp_path_factory.mktemp("runs")
    judged(root / "one", ["a text"], lambda _: "PASS")
    with served(root, home=root) as found:
        yield found


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def head(access: ApiAccess, *further: str, first: str = "POST /v1/judge HTTP/1.1") -> bytes:
    """A request's head as one who has the key sends it."""
    own = (
        f"Host: 127.0.0.1:{access.port}",
        f"Authorization: Bearer {access.token}",
        "Content-Type: application/json",
    )
    return "\r\n".join((first, *own, *further, "", "")).encode()


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def answered(port: int, sent: bytes) -> bytes:
    """What comes back until the server closes, or has answered once."""
    with connected(port) as client:
        client.sendall(sent)
        with closing(http.client.HTTPResponse(client)) as found:
            found.begin()
            return f"HTTP {found.status} ".encode() + found.read()


# -- bodies ----------------------------------------------------------------------------


def test_a_body_with_two_lengths_is_refused_and_the_connection_closed(
    api: Served, page: Page
) -> None:
    """Behind a proxy that believes the other length, the rest of the body would be somebody's next
    request.
    """
    both = ("Content-Length: 5", "Transfer-Encoding: chunked")
    smuggled = b"0\r\n\r\n" + head(api.access, first="GET /v1/status HTTP/1.1")
    for port, first in (
        (api.access.port, head(api.access, *both)),
        (page.access.port, head(ApiAccess(page.access.port), *both, first="GET / HTTP/1.1")),
    ):
        with connected(port) as client:
            client.sendall(first + smuggled)
            with client.makefile("rb") as come:
                answer = come.read()
        assert status_of(answer) == 400, answer
        assert answer.count(b"HTTP/1.1") == 1, "what stood behind the body was answered, too"


def test_a_body_that_is_longer_than_it_says_is_not_kept(tmp_path: Path) -> None:
    """400 MB were sent so, and all of them kept."""
    with command(tmp_path) as (process, access):
        for framing in (
            ("Transfer-Encoding: chunked", "Content-Length: 5"),
            ("Transfer-Encoding: chunked",),
        ):
            before = resident(process.pid)
            with connected(access.port) as client:
                client.sendall(head(access, *framing))
                send_until_refused(client, b"10000\r\n" + b"x" * 0x10000 + b"\r\n", 1600)
            assert resident(process.pid) - before < 20_000_000


def resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def send_until_refused(client: socket.socket, part: bytes, times: int) -> None:
    try:
        for _ in range(times):
            client.sendall(part)
    except OSError:
        return  # it was closed, which is as good


def test_a_form_in_parts_is_counted_as_it_comes(page: Page) -> None:
    own = (
        f"Host: 127.0.0.1:{page.access.port}",
        f"Origin: http://127.0.0.1:{page.access.port}",
        f"X-Adjudge-Token: {page.access.token}",
        "Transfer-Encoding: chunked",
    )
    first = "\r\n".join(("POST /start HTTP/1.1", *own, "", "")).encode()
    with connected(page.access.port) as client:
        client.sendall(first)
        for _ in range(3):
            client.sendall(b"10000;a=b\r\n" + b"x" * 0x10000 + b"\r\n")
        with closing(http.client.HTTPResponse(client)) as found:
            found.begin()
            assert found.status == 413


@pytest.mark.parametrize("which", ["api", "page"])
def test_a_body_that_does_not_arrive_is_not_waited_for(
    which: str, api: Served, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adjudge.web.body._SECONDS", 0.05)
    port = api.access.port if which == "api" else page.access.port
    token = page.access.token
    own = (
        (f"Origin: http://127.0.0.1:{port}", f"X-Adjudge-Token: {token}") if which == "page" else ()
    )
    first = "POST /v1/judge HTTP/1.1" if which == "api" else "POST /start HTTP/1.1"
    access = api.access if which == "api" else ApiAccess(port)
    assert (
        status_of(
            answered(port, head(access, *own, "Content-Length: 500", first=first) + b'{"criteria"')
        )
        == 408
    )


ODD_REQUESTS = {
    "negative part": (
        "POST {path} HTTP/1.1\r\n{own}Transfer-Encoding: chunked\r\n\r\n-3\r\nabc\r\n0\r\n\r\n"
    ),
    "part that does not end": (
        "POST {path} HTTP/1.1\r\n{own}Transfer-Encoding: chunked\r\n\r\n3\r\nabcX\r\n0\r\n\r\n"
    ),
    "quoted line break": (
        "POST {path} HTTP/1.1\r\n{own}Transfer-Encoding: "
        'chunked\r\n\r\n3;a="b\r\n"\r\nabc\r\n0\r\n\r\n'
    ),
    "two codings": "POST {path} HTTP/1.1\r\n{own}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "two lengths that differ": (
        "POST {path} HTTP/1.1\r\n{own}Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"
    ),
    "no length": "POST {path} HTTP/1.1\r\n{own}Content-Length: +3\r\n\r\nabc",
    "length without end": (
        "POST {path} HTTP/1.1\r\n{own}Content-Length: 99999999999999999999999\r\n\r\nabc"
    ),
    "two hosts": "GET {path} HTTP/1.1\r\n{own}Host: evil.example\r\n\r\n",
    "a whole address": "GET http://evil.example{path} HTTP/1.1\r\n{own}\r\n",
    "a lower-case method": "get {path} HTTP/1.1\r\n{own}\r\n",
    "all addresses": "OPTIONS * HTTP/1.1\r\n{own}\r\n",
    "another origin": "POST {path} HTTP/1.1\r\n{own}Origin: null\r\nContent-Length: 0\r\n\r\n",
    "another protocol": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a path that climbs": "GET /static/../../../../etc/passwd HTTP/1.1\r\n{own}\r\n",
    "a path that climbs in code": (
        "GET /static/%2e%2e%2f%2e%2e%2fetc%2fpasswd%00 HTTP/1.1\r\n{own}\r\n"
    ),
}


@pytest.mark.parametrize("which", ["api", "page"])
@pytest.mark.parametrize("odd", ODD_REQUESTS)
def test_an_odd_request_is_refused_without_a_word_in_the_terminal(
    api: Served, page: Page, which: str, odd: str, capfd: pytest.CaptureFixture[str]
) -> None:
    port = api.access.port if which == "api" else page.access.port
    key = (
        f"Authorization: Bearer {api.access.token}"
        if which == "api"
        else f"X-Adjudge-Token: {page.access.token}"
    )
    own = f"Host: 127.0.0.1:{port}\r\n{key}\r\nContent-Type: application/json\r\n"
    request = ODD_REQUESTS[odd].format(path="/v1/judge" if which == "api" else "/start", own=own)
    assert 400 <= status_of(answered(port, request.encode())) < 500
    assert (api.ask("/v1/status").status if which == "api" else page.get("/").status) == 200
    assert capfd.readouterr().err == ""


# -- connections -----------------------------------------------------------------------


@pytest.mark.parametrize("sent", [b"", b"GET /v1/status HTTP/1.1\r\nHost: "])
def test_who_sends_no_request_is_not_waited_for(
    api: Served, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr("adjudge.web.loopback._HEAD_SECONDS", 0.1)
    with connected(api.access.port) as client:
        client.sendall(sent)
        assert client.recv(1000) == b""


def test_who_sends_a_request_drop_by_drop_is_not_waited_for(
    api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adjudge.web.loopback._HEAD_SECONDS", 0.3)
    with connected(api.access.port) as client, pytest.raises(OSError):
        client.sendall(b"GET /v1/status HTTP/1.1\r\n")
        for _ in range(400):
            client.sendall(b"x: y\r\n")
            time.sleep(0.05)


def test_who_was_refused_cannot_hold_the_connection_with_a_body_without_end(
    api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adjudge.web.loopback._HEAD_SECONDS", 0.3)
    stranger = (
        f"POST /v1/judge HTTP/1.1\r\nHost: 127.0.0.1:{api.access.port}\r\nContent-Length: "
        "100000\r\n\r\n"
    )
    with connected(api.access.port) as client, pytest.raises(OSError):
        client.sendall(stranger.encode())
        for _ in range(400):
            client.sendall(b"x")
            time.sleep(0.05)


@pytest.mark.parametrize("which", ["api", "page"])
def test_silent_connections_lock_out_nobody_who_has_the_key(
    which: str, api: Served, page: Page
) -> None:
    """500 of them, and everybody was told 503."""
    port = api.access.port if which == "api" else page.access.port
    with ExitStack() as held:
        for _ in range(SILENT):
            held.enter_context(connected(port))
        for _ in range(5):
            found = api.ask("/v1/status").status if which == "api" else page.get("/").status
            assert found == 200
    assert (api.ask("/v1/status").status if which == "api" else page.get("/").status) == 200


def test_who_asks_at_once_over_many_connections_is_answered_on_all_of_them(api: Served) -> None:
    """The requests of some waited to be read while others connected: their connections were reset
    as silent ones.
    """
    with ExitStack() as held:
        clients = []
        for _ in range(400):
            clients.append(held.enter_context(connected(api.access.port)))
            clients[-1].sendall(head(api.access, first="GET /v1/criteria HTTP/1.1"))
        assert [status_of(client.recv(100)) for client in clients] == [200] * len(clients)


def test_a_connection_serves_one_request_after_another(api: Served) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", api.access.port, timeout=20)
    for _ in range(3):
        connection.request(
            "GET", "/v1/status", headers={"Authorization": f"Bearer {api.access.token}"}
        )
        answer = connection.getresponse()
        assert (answer.status, len(answer.read()) > 10) == (200, True)
    connection.close()


# -- the linter ------------------------------------------------------------------------

YES_NO = [{"name": "Yes", "description": "a"}, {"name": "No", "description": "b"}]
LONG_CRITERIA: dict[str, Any] = {
    "many joints": {"name": "x", "description": "red and dog " * 8_000, "options": YES_NO},
    "many adverbs": {
        "name": "x",
        "description": "Is it good and " + "very " * 20_000 + "x?",
        "options": YES_NO,
    },
    "many options": {
        "name": "x",
        "description": "Is it?",
        "options": [{"name": f"n{n}"} for n in range(20_000)],
    },
    "options alike": {
        "name": "x",
        "description": "Is it?",
        "options": [{"name": f"n {'.' * n}"} for n in range(400)],
    },
    "one long name": {
        "name": "x",
        "description": "Is it?",
        "options": [{"name": "a " * 20_000 + end} for end in "bcd"],
    },
    "many examples": {
        "name": "x",
        "description": "Is it?",
        "options": [{"name": f"n{n}"} for n in range(2_000)],
        "examples": [{"fields": {"response": "x"}, "option": f"m{n}"} for n in range(2_000)],
    },
}


@pytest.mark.parametrize("which", LONG_CRITERIA)
def test_linting_long_criteria_takes_no_time_and_stops_nobody(api: Served, which: str) -> None:
    """200 kB took 42 seconds of CPU, in which nobody else was answered."""
    before = time.process_time()
    answer = api.ask("/v1/criteria/lint", {"criteria": LONG_CRITERIA[which]})
    assert time.process_time() - before < 4, (
        "seconds of CPU of this process, in which the server runs"
    )
    assert answer.status in (200, 400)
    assert len(answer.body) < 500_000


def test_criteria_are_not_checked_where_everybody_waits(
    api: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in the thread whose loop answers everybody."""
    seen: list[str] = []

    def watched(said: Criteria) -> list[Finding]:
        seen.append(threading.current_thread().name)
        return lint(said)

    monkeypatch.setattr("adjudge.web.api.lint", watched)
    loops = [one.name for one in threading.enumerate() if one.name.endswith("(serve)")]
    assert api.ask("/v1/criteria/lint", {"criteria": "Is it polite?"}).status == 200
    assert seen and loops and not set(seen) & set(loops)


@pytest.mark.parametrize("path", ["/v1/criteria/lint", "/v1/judge"])
def test_criteria_longer_than_anybody_writes_are_refused(api: Served, path: str) -> None:
    said = {"name": "x", "description": "Is it? " * 40_000, "options": YES_NO}
    given = {"criteria": said, **({"response": "x"} if path == "/v1/judge" else {})}
    assert len(json.dumps(given)) < LARGEST
    answer = api.ask(path, given)
    assert (answer.status, answer.json()["error"]["type"]) == (400, "request")
    assert "at most" in answer.json()["error"]["message"]
