"""A run says which rules read its replies, and which models miss the reply format."""

from __future__ import annotations

import logging
from itertools import cycle
from pathlib import Path

import pytest

from adjudge import DirectJudge, ScriptedModel
from adjudge.core.ledger.file import FILE, connect, read_meta, write_meta
from adjudge.core.verdicts import VERSION
from adjudge.runs.results.run_report import report_of_run

YES = '{"explanation": "so", "selected_option": "Yes"}'


def judge(replies: list[str]) -> DirectJudge:
    endless = cycle(replies)
    return DirectJudge(ScriptedModel(lambda _: next(endless)))


def age(folder: Path) -> None:
    """Make a run look as if an earlier version of the reader had read it."""
    with connect(folder / FILE) as connection:
        configuration = read_meta(connection)["configuration"]
        assert isinstance(configuration, dict)
        for one in configuration["judges"].values():
            assert one["versions"]["reader"] == VERSION
            one["versions"]["reader"] = "2"
        write_meta(connection, {"configuration": configuration})


def test_a_resumed_run_says_that_another_reader_read_its_first_replies(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = tmp_path / "run"
    judge([YES])(["one"], "Is it good?", run=run)
    age(run)
    with caplog.at_level(logging.WARNING):
        judge([YES])(["one", "two"], "Is it good?", run=run)
    assert "different rules for reading replies" in caplog.text
    (note,) = [note for note in report_of_run(run).notes if "versions of the reader" in note]
    assert "2 versions" in note


def test_a_run_read_by_one_reader_says_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = tmp_path / "run"
    for texts in (["one"], ["one", "two"]):
        judge([YES])(texts, "Is it good?", run=run)
    assert "different rules" not in caplog.text
    assert report_of_run(run).notes == ()


def test_the_report_names_a_model_that_often_misses_the_format(tmp_path: Path) -> None:
    run = tmp_path / "run"
    missed = "Yes, it is fine."
    model = ScriptedModel(lambda request: YES if missed in request.prompt.text else missed)
    DirectJudge(model)([str(row) for row in range(5)], "Is it good?", run=run)
    (note,) = [note for note in report_of_run(run).notes if "reply format" in note]
    assert "100% of its votes" in note


def test_a_model_that_misses_the_format_now_and_then_is_not_named(tmp_path: Path) -> None:
    run = tmp_path / "run"
    replies = ["Yes, it is fine.", *[YES] * 30]
    judge(replies)([str(row) for row in range(30)], "Is it good?", run=run)
    assert not [note for note in report_of_run(run).notes if "reply format" in note]


def test_a_vote_that_copies_of_a_row_share_counts_once(tmp_path: Path) -> None:
    run = tmp_path / "run"
    replies = ["Yes, it is fine.", *[YES] * 20]
    judge(replies)(["same"] * 5 + [str(row) for row in range(19)], "Is it good?", run=run)
    assert not [note for note in report_of_run(run).notes if "reply format" in note]
