"""``adjudge check`` without a model ends like a test runner: 4 if a check fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.commands import adjudge

_ROWS = "id,answer,expected\n1,Rome,Rome\n2,Lyon,Paris\n3,hello,\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text(_ROWS)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("We refund you.", "--contains", "refund"), 0),
        (("We refund you.", "--contains", "money"), 4),
        (("We refund you.", "--contains", "refund", "--contains", "money"), 4),
        (("-f", "rows.csv", "--contains", "e"), 4),
        (("-f", "rows.csv", "--contains", "o"), 0),
        (("-f", "rows.csv", "--contains", "e", "--fail-under", "0.3"), 0),
        (("-f", "rows.csv", "--check", "equals: {field: expected}"), 4),
        (("-f", "rows.csv", "--limit", "1", "--check", "equals: {field: expected}"), 0),
        (("hello", "--check", "equals: {field: expected}"), 3),
    ],
)
def test_a_failed_check_exits_with_4(folder: Path, words: tuple[str, ...], code: int) -> None:
    done = adjudge("check", *words, cwd=folder)
    assert done.returncode == code, done.stdout + done.stderr


def test_it_says_how_many_rows_fail_and_what_lets_some_fail(folder: Path) -> None:
    done = adjudge("check", "-f", "rows.csv", "--contains", "e", cwd=folder)
    assert "1 row fails a check, so the exit code is 4; --fail-under NUMBER" in done.stderr


def test_rows_that_fail_another_check_each_are_counted_beside_undecided_ones(
    tmp_path: Path,
) -> None:
    (tmp_path / "rows.csv").write_text("answer\napple\npear\nplum apple pear\n")
    checks = ("contains: apple", "contains: pear", "language: ru")
    words = [word for check in checks for word in ("--check", check)]
    done = adjudge("check", "-f", "rows.csv", *words, cwd=tmp_path)
    assert "2 rows fail a check" in done.stderr


def test_the_verdict_of_a_model_needs_a_gate(folder: Path) -> None:
    words = ("check", "A text.", "--criterion", "It is kind.", "-m", "scripted/FAIL", "--no-cache")
    assert adjudge(*words, cwd=folder).returncode == 0
    assert adjudge(*words, "--fail-under", "0.5", cwd=folder).returncode == 4


_EXACT = "{equals: {field: gold}, rows_with: gold}"


def test_a_check_of_no_row_is_undecided(folder: Path) -> None:
    done = adjudge("check", "-f", "rows.csv", "--check", _EXACT, cwd=folder)
    assert done.returncode == 5
    assert "No verdicts, because all 3 rows were skipped." in done.stderr
    assert "3 rows have no value: the row has no gold" in done.stdout


def test_a_gate_on_no_row_says_so(folder: Path) -> None:
    words = ("check", "-f", "rows.csv", "--check", _EXACT, "--fail-under", "0.9")
    done = adjudge(*words, cwd=folder)
    assert done.returncode == 5
    assert "is unknown, because no row was judged." in done.stderr
    assert "0 of 0" not in done.stderr


def test_a_run_that_judged_no_row_is_undecided_in_exports(folder: Path) -> None:
    words = ("check", "-f", "rows.csv", "--check", _EXACT, "--run", "kept")
    assert adjudge(*words, cwd=folder).returncode == 5
    exported = adjudge("report", "kept", "--to", "github", "-o", "page.md", cwd=folder)
    assert exported.returncode == 0, exported.stderr
    assert "Undecided: no row was judged." in (folder / "page.md").read_text()


def test_one_check_of_no_row_leaves_the_others_decided(folder: Path) -> None:
    words = ("check", "-f", "rows.csv", "--check", _EXACT, "--contains", "o")
    assert adjudge(*words, cwd=folder).returncode == 0


def test_all_checks_together_show_the_mean_that_the_gate_uses(folder: Path) -> None:
    """No row passes both checks, and the mean share of passed checks is 0.5."""
    words = ("check", "-f", "rows.csv", "--contains", "o", "--check", "not: {contains: o}")
    done = adjudge(*words, "--fail-under", "checks=0.4", cwd=folder)
    assert "mean score of checks (judge CheckJudge) is 0.500" in done.stderr
    assert "0% pass" in done.stdout
    assert "mean 0.500" in done.stdout
