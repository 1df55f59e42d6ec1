"""Commands that read whole runs: their work and their memory, as rows become more."""

from __future__ import annotations

import io
import sqlite3
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from types import FrameType

import pytest

from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.record import DirectDetail, SecondOpinionRecord
from adjudge.core.domain.repetition import RELATED
from adjudge.core.ledger.alike import AlikeOutcome, alike_outcomes
from adjudge.core.ledger.codec import judgment_row, with_opinion
from adjudge.core.ledger.file import FILE, LAYOUT, connect, make_tables
from adjudge.core.ledger.records import alike_or_records, records, votes_of
from adjudge.core.ledger.rows import COLUMNS, insert, select, verify_row, with_checksum
from adjudge.errors import RunError
from adjudge.runs.diff import Change, run_diff
from adjudge.runs.exporters.table import write_csv
from adjudge.runs.folder import reading, records_of, run_facts, run_info
from adjudge.runs.results.report import ReportTally
from adjudge.runs.results.run_report import report_of_run
from adjudge.runs.results.setup import Setup
from support.commands import adjudge
from support.old_ledger import as_version_7, row_of_version_7

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks import large_runs

SIZES = (300, 1_500)
"""A hundred thousand rows under ``make bench-large``."""
COMMANDS = ("runs show", "runs diff", "export .csv", "run, all stored")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    made = [tmp_path_factory.mktemp("runs") / str(rows) for rows in SIZES]
    for folder, rows in zip(made, SIZES, strict=True):
        large_runs.make_runs(folder, rows)
    return made


@pytest.mark.parametrize("name", COMMANDS)
def test_work_grows_no_faster_than_the_rows_and_memory_does_not(
    folders: list[Path], name: str
) -> None:
    few, many = (large_runs.measure(folder, large_runs.COMMANDS[name]) for folder in folders)
    assert many.seconds <= few.seconds * SIZES[1] / SIZES[0]
    assert many.memory < few.memory + 20


def test_rows_that_are_alike_count_as_their_records_do(folders: list[Path]) -> None:
    """Most rows of a run are counted without records; every number and every listed row is the
    same.
    """
    folder = folders[1] / "runs" / "a"
    tally = ReportTally(Setup.of_run(run_info(folder)))
    for record in records_of(folder, votes=True):
        tally.add(record)
    one_by_one, quick = tally.report(), report_of_run(folder)
    assert quick.sections == one_by_one.sections
    assert quick.entries == one_by_one.entries
    assert quick.notes == one_by_one.notes
    assert (quick.total, quick.reused) == (one_by_one.total, one_by_one.reused)


def test_second_opinions_that_are_alike_are_counted(folders: list[Path], tmp_path: Path) -> None:
    """A model that gives no reasons says the same of many rows."""
    (tmp_path / FILE).write_bytes((folders[0] / "runs" / "a" / FILE).read_bytes())
    opinion = SecondOpinionRecord(
        model="other",
        because="not the best verdict",
        verdict="PASS",
        explanation=None,
        reason=None,
        probability=None,
    )
    with closing(sqlite3.connect(tmp_path / FILE)) as ledger, ledger:
        rows = ledger.execute(f"{select('judgments')} WHERE verdict = 'FAIL'").fetchall()
        ledger.executemany(insert("judgments"), (with_opinion(row[:-1], opinion) for row in rows))
    assert any(
        f"0 agree, {len(rows)} differ" in str(note) for note in report_of_run(tmp_path).notes
    )


def test_rows_that_better_ones_show_to_be_bad_are_among_the_worst(folders: list[Path]) -> None:
    """The best verdict so far may be the worst one once better ones come."""
    (first,) = islice(records_of(folders[0] / "runs" / "a", votes=True), 1)
    tally = ReportTally(Setup(), shown=2)
    scores = [1.0, *[None] * 10, 5.0, 1.0]
    for index, score in enumerate(scores):
        option = f"{score}"  # the option of failed rows is ignored
        detail = DirectDetail(option=option, mean_score=score, feedback=None, positional_bias=None)
        failed = replace(first, index=index, status="failed", score=None, detail=detail)
        tally.add(failed if score is None else replace(failed, status="scored", score=score))
    assert [record.score for record in tally.report().entries] == [1.0, 1.0]


