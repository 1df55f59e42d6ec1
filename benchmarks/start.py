"""What it costs to start: ``import adjudge``, its first use, its commands, the size of the core
install.

python benchmarks/start.py
"""

from __future__ import annotations

import os
import re
import resource
import statistics
import subprocess
import sys
from importlib.metadata import requires

STEPS = {
    "python itself": "pass",
    "import adjudge": "import adjudge",
    "adjudge.AspectCritic": "import adjudge; adjudge.AspectCritic",
}
COMMANDS = {
    "adjudge --version": ["--version"],
    "adjudge --help": ["--help"],
    "adjudge check": ["check", "x", "--criterion", "c", "-m", "scripted"],
}


def main() -> None:
    for name, code in STEPS.items():
        print(f"{name:22} {statistics.median(_cpu(code) for _ in range(7)):.3f} s CPU")
    for name, words in COMMANDS.items():
        print(f"{name:22} {statistics.median(command_cpu(words) for _ in range(7)):.3f} s CPU")
    print(f"core install: {len(_closure('adjudge')) - 1} distributions")


def _cpu(code: str) -> float:
    code = f"{code}\nimport time; print(time.process_time())"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=_environment(), check=True
    )
    return float(done.stdout)


def command_cpu(words: list[str]) -> float:
    """What a whole process takes, its end included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "adjudge", *words],
        capture_output=True,
        env=_environment(),
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _environment() -> dict[str, str]:
    """Ours, where what Python has compiled is kept."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def _closure(name: str, seen: frozenset[str] = frozenset()) -> frozenset[str]:
    """The distribution and what it needs, extras left out."""
    if name.lower() in seen:
        return seen
    seen |= {name.lower()}
    for line in requires(name) or []:
        needed, _, marker = line.partition(";")
        if "extra" not in marker and "python_version" not in marker and "platform" not in marker:
            seen = _closure(re.split(r"[^\w.-]", needed.strip())[0], seen)
    return seen


if __name__ == "__main__":
    main()
