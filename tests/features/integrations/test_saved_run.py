"""Eval files and run folders from Python, by the names of the package root."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

import adjudge

ROWS = [{"id": str(number), "response": f"answer {number}"} for number in range(4)]


def eval_file(folder: Path, options: str = "Yes") -> Path:
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    (folder / "eval.yaml").write_text(
        "data: rows.jsonl\n"
        "models: scripted\n"
        "judges:\n"
        "  - {kind: direct, name: polite, criteria: 'Is it polite?'}\n"
    )
    return folder / "eval.yaml"


def test_a_run_from_python_is_reported_kept_and_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = eval_file(tmp_path)
    report = adjudge.run(path, folder=tmp_path / "runs" / "one")
    assert [one.summary.scored for one in report.sections] == [4]
    run = adjudge.load_run(tmp_path / "runs" / "one")
    assert [record.id for record in run.records()] == ["0", "1", "2", "3"]
    assert run.report().sections[0].summary == report.sections[0].summary
    assert run.info.state == "complete"
    again = asyncio.run(adjudge.arun(path, folder=tmp_path / "runs" / "two", limit=2))
    assert again.sections[0].summary.scored == 2
    (compared,) = run.compare(tmp_path / "runs" / "two")
    assert compared.difference.estimate.value == 0
    label = adjudge.Label(
        row=next(run.records()).identity, criteria="Is it polite?", annotator="ann", option="Yes"
    )
    assert run.calibrate([label])[0].criteria == "Is it polite?"
    assert run.compare(adjudge.load_run(run.folder))[0].difference.estimate.value == 0


def test_a_mapping_is_run_like_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    eval_file(tmp_path)
    judges = [{"kind": "direct", "criteria": "Is it polite?"}]
    report = adjudge.run({"data": "rows.jsonl", "models": "scripted", "judges": judges})
    assert report.sections[0].summary.scored == 4
    with pytest.raises(adjudge.SetupError, match="judges"):
        adjudge.run({"data": "rows.jsonl", "judges": "polite"})


def test_a_budget_ends_a_run_and_keeps_its_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path, folder = eval_file(tmp_path), tmp_path / "runs" / "one"
    with pytest.raises(adjudge.BudgetSpent):
        adjudge.run(path, folder=folder, budget=adjudge.Budget(max_calls=2))
    assert adjudge.run(path, folder=folder).sections[0].summary.scored == 4


def test_what_is_not_a_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(adjudge.RunError, match="is not a run folder"):
        adjudge.load_run(tmp_path)
