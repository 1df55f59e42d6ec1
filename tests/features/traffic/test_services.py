"""Langfuse, Phoenix and LangSmith, as their APIs answer: pages, an overlap, times without an
answer.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from click.testing import CliRunner

from adjudge.errors import SetupError
from adjudge.features.traffic.intake import Intake, open_intake
from adjudge.features.traffic.sampling import Sampling
from adjudge.features.traffic.services import SERVICES, ServiceSpans
from adjudge.features.traffic.source import SourceAway
from adjudge.runs.cli.main import app

DAY = "2026-01-01"
AT = "2026-11-16T12:{:02}:{:02}Z"


class FakeService(ThreadingHTTPServer):
    """Gives the spans that it was told of, two a page, the newest first."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.spans: list[dict[str, Any]] = []
        self.fails = 0
        self.scores: list[dict[str, Any]] = []
        self.asked: list[tuple[str, dict[str, str], str]] = []


class Handler(BaseHTTPRequestHandler):
    server: FakeService

    def do_GET(self) -> None:
        given = {name: one for name, (one,) in parse_qs(urlsplit(self.path).query).items()}
        self._answer(given)

    def do_POST(self) -> None:
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path in {one.scores for one in SERVICES.values()}:
            if self.server.fails:
                self.server.fails -= 1
                self._send(503, {"error": "busy"})
                return
            self.server.scores += given.get("data", [given])
            self._send(200, {"id": "1"})
            return
        self._answer(given)

    def _answer(self, given: dict[str, Any]) -> None:
        server = self.server
        secret = self.headers.get("Authorization") or self.headers.get("x-api-key") or ""
        server.asked.append((urlsplit(self.path).path, given, secret))
        if server.fails:
            server.fails -= 1
            self._send(503, {"error": "busy"})
            return
        since = given.get("fromStartTime") or given["start_time"]
        known = sorted(
            (one for one in server.spans if _start(one) >= since), key=_start, reverse=True
        )
        begin = int(given.get("cursor", 0))
        page, after = known[begin : begin + 2], str(begin + 2) if begin + 2 < len(known) else None
        if "runs/query" in self.path:
            self._send(200, {"runs": page, "cursors": {"next": after}})
        elif "/v1/projects" in self.path:
            self._send(200, {"data": page, "next_cursor": after})
        else:
            self._send(200, {"data": page, "meta": {"cursor": after}})

    def _send(self, status: int, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *words: object) -> None:
        pass


def _start(one: dict[str, Any]) -> str:
    return str(one.get("startTime") or one.get("start_time"))


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeService]:
    with FakeService() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        for service in SERVICES.values():
            monkeypatch.setenv(service.address, f"http://127.0.0.1:{server.server_address[1]}/")
            for number, name in enumerate(service.keys):
                monkeypatch.setenv(name, f"key-{number}")
        yield server
        server.shutdown()


def langfuse(trace: int, number: int, second: int, *, root: bool) -> dict[str, Any]:
    return {
        "id": f"o{trace}-{number}",
        "traceId": f"t{trace}",
        "startTime": AT.format(trace, second),
        "endTime": AT.format(trace, second + 1),
        "type": "AGENT" if root else "SPAN",
        "isRootObservation": root,
        "parentObservationId": None if root else f"o{trace}-1",
        "name": "app",
        "input": f"Question {trace}?",
        "output": f"Answer {trace}.",
    }


def take_all(intake: Intake, source: ServiceSpans) -> int:
    """Until there is nothing more: how many traces were new."""
    while intake.take(source, Sampling(), DAY)[1]:
        pass
    return intake.settle(Sampling(), DAY, 0.0).new


