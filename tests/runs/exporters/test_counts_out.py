"""Counts of agents in exports: 0 is the good end, and no count passes or fails."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest

from adjudge import AgentEvaluator, Instance, Trajectory
from adjudge.runs.exporters.export import export
from support.commands import adjudge


def run_of(calls: int, name: str) -> Instance:
    """A run that makes the same call again and again."""
    messages: list[dict[str, object]] = [{"role": "user", "content": f"Task {name}"}]
    for number in range(calls):
        call = {"id": str(number), "function": {"name": "look", "arguments": "{}"}}
        messages += [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": str(number), "content": "nothing"},
        ]
    messages.append({"role": "assistant", "content": "Done."})
    run = Trajectory.of(messages)
    return Instance(run.fields, name, {"trajectory": run})


def judge(folder: Path, calls: Sequence[int], *measures: str) -> Path:
    rows = [run_of(count, f"r{place}") for place, count in enumerate(calls)]
    AgentEvaluator(measures=list(measures)).evaluate(rows, run=folder / "run")
    return folder / "run"


@pytest.fixture
def repeats(tmp_path: Path) -> Path:
    """A run without a repeat, one with 4, and whether each ended."""
    return judge(tmp_path, [1, 5], "repeats", "ended")


def test_a_count_neither_passes_nor_fails_in_junit(repeats: Path, tmp_path: Path) -> None:
    export(repeats, tmp_path / "junit.xml")
    (suite,) = ElementTree.parse(tmp_path / "junit.xml").getroot()
    scores = {
        (case.get("classname", "").rpartition(": ")[2], each.get("value"))
        for case in suite.iter("testcase")
        for each in case.iter("property")
        if each.get("name") == "adjudge.score"
    }
    assert {("repeats", "0.0"), ("repeats", "4.0")} <= scores
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("4", "0", "0")
    assert suite.find("testcase/failure") is None


def test_promptfoo_gets_no_verdict_for_a_count(repeats: Path, tmp_path: Path) -> None:
    done = adjudge("export", repeats, "--to", "promptfoo", "-o", "out.json", cwd=tmp_path)
    results = json.loads((tmp_path / "out.json").read_text())["results"]["results"]
    assert [(one["testCase"]["assert"][0]["value"], one["success"]) for one in results] == [
        ("ended", True),
        ("ended", True),
    ]
    assert "2 judgments written" in done.stdout
    assert "left out: 2 judgments that count something" in done.stderr


def test_promptfoo_gets_no_error_for_a_row_that_was_skipped(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("id,response,expected\n1,a,a\n2,b,\n")
    (tmp_path / "eval.yaml").write_text(
        "data: rows.csv\nrun: run\n"
        "checks: [{equals: {field: expected}, name: exact, rows_with: expected}]\n"
    )
    adjudge("run", "eval.yaml", cwd=tmp_path)
    done = adjudge("export", "run", "--to", "promptfoo", "-o", "out.json", cwd=tmp_path)
    stats = json.loads((tmp_path / "out.json").read_text())["results"]["stats"]
    assert (stats["successes"], stats["failures"], stats["errors"]) == (1, 0, 0)
    assert "left out: 1 judgment of rows that were skipped" in done.stderr


def test_the_highest_counts_are_the_worst(tmp_path: Path) -> None:
    """Of more judgments than a page lists, by two measures of very different size."""
    calls = [2 if place < 600 else 5 + place - 600 for place in range(605)]
    run = judge(tmp_path, calls, "steps", "repeats")
    export(run, tmp_path / "out.md")
    export(run, tmp_path / "out.html")
    lines = re.findall(r"^\| \S+ \| (\w+) \| (r\d+) \|", (tmp_path / "out.md").read_text(), re.M)
    assert set(lines[:10]) == {
        (measure, f"r{place}") for measure in ("steps", "repeats") for place in range(600, 605)
    }
    assert {row for _, row in lines[:2]} == {"r604"}
    page = (tmp_path / "out.html").read_text()
    cards = re.findall(r'data-number="(\d+)".*?data-group="2" data-score="([^"]+)"', page)
    last = {"1209", "1210"}  # both judgments of the last row
    assert {number for number, score in cards if float(score) == -1} == last
