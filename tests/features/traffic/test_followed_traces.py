"""Spans that come one by one: a trace is taken when it is whole, once."""

from __future__ import annotations

import gzip
import http.client
import json
from pathlib import Path
from typing import Any

import pytest

from adjudge.features.traffic.files import GrowingFiles
from adjudge.features.traffic.intake import Intake, open_intake
from adjudge.features.traffic.receiver import receiving
from adjudge.features.traffic.sampling import Sampling

DAY = "2026-01-01"


def span(trace: int, number: int, *, parent: int | None = None, service: str = "app") -> str:
    """One span of a trace as an exporter writes it: the root holds question and answer."""
    messages = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(
            [{"role": "user", "parts": [{"type": "text", "content": f"Question {trace}?"}]}]
        ),
        "gen_ai.output.messages": json.dumps(
            [{"role": "assistant", "parts": [{"type": "text", "content": f"Answer {trace}."}]}]
        ),
    }
    made: dict[str, Any] = {
        "traceId": f"{trace:032x}",
        "spanId": f"{trace:08x}{number:08x}",
        "name": "chat",
        "startTimeUnixNano": str(10**18 + number),
        "endTimeUnixNano": str(10**18 + number + 5),
        "attributes": [
            {"key": name, "value": {"stringValue": value}} for name, value in messages.items()
        ],
    }
    if parent is not None:
        made["parentSpanId"] = f"{trace:08x}{parent:08x}"
    name = {"key": "service.name", "value": {"stringValue": service}}
    whole = {
        "resourceSpans": [{"resource": {"attributes": [name]}, "scopeSpans": [{"spans": [made]}]}]
    }
    return json.dumps(whole) + "\n"


def rows(intake: Intake, path: Path) -> list[dict[str, Any]]:
    intake.write_rows(DAY, path)
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_trace_is_taken_when_its_root_has_ended_and_nothing_more_comes(tmp_path: Path) -> None:
    log, all_of_it = tmp_path / "log.jsonl", Sampling()
    source = GrowingFiles(str(log))
    with open_intake(tmp_path / "runs") as intake:
        log.write_text(span(1, 2, parent=1) + span(2, 2, parent=1))
        intake.take(source, all_of_it, DAY)
        assert intake.settle(all_of_it, DAY, 0.0).new == 2  # nothing comes, not even a root
        with log.open("a") as file:
            file.write(span(3, 2, parent=1))
        intake.take(source, all_of_it, DAY)
        assert intake.settle(all_of_it, DAY, 1000.0).new == 0
        assert intake.unfinished == 1
        with log.open("a") as file:
            file.write(span(3, 1) + span(3, 1) + span(1, 3, parent=1))
        taken, _ = intake.take(source, all_of_it, DAY)
        assert taken.late == 1
        assert intake.settle(all_of_it, DAY, 1000.0).new == 0
        assert intake.settle(all_of_it, DAY, 0.0).new == 1
        assert intake.unfinished == 0
        found = rows(intake, tmp_path / "rows.jsonl")
    assert [(one["user_input"], one["response"]) for one in found] == [
        (f"Question {trace}?", f"Answer {trace}.") for trace in (1, 2, 3)
    ]


def test_judging_is_not_judged_and_a_trace_without_texts_is_named(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    empty = span(5, 1).replace("gen_ai.input.messages", "x").replace("gen_ai.output.messages", "y")
    log.write_text(
        span(4, 1, service="adjudge") + empty + '{"resourceSpans": [{"scopeSpans": 3}]}\n'
    )
    with open_intake(tmp_path / "runs") as intake:
        intake.take(GrowingFiles(str(log)), Sampling(), DAY)
        taken = intake.settle(Sampling(), DAY, 0.0)
        assert (taken.new, len(taken.bad)) == (0, 1)
        assert f"{5:032x}" in taken.bad[0]
        assert intake.settle(Sampling(), DAY, 0.0).bad == ()


def send(
    port: int, body: bytes, path: str = "/v1/traces", **headers: str
) -> tuple[int, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    given = {
        "Content-Type": "application/json",
        **{k.replace("_", "-"): v for k, v in headers.items()},
    }
    connection.request("POST", path, body, given)
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read())


def test_spans_are_on_the_disk_when_they_are_answered(tmp_path: Path) -> None:
    with receiving(0, tmp_path / "received") as port, open_intake(tmp_path / "runs") as intake:
        assert send(port, span(1, 1).encode())[0] == 200
        assert send(port, gzip.compress(span(2, 1).encode()), Content_Encoding="gzip")[0] == 200
        intake.take(GrowingFiles(str(tmp_path / "received")), Sampling(), DAY)
        assert intake.settle(Sampling(), DAY, 0.0).new == 2


@pytest.mark.parametrize(
    ("body", "path", "headers", "status"),
    [
        (b"{", "/v1/traces", {}, 400),
        (b"[" * 100_000, "/v1/traces", {}, 400),
        (b'{"resourceMetrics": []}', "/v1/traces", {}, 400),
        (b"x", "/v1/traces", {"Content_Encoding": "gzip"}, 400),
        (b"\x0a\x00", "/v1/traces", {"Content_Type": "application/x-protobuf"}, 415),
        (b"{}", "/v1/logs", {}, 404),
        (b"{}", "/v1/traces", {"Origin": "http://evil.example"}, 403),
        (b"{}", "/v1/traces", {"Host": "evil.example"}, 403),
    ],
)
def test_what_is_not_spans_of_this_machine_is_refused(
    tmp_path: Path, body: bytes, path: str, headers: dict[str, str], status: int
) -> None:
    with receiving(0, tmp_path / "received") as port:
        assert send(port, body, path, **headers)[0] == status
    assert list((tmp_path / "received").iterdir()) == []


def test_what_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    with receiving(0, tmp_path / "received") as port:
        assert send(port, gzip.compress(bytes(65 << 20), 1), Content_Encoding="gzip")[0] == 400
