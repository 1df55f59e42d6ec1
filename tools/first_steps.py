"""From ``pip install`` to a first report in three commands, in an empty folder of a clean
environment.

python tools/first_steps.py WHEEL    what a newcomer types; each command with its seconds
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

INIT, RUN = ("adjudge", "init", "rag"), ("adjudge", "run", "eval.yaml")


def main(wheel: Path) -> None:
    """Type the three commands and look at the report."""
    with tempfile.TemporaryDirectory() as made:
        scratch = Path(made)
        venv.create(scratch / "venv", with_pip=True)
        folder = scratch / "work"
        folder.mkdir()
        own = {
            **os.environ,
            "PATH": f"{scratch / 'venv' / 'bin'}:{os.environ['PATH']}",
            "ADJUDGE_CACHE": str(scratch / "cache"),
        }
        for name in ("PYTHONPATH", "VIRTUAL_ENV", "PYTHONHOME"):
            own.pop(name, None)
        install = ("pip", "--disable-pip-version-check", "--quiet", "install", f"{wheel}[local]")
        shown = "pip install 'adjudge[local]'", " ".join(INIT), " ".join(RUN)
        for text, words in zip(shown, (install, INIT, RUN), strict=True):
            began = time.monotonic()
            typed(words, folder, own)
            print(f"{text:<32} {time.monotonic() - began:6.1f} s", flush=True)
        check(folder)


def typed(words: tuple[str, ...], folder: Path, environment: dict[str, str]) -> None:
    """Run a command as it would be typed."""
    done = subprocess.run(
        words, cwd=folder, env=environment, check=False, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}")


def check(folder: Path) -> None:
    """The reports are there, and every row has its score."""
    rows = len((folder / "data" / "example.csv").read_text(encoding="utf-8").splitlines()) - 1
    report = (folder / "report.md").read_text(encoding="utf-8")
    page = folder / "report.html"
    if not page.is_file() or "composite" not in report.lower():
        sys.exit(f"no report of the rows:\n{report}")
    print(f"report.md and report.html: {rows} rows, {len(report) + page.stat().st_size:,} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
