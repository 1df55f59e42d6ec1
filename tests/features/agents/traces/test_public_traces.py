"""Public sets of agents' runs hold what they are known to hold."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from adjudge.features.agents.traces.files import read_traces
from adjudge.features.importers.importing import ImportOptions, import_file
from adjudge.runs.folder import records_of
from support.records import PUBLIC

AGENTS = PUBLIC / "agents"
ROOT = Path(__file__).parents[4]
pytestmark = pytest.mark.skipif(not AGENTS.is_dir(), reason="the shared sets are not here")
FIGURES: dict[str, dict[str, float]] = {
    "tau-bench": {
        "trajectories": 200,
        "tasks": 50,
        "trials": 4,
        "mean reward": 0.42,
        "messages of assistant": 2454,
        "messages of user": 1490,
        "messages of tool": 1164,
        "messages of system": 200,
        "calls": 1164,
        "calls with arguments that are not JSON": 0,
        "messages with several calls": 0,
        "calls whose id stood before in the run": 73,
        "runs with such calls": 49,
        "runs without reward_info": 5,
    },
    "Who&When": {
        "logs": 126,
        "steps": 1099,
        "the agent that is blamed speaks": 123,
        "mistake at the very first step": 20,
    },
    "TRAIL": {"traces": 12, "annotations": 117, "annotations that are not JSON": 1, "errors": 580},
}


def test_one_command_prints_the_figures() -> None:
    command = [sys.executable, "benchmarks/agent_sets.py", "--data", str(AGENTS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, dict[str, float]] = {}
    for line in done.stdout.splitlines():
        if not line.startswith("  "):
            figures = found.setdefault(line, {})
        else:
            name, _, value = line.strip().rpartition(" ")
            figures[name.strip()] = float(value.replace(",", ""))
    for name, wanted in FIGURES.items():
        assert {key: found[name][key] for key in wanted} == wanted


def test_messages_that_spans_repeat_are_there_once() -> None:
    rows = list(read_traces(AGENTS / "trail" / "traces"))
    assert {row.trajectory.usage.calls for row in rows if row.trajectory.usage} == {4}
    assert all(len(row.trajectory.steps) < 20 for row in rows)


def test_repeated_ids_keep_their_own_results() -> None:
    """Each result stands in the file right behind its call."""
    for row in read_traces(AGENTS / "tau-bench-gpt-4o-airline.json.gz"):
        for step in row.trajectory.calls:
            assert step.call is not None
            assert step.call.result is not None
            failed = step.call.result.startswith("Error")
            assert (step.call.error is not None) == failed


def test_labels_come_with_the_rows(tmp_path: Path) -> None:
    import_file(AGENTS / "trail", tmp_path / "trail", ImportOptions(None))
    records = list(records_of(tmp_path / "trail"))
    assert {record.criterion for record in records} == {
        "reliability",
        "security",
        "instruction_adherence",
        "plan_opt",
        "overall",
    }
    errors = records[0].input["errors"]
    assert isinstance(errors, list)
    import_file(AGENTS / "who-and-when" / "1.json", tmp_path / "when", ImportOptions(None))
    found = {record.criterion: record for record in records_of(tmp_path / "when")}
    assert set(found) == {"blame", "blame_agent"}
    assert len(found["blame"].fields["steps"]) == 6
    fixtures = AGENTS / "fixtures"
    for name in ("tau-bench.json", "tau2-results.json"):
        import_file(fixtures / name, tmp_path / name, ImportOptions(None))
        assert {record.criterion for record in records_of(tmp_path / name)} == {"reward"}
