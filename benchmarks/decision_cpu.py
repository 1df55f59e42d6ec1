"""CPU per judgment of a decision model: ten criteria in one request beside ten requests.

    python benchmarks/decision_cpu.py [--rows 200] [--rounds 5]

The server is another process on this machine; its CPU is not counted. Both ways end with the same
verdicts; the order changes from round to round.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

from adjudge import DirectJudge, open_model

QUESTIONS = [f"Is the text good in way {number}?" for number in range(10)]
_SERVER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from support.decision_server import serving
with serving() as server:
    print(server.url, flush=True)
    while True:
        time.sleep(60)
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    texts = [f"Row {number}. " + "The shop opens at nine. " * 20 for number in range(options.rows)]
    tests = Path(__file__).parents[1] / "tests"
    server = subprocess.Popen(
        [sys.executable, "-c", _SERVER, str(tests)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        model = open_model(f"systemone:{url}#fake-1")
        judge = DirectJudge(model)
        judge.evaluate_multi_criteria(texts[:5], QUESTIONS)
        found: dict[str, list[float]] = {"together": [], "apart": []}
        for number in range(options.rounds):
            for way in ("together", "apart") if number % 2 else ("apart", "together"):
                found[way].append(cpu(judge, texts, way) / (len(texts) * len(QUESTIONS)))
    finally:
        server.terminate()
    for way, seconds in found.items():
        print(f"{way:9} {statistics.median(seconds) * 1e6:8.0f} µs of CPU per judgment")
    ratios = [one / ten for one, ten in zip(found["together"], found["apart"], strict=True)]
    print(f"ratio     {statistics.median(ratios):8.2f} (aim: at most 0.30)")


def cpu(judge: DirectJudge, texts: list[str], way: str) -> float:
    """CPU seconds of this process, all threads."""
    started = time.process_time()
    if way == "together":
        judge.evaluate_multi_criteria(texts, QUESTIONS)
    else:
        for question in QUESTIONS:
            judge.evaluate(texts, question)
    return time.process_time() - started


if __name__ == "__main__":
    main()
