"""Every vote of a run is checked when its report is made, also one that no judgment rests on."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from adjudge import AspectCritic, Instance
from adjudge.core.ledger.file import FILE
from adjudge.core.ledger.rows import COLUMNS, checksum
from adjudge.errors import RunError
from adjudge.runs.results.run_report import report_of_run
from support.labels import model


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of two rows, and an earlier vote on the first of them."""
    critic = AspectCritic("Says yes.", model(lambda _: "PASS"), name="yes")
    critic.evaluate([Instance({"response": f"yes {n}"}) for n in range(2)], run=tmp_path)
    names = ", ".join(COLUMNS["votes"])
    with sqlite3.connect(tmp_path / FILE) as ledger:
        row = [*ledger.execute(f"SELECT {names} FROM votes WHERE number = 1").fetchone()]
        (newest,) = ledger.execute("SELECT max(number) FROM votes").fetchone()
        ledger.execute("UPDATE votes SET number = ? WHERE number = 1", (newest + 1,))
        moved = [newest + 1, *row[1:]]
        ledger.execute(
            "UPDATE votes SET checksum = ? WHERE number = ?", (checksum(*moved), newest + 1)
        )
        marks = ",".join("?" * (len(row) + 1))
        ledger.execute(f"INSERT INTO votes VALUES ({marks})", (*row, checksum(*row)))
    return tmp_path


def damage(run: Path, number: str) -> None:
    with sqlite3.connect(run / FILE) as ledger:
        ledger.execute(f"UPDATE votes SET text = 'FAIL' WHERE number = {number}")


@pytest.mark.parametrize("which", ["1", "2", "(SELECT max(number) FROM votes)"])
def test_a_damaged_vote_is_refused_wherever_it_is(run: Path, which: str) -> None:
    assert report_of_run(run).total == 2
    damage(run, which)
    with pytest.raises(RunError, match="checksum mismatch in table votes"):
        report_of_run(run)


def test_numbers_of_votes_may_be_anything(run: Path) -> None:
    """A ledger may come from anybody."""
    for number in (-(2**63), 2**63 - 1):
        with sqlite3.connect(run / FILE) as ledger:
            names = ", ".join(COLUMNS["votes"])
            row = [*ledger.execute(f"SELECT {names} FROM votes WHERE number = 1").fetchone()]
            row[0], row[1] = number, b"another ballot !"
            marks = ",".join("?" * (len(row) + 1))
            ledger.execute(f"INSERT INTO votes VALUES ({marks})", (*row, checksum(*row)))
        assert report_of_run(run).total == 2
        damage(run, str(number))
        with pytest.raises(RunError, match="checksum mismatch in table votes"):
            report_of_run(run)
        with sqlite3.connect(run / FILE) as ledger:
            ledger.execute(f"DELETE FROM votes WHERE number = {number}")
