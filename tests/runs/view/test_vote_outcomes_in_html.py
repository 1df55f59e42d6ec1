"""Votes without a verdict in the HTML report."""

from __future__ import annotations

from pathlib import Path

from adjudge import AspectCritic
from support.commands import adjudge


def test_an_unreadable_vote_is_named_in_the_language_of_the_report(tmp_path: Path) -> None:
    critic = AspectCritic("Вежливо.", models="scripted/nonsense", language="ru", name="polite")
    critic.evaluate(["Здравствуйте."], run=tmp_path / "run")
    adjudge("export", tmp_path / "run", "-o", tmp_path / "run.html")
    page = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert "<td>не прочитан</td>" in page and "unreadable" not in page
