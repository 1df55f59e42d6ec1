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


def test_the_verdict_of_a_model_needs_a_gate(folder: Path) -> None:
    words = ("check", "A text.", "--criterion", "It is kind.", "-m", "scripted/FAIL", "--no-cache")
    assert adjudge(*words, cwd=folder).returncode == 0
    assert adjudge(*words, "--fail-under", "0.5", cwd=folder).returncode == 4
