"""CPU seconds and peak memory of the commands that read whole runs.

    python benchmarks/large_runs.py [--rows 10000 100000] [--folder FOLDER] [--only NAME ...]

Makes two runs of each size with ``adjudge run`` and a scripted model, in a temporary folder, or in
FOLDER, where they stay and are used again. A row is about 300 characters; the verdicts of one row
in three differ between the runs. Each command runs in its own process.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

WORDS = [
    "the",
    "booking",
    "was",
    "changed",
    "and",
    "guest",
    "told",
    "new",
    "price",
    "before",
    "paid",
]
VERDICTS = ["PASS"] * 3 + ["FAIL"] + ["PASS"] * 6 + ["FAIL", "PASS"]
EVAL = f"""data: {{path: a.csv, id: id}}
models: ["scripted/{",".join(VERDICTS)}"]
judges: [{{kind: aspect, name: clear, criteria: The response is clear.}}]
run: runs/a
"""
COMMANDS: dict[str, tuple[str, ...]] = {
    "runs show": ("runs", "show", "runs/a"),
    "runs diff": ("runs", "diff", "runs/a", "runs/b"),
    "runs diff --by": ("runs", "diff", "runs/a", "runs/b", "--by", "topic"),
    "export .csv": ("export", "runs/a", "-o", "rows.csv"),
    "export .jsonl": ("export", "runs/a", "-o", "rows.jsonl"),
    "export .md": ("export", "runs/a", "-o", "rows.md"),
    "export .html": ("export", "runs/a", "-o", "rows.html"),
    "export --to junit": ("export", "runs/a", "--to", "junit", "-o", "rows.xml"),
    "report --to github": ("report", "runs/a", "--to", "github"),
    "calibrate": ("calibrate", "runs/a"),
    "run, all stored": ("run", "eval.yaml"),
    "run --not-worse-than": (
        *("run", "eval.yaml", "--not-worse-than", "runs/b"),
        *("--confidence", "0.95", "--margin", "0.02"),
    ),
}
FINE = (0, 1, 3, 4, 5)
"""Exit codes of commands that came to their end: a gate may fail, and there are no labels."""


class Cost(NamedTuple):
    """What a command took."""

    seconds: float
    """Of CPU."""
    memory: float
    """The most at once, in MB."""


def make_runs(folder: Path, rows: int) -> None:
    """Make two runs over the same rows, whose order, answers and verdicts differ."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "eval.yaml").write_text(EVAL)
    for name, shift in (("a", 0), ("b", 1)):
        # The model gives its verdicts in turn, so another order of the rows changes theirs.
        if not (folder / "runs" / name).exists():
            _write_rows(folder / f"{name}.csv", rows, shift)
            measure(folder, ("run", "eval.yaml", "--data", f"{name}.csv", "--run", f"runs/{name}"))


def _write_rows(path: Path, rows: int, shift: int) -> None:
    choice = random.Random(shift)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "topic", "user_input", "response"])
        for place in range(rows):
            row = (place + shift) % rows
            answer = " ".join(choice.choices(WORDS, k=40))
            writer.writerow([f"q{row}", f"t{row % 7}", f"What is the idea of {row}?", answer])


def measure(folder: Path, command: Sequence[str]) -> Cost:
    """Run one command in its own process."""
    words = [sys.executable, "-m", "adjudge", *command]
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(words, cwd=folder, stdout=output, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = code = os.waitstatus_to_exitcode(status)
        output.seek(0)
        assert code in FINE, output.read()[-2000:]
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def main() -> None:
    """Print one table for all sizes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--only", nargs="+", choices=COMMANDS, default=list(COMMANDS))
    options = parser.parse_args()
    costs: dict[str, list[Cost]] = {name: [] for name in options.only}
    with tempfile.TemporaryDirectory() as temporary:
        for rows in options.rows:
            folder = (options.folder or Path(temporary)) / str(rows)
            make_runs(folder, rows)
            for name, own in costs.items():
                own.append(measure(folder, COMMANDS[name]))
                print(f"{rows:,} rows, {name}: {own[-1].seconds:.1f} s", file=sys.stderr)
    sizes = [f"{rows:,} rows: CPU s | MB" for rows in options.rows]
    print(f"| command | {' | '.join(sizes)} |\n|---|{'--:|--:|' * len(sizes)}")
    for name, own in costs.items():
        cells = [f"{cost.seconds:.1f} | {cost.memory:.0f}" for cost in own]
        print(f"| `{name}` | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
