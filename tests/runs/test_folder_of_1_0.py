"""Run folders of adjudge 1.0 (``tests/samples/run_1_0``) open in this version, with the same
figures; those of a later one are refused in one line.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from support.commands import adjudge
from support.page import served

FROZEN = Path(__file__).parent.parent / "samples" / "run_1_0"
FIGURES = {
    ("dates", "dates"): (6, 0.5),
    ("tone", "tone"): (6, 4 / 6),
    ("rag", "rag"): (6, 0.5139),
    ("proof", "support"): (6, 5 / 6),
}
"""Judge and criterion → rows and their mean score, as 1.0 printed them."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept") / "runs"
    return shutil.copytree(FROZEN, folder)


def opened(runs: Path, *command: str) -> str:
    done = adjudge(*command, cwd=runs)
    assert done.returncode == 0, done.stderr
    return done.stdout


def exported(runs: Path, run: str) -> list[dict[str, Any]]:
    lines = opened(runs, "export", run, "--to", "jsonl", "-o", "-").splitlines()
    return [json.loads(line) for line in lines]


def test_judgments_and_votes_come_out_as_they_were(runs: Path) -> None:
    rows = exported(runs, "answers")
    for (judge, criterion), (count, mean) in FIGURES.items():
        scores = [
            one["score"] for one in rows if (one["judge"], one["criteria"]) == (judge, criterion)
        ]
        assert len(scores) == count
        assert sum(scores) / count == pytest.approx(mean, abs=1e-4)
    table = csv.DictReader(io.StringIO(opened(runs, "export", "answers", "--to", "csv", "-o", "-")))
    assert len(list(table)) == len(rows)
    (votes,) = (one["votes"] for one in rows if (one["judge"], one["id"]) == ("dates", "tower"))
    assert [vote["text"] for vote in votes] == ["PASS", "FAIL", "FAIL"]


def test_comparisons_and_agents_come_out_as_they_were(runs: Path) -> None:
    assert [one["selected_option"] for one in exported(runs, "pairs")] == [0, 1, "tie"]
    calls = [one for one in exported(runs, "agent") if one["criteria"] == "calls"]
    assert {one["id"]: one["option"] for one in calls}["cancel-2"] == "FAIL"


@pytest.mark.parametrize("run", ["answers", "pairs", "agent"])
def test_reports_say_what_they_said(runs: Path, run: str) -> None:
    report = opened(runs, "report", run, "--to", "md", "-o", "-")
    said = {"answers": "share of PASS 0.500", "pairs": "win rate 0.50", "agent": "calls: mean 0.50"}
    assert said[run] in report


def test_labels_correct_the_rates_as_they_did(runs: Path) -> None:
    found = json.loads(opened(runs, "calibrate", "answers", "--json"))["results"]
    corrected = {one["judge"]: one["corrected"] for one in found}
    assert corrected["dates"]["rate"] == pytest.approx(0.5)
    assert (corrected["dates"]["lower"], corrected["dates"]["upper"]) == pytest.approx(
        (0.1076, 0.8924), abs=1e-4
    )
    assert corrected["tone"]["rate"] == pytest.approx(2 / 3)
    assert len(json.loads(opened(runs, "label", "pairs", "--conflicts", "--json"))["results"]) == 0


def test_runs_are_compared_and_shown(runs: Path) -> None:
    assert "0 settings and 0 judgments differ, of 24" in opened(
        runs, "runs", "diff", "answers", "answers"
    )
    with served(runs) as page:
        assert "bridge" in page.get(page.run("answers")).text


@pytest.mark.parametrize("file", ["ledger.sqlite", "labels.sqlite"])
def test_a_folder_of_a_later_major_version_is_refused_in_one_line(
    tmp_path: Path, file: str
) -> None:
    shutil.copytree(FROZEN / "answers", tmp_path / "answers")
    with sqlite3.connect(tmp_path / "answers" / file) as connection:
        connection.execute("PRAGMA user_version = 99")
    done = adjudge("calibrate", "answers", cwd=tmp_path)
    assert done.returncode == 1
    assert "was written by a newer version of adjudge" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