def rows(intake: Intake, folder: Path) -> list[dict[str, Any]]:
    intake.write_rows(DAY, folder / "rows.jsonl")
    lines = (folder / "rows.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def test_traces_of_langfuse_are_taken_once_page_by_page(tmp_path: Path, fake: FakeService) -> None:
    source = ServiceSpans(SERVICES["langfuse"], "", timedelta(days=365_000))
    fake.spans = [langfuse(one, n, n, root=n == 1) for one in range(1, 6) for n in (1, 2, 3)]
    with open_intake(tmp_path / "runs") as intake:
        assert take_all(intake, source) == 5
        assert take_all(intake, source) == 0
        fake.spans += [langfuse(7, 1, 1, root=True), langfuse(5, 9, 9, root=False)]
        taken, _ = intake.take(source, Sampling(), DAY)
        assert (taken.late, taken.bad) == (1, ())
        assert take_all(intake, source) == 1
        found = rows(intake, tmp_path)
    assert sorted(one["response"] for one in found) == [
        f"Answer {one}." for one in (1, 2, 3, 4, 5, 7)
    ]
    path, _, secret = fake.asked[0]
    assert path == "/api/public/v2/observations"
    assert base64.b64decode(secret.removeprefix("Basic ")) == b"key-0:key-1"


def test_a_service_that_does_not_answer_is_asked_again_from_the_same_place(
    tmp_path: Path, fake: FakeService
) -> None:
    source = ServiceSpans(SERVICES["langfuse"], "", timedelta(days=365_000))
    fake.spans = [langfuse(one, 1, 1, root=True) for one in range(1, 6)]
    with open_intake(tmp_path / "runs") as intake:
        intake.take(source, Sampling(), DAY)
        fake.fails = 1
        with pytest.raises(SourceAway, match="503"):
            intake.take(source, Sampling(), DAY)
        assert take_all(intake, source) == 5


@pytest.mark.parametrize(
    ("name", "project", "file", "path"),
    [
        ("langfuse", "", "langfuse-observations-v2.json", "/api/public/v2/observations"),
        ("phoenix", "my app", "phoenix-spans-api.json", "/v1/projects/my%20app/spans"),
        ("langsmith", "1234", "langsmith-runs.json", "/api/v1/runs/query"),
    ],
)
def test_each_service_gives_whole_trajectories(
    tmp_path: Path,
    fake: FakeService,
    agent_traces: Path,
    name: str,
    project: str,
    file: str,
    path: str,
) -> None:
    held = json.loads((agent_traces / file).read_text(encoding="utf-8"))
    fake.spans = held["data"] if isinstance(held, dict) else held
    source = ServiceSpans(SERVICES[name], project, timedelta(days=365_000))
    with open_intake(tmp_path / "runs") as intake:
        assert take_all(intake, source) >= 1
        found = rows(intake, tmp_path)
    assert {one["response"] for one in found} == {"It is 18 degrees and sunny in Paris."}
    assert any("get_weather" in step for one in found for step in one["steps"])
    assert fake.asked[0][0] == path


def test_a_missing_key_and_a_wrong_address_are_named(
    fake: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = ServiceSpans(SERVICES["langfuse"], "", timedelta(days=1))
    monkeypatch.delenv("LANGFUSE_SECRET_KEY")
    with pytest.raises(SetupError, match="LANGFUSE_PUBLIC_KEY, LANGFUSE_SECRET_KEY"):
        source.read({})
    monkeypatch.setenv("LANGFUSE_HOST", "file:///etc/passwd")
    with pytest.raises(SetupError, match="LANGFUSE_HOST is not an address"):
        source.read({})
    assert fake.asked == []


@pytest.mark.parametrize("name", list(SERVICES))
def test_verdicts_are_written_back_once(
    tmp_path: Path, fake: FakeService, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when the service was away in between: a score has an id by which it replaces itself."""
    monkeypatch.chdir(tmp_path)
    Path("eval.yaml").write_text("judges: [{kind: check, name: ends, checks: [{ends_with: .}]}]")
    root = {"parent_id": None, "span_kind": "AGENT", "run_type": "chain", "parent_run_id": None}
    fake.spans = [
        {
            **langfuse(one, 1, 1, root=True),
            **root,
            "id": f"{one:032x}",
            "trace_id": f"{one:032x}",
            "dotted_order": f"{one}",
            "context": {"trace_id": f"{one:032x}", "span_id": f"{one:016x}"},
            "start_time": AT.format(one, 1),
            "end_time": AT.format(one, 2),
            "inputs": {"messages": [{"role": "user", "content": f"Question {one}?"}]},
            "outputs": {"messages": [{"role": "assistant", "content": f"Answer {one}."}]},
            "attributes": {"input.value": f"Question {one}?", "output.value": f"Answer {one}."},
        }
        for one in range(1, 4)
    ]
    follow = [
        *("follow", "eval.yaml", "--from", f"{name}:app", "--since", "300000d"),
        *("--quiet", "0", "--once", "--write-back", "--json"),
    ]
    runner = CliRunner()
    told = [json.loads(runner.invoke(app, follow, catch_exceptions=False).stdout)["summary"]]
    told += [json.loads(runner.invoke(app, follow, catch_exceptions=False).stdout)["summary"]]
    assert [(one["events"], one["sent"], one["away"]) for one in told] == [
        (3, 3, None),
        (0, 0, None),
    ]
    assert len(fake.scores) == 3
    subjects = {
        one.get("traceId") or one.get("trace_id") or one.get("run_id") for one in fake.scores
    }
    assert len(subjects) == 3
