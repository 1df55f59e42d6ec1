"""Whose steps a judgment shows, where rows have no ids."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from adjudge import AgentEvaluator, Instance, Trajectory
from adjudge.features.agents.report import facts_in, steps_of
from adjudge.runs.folder import reading


def run_of(answer: str) -> Instance:
    said = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": answer}]
    run = Trajectory.of(said)
    return Instance(run.fields, None, {"trajectory": run})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two rows, two measures each; the judgment that keeps the second row's steps is lost."""
    rows = [run_of("One."), run_of("Two.")]
    AgentEvaluator(measures=["steps", "ended"]).evaluate(rows, run=tmp_path / "run")
    with sqlite3.connect(tmp_path / "run" / "ledger.sqlite") as ledger:
        assert ledger.execute("SELECT count(id) FROM judgments").fetchone() == (0,)
        ledger.execute("DELETE FROM judgments WHERE number = 2")
    return tmp_path / "run"


def test_a_row_shows_its_own_steps_or_none(folder: Path) -> None:
    with reading(folder) as connection:
        (judge,) = connection.execute("SELECT DISTINCT judge FROM judgments").fetchone()
        for index in (0, 1):
            kept = steps_of(connection, judge, index)
            assert kept is not None and kept.at(1).text == "One."
        assert steps_of(connection, judge, 3) is None
        assert facts_in(connection, judge).keys() == {1, 2}
