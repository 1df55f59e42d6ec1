"""A run that is held to another one has the same verdict wherever its reader is."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from adjudge.runs.folder import run_facts
from adjudge.runs.report_facts import KEPT
from adjudge.runs.results.run_report import report_of_run
from adjudge.runs.results.setup import Setup
from support.commands import adjudge

CHECK = "data: rows.csv\nchecks: [{contains: good, name: good}]\n"


def write_rows(folder: Path, good: int) -> None:
    """60 rows, of which so many pass."""
    folder.mkdir(exist_ok=True)
    rows = [f"r{number},{'good' if number < good else 'bad'} {number}" for number in range(60)]
    (folder / "rows.csv").write_text("\n".join(("id,response", *rows)), encoding="utf-8")
    (folder / "main.yaml").write_text(CHECK, encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A run that is as good as its baseline, and another folder with a much better baseline."""
    for name, good in (("project", 30), ("elsewhere", 60)):
        write_rows(tmp_path / name, good)
        adjudge("run", "main.yaml", "--run", "runs/main", cwd=tmp_path / name)
    project = tmp_path / "project"
    (project / "eval.yaml").write_text(
        CHECK + "gates: {not_worse_than: runs/main}\n", encoding="utf-8"
    )
    done = adjudge("run", "project/eval.yaml", "--run", "project/runs/new", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Gate passed: nothing changed" in done.stderr
    return project


def shown(run: Path, folder: Path) -> list[str]:
    """A run's report, as people and as machines read it."""
    told = adjudge("report", run, "--to", "md", "-o", "-", cwd=folder)
    assert told.returncode == 0, told.stderr
    cases = adjudge("export", run, "--to", "junit", "-o", "-", cwd=folder)
    assert cases.returncode == 0, cases.stderr
    found = adjudge("runs", "show", run, "--json", cwd=folder)
    gates = json.loads(found.stdout)["gates"]
    return [told.stdout, cases.stdout, *(gate["message"] for gate in gates)]


def test_the_verdict_is_the_same_from_another_folder(project: Path, tmp_path: Path) -> None:
    for folder in (project, tmp_path, tmp_path / "elsewhere"):
        page, cases, message = shown(project / "runs/new", folder)
        assert "Gate passed: nothing changed" in page
        assert "Gate failed" not in cases
        assert message.startswith("Gate passed")


def test_runs_kept_before_find_their_baseline_by_their_eval_file(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path / "elsewhere")
    info = run_facts(project / "runs/new")
    report = dict(info.facts[KEPT])  # type: ignore[arg-type]
    assert report.pop("against_place") == str(project / "runs/main")
    report["against"] = "runs/main"
    before = Setup.of_run(replace(info, facts={**info.facts, KEPT: report}))
    assert before.against_folder == project / "runs/main"


def test_a_run_whose_baseline_is_gone_is_shown_and_undecided(project: Path, tmp_path: Path) -> None:
    shutil.rmtree(project / "runs/main")
    page, cases, message = shown(project / "runs/new", tmp_path / "elsewhere")
    for text in (page, cases, message):
        assert "no longer exists, so this run cannot be compared with it." in text
    (gate,) = report_of_run(project / "runs/new").gates
    assert gate.verdict == "inconclusive"
    assert "| good |" in page


def test_a_baseline_that_is_not_there_is_refused_before_anything_is_judged(project: Path) -> None:
    shutil.rmtree(project / "runs/main")
    done = adjudge("run", "eval.yaml", "--run", "runs/later", cwd=project)
    assert done.returncode == 1
    assert "does not exist: runs/main" in done.stderr
    assert not (project / "runs/later").exists()
