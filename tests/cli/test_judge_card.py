"""``adjudge judge-card``: what a reader of a number should know of its judge."""

from __future__ import annotations

from pathlib import Path

from adjudge.runs.folder import run_info
from support import commands
from support.trust import labelled, labels_of, population, run_of


def test_the_card_tells_the_question_the_identity_and_the_agreement(tmp_path: Path) -> None:
    rows = population(200)
    run = labelled(run_of(tmp_path / "run", rows), labels_of(rows[:60]))
    done = commands.adjudge("judge-card", run)
    assert (done.returncode, done.stderr) == (0, "")
    assert run_info(run).identities["AspectCritic"] in done.stdout
    assert "The response gives a date" in done.stdout
    assert "corrected by 60 labels" in done.stdout
    assert "| kappa | 0." in done.stdout
    assert "an answer twice as long gains" in done.stdout
    assert "- order: not measured: judge with --check-positional-bias" in done.stdout


def test_without_labels_it_says_that_nothing_is_known(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", population(20))
    page = tmp_path / "card.md"
    assert commands.adjudge("judge-card", run, "-o", page).returncode == 0
    assert "Not measured: nobody labelled rows of this run" in page.read_text(encoding="utf-8")
