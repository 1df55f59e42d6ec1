"""One run, judged at once and in partitions: rows a second, what the store and the ledger take, how
long merging lasts.

python benchmarks/partitions.py [--rows 20000] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections import deque
from pathlib import Path

from adjudge.features.scale.partition import judge_partition, merge_partitions, partitions
from adjudge.features.scale.stores.shared_ledger import Buffer
from adjudge.runs.eval_file import EvalFile, parse_eval
from adjudge.runs.execute import execute
from adjudge.runs.plan import Plan, resolve

EVAL = (
    "data: rows.jsonl\nmodels: scripted\njudges: [{kind: aspect, criteria: It is short., "
    "strictness: 3}]\n"
)


def main() -> None:
    """Both ways, in one process."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--folder", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        file = _file(Path(folder), args.rows)
        _timed(
            "one machine",
            args.rows,
            lambda: _judge(resolve(file, cache=False, folder=file.beside("one"))),
        )
        _size("its ledger", file.beside("one"))
        for name, buffer in (("partitions", None), ("every answer first", Buffer(1))):
            store = file.beside(name)
            _timed(
                name, args.rows, lambda store=store, buffer=buffer: _partitions(file, store, buffer)
            )
            _size("their segments", store)
        _timed(
            "merging",
            args.rows,
            lambda: merge_partitions(file.beside("partitions"), file.beside("merged")),
        )
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{peak:.0f} MB peak")


def _file(folder: Path, rows: int) -> EvalFile:
    answer = "a few simple rules explain a wide range of things."
    with (folder / "rows.jsonl").open("w") as out:
        out.writelines(
            json.dumps({"id": str(n), "answer": f"Answer {n}: {answer}"}) + "\n"
            for n in range(rows)
        )
    return parse_eval(EVAL, folder / "eval.yaml")


def _partitions(file: EvalFile, store: Path, buffer: Buffer | None) -> None:
    for part in partitions(file, 5000):
        judge_partition(part, file, store, buffer=buffer, cache=False)


def _timed(what: str, rows: int, work: object) -> None:
    started, cpu = time.monotonic(), time.process_time()
    assert callable(work)
    work()
    took, used = time.monotonic() - started, time.process_time() - cpu
    print(f"{what:20} {rows / took:7.0f} rows/s, {used / rows * 1e6:5.0f} us CPU a row", flush=True)


def _size(what: str, folder: Path) -> None:
    files = [path for path in folder.rglob("*") if path.is_file()]
    print(
        f"{what:20} {sum(path.stat().st_size for path in files) / 1e6:7.1f} MB in "
        f"{len(files)} files",
        flush=True,
    )


def _judge(plan: Plan) -> None:
    with execute(plan) as events:
        deque(events, maxlen=0)


if __name__ == "__main__":
    main()
