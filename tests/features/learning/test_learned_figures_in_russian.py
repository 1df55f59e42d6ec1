"""What ``adjudge learn`` prints in Russian."""

from __future__ import annotations

import re
from pathlib import Path

from support.commands import adjudge


def test_figures_of_a_learned_judge_have_decimal_commas(tmp_path: Path) -> None:
    (tmp_path / "tone.yaml").write_text(
        "name: tone\ndescription: Is it kind?\n"
        "options: [{name: Yes, score: 1}, {name: No, score: 0}]\n"
    )
    rows = [
        f"n{number},so {'kind' if number % 2 else 'rude'} {number},{'Yes' if number % 2 else 'No'}"
        for number in range(60)
    ]
    (tmp_path / "rows.csv").write_text("\n".join(["id,response,ann", *rows]) + "\n")
    options = ("--human", "ann", "-c", "tone.yaml", "-m", "scripted", "--run", "one")
    adjudge("bench", "rows.csv", *options, cwd=tmp_path)
    done = adjudge(
        "learn", "one", "--words-only", "-o", "judge.json", "--language", "ru", cwd=tmp_path
    )
    assert "AUC +0,5" in done.stdout and "доля совпадений" in done.stdout
    assert not re.search(r"\d\.\d{3}", done.stdout)