@pytest.mark.parametrize(("column", "value"), [("instance", b"{}"), ("result", '{"id": 1}')])
def test_a_row_that_adjudge_did_not_write_is_named(
    folders: list[Path], tmp_path: Path, column: str, value: object
) -> None:
    (tmp_path / FILE).write_bytes((folders[0] / "runs" / "a" / FILE).read_bytes())
    with closing(sqlite3.connect(tmp_path / FILE)) as ledger, ledger:
        (row,) = ledger.execute(f"{select('judgments')} WHERE number = 200")
        values = dict(zip(COLUMNS["judgments"], row[:-1], strict=True)) | {column: value}
        ledger.execute(insert("judgments"), with_checksum(*values.values()))
    with pytest.raises(RunError, match="damaged"):
        report_of_run(tmp_path)


def test_the_setup_of_a_run_is_read_without_its_rows(folders: list[Path], tmp_path: Path) -> None:
    """A comparison would go through all votes otherwise; a damaged row is found by its reader."""
    source = folders[0] / "runs" / "a"
    damaged = bytearray((source / FILE).read_bytes())
    place = damaged.rindex(b"What is the idea of 7?")
    damaged[place : place + 4] = b"That"
    (tmp_path / FILE).write_bytes(damaged)
    assert run_facts(tmp_path).has_ended
    assert run_facts(source).configuration == run_info(source).configuration
    with pytest.raises(RunError, match="checksum"):
        list(records_of(tmp_path))


def test_votes_of_many_judgments_are_looked_up_together(folders: list[Path]) -> None:
    statements: list[str] = []
    with reading(folders[0] / "runs" / "a") as ledger:
        one_by_one = [votes_of(ledger, "clear", index) for index in range(SIZES[0])]
        ledger.set_trace_callback(statements.append)
        together = [record.votes for record in records(ledger, votes=True)]
    assert together == one_by_one
    assert all(votes and len(votes) == 1 for votes in together)
    assert len(statements) < SIZES[0] / 10


@pytest.mark.parametrize("order", ["ballot", "-number"])
def test_votes_in_another_order_than_the_judgments_are_found(
    folders: list[Path], tmp_path: Path, order: str
) -> None:
    """Votes are read ahead in their order; the last one on a ballot counts, wherever it is."""
    source = folders[1] / "runs" / "a"
    expected = [record.votes for record in records_of(source, votes=True)]
    with connect(source / FILE, writable=False) as ledger:
        rows = ledger.execute(f"{select('votes')} ORDER BY {order}").fetchall()
    older = rows[:3]
    with (
        closing(sqlite3.connect(source / FILE)) as whole,
        closing(sqlite3.connect(tmp_path / FILE)) as copy,
    ):
        whole.backup(copy)
        copy.execute("DELETE FROM votes")
        for number, row in enumerate(older if order == "ballot" else [], 1):
            copy.execute(insert("votes"), with_checksum(number, row[1], "old", *row[3:-1]))
        for number, row in enumerate(rows, 10):
            copy.execute(insert("votes"), with_checksum(number, *row[1:-1]))
        copy.commit()
    assert [record.votes for record in records_of(tmp_path, votes=True)] == expected


def test_a_damaged_vote_among_those_that_are_looked_up_is_found(
    folders: list[Path], tmp_path: Path
) -> None:
    source = folders[0] / "runs" / "a" / FILE
    with (
        closing(sqlite3.connect(source)) as whole,
        closing(sqlite3.connect(tmp_path / FILE)) as copy,
    ):
        whole.backup(copy)
        copy.execute("UPDATE votes SET option = 'FAIL' WHERE number = 250 AND option = 'PASS'")
        assert copy.total_changes == 1
        copy.commit()
    with pytest.raises(RunError, match="checksum mismatch in table votes"):
        list(records_of(tmp_path, votes=True))


