"""Counts of agents with a most, rows to label, and money: what a day of traffic may come to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from adjudge.runs.cli.main import app
from adjudge.runs.folder import records_of, run_info
from adjudge.stats.betting import FallBets
from adjudge.trust.labels.queue import row_index
from adjudge.trust.labels.scales import label_scales
from support.fake_provider import KEY, FakeProvider

Json = dict[str, Any]
AGENT = """\
judges: [{kind: agent, measures: [errors]}]
gates: {max: {errors: 0.5}}
"""
ASPECT = """\
models: openai/gpt-4o-mini
judges: [{kind: aspect, name: right, criteria: It is right.}]
"""


def follow(*words: str) -> tuple[int, Json]:
    given = ["follow", "eval.yaml", "--from", "log.jsonl", "--once", "--json", *words]
    done = CliRunner().invoke(app, given, standalone_mode=False)
    assert done.stdout, done.exception
    return int(done.return_value), json.loads(done.stdout)


def write(rows: list[Json]) -> None:
    with Path("log.jsonl").open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(one) + "\n" for one in rows)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def agent(id: int, errors: int) -> Json:
    """A trace as OTLP JSON with so many calls that failed."""
    ids = {"traceId": f"{id:032x}"}
    root: Json = {
        **ids,
        "spanId": f"{id:016x}",
        "name": "invoke_agent",
        "startTimeUnixNano": "1790000000000000000",
        "endTimeUnixNano": "1790000009000000000",
        "attributes": [
            {"key": "gen_ai.operation.name", "value": {"stringValue": "invoke_agent"}},
            {"key": "input.value", "value": {"stringValue": "Do it"}},
            {"key": "output.value", "value": {"stringValue": "Done."}},
        ],
    }
    calls = [
        {
            **ids,
            "spanId": f"{id:08x}{number + 1:08x}",
            "parentSpanId": f"{id:016x}",
            "name": "execute_tool pay",
            "startTimeUnixNano": f"179000000{number + 1}000000000",
            "endTimeUnixNano": f"179000000{number + 1}500000000",
            "status": {"code": 2, "message": "no money"},
            "attributes": [
                {"key": "gen_ai.operation.name", "value": {"stringValue": "execute_tool"}},
                {"key": "gen_ai.tool.name", "value": {"stringValue": "pay"}},
            ],
        }
        for number in range(errors)
    ]
    return {"resourceSpans": [{"scopeSpans": [{"spans": [root, *calls]}]}]}


def test_a_mean_count_that_rises_above_its_most_is_an_alarm() -> None:
    Path("eval.yaml").write_text(AGENT)
    write([agent(one, 0) for one in range(1, 30)])
    code, calm = follow("--quiet", "0")
    (rate,) = calm["results"]
    assert (code, rate["mean"], rate["lower"]) == (0, 0.0, None)
    assert calm["alarms"][0]["above"] is True
    write([agent(one, 3) for one in range(30, 60)])
    code, risen = follow("--quiet", "0")
    assert (code, risen["alarms"][0]["raised"]) == (4, True)


def test_bets_on_counts_cry_wolf_in_no_more_than_one_stream_of_twenty() -> None:
    import random

    drawn, alarms = random.Random(3), 0
    for _ in range(200):
        bets = FallBets(0.5, rises=True).add(
            [float(drawn.choice((0, 0, 0, 2))) for _ in range(300)]
        )
        alarms += bets.evidence >= 20
    assert alarms <= 10
    assert FallBets(0.5, rises=True).add([2.0] * 12).evidence > 20
    assert FallBets(0.0, rises=True).add([0.0] * 50).evidence < 20
    assert FallBets(0.0, rises=True).add([1.0]).evidence > 20


def test_random_rows_to_label_are_of_the_sample_that_takes_all_alike(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url("openai"))
    said = {"explanation": "so", "selected_option": "PASS"}
    provider.answer = lambda body: "dunno" if "text 3." in str(body) else json.dumps(said)
    Path("eval.yaml").write_text(ASPECT)
    status = ["error" if one % 3 == 0 else "fine" for one in range(60)]
    write([{"id": f"e{n}", "answer": f"text {n}.", "status": s} for n, s in enumerate(status)])
    follow("--sample", "0.4", "--always", "status=error")
    (day,) = Path("runs/eval-traffic").glob("2*")
    sure = {
        one.id: one.input["traffic"]
        for one in records_of(day)
        if not one.input["traffic"]["uniform"]  # type: ignore[index,call-overload]
    }
    assert len(sure) > 5
    (scale,) = label_scales(day)
    with row_index(day, scale) as index:
        drawn = index.plan("random", 100)
        suspicious = index.plan("suspicious", 100)
        assert len(drawn) == index.count() - len(sure)
    assert not {one.id for one in drawn} & set(sure)
    assert {one.design for one in suspicious} <= {"chosen"}
    assert "e3" in {one.id for one in suspicious}


def test_dollars_of_a_day_are_exceeded_by_one_request_at_most(
    provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", provider.base_url("openai"))
    said = {"explanation": "so", "selected_option": "PASS"}
    provider.answer = lambda body: json.dumps(said)
    Path("eval.yaml").write_text(ASPECT)
    write([{"id": f"e{n}", "answer": f"text {n}."} for n in range(60)])
    for _ in range(3):
        _, told = follow("--max-usd-per-day", "0.001")
    (day,) = Path("runs/eval-traffic").glob("2*")
    (used,) = run_info(day).usage.values()
    each = (0.15 * used.prompt_tokens + 0.6 * used.completion_tokens) / used.calls / 1e6
    assert 0 < used.calls == len(provider.requests) < 60
    assert used.calls * each <= 0.001 + each
    assert told["summary"]["waiting"] == 60 - used.calls
