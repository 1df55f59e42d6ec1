"""``--baseline RUN``: what changed since an earlier run, in every output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.commands import adjudge

ROWS = ("-f", "rows.csv", "--criterion", "Is it good?")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text(
        "answer\n" + "".join(f"text {number}\n" for number in range(10))
    )
    (tmp_path / "pairs.csv").write_text(
        "question,old,new\n" + "".join(f"q{number},a,b\n" for number in range(10))
    )
    (tmp_path / "rag.csv").write_text("question,answer,contexts\nWhy?,So.,Because.\n")
    assert (
        adjudge("judge", *ROWS, "-m", "scripted/Yes", "--run", "before", cwd=tmp_path).returncode
        == 0
    )
    return tmp_path


def test_the_change_is_in_the_terminal_in_json_and_in_the_pages(folder: Path) -> None:
    asked = (
        "judge",
        *ROWS,
        "-m",
        "scripted/Yes,No",
        "-j",
        "1",
        "--no-cache",
        "--baseline",
        "before",
        "--run",
        "now",
    )
    done = adjudge(*asked, cwd=folder)
    assert "Is it good?: 1.000 → 0.500 (compared with before)" in done.stdout
    (one,) = json.loads(adjudge(*asked, "--json", cwd=folder).stdout)["criteria"]
    assert one["baseline"] == [{"name": "Is it good?", "before": 1.0, "now": 0.5, "change": -0.5}]
    for ending in ("md", "html"):
        adjudge("export", "now", "--to", ending, cwd=folder)
        page = (folder / f"now/results.{ending}").read_text(encoding="utf-8")
        assert "Compared with before" in page
        assert "-0.500" in page.replace("−", "-")
        assert "mean 0.50 (before 1.00, before)" in page


def test_systems_and_dimensions_are_compared_by_their_names(folder: Path) -> None:
    pairs = (
        "compare",
        "-f",
        "pairs.csv",
        "--column",
        "old",
        "--column",
        "new",
        "--criterion",
        "Which?",
        "--order",
        "one",
    )
    adjudge(*pairs, "-m", "scripted/A", "--run", "pairs", cwd=folder)
    done = adjudge(*pairs, "-m", "scripted/B", "--baseline", "pairs", cwd=folder)
    assert "new: 0.000 → 1.000 (compared with pairs)" in done.stdout
    adjudge("rag", "-f", "rag.csv", "-m", "scripted/2", "--run", "rag", cwd=folder)
    done = adjudge("rag", "-f", "rag.csv", "-m", "scripted/1", "--baseline", "rag", cwd=folder)
    assert "Groundedness: 1.000 → 0.500 (compared with rag)" in done.stdout


def test_dimensions_of_a_run_in_another_language_are_compared_too(folder: Path) -> None:
    adjudge("rag", "-f", "rag.csv", "-m", "scripted/2", "--run", "rag", cwd=folder)
    asked = (
        "rag",
        "-f",
        "rag.csv",
        "-m",
        "scripted/1",
        "--baseline",
        "rag",
        "--language",
        "ru",
        "--json",
    )
    (one,) = json.loads(adjudge(*asked, cwd=folder).stdout)["criteria"]
    assert "Безвредность" in {each["name"] for each in one["baseline"]}


def test_a_baseline_that_is_not_there_is_said_before_anything_is_asked(folder: Path) -> None:
    done = adjudge(
        "judge", *ROWS, "-m", "scripted/Yes", "--baseline", "nowhere", "--run", "new", cwd=folder
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "nowhere is not a run folder" in done.stderr
    assert not (folder / "new").exists()


def test_what_the_baseline_does_not_have_is_not_compared(folder: Path) -> None:
    done = adjudge(
        "judge",
        "x",
        "--criterion",
        "Is it long?",
        "-m",
        "scripted/Yes",
        "--baseline",
        "before",
        cwd=folder,
    )
    assert done.returncode == 0
    assert "compared with" not in done.stdout


@pytest.mark.parametrize(
    "words",
    [
        *(("report", "before", "--to", to, "--baseline", "./before") for to in ("md", "junit")),
        ("report", "before", "--to", "github", "--baseline", "before"),
        ("judge", *ROWS, "-m", "scripted/Yes", "--run", "before", "--baseline", "before"),
    ],
)
def test_a_run_is_not_compared_with_itself(folder: Path, words: tuple[str, ...]) -> None:
    done = adjudge(*words, cwd=folder)
    assert done.returncode == 1
    assert "before cannot be compared with itself: compare with an earlier run" in done.stderr
