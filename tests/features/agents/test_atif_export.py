"""A run of trajectories leaves as ATIF, and comes back the same."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from adjudge import Trajectory
from adjudge.core.domain.message import Usage
from adjudge.features.agents.atif_export import atif_of
from adjudge.features.agents.trajectory import Step, ToolCall, ToolDefinition
from support.commands import adjudge

SAMPLES = Path(__file__).parents[2] / "samples" / "agents"
EVERYTHING = Trajectory(
    goal="go",
    steps=(
        Step(1, "user", "said", "go"),
        Step(2, "boss", "thought", "hm", usage=Usage(1, 40, 12, 8), usd=0.25),
        Step(3, "boss", "said", "I look."),
        Step(4, "boss", "called", call=ToolCall("f", {"x": [1, {"y": None}]}, "found")),
        Step(5, "helper", "called", call=ToolCall("g", "not json", None, "boom"), depth=1),
        Step(6, "boss", "called", call=ToolCall("f", {}, "bad", "bad")),
        Step(7, "boss", "handed over", "helper"),
        Step(8, "boss", "retrieved", "a document"),
        Step(9, "system", "noted", "be brief"),
        Step(10, "boss", "said", "done"),
    ),
    answer="done",
    system="Be kind.",
    tools=(ToolDefinition("f", "finds", {"type": "object"}),),
)


def test_a_trajectory_comes_back_as_it_went() -> None:
    document = json.loads(json.dumps(atif_of(EVERYTHING, "one")))
    assert [step["step_id"] for step in document["steps"]] == list(range(1, 12))
    found = Trajectory.of(document)
    assert found.fields == EVERYTHING.fields
    assert [(step.actor, step.kind, step.depth, step.call) for step in found.steps] == [
        (step.actor, step.kind, step.depth, step.call) for step in EVERYTHING.steps
    ]
    assert found.usage == Usage(1, 40, 12, 8)
    assert replace(found, steps=(), usage=None, usd=None) == replace(EVERYTHING, steps=())


@pytest.mark.parametrize("name", ["crewai-output.json", "anthropic-messages.json"])
def test_a_run_is_exported_to_a_folder(tmp_path: Path, name: str) -> None:
    path = tmp_path / "eval.yaml"
    judges = "models: [scripted]\njudges: [{kind: direct, criteria: ['Is it good?']}]\n"
    path.write_text(f"data: {{path: {SAMPLES / name}}}\n{judges}", encoding="utf-8")
    assert adjudge("run", path, "--run", "one", cwd=tmp_path).returncode == 0
    done = adjudge("export", "one", "--to", "atif", "-o", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (file,) = (tmp_path / "out").iterdir()
    document = json.loads(file.read_text(encoding="utf-8"))
    assert document["extra"]["adjudge"]["judgments"][0]["score"] is not None
    first = Trajectory.of(json.loads((SAMPLES / name).read_text(encoding="utf-8")))
    assert Trajectory.of(document).fields["steps"] == first.fields["steps"]


def test_a_run_without_steps_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("response\nyes\n", encoding="utf-8")
    judged = ["judge", "--file", "rows.csv", "--criterion", "Good?", "-m", "scripted"]
    assert adjudge(*judged, "--run", "one", cwd=tmp_path).returncode == 0
    done = adjudge("export", "one", "--to", "atif", "-o", "out", cwd=tmp_path)
    assert (done.returncode, "no trajectories" in done.stderr) == (1, True), done.stderr
