"""The reports of a run are in the language of its eval file."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import commands

JUDGED = "judges: [{kind: direct, criteria: {name: a, description: b, options: [c, d], good: c}}]"


@pytest.mark.parametrize("judges", ["", JUDGED])
def test_checks_before_the_judges_do_not_make_reports_english(tmp_path: Path, judges: str) -> None:
    (tmp_path / "rows.csv").write_text("id,response\n1,Hello.\n", encoding="utf-8")
    (tmp_path / "eval.yaml").write_text(
        "data: rows.csv\nlanguage: ru\nmodels: [scripted]\nchecks: [{contains: o}]\n"
        f"outputs: [report.md]\n{judges}\n",
        encoding="utf-8",
    )
    run = tmp_path / "run"
    commands.adjudge("run", tmp_path / "eval.yaml", "--run", run)
    commands.adjudge("export", run, "-o", tmp_path / "again.md")
    for name in ("report.md", "again.md"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert "Прогон" in text and "interval" not in text
