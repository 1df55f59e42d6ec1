"""The check of commit subjects."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "commit_subject.py"


@pytest.mark.parametrize(
    ("subject", "said"),
    [
        ("Fix double payment after a cancelled commit", ""),
        ("Bring the catalogue in step", ""),
        ("Process rows once", ""),
        ("Merge branch 'main' into a branch with a very long name that goes on and on and on", ""),
        ("Fixed double payment", "imperative"),
        ("Fixes double payment", "imperative"),
        ("Fixing double payment", "imperative"),
        ("fix double payment", "imperative"),
        ("Fix it.", "full stop"),
        ("Fix " + "x" * 70, "74 characters, 72 at most"),
        ("", "imperative"),
    ],
)
def test_a_subject_is_imperative_and_short(tmp_path: Path, subject: str, said: str) -> None:
    message = tmp_path / "COMMIT_EDITMSG"
    message.write_text(f"# a comment\n{subject}\n\nThe body says why.\n" if subject else "# a\n")
    checked = subprocess.run(
        [sys.executable, str(SCRIPT), str(message)], capture_output=True, text=True, check=False
    )
    assert checked.returncode == bool(said)
    assert said in checked.stderr
