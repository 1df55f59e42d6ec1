"""One small run, as 23 tools write it, is the same trajectory."""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import Any

import pytest

from adjudge.errors import WrongData
from adjudge.features.agents.traces.files import read_traces
from adjudge.features.agents.traces.row import TraceRow
from adjudge.features.agents.trajectory import Trajectory
from support.records import PUBLIC

FIXTURES = PUBLIC / "agents" / "fixtures"
EXPECTED: dict[str, Any] = (
    json.loads((FIXTURES / "expected.json").read_text("utf-8")) if FIXTURES.is_dir() else {}
)
REFUSED = {"crewai-log.json": "kickoff"}
"""What holds no calls is refused, and what holds them is named."""
pytestmark = pytest.mark.skipif(not EXPECTED, reason="the shared fixtures are not here")


@pytest.mark.parametrize("name", [name for name in EXPECTED if name not in REFUSED])
def test_a_fixture_is_read_as_expected(name: str) -> None:
    if (
        name.endswith(".eval")
        and find_spec("backports") is None
        and find_spec("compression") is None
    ):
        pytest.skip("zstd is not installed")
    rows = list(read_traces(FIXTURES / name))
    wanted = EXPECTED[name]
    several = wanted if isinstance(wanted, list) else [wanted] * wanted.get("traces", 1)
    assert len(rows) == len(several)
    for row, want in zip(rows, several, strict=True):
        check(name, row, want if "same_as" not in want else {**EXPECTED[want["same_as"]]})


def check(name: str, row: TraceRow, want: dict[str, Any]) -> None:
    found = row.trajectory
    assert found.goal == (want["goal"] or "")
    expected_only = "expected, not actual" in want.get("note", "")
    assert (row.columns["reference"] if expected_only else found.answer) == want["answer"]
    system = want.get("system", found.system) or ""
    if system.startswith("begins: "):
        assert found.system.startswith(system.removeprefix("begins: "))
    else:
        assert found.system == system
    calls = [step.call for step in found.calls]
    assert [(call.name, call.arguments, call.error) for call in calls if call] == [
        (call["tool"], call["arguments"], call["error"]) for call in want["calls"]
    ]
    for call, said in zip(calls, want["calls"], strict=True):
        assert call is not None
        assert "result" not in said or call.result == said["result"]
    check_beside(name, row, want)


def check_beside(name: str, row: TraceRow, want: dict[str, Any]) -> None:
    found = row.trajectory
    if "phoenix-spans-api" not in name and not (want.get("note") or "").startswith("expected"):
        agents = dict.fromkeys(step.actor for step in found.steps if step.actor != "user")
        assert list(agents) == want.get("agents", list(agents))
    usage = found.usage
    for key, figure in (
        ("model_calls", usage and usage.calls),
        ("input_tokens", usage and usage.prompt_tokens),
        ("output_tokens", usage and usage.completion_tokens),
    ):
        assert figure == want.get(key, figure)
    assert [tool.name for tool in found.tools] == want.get(
        "tools_defined", [tool.name for tool in found.tools]
    )
    thoughts = [step.text for step in found.steps if step.kind == "thought"]
    assert thoughts == want.get("reasoning", thoughts)
    assert handoffs(found) == want.get("handoffs", handoffs(found))
    contexts = [step.text for step in found.steps if step.kind == "retrieved"]
    assert contexts == want.get("contexts", contexts)
    if "reference_calls" in want:
        reference = row.columns["reference_calls"]
        assert reference == [
            {"name": call["tool"], "kwargs": call["arguments"]} for call in want["reference_calls"]
        ]
    if "label" in want:
        assert row.columns["reward"] == want["label"]


def handoffs(found: Trajectory) -> list[list[str | None]]:
    return [
        [None if step.actor == "assistant" else step.actor, step.text]
        for step in found.steps
        if step.kind == "handed over"
    ]


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_log_without_calls_is_refused_by_name(name: str) -> None:
    with pytest.raises(WrongData, match=REFUSED[name]):
        list(read_traces(FIXTURES / name))


def test_a_folder_is_read_file_by_file_and_logs_belong_to_their_spans() -> None:
    bad: list[str] = []
    rows = list(read_traces(FIXTURES, on_bad_row=lambda row: bad.append(str(row))))
    assert len(rows) >= len(EXPECTED) - 5
    assert any("crewai-log.json" in one for one in bad)
    assert not any("logs.otlp" in one for one in bad)


def test_a_format_may_be_named_and_a_wrong_one_is_refused() -> None:
    (row,) = read_traces(FIXTURES / "anthropic-messages.json", "chat")
    assert row.trajectory.calls
    with pytest.raises(WrongData, match="not recognised as atif"):
        list(read_traces(FIXTURES / "anthropic-messages.json", "atif"))
    with pytest.raises(WrongData, match="unknown trace format 'nope'"):
        list(read_traces(FIXTURES / "anthropic-messages.json", "nope"))
