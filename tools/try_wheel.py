"""Install the built wheel and the built source in clean environments, and try the first thing a user would do."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

FIRST_STEPS = (
    ["-m", "adjudge", "--version"],
    ["-c", "import adjudge; [getattr(adjudge, name) for name in adjudge.__all__ if not name.startswith('Unitxt')]"],
    ["-m", "adjudge", "check", "Built in 1889.", "--criterion", "It names a year.", "-m", "scripted", "--language", "ru"],
    ["-m", "adjudge", "criteria"],
    ["-m", "adjudge", "doctor"],
)


def main(folder: Path) -> None:
    """Try every file in ``folder``."""
    for built in sorted(folder.iterdir()):
        with tempfile.TemporaryDirectory() as scratch:
            venv.create(scratch, with_pip=True)
            python = str(Path(scratch) / "bin" / "python")
            run(python, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", str(built))
            for step in FIRST_STEPS:
                run(python, *step)
        print(f"{built.name}: installs and works")


def run(*command: str) -> None:
    """Run a command away from the checkout, so that only what was installed is found."""
    done = subprocess.run(command, cwd=tempfile.gettempdir(), check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
