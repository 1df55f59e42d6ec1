"""Calibration reads only the verdicts of rows without labels, and says the same as by whole
records.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adjudge.core.ledger import records as ledger_records
from adjudge.core.ledger.file import FILE, connect
from adjudge.core.ledger.rows import insert, with_checksum
from adjudge.trust.calibration import CalibrationSettings, calibrate_run
from adjudge.trust.rows import Rows
from support.trust import labelled, labels_of, population, run_of

ROWS = population(60)


def told(folder: Path, settings: CalibrationSettings | None = None) -> list[object]:
    return [found.to_dict() for found in calibrate_run(folder, settings=settings or PLAIN)]


PLAIN = CalibrationSettings(looks=3)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    rows = [*ROWS, *ROWS[:8]]  # some texts have copies
    folder = run_of(tmp_path / "run", rows, failed=lambda text: "row 3" in text)
    labelled(folder, labels_of(ROWS[:24]))
    return folder


def change(folder: Path, number: int, **values: object) -> None:
    """Rewrite the result of a judgment, as another version or a hostile hand could have."""
    with connect(folder / FILE) as ledger:
        found = ledger.execute("SELECT * FROM judgments WHERE number = ?", (number,)).fetchone()
        *columns, text, _ = found
        result = {**json.loads(text), **values}
        result = {name: value for name, value in result.items() if value is not ...}
        ledger.execute("DELETE FROM judgments WHERE number = ?", (number,))
        ledger.execute(insert("judgments"), with_checksum(*columns, json.dumps(result)))


def test_verdicts_alone_give_what_records_give(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change(run, 40, kind=...)  # as an early version stored it
    change(run, 41, kind=..., input={"kind": "direct", "traffic": {"weight": 2.0}})
    change(run, 42, input={"kind": "aspect", "system": "b", "answered_row": "r1"})
    change(run, 43, input={"traffic": {"weight": 3.0, "uniform": True}})
    read: list[int] = []
    whole = ledger_records._record

    def counted(*given: object) -> object:
        read.append(1)
        return whole(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(ledger_records, "_record", counted)
    quick = told(run)
    few = len(read)
    monkeypatch.setattr(Rows, "reads_verdicts", False)
    assert quick == told(run)
    assert few <= 40 < 68 <= len(read) - few  # the rows with labels, their copies and the four


@pytest.mark.parametrize("settings", [CalibrationSettings(by="system"), PLAIN])
def test_slices_need_whole_records(
    run: Path, monkeypatch: pytest.MonkeyPatch, settings: CalibrationSettings
) -> None:
    for number in range(68):
        change(run, number, input={"system": "ab"[number % 2]})
    quick = told(run, settings)
    monkeypatch.setattr(Rows, "reads_verdicts", False)
    assert quick == told(run, settings)
