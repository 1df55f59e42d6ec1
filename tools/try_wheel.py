"""Install everything that was built in clean environments, and do there what the README begins
with; ``scripted`` stands for the model.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from collections.abc import Sequence
from pathlib import Path

NEED_EXTRAS = ("Unitxt", "Learn")
"""Beginnings of names that need a package of an extra, and say so."""
FIRST_STEPS = (
    ["-m", "adjudge", "--version"],
    [
        "-c",
        (
            "import adjudge; [getattr(adjudge, name) for name in adjudge.__all__ if not "
            f"name.startswith({NEED_EXTRAS})]"
        ),
    ],
    [
        "-c",
        (
            "from adjudge.features.local.weights.adapters import adapter_for; "
            "assert adapter_for('smollm2-135m') and adapter_for('smollm2-135m-text-first')"
        ),
    ],
    [
        "-m",
        "adjudge",
        "check",
        "Built in 1889.",
        "--criterion",
        "It names a year.",
        "-m",
        "scripted",
        "--language",
        "ru",
    ],
    ["-m", "adjudge", "criteria"],
    ["-m", "adjudge", "doctor"],
    ["-m", "adjudge", "init", "examples"],
    ["-m", "adjudge", "run", "examples/eval.yaml", "-m", "scripted", "--run", "runs/examples"],
    ["-m", "adjudge", "init", "rag"],
    ["-m", "adjudge", "run", "eval.yaml", "-m", "scripted"],
    ["-m", "adjudge", "runs", "show", "runs/eval"],
    ["-m", "adjudge", "export", "runs/eval", "--to", "html"],
)
PLUGIN = ["-m", "pytest", "--judged-model", "scripted", "--version"]


def main(folder: Path) -> None:
    """Try every file in ``folder``, then the pytest plugin as its extra brings it."""
    for built in sorted(folder.iterdir()):
        tried(folder, str(built), FIRST_STEPS)
    (wheel,) = folder.glob("adjudge-*.whl")
    tried(folder, f"{wheel}[pytest]", [PLUGIN])


def tried(folder: Path, wanted: str, steps: Sequence[Sequence[str]]) -> None:
    """Take the steps where ``wanted`` was installed; of our own distributions,
    those in ``folder``.
    """
    with tempfile.TemporaryDirectory() as scratch:
        venv.create(scratch, with_pip=True)
        python = str(Path(scratch) / "bin" / "python")
        work = Path(scratch) / "work"
        work.mkdir()
        run(
            work,
            python,
            "-m",
            "pip",
            "--disable-pip-version-check",
            "--quiet",
            "install",
            "--find-links",
            str(folder),
            wanted,
        )
        for step in steps:
            run(work, python, *step)
    print(f"{Path(wanted).name}: installs and works")


def run(folder: Path, *command: str) -> None:
    """Run a command away from the checkout, so that only what was installed is found."""
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
