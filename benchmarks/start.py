"""What it costs to start: ``import adjudge``, its first use, the size of the core install.

python benchmarks/start.py
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
from importlib.metadata import requires

STEPS = {
    "python itself": "pass",
    "import adjudge": "import adjudge",
    "adjudge.AspectCritic": "import adjudge; adjudge.AspectCritic",
    "adjudge --help": "import adjudge.cli.main",
}


def main() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for name, code in STEPS.items():
        print(f"{name:22} {statistics.median(_cpu(code, environment) for _ in range(7)):.3f} s CPU")
    print(f"core install: {len(_closure('adjudge')) - 1} distributions")


def _cpu(code: str, environment: dict[str, str]) -> float:
    code = f"{code}\nimport time; print(time.process_time())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    return float(done.stdout)


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
