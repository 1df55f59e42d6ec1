"""Memory and throughput over many rows: generated rows, a scripted model, every vote and judgment
in a ledger.

    python benchmarks/rows.py [--rows 200000 2000000] [--folder FOLDER] [--reports] [--http]

Each size runs in a process of its own; a second pass over the same ledger asks nothing. With
--reports the run is then shown, reported on and exported, each by a process of its own. With --http
the model is also asked over HTTP, on a server of this machine.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from server import running

from adjudge import AspectCritic, Instance, open_model
from adjudge.core.aio import event_loop
from adjudge.core.domain.message import Capabilities, Reply, Request, Usage


class Scripted:
    """Says the same to everything, and remembers nothing."""

    name = "scripted"
    capabilities = Capabilities()

    async def complete(self, request: Request) -> Reply:
        """One reply."""
        return Reply(
            '{"explanation": "It does.", "selected_option": "PASS"}', usage=Usage(1, 150, 12)
        )


def main() -> None:
    """Each size in a process of its own, or one size here."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs="+", default=[200_000, 2_000_000])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--reports", action="store_true")
    parser.add_argument("--http", action="store_true")
    parser.add_argument("--url", default="", help=argparse.SUPPRESS)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.here:
        _measure(args.rows[0], args.folder, args.url)
        return
    for rows in args.rows:
        with tempfile.TemporaryDirectory(dir=args.folder) as folder:
            command = [sys.executable, __file__, "--here", "--rows", str(rows), "--folder", folder]
            for _ in ("fresh", "again"):
                subprocess.run(command, check=True)
            if args.reports:
                _report(rows, Path(folder))
        if args.http:
            with running(0) as url, tempfile.TemporaryDirectory(dir=args.folder) as folder:
                words = ["--here", "--rows", str(rows), "--folder", folder, "--url", url]
                subprocess.run([sys.executable, __file__, *words], check=True)


def _measure(rows: int, folder: Path, url: str) -> None:
    model, seen, asked = Scripted(), 0, 0

    def on_vote(vote: object) -> None:
        nonlocal asked
        asked += 1

    def on_result(number: int, result: object) -> None:
        nonlocal seen
        seen += 1

    named = f"{url}#bench" if url else model
    judge = AspectCritic(
        "The response answers the question.", open_model(named, max_concurrency=64)
    )
    started, cpu = time.monotonic(), time.process_time()
    event_loop.run(judge.judge_stream(_generated(rows), on_result, run=folder, on_vote=on_vote))
    took, used = time.monotonic() - started, time.process_time() - cpu
    assert seen == rows
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
    how = "over HTTP" if url else "asked"
    print(
        f"{rows:9,} rows, {asked:9,} {how}: {peak:4.0f} MB peak, {rows / took:6.0f} rows/s, "
        f"{used / rows * 1e6:4.0f} us CPU a row, ledger {size:,.0f} MB",
        flush=True,
    )


def _report(rows: int, folder: Path) -> None:
    """Everything that reads the whole run."""
    for what, *arguments in (
        ("shown", "runs", "show", str(folder)),
        ("reported for CI", "report", "--to", "github", str(folder)),
        ("page", "export", str(folder), "-o", "page.html"),
        ("CSV", "export", str(folder), "-o", "rows.csv"),
    ):
        with tempfile.TemporaryDirectory(dir=folder.parent) as target:
            started, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
            code = (
                f"{_REPORT_PEAK}\nfrom adjudge.runs.cli.main import main\nimport sys\n"
                "sys.argv[0] = 'adjudge'\nmain()"
            )
            command = [sys.executable, "-c", code, *arguments]
            done = subprocess.run(
                command,
                check=True,
                cwd=target,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            after, took = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - started
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            size = sum(file.stat().st_size for file in Path(target).iterdir()) / 1e6
        peak = float(done.stderr.rpartition("peak ")[2])
        print(
            f"{rows:9,} rows {what:>16}: {peak:4.0f} MB peak, {rows / took:6.0f} rows/s, "
            f"{used / rows * 1e6:4.0f} us CPU a row, {size:,.0f} MB",
            flush=True,
        )


_REPORT_PEAK = """import atexit, resource, sys
usage = lambda: resource.getrusage(resource.RUSAGE_SELF)
atexit.register(lambda: sys.stderr.write(f"peak {usage().ru_maxrss / 1024}"))"""


def _generated(rows: int) -> Iterator[Instance]:
    for number in range(rows):
        answer = f"Answer REC-{number}-Y: a few simple rules explain a wide range of things."
        yield Instance({"user_input": "What is the main idea?", "response": answer})


if __name__ == "__main__":
    main()
