"""Every example runs as a user would run it, on the scripted model."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ARGUMENTS = {
    "prometheus.py": ["scripted/Feedback: it is right. [RESULT] 5"],
    "strategy.py": ["scripted/```python\noutput = 55\n```", "none"],
}
EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_the_example_runs(example: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(example), *ARGUMENTS.get(example.name, ["scripted"])],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
