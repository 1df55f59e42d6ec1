"""An option that takes one column refuses a second, which replaced the first without a word."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.commands import adjudge


@pytest.mark.parametrize(
    ("words", "option"),
    [
        ("report runs/x --to md", "--by"),
        ("calibrate runs/x", "--by"),
        ("label runs/x --conflicts", "--by"),
        ("follow eval.yaml --from x.jsonl", "--by"),
        ("run eval.yaml", "--cluster"),
        ("judge text", "--id"),
    ],
)
def test_a_second_column_is_refused(tmp_path: Path, words: str, option: str) -> None:
    done = adjudge(*words.split(), option, "a", option, "b", cwd=tmp_path)
    assert done.returncode == 2
    assert f"'{option}': takes one column, not 2" in done.stderr
