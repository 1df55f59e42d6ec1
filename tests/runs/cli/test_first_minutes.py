"""What a new user meets in the first minutes: starters of some size, and commands that work before
there is a run.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from adjudge.errors import SetupError
from adjudge.features.starters.command import starters
from adjudge.runs.folder import NoSuchRun
from adjudge.runs.service.run_index import RunIndex
from support.commands import adjudge


@pytest.mark.parametrize("language", ["en", "ru"])
@pytest.mark.parametrize("kind", ["chat", "rag", "pairwise", "pytest"])
def test_starters_have_twelve_rows_and_a_limit_that_any_server_can_hold(
    kind: str, language: str
) -> None:
    files = {str(path): content.decode() for path, content in starters(kind, language)}
    rows = list(csv.DictReader(files["data/example.csv"].splitlines()))
    assert len({row["id"] for row in rows}) == len(rows) == 12
    assert not any("max_usd" in content for content in files.values())


def test_own_criteria_are_shown_like_ready_made_ones(tmp_path: Path) -> None:
    adjudge("init", cwd=tmp_path)
    shown = adjudge("criteria", "show", "criteria/tone.yaml", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("tone  ")
    assert "Is the response polite to the person it addresses?" in " ".join(shown.stdout.split())
    written = adjudge("criteria", "show", "criteria/tone.yaml", "--yaml", cwd=tmp_path).stdout
    assert written == (tmp_path / "criteria/tone.yaml").read_text(encoding="utf-8")
    found = json.loads(
        adjudge("criteria", "show", "criteria/tone.yaml", "--json", cwd=tmp_path).stdout
    )
    assert [one["name"] for one in found["results"]] == ["tone"]
    missing = adjudge("criteria", "show", "nowhere.yaml", cwd=tmp_path)
    assert missing.returncode == 1
    assert "nowhere.yaml" in missing.stderr


def test_runs_are_served_before_there_are_any(tmp_path: Path) -> None:
    index = RunIndex(tmp_path / "runs")
    assert index.runs() == []
    with pytest.raises(NoSuchRun):
        index.run("one")
    adjudge("check", "x", "--criterion", "c", "-m", "scripted", "--run", "runs/one", cwd=tmp_path)
    assert [one["name"] for one in index.runs()] == ["one"]
    (tmp_path / "file").write_text("")
    for wrong in ("file", "nowhere/runs"):
        with pytest.raises(SetupError, match="is not a folder"):
            RunIndex(tmp_path / wrong)
