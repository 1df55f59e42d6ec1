"""How long ``adjudge runs diff`` takes over two runs, and in how much memory, which must not grow
with the rows.

    python benchmarks/diff.py [ROWS [FOLDER]]

Makes the runs in a temporary folder, or in FOLDER where they stay and are used again: a tenth of
the rows, then all of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from page import ROWS, make_run


def measured(folder: Path, rows: int) -> tuple[float, float]:
    """Seconds, and the most memory that the command had at once, in MB."""
    runs = [folder / f"{rows}-{seed}" for seed in range(2)]
    for seed, run in enumerate(runs):
        if not run.exists():
            make_run(run, rows, seed)
    began = time.perf_counter()
    words = [sys.executable, "-m", "adjudge", "runs", "diff", *map(str, runs)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    print("\n".join(process.stdout.read().splitlines()[-5:]))
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, status
    return time.perf_counter() - began, used.ru_maxrss / 1024


def main() -> None:
    """Both sizes."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(temporary)
        found = {count: measured(folder, count) for count in (rows // 10, rows)}
    print("\n| rows a run | seconds | memory, MB |\n|--:|--:|--:|")
    for count, (seconds, memory) in found.items():
        print(f"| {count:,} | {seconds:.0f} | {memory:.0f} |")


if __name__ == "__main__":
    main()
