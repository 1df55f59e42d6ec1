"""Examples that ask the embedded model when none is named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_first_example_needs_no_argument() -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / "direct.py")],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (
        "### Selected option / Score\nYes / 1.0" in done.stdout
        or "### Selected option / Score\nNo / 0.0" in done.stdout
    )
