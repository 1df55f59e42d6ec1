"""The number of rows that would decide a comparison of several criteria is that of all together."""

from __future__ import annotations

import json
import re
from pathlib import Path

from support.commands import adjudge

CHECKS = "".join(
    f"  - {{not: {{regex: '{pattern}'}}, name: check {number}}}\n"
    for number, pattern in enumerate(("bad", "ba", "ad", "b.d", "ba."))
)
"""Five checks and the result of all together: six criteria, which agree on every row."""


def _compare(folder: Path, count: int, bad: int) -> tuple[int, str]:
    """Compare ``count`` good answers with as many of which ``bad`` ones fail."""
    folder.mkdir()
    for name, failing in (("old", 0), ("new", bad)):
        rows = [
            {"id": f"r{row}", "answer": f"{name} {row}{' bad' if row < failing else ''}"}
            for row in range(count)
        ]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "eval.yaml").write_text(f"data: old.jsonl\nchecks:\n{CHECKS}")
    adjudge("run", "eval.yaml", "--run", "runs/old", "-q", cwd=folder)
    words = ["run", "eval.yaml", "--data", "new.jsonl", "--run", "runs/new", "-q"]
    gate = ["--not-worse-than", "runs/old", "--margin", "0.02"]
    done = adjudge(*words, *gate, cwd=folder)
    return done.returncode, done.stdout + done.stderr


def test_so_many_rows_as_named_decide_a_drop_by_all_criteria(tmp_path: Path) -> None:
    """44 rows were named for 40: as many as one criterion alone needs."""
    code, told = _compare(tmp_path / "few", 40, 6)
    assert code == 5, told
    named = re.search(r"About (\d+) rows would decide it, if the change stays at -0\.150", told)
    assert named is not None, told
    rows = int(named[1])
    assert _compare(tmp_path / "named", rows, round(0.15 * rows))[0] == 4
    assert _compare(tmp_path / "fewer", 44, 7)[0] == 5
