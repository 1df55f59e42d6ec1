"""Every example runs as a user would run it: with a model, here the scripted
one, and without any.
"""

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
WITHOUT_WEIGHTS = {
    "own_judge.py": "Yes 1.0",
    "prometheus.py": "5 5.0 2 + 2 is 4.",
    "strategy.py": "55",
}
"""What these print without an argument; the others then ask the embedded model."""


def shown(example: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(example), *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_the_example_runs(example: Path) -> None:
    assert shown(example, *ARGUMENTS.get(example.name, ["scripted"])).strip()


@pytest.mark.parametrize("name", WITHOUT_WEIGHTS)
def test_the_example_runs_without_an_argument(name: str) -> None:
    (example,) = [path for path in EXAMPLES if path.name == name]
    assert shown(example).splitlines()[0] == WITHOUT_WEIGHTS[name]
