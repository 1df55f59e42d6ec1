"""Rows whose votes are tied are counted where the verdicts are."""

from __future__ import annotations

import json
from pathlib import Path

from support.commands import adjudge

_ASKED = (
    *("judge", "-f", "rows.csv", "--criterion", "Is it good?", "-m", "scripted/Yes,No"),
    *("-j", "1", "--self-consistency", "2", "--no-cache"),
)


def test_tied_votes_are_counted_in_every_report(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("answer\na\nb\nc\n")
    done = adjudge(*_ASKED, "--run", "kept", cwd=tmp_path)
    assert "No 3" in done.stdout
    line = "Is it good?: the votes are tied on 3 of 3 rows"
    assert line in done.stdout
    assert line in adjudge("report", "kept", "--to", "md", "-o", "-", cwd=tmp_path).stdout
    assert line in adjudge("report", "kept", "--to", "html", "-o", "-", cwd=tmp_path).stdout
    (criterion,) = json.loads(adjudge(*_ASKED, "--json", cwd=tmp_path).stdout)["criteria"]
    assert criterion["tied"] == 3


def test_votes_that_agree_are_not_said_to_be_tied(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("answer\na\nb\n")
    asked = [one.replace("Yes,No", "Yes") for one in _ASKED]
    assert "tied" not in adjudge(*asked, cwd=tmp_path).stdout
