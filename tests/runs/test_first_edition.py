"""Run folders that the first edition made, each stopped by its budget: they are shown, exported and
resumed.
"""

from __future__ import annotations

import csv
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from adjudge.reports.export import export
from adjudge.runs.folder import judgments, run_info
from adjudge.runs.label_scales import label_scales
from adjudge.runs.labelling import Annotator, labelling

SAMPLES = Path(__file__).parents[1] / "samples" / "first_edition"
COMMANDS = {
    "check": (
        "check --file rows.csv --criterion 'It names a year.' -m scripted/PASS,FAIL,PASS "
        "--strictness 3 -j 1"
    ),
    "rag": "rag --csv rag.csv -m scripted/2 --output reports",
    "eval": "run eval.yaml",
}
HELD, WHOLE = {"check": 7, "rag": 20, "eval": 3}, {"check": 12, "rag": 30, "eval": 8}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SAMPLES, tmp_path / "made"))


def resumed(folder: Path, run: str) -> subprocess.CompletedProcess[str]:
    command = f"exec '{sys.executable}' -m adjudge {COMMANDS[run]} --run {run}"
    return subprocess.run(
        ["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=False
    )


def votes(run: Path) -> list[tuple[bytes, str]]:
    with sqlite3.connect(run / "ledger.sqlite") as ledger:
        return ledger.execute("SELECT ballot, model FROM votes ORDER BY number").fetchall()


@pytest.mark.parametrize("run", COMMANDS)
def test_it_is_resumed_and_none_of_its_answers_is_asked_again(folder: Path, run: str) -> None:
    before = votes(folder / run)
    assert len(before) == HELD[run]
    done = resumed(folder, run)
    assert done.returncode == 0, done.stderr
    assert "its answers are kept" in done.stderr
    after = votes(folder / run)
    assert after[: len(before)] == before
    assert len(after) == len({ballot for ballot, _ in after}) == WHOLE[run]
    assert "its answers are kept" in resumed(folder, run).stderr
    assert votes(folder / run) == after


@pytest.mark.parametrize("run", COMMANDS)
def test_it_is_shown_and_exported_as_it_is(folder: Path, run: str) -> None:
    content = (folder / run / "ledger.sqlite").read_bytes()
    info = run_info(folder / run)
    assert info.votes == HELD[run]
    assert "budget is spent" in info.state
    for ending in ("csv", "jsonl", "md", "html"):
        export(folder / run, folder / f"out.{ending}")
    with (folder / "out.csv").open(encoding="utf-8-sig", newline="") as file:
        assert len(list(csv.DictReader(file))) == len(list(judgments(folder / run)))
    assert (folder / run / "ledger.sqlite").read_bytes() == content


def test_what_else_changed_is_still_refused(folder: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "adjudge",
        "check",
        "--file",
        "rows.csv",
        "--criterion",
        "It names a colour.",
        "-m",
        "scripted",
    ]
    done = subprocess.run(
        [*command, "--run", "check"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "was made with another configuration" in done.stderr
    assert "templates" not in done.stderr


@pytest.mark.parametrize("run", COMMANDS)
def test_their_rows_can_be_labelled(folder: Path, run: str) -> None:
    scales = label_scales(folder / run)
    assert all(one.scale.choices() for one in scales)
    judged = [one.name for one in scales if one.judges[0] in run_info(folder / run).judges]
    assert judged
    assert all(labelling(folder / run, Annotator("ann"), name).next() for name in judged)


def test_a_scale_that_is_worded_anew_keeps_the_answers(folder: Path) -> None:
    """The first edition said of a balanced answer that something may be left out; its answers count
    all the same.
    """
    assert any(
        "something needed is left out" in text
        for text in map(str, run_info(folder / "rag").configuration.values())
    )
    command = f"exec '{sys.executable}' -m adjudge {COMMANDS['rag']} --run rag --dry-run"
    dry = subprocess.run(
        ["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=True
    )
    assert f"answered already: {HELD['rag']} votes" in dry.stdout
    assert f"calls: {WHOLE['rag'] - HELD['rag']} " in dry.stdout