def test_a_report_checks_each_judgment_once(folders: list[Path]) -> None:
    checks: Counter[str] = Counter()

    def count(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code.co_qualname == "verifier.<locals>.verify":
            checks[frame.f_locals["table"]] += 1

    sys.setprofile(count)
    try:
        report = report_of_run(folders[0] / "runs" / "a")
    finally:
        sys.setprofile(None)
    assert report.total == checks["judgments"] == SIZES[0]


@pytest.mark.parametrize("result", ["{", '{"id": "q7"}', "[]"])
def test_a_report_names_the_damaged_judgment_and_prints_nothing_of_the_run(
    folders: list[Path], tmp_path: Path, result: str
) -> None:
    source = folders[0] / "runs" / "a" / FILE
    with (
        closing(sqlite3.connect(source)) as whole,
        closing(sqlite3.connect(tmp_path / FILE)) as copy,
    ):
        whole.backup(copy)
        copy.execute("UPDATE judgments SET result = ? WHERE number = 7", (result,))
        copy.commit()
    shown = adjudge("runs", "show", tmp_path)
    assert shown.returncode != 0
    assert not shown.stdout
    assert "checksum mismatch in table judgments (judge 'clear', number 7)" in shown.stderr


@pytest.mark.parametrize("shift", [0, 1])
def test_a_comparison_makes_no_records_and_gives_what_records_give(
    folders: list[Path], monkeypatch: pytest.MonkeyPatch, shift: int
) -> None:
    """Rows of unique ids are compared by their outcome. Records took most of the time."""
    one, two = (folders[0] / "runs" / name for name in ("a", "b" if shift else "a"))

    def everything() -> list[object]:
        with run_diff(one, two) as diff:
            (line,) = diff.lines()
            return [
                [*diff.changes()],
                [*diff.pairs()],
                [*diff.outcomes(line)],
                diff.pairing(line),
                [[*diff.only_in(side)] for side in (0, 1)],
            ]

    with monkeypatch.context() as patch:
        patch.setattr("adjudge.core.ledger.records.judgment_of", None)
        from_outcomes = everything()
    monkeypatch.setattr("adjudge.runs.judged_table.alike_outcomes_of", records_of)
    assert from_outcomes == everything()


def test_runs_of_version_7_give_the_same_and_gain_rows_of_today(
    folders: list[Path], tmp_path: Path
) -> None:
    """Its rows are alike, too: no record is made of them."""
    new = [folders[1] / "runs" / name for name in "ab"]
    old = [as_version_7(run, tmp_path / "runs" / run.name) for run in new]
    assert [*records_of(old[0], votes=True)] == [*records_of(new[0], votes=True)]
    shown = [str(report_of_run(runs[0]).to_dict()) for runs in (old, new)]
    assert shown[0] == shown[1].replace(str(new[0]), str(old[0]))
    found = []
    for one, two in (old, new):
        with run_diff(one, two) as diff:
            found.append([[*diff.changes()], [*diff.pairs()], diff.changed])
    assert found[0] == found[1]
    with reading(old[0]) as ledger:
        rows = [*alike_or_records(ledger)]
    assert all(isinstance(row, AlikeOutcome) for row in rows)
    with connect(old[0] / FILE) as ledger:
        make_tables(ledger, old[0] / FILE)
        assert ledger.execute("PRAGMA user_version").fetchone() == (LAYOUT,)


@pytest.mark.parametrize("column", RELATED)
def test_rows_that_belong_together_are_never_alike(folders: list[Path], column: str) -> None:
    (first,) = islice(records_of(folders[0] / "runs" / "a"), 1)
    for name, is_alike in ((column, False), ("team", True)):
        row = judgment_row(replace(first, input={name: "1"}), b"")
        for stored in (row, row_of_version_7(row)):
            (found,) = alike_outcomes([verify_row("judgments", stored)])
            assert isinstance(found, AlikeOutcome) is is_alike


def test_equal_outcomes_are_no_change_if_they_were_numbered_twice(
    folders: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outcomes are forgotten if there are very many."""
    one, two = (folders[0] / "runs" / name for name in "ab")

    def changes() -> tuple[int, list[Change]]:
        with run_diff(one, two) as diff:
            return diff.changed, [*diff.changes()]

    remembered = changes()
    monkeypatch.setattr("adjudge.runs.judged_table._MOST_OUTCOMES", 1)
    assert changes() == remembered
    assert 0 < remembered[0] < SIZES[0]


def test_a_damaged_row_is_named_by_a_comparison(folders: list[Path], tmp_path: Path) -> None:
    source = folders[0] / "runs" / "a"
    with (
        closing(sqlite3.connect(source / FILE)) as whole,
        closing(sqlite3.connect(tmp_path / FILE)) as copy,
    ):
        whole.backup(copy)
        copy.execute("UPDATE judgments SET id = 'other' WHERE number = 7")
        copy.commit()
    with (
        pytest.raises(RunError, match=r"table judgments \(judge 'clear', number 7"),
        run_diff(source, tmp_path),
    ):
        pass


def test_a_csv_cell_of_any_length_may_stand_before_a_column_that_comes_later() -> None:
    text, file = "long " * 100_000, io.StringIO(newline="")
    assert write_csv(file, [{"a": text}, {"a": "x", "b": "y"}]) == 2
    assert file.getvalue() == f"a,b\r\n{text},\r\nx,y\r\n"


def test_a_csv_file_is_written_from_rows_that_are_read_once() -> None:
    rows: Iterator[JsonObject] = iter([{"a": 1}, {"a": "x\ny", "b": '"'}, {"c": 2.5, "a": None}])
    file = io.StringIO(newline="")
    assert write_csv(file, rows) == 3
    assert file.getvalue() == 'a,b,c\r\n1,,\r\n"x\ny","""",\r\n,,2.5\r\n'
