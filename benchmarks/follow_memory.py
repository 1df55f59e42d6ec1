"""Whether following takes more memory with more traffic: ``python benchmarks/follow_memory.py``.

Prints the largest resident memory of ``adjudge follow --once`` over 20,000 and 100,000 events, one
in twenty of which is judged by a check; five rounds each, a fifth of the events before each.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

EVAL = "judges: [{kind: check, name: tone, checks: [{not: {contains: BAD}}]}]\n"
ROUNDS = 5


def peak_of(events: int, folder: Path) -> float:
    """Megabytes at most, over the rounds."""
    (folder / "eval.yaml").write_text(EVAL)
    log, highest = folder / "log.jsonl", 0.0
    for number in range(ROUNDS):
        with log.open("a", encoding="utf-8") as file:
            for one in range(number * events // ROUNDS, (number + 1) * events // ROUNDS):
                file.write(json.dumps({"id": f"e{one}", "answer": f"answer {one} " * 20}) + "\n")
        words = ("follow", "eval.yaml", "--from", "log.jsonl", "--sample", "0.05", "--once")
        process = subprocess.Popen(
            [sys.executable, "-m", "adjudge", *words], cwd=folder, stdout=subprocess.DEVNULL
        )
        _, status, used = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"follow ended with {status}")
        highest = max(highest, used.ru_maxrss / 1024)
    return highest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, nargs="*", default=[20_000, 100_000])
    for events in parser.parse_args().events:
        with tempfile.TemporaryDirectory() as folder:
            print(f"{events:7} events  {peak_of(events, Path(folder)):.0f} MB", flush=True)


if __name__ == "__main__":
    main()
