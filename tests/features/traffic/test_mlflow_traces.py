"""MLflow as its REST API answers: search in pages, spans by batchGet, assessments without a key."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from click.testing import CliRunner

from adjudge.runs.cli.main import app

API = "/api/3.0/mlflow/traces"
Json = dict[str, Any]


class FakeMlflow(ThreadingHTTPServer):
    """Experiment 7; two traces a page, the oldest first."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.traces: dict[str, Json] = {}
        self.kept: dict[str, list[Json]] = {}
        self.patched = 0
        self.lose = 0
        """Assessments that are made, and whose answer is lost."""
        self.secrets: set[str] = set()

    def info(self, id: str) -> Json:
        return {**self.traces[id]["info"], "assessments": self.kept.get(id, [])}


class Handler(BaseHTTPRequestHandler):
    server: FakeMlflow

    def do_GET(self) -> None:
        place = urlsplit(self.path)
        if place.path == f"{API}/batchGet":
            ids = parse_qs(place.query)["trace_ids"]
            held = [(self.server.info(id), self.server.traces[id]["spans"]) for id in ids]
            self._send({"traces": [{"trace_info": info, "spans": spans} for info, spans in held]})
        else:
            id = unquote(place.path.removeprefix(f"{API}/"))
            self._send({"trace": {"trace_info": self.server.info(id)}})

    def do_POST(self) -> None:
        given = self._given()
        if self.path == f"{API}/search":
            self._search(given)
            return
        id = unquote(self.path.removeprefix(f"{API}/").removesuffix("/assessments"))
        made = given["assessment"]
        assert {type(one) for one in made["metadata"].values()} == {str}
        own = self.server.kept.setdefault(id, [])
        own.append({**made, "assessment_id": f"a-{id}-{len(own)}"})
        if self.server.lose:
            self.server.lose -= 1
            self._send({"error_code": "INTERNAL_ERROR"}, 500)
            return
        self._send({"assessment": own[-1]})

    def do_PATCH(self) -> None:
        given = self._given()
        id, _, number = self.path.removeprefix(f"{API}/").partition("/assessments/")
        (own,) = [one for one in self.server.kept[id] if one["assessment_id"] == number]
        for name in given["update_mask"].split(","):
            own[name] = given["assessment"][name]
        self.server.patched += 1
        self._send({"assessment": own})

    def _search(self, given: Json) -> None:
        (place,) = given["locations"]
        assert place["mlflow_experiment"] == {"experiment_id": "7"}
        assert given["filter"].startswith("trace.timestamp_ms >= ")
        begin, known = int(given.get("page_token", 0)), list(self.server.traces)
        listed = [self.server.info(id) for id in known[begin : begin + 2]]
        found: Json = {"traces": listed} if listed else {}  # as protobuf writes an empty list
        if begin + 2 < len(known):
            found["next_page_token"] = str(begin + 2)
        self._send(found)

    def _given(self) -> Json:
        found: Json = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        return found

    def _send(self, body: Json, status: int = 200) -> None:
        self.server.secrets.add(self.headers.get("Authorization", ""))
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *words: object) -> None:
        pass


def trace(number: int, state: str = "OK") -> Json:
    """Spans as protobuf writes them as JSON: attributes are a list, their values JSON again."""
    at = 1_790_000_000_000_000_000 + number
    held = {
        "mlflow.spanType": '"AGENT"',
        "mlflow.spanOutputs": json.dumps(f"Answer {number}."),
    }
    asked = {"key": "question", "value": {"string_value": f"Question {number}?"}}
    span = {
        "trace_id": "lAP1xyh5BlUMx6URY3nkgA==",
        "span_id": "y+nQ3tvAkVc=",
        "name": "app",
        "start_time_unix_nano": str(at),
        "end_time_unix_nano": str(at + 1),
        "status": {"code": "STATUS_CODE_OK"},
        "attributes": [
            *({"key": name, "value": {"string_value": value}} for name, value in held.items()),
            {"key": "mlflow.spanInputs", "value": {"kvlist_value": {"values": [asked]}}},
        ],
    }
    info = {
        "trace_id": f"tr-{number}",
        "request_time": f"2026-11-16T12:00:{number:02}Z",
        "state": state,
    }
    return {"info": info, "spans": [span]}


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FakeMlflow]:
    monkeypatch.chdir(tmp_path)
    Path("eval.yaml").write_text("judges: [{kind: check, name: ends, checks: [{ends_with: .}]}]")
    with FakeMlflow() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{server.server_address[1]}")
        server.traces = {f"tr-{number}": trace(number) for number in range(5)}
        yield server
        server.shutdown()


def follow(*more: str, project: str = "7") -> Json:
    words = ["follow", "eval.yaml", "--from", f"mlflow:{project}", "--since", "300000d"]
    words += ["--quiet", "0", "--once", "--json", *more]
    done = CliRunner().invoke(app, words, standalone_mode=False)
    found: Json = json.loads(done.stdout) if done.stdout else {"error": str(done.exception)}
    return dict(found.get("summary", found))


def test_traces_are_taken_once_and_verdicts_become_assessments(fake: FakeMlflow) -> None:
    first, second = follow("--write-back"), follow("--write-back")
    assert [(one["events"], one["sent"], one["away"]) for one in (first, second)] == [
        (5, 5, None),
        (0, 0, None),
    ]
    (made,) = fake.kept["tr-3"]
    assert made["assessment_name"] == "ends with '.'"
    assert made["source"] == {"source_type": "LLM_JUDGE", "source_id": "ends"}
    assert made["feedback"] == {"value": True}
    (day,) = Path("runs/eval-traffic").glob("2*")
    lines = list(map(json.loads, (day / "traffic.jsonl").read_text().splitlines()))
    assert all("Question" in one["user_input"] for one in lines)
    assert {one["response"] for one in lines} == {f"Answer {number}." for number in range(5)}


def test_an_answer_that_was_lost_makes_no_second_assessment(fake: FakeMlflow) -> None:
    fake.lose = 1
    assert "does not respond" in str(follow("--write-back")["away"])
    assert follow("--write-back")["away"] is None
    assert {len(one) for one in fake.kept.values()} == {1}
    assert len(fake.kept) == 5
    assert fake.patched == 1


def test_an_experiment_without_traces_is_not_an_outage(fake: FakeMlflow) -> None:
    fake.traces = {}
    told = follow()
    assert (told["events"], told["away"]) == (0, None)


def test_a_trace_that_goes_on_waits_for_its_end(fake: FakeMlflow) -> None:
    fake.traces = {"tr-1": trace(1, "IN_PROGRESS"), "tr-2": trace(2)}
    assert follow("--quiet", "0.2")["events"] == 0
    fake.traces["tr-1"] = trace(1)


@pytest.mark.parametrize("token", ["", "secret"])
def test_a_token_or_a_name_and_password_are_sent(
    fake: FakeMlflow, monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", token)
    monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "me")
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "word")
    assert follow()["events"] == 5
    assert fake.secrets == {"Bearer secret" if token else "Basic bWU6d29yZA=="}


def test_an_experiment_without_a_number_is_refused(fake: FakeMlflow) -> None:
    assert "mlflow needs a numeric experiment ID" in follow(project="mine")["error"]
    assert not fake.secrets
