"""A command that writes one file is not given two: only the last one was written."""

from __future__ import annotations

from pathlib import Path

from support.commands import adjudge


def test_a_second_output_is_refused_and_not_forgotten(tmp_path: Path) -> None:
    page, table = tmp_path / "a.md", tmp_path / "b.csv"
    done = adjudge("check", "yes", "--contains", "yes", "-o", page, f"--output={table}")
    assert done.returncode == 2
    assert "--output was given 2 times" in " ".join(done.stderr.split())
    assert not page.exists() and not table.exists()
