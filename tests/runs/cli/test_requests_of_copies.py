"""Rows with the same content share their requests, and each request counts once."""

from __future__ import annotations

import json
from pathlib import Path

from support import commands

CRITERIA = ("Is it polite?", "Is it right?", "Is it short?")
NUMBERS = ("calls", "prompt_tokens", "completion_tokens")


def test_each_criterion_counts_a_request_once(tmp_path: Path) -> None:
    """Each criterion counted the requests of a row again for each of its copies: 4 instead of 2."""
    rows = "a,one text\nb,one text\nc,another text\nd,one text\n"
    (tmp_path / "rows.csv").write_text(f"id,response\n{rows}")
    asked = [word for one in CRITERIA for word in ("--criterion", one)]
    words = ("judge", "-f", "rows.csv", *asked, "-m", "scripted/Yes", "--run", "run", "--json")
    done = commands.adjudge(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [one["calls"] for one in found["criteria"]] == [2, 2, 2]
    for name in NUMBERS:
        assert sum(one[name] for one in found["criteria"]) == found["summary"][name], name
    shown = commands.adjudge("runs", "show", "run", "--json", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    again = json.loads(shown.stdout)
    assert [one["calls"] for one in again["criteria"]] == [2, 2, 2]
