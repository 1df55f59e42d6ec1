"""The steps of the Dockerfile in a clean folder, for machines without Docker.

    python tests/docker/steps.py [--extra local]

What COPY brings and RUN does in the build stage is done in a folder of its own, with a fresh
virtual environment where the image has one; then the entry point is run there on the example. Base
image, user and layers are not checked by this.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
Step = tuple[str, str]


def stages(text: str) -> list[list[Step]]:
    """The instructions of each stage: (name, rest), lines put together, comments left out."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    steps = [
        (name, rest)
        for name, _, rest in (line.partition(" ") for line in joined.splitlines() if line.strip())
    ]
    starts = [place for place, (name, _) in enumerate(steps) if name == "FROM"]
    return [steps[start:end] for start, end in zip(starts, [*starts[1:], len(steps)], strict=True)]


def copied(sources: list[str], target: Path) -> None:
    """What COPY does; the caches of Python stay behind, as .dockerignore says."""
    for source in sources:
        path = ROOT / source
        if path.is_dir():
            shutil.copytree(
                path,
                target,
                ignore=shutil.ignore_patterns("__pycache__", "*.pyc"),
                dirs_exist_ok=True,
            )
        else:
            target.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)


def build(steps: list[Step], folder: Path, extra: str) -> None:
    """The build stage in ``folder``."""
    workdir = folder
    for name, rest in steps:
        if name == "WORKDIR":
            workdir = folder / rest.lstrip("/")
            workdir.mkdir(parents=True)
        elif name == "COPY":
            *sources, target = rest.split()
            copied(sources, workdir / target)
        elif name == "RUN":
            command = rest.replace("/opt/adjudge", f"{folder}/opt/adjudge").replace(
                "python -m venv", f"{sys.executable} -m venv"
            )
            run(["sh", "-euc", command], workdir, {"EXTRA": extra})


def run(command: list[str], folder: Path, more: dict[str, str]) -> None:
    """One command, as the image would run it: with nothing of ours in its environment."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "VIRTUAL_ENV")
    }
    print("+", shlex.join(command)[:200], flush=True)
    subprocess.run(command, cwd=folder, env={**kept, **more}, check=True)


def main() -> None:
    """Build, then run the entry point on the example."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--extra", default="core")
    extra = parser.parse_args().extra
    first, last = stages((ROOT / "Dockerfile").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        build(first, folder, extra)
        app = folder / "app"
        app.mkdir()
        shutil.copytree(ROOT / "examples", app / "data", ignore=shutil.ignore_patterns("reports"))
        entry = json.loads(dict(last)["ENTRYPOINT"])
        path = f"{folder}/opt/adjudge/bin{os.pathsep}{os.environ['PATH']}"
        model = [] if extra == "local" else ["-m", "scripted/2"]
        command = [*entry, "--csv", "data/rag.csv", *model]
        run(
            [f"{folder}/opt/adjudge/bin/{command[0]}", *command[1:]],
            app,
            {"PATH": path, "ADJUDGE_CACHE": f"{folder}/opt/adjudge/cache"},
        )
        made = sorted(path.suffix for path in (app / "reports").iterdir())
        if made != [".csv", ".html", ".md"]:
            sys.exit(f"the reports are missing: {made}")
    print("the steps of the Dockerfile work")


if __name__ == "__main__":
    main()
