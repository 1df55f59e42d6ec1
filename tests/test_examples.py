"""Every example runs as a user would run it: with a model, here the scripted
one, and without any.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ARGUMENTS = {
    "prometheus.py": ["scripted/Feedback: it is right. [RESULT] 5"],
    "strategy.py": ["scripted/```python\noutput = 55\n```", "none"],
}
ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PUBLIC = {"adjudge", "adjudge.judges", "adjudge.judges.const", "adjudge.rewards", "adjudge.trust"}
BELOW = {
    "docs/plugins.md": "adjudge.",
    "docs/neighbours.md": "adjudge.features.integrations.",
    "docs/ru/neighbours.md": "adjudge.features.integrations.",
    "examples/engines/part.py": "adjudge.",
}
"""Pages for authors of plugins and of adapters, which import from below the public names."""
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


def test_guides_and_examples_import_public_names_only() -> None:
    pages = [*ROOT.glob("README*.md"), *(ROOT / "docs").glob("*.md")]
    pages += (ROOT / "docs" / "ru").glob("*.md")
    pages += (path for path in (ROOT / "examples").rglob("*") if path.suffix in (".py", ".ipynb"))
    imported = {
        (path.relative_to(ROOT).as_posix(), module)
        for path in pages
        for module in re.findall(
            r"\b(?:from|import) (adjudge[\w.]*)(?= |\n|\\n)", path.read_text("utf-8")
        )
    }
    assert len(imported) > 50
    assert [
        (page, module)
        for page, module in sorted(imported)
        if module not in PUBLIC and not module.startswith(BELOW.get(page, "-"))
    ] == []
