"""Other people's test suites with the pytest plugin installed: the same outcomes, nothing written,
and how much slower.

    python tools/foreign_suite.py WHEEL… [--pairs 21]

Packages come from the package index, pinned, into two environments of their own: one has the
wheels. Sessions with and without take turns, and what counts is CPU time: the machine may be busy
with other things.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

SUITES = {"iniconfig==2.3.1": "testing"}
"""Source package → the folder of its tests."""
NEEDS = ("pytest==9.2.0",)
MOST_MS = 5.0
_OTHERS = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTEST_ADDOPTS")
"""Variables that a user would not have set."""


Environments = dict[bool, Path]
"""The Python with the plugin, and the one without."""


class Session:
    """A pytest session on one suite."""

    def __init__(self, environments: Environments, suite: Path, tests: str) -> None:
        self._environments, self._suite = environments, suite
        self._arguments = ["-m", "pytest", "-v", "-p", "no:cacheprovider", tests]

    def run(self, *, installed: bool) -> tuple[float, str]:
        """CPU seconds, and what the session said without its own seconds and Python."""
        own = {name: value for name, value in os.environ.items() if name not in _OTHERS} | {
            "PYTHONPATH": str(self._suite)
        }
        command = [str(self._environments[installed]), *self._arguments]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            command, cwd=self._suite, env=own, check=False, capture_output=True, text=True
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            sys.exit(
                f"{self._suite.name} ended with "
                f"{done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
            )
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return seconds, re.sub(
            r" in [\d.]+s( \([\d:]+\))?|^plugins: .*\n| -- /.*|={3,}",
            "",
            done.stdout,
            flags=re.MULTILINE,
        )

    def files(self) -> set[str]:
        """What lies in the suite's folder, bytecode aside."""
        return {str(one) for one in self._suite.rglob("*") if "__pycache__" not in one.parts}


def main(wheels: list[Path], pairs: int) -> None:
    """Fetch the suites, and run each ``pairs`` times both ways."""
    with tempfile.TemporaryDirectory() as made:
        scratch = Path(made)
        environments = {
            installed: environment(scratch / f"installed-{installed}")
            for installed in (True, False)
        }
        pip(environments[True], "install", "--no-deps", *map(str, wheels))
        suites = {
            fetched(environments[False], name, scratch): tests for name, tests in SUITES.items()
        }
        slower = [
            compared(Session(environments, suite, tests), suite.name, pairs)
            for suite, tests in suites.items()
        ]
    if max(slower) > MOST_MS:
        sys.exit(f"more than {MOST_MS} ms")


def environment(folder: Path) -> Path:
    """The Python of a new environment that has pytest."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    pip(python, "install", *NEEDS)
    return python


def pip(python: Path, *words: str) -> None:
    """Have pip do something, quietly."""
    subprocess.run(
        [str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", *words], check=True
    )


def fetched(python: Path, package: str, scratch: Path) -> Path:
    """The unpacked source of a package."""
    place = scratch / package
    pip(
        python,
        "download",
        "--no-deps",
        "--no-binary",
        package.partition("==")[0],
        "--dest",
        str(place),
        package,
    )
    (archive,) = place.glob("*.tar.gz")
    subprocess.run(["tar", "-xzf", str(archive), "-C", str(place)], check=True)
    return next(one for one in place.iterdir() if one.is_dir())


def compared(session: Session, suite: str, pairs: int) -> float:
    """How many milliseconds slower the median session is with the plugin; both
    must say the same.
    """
    seconds: dict[bool, list[float]] = {True: [], False: []}
    _, told = session.run(installed=False)
    session.run(installed=True)
    held = session.files()
    for number in range(pairs):
        for installed in (True, False) if number % 2 else (False, True):
            spent, said = session.run(installed=installed)
            seconds[installed].append(spent)
            if said != told:
                sys.exit(
                    f"{suite} says something else with the plugin:\n{said[-2000:]}\ninstead "
                    f"of\n{told[-2000:]}"
                )
    if session.files() != held:
        sys.exit(f"{suite}: new files: {sorted(session.files() - held)}")
    without, with_it = (1000 * statistics.median(seconds[one]) for one in (False, True))
    outcome = told.strip().splitlines()[-1].strip()
    print(
        f"{suite}: {outcome}; median CPU {without:.1f} ms without, {with_it:.1f} ms with: "
        f"{with_it - without:+.1f} ms"
    )
    return with_it - without


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("wheels", type=Path, nargs="+")
    parser.add_argument("--pairs", type=int, default=21)
    given = parser.parse_args()
    main([wheel.resolve() for wheel in given.wheels], given.pairs)
