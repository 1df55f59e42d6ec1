"""How fast ``adjudge view`` answers over a run of a million rows, in how much memory, with how many
bytes; and trust and a comparison over two runs of a tenth of them.

    python benchmarks/page.py [ROWS [FOLDER]]

Makes the run in a temporary folder, or in FOLDER where it stays and is used again, starts the
command, and asks it over a socket. Times are milliseconds from request to the whole answer, and the
processor time that the server took, which depends less on what else the machine does.
"""

from __future__ import annotations

import http.client
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from adjudge.core.domain.label import Label
from adjudge.core.ledger.file import FILE, connect, make_tables, write_meta
from adjudge.core.ledger.rows import insert, with_checksum
from adjudge.runs.folder import records_of
from adjudge.trust.labels.store import LabelStore

ROWS = 1_000_000
WORDS = [
    "The",
    "booking",
    "was",
    "changed",
    "and",
    "the",
    "guest",
    "was",
    "told",
    "the",
    "new",
    "price",
    "before",
    "anything",
    "was",
    "paid",
]
OPTIONS = {"Bad": 0.0, "Poor": 0.25, "Fair": 0.5, "Good": 0.75, "Excellent": 1.0}


def make_run(folder: Path, rows: int, seed: int = 0) -> None:
    """A run of one judge, of the size that real ones have: a few hundred characters a row."""
    folder.mkdir(parents=True)
    choice = random.Random(seed)
    with connect(folder / FILE) as ledger:
        make_tables(ledger, folder / FILE)
        ledger.execute("PRAGMA synchronous = OFF")
        criteria = {
            "name": "quality",
            "description": "How good is it?",
            "options": [{"name": name, "score": value} for name, value in OPTIONS.items()],
        }
        judge = {
            "judge": "DirectJudge",
            "settings": {},
            "models": {"scripted": {}},
            "criteria": [criteria],
            "templates": {},
        }
        write_meta(
            ledger,
            {
                "configuration": {"judges": {"quality": judge}},
                "started": time.time(),
                "ended": "complete",
            },
        )
        for first in range(0, rows, 10_000):
            batch = [made(choice, number) for number in range(first, min(rows, first + 10_000))]
            ledger.execute("BEGIN")
            ledger.executemany(insert("judgments"), [judgment for judgment, _ in batch])
            ledger.executemany(insert("votes"), [vote for _, vote in batch])
            ledger.execute("COMMIT")


def made(choice: random.Random, number: int) -> tuple[tuple[object, ...], tuple[object, ...]]:
    """A judgment and its vote."""
    text, key = " ".join(choice.choices(WORDS, k=60)), number.to_bytes(16, "big")
    option, failed = choice.choice(list(OPTIONS)), choice.random() < 0.001
    score = None if failed else OPTIONS[option]
    result: dict[str, object] = {
        **{
            "criteria": "quality",
            "status": "failed" if failed else "scored",
            "score": score,
        },
        **{
            "reason": "no reply" if failed else None,
            "agreement": None if failed else 1.0,
            "tie": False,
            "fallback": None,
            "low_confidence": False,
        },
        **{
            "votes_requested": 1,
            "votes_valid": int(not failed),
            "option": None if failed else option,
            "mean_score": score,
        },
        **{"feedback": None, "positional_bias": None, "notes": [], "kind": "direct"},
        **{"id": f"r{number}", "explanation": text[:120]},
    }
    fields = json.dumps({"question": text[:80], "response": text})
    judgment = with_checksum(
        "quality",
        number,
        f"r{number}",
        fields,
        key,
        result["status"],
        score,
        "quality",
        None if failed else option,
        0,
        json.dumps(result),
    )
    said = (None, None) if failed else (option, text[:120])
    vote = with_checksum(
        number + 1,
        key,
        "scripted",
        0,
        "ok",
        *said,
        None,
        text[:120],
        None,
        1,
        200,
        30,
        0,
        0.1,
        0.0,
        None,
    )
    return judgment, vote


class Asking:
    """One browser, so to speak."""

    def __init__(self, url: str, process: int) -> None:
        parts = urlsplit(url)
        self._process = process
        self.processor: list[float] = []
        """Milliseconds of each request."""
        self._connection = http.client.HTTPConnection(
            parts.hostname or "", parts.port or 0, timeout=600
        )
        self._headers = {"X-Adjudge-Token": parts.query.removeprefix("token=")}

    def get(self, path: str, *, as_json: bool = False) -> tuple[float, bytes]:
        began, before = time.perf_counter(), processor_time(self._process)
        self._connection.request(
            "GET",
            path,
            headers={**self._headers, **({"Accept": "application/json"} if as_json else {})},
        )
        answer = self._connection.getresponse()
        body = answer.read()
        assert answer.status == 200, body[:300]
        self.processor.append(processor_time(self._process) - before)
        return 1000 * (time.perf_counter() - began), body

    def data(self, path: str) -> dict[str, object]:
        found: dict[str, object] = json.loads(self.get(path, as_json=True)[1])
        return found


class Measured(dict[str, tuple[float, float]]):
    """What people do → milliseconds by the clock, and of the processor."""

    def __init__(self, ask: Asking) -> None:
        super().__init__()
        self._ask = ask

    def take(self, name: str, path: str) -> bytes:
        """Ask, and keep how long it took."""
        wall, body = self._ask.get(path)
        self[name] = wall, self._ask.processor[-1]
        return body


def measured(ask: Asking, rows: int) -> tuple[Measured, int]:
    """Everything that people do, the first time and again; and the bytes of the first page, its
    files included.
    """
    found = Measured(ask)
    body = found.take("list of runs, first time", "/")
    run = re.findall(rb'href="(/run/[^"]+)"', body)[0].decode()
    found.take("its line, counted behind the list", f"{run}/line")
    found.take("list of runs, again", "/")
    body = found.take("worst first, first page", run)
    size = len(body) + sum(len(ask.get(path)[1]) for path in files_in(body))
    found.take("the figures, first time", f"{run}/figures")
    found.take("the figures, again", f"{run}/figures")
    found.take("failed rows", f"{run}?status=failed")
    found.take("an option", f"{run}?verdict=Good")
    found.take("an option, by row", f"{run}?verdict=Good&sort=row")
    found.take("an option that nobody chose", f"{run}?verdict=Nothing")
    found.take("scores from 0.75", f"{run}?min=0.75")
    found.take("a rare word", f"{run}?q=zebra")
    found.take("one step of a search that goes on", f"{run}?q=zebra&part=list")
    rare = quote('verdict = good and agreement < 0.5 and response ~ "zebra"')
    found.take("an expression that nothing fits", f"{run}?where={rare}")
    found.take("one step of it", f"{run}?where={rare}&part=list")
    pattern = quote(r"response ~ /\bzebra\b/")
    found.take("a regular expression that nothing fits", f"{run}?where={pattern}")
    found.take("one step of it, too", f"{run}?where={pattern}&part=list")
    following = str(ask.data(f"{run}?min=1")["next"])
    found.take("a page among the last scores", f"{run}?min=1&after={quote(following)}")
    found.take("a page by row, deep in the run", f"{run}?sort=row&after=0__{rows * 9 // 10}")
    found.take("a row", f"{run}/row/{rows // 2}?part=1")
    found.take("the next row", f"{run}/row/{rows // 2 + 1}?part=1")
    found.take("the first row to label", f"{run}/label?annotator=ann&wait=1")
    found.take("the same for the next person", f"{run}/label?annotator=bob&wait=1")
    return found, size


def sorted_lists(ask: Asking) -> Measured:
    """Orders that no index holds: each is kept, four bytes a judgment, until the run changes."""
    found = Measured(ask)
    run = re.findall(r'href="(/run/[^"]+)"', ask.get("/")[1].decode())[0]
    found.take("sorted by verdict, first time", f"{run}?sort=-verdict&wait=1")
    found.take("sorted by verdict, again", f"{run}?sort=-verdict")
    deep = quote(str(ask.data(f"{run}?sort=verdict&wait=1")["next"]))
    found.take("the next page of it", f"{run}?sort=verdict&after={deep}")
    found.take("sorted by tokens, first time", f"{run}?sort=-tokens&wait=1")
    return found


def files_in(page: bytes) -> list[str]:
    """What a browser loads beside a page."""
    return [path.decode() for path in re.findall(rb'(?:src|href)="(/static/[^"]+)"', page)]


def processor_time(process: int) -> float:
    """Milliseconds that its threads ran until now."""
    clock_of_process = (~process << 3) | 2  # as Linux numbers them
    return 1000 * time.clock_gettime(clock_of_process)


def memory_of(process: int) -> float:
    """Resident megabytes."""
    return int(re.findall(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())[0]) / 1000


def show_tenth(process: subprocess.Popen[str], rows: int) -> None:
    """Ask for trust in one of two runs, and for their comparison."""
    assert process.stdout
    ask = Asking(process.stdout.readline().strip(), process.pid)
    runs: Any = ask.data("/")["runs"]
    ids = {run["name"]: run["id"] for run in runs}
    found = Measured(ask)
    found.take(f"trust over {rows:,} rows", f"/run/{ids['first']}/trust?wait=1")
    both = f"a={ids['first']}&b={ids['second']}"
    found.take(f"comparison of 2 x {rows:,} rows", f"/compare?{both}&wait=1")
    _print_times(found)


def add_labels(folder: Path, count: int = 400) -> None:
    """Labels of random rows, by somebody who mostly agrees with the judge."""
    choice = random.Random(5)
    rows = choice.sample(list(records_of(folder)), count)
    LabelStore(folder).add(
        *(
            Label(
                row=row.identity,
                criteria="quality",
                annotator="ann",
                option=row.verdict if choice.random() < 0.8 else "Good",
                design="random",
                id=row.id,
            )
            for row in rows
        )
    )


def show(process: subprocess.Popen[str], rows: int) -> None:
    """Ask the page that ``process`` serves."""
    assert process.stdout
    began = time.perf_counter()
    url = process.stdout.readline().strip()
    print(f"started in {time.perf_counter() - began:.2f} s")
    ask = Asking(url, process.pid)
    found, size = measured(ask, rows)
    print(f"{'':45} {'clock':>10} {'processor':>10}")
    _print_times(found)
    print(f"{'bytes of the first page, files included':45} {size:10,}")
    print(f"{'resident memory, MB':45} {memory_of(process.pid):10,.1f}")
    _print_times(sorted_lists(ask))
    print(f"{'resident memory behind that, MB':45} {memory_of(process.pid):10,.1f}")


def _print_times(found: Measured) -> None:
    for name, (wall, processor) in found.items():
        print(f"{name:45} {wall:10,.1f} {processor:10,.1f}")


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with tempfile.TemporaryDirectory() as made:
        folder = sys.argv[2] if len(sys.argv) > 2 else made
        if not (Path(folder) / "large").exists():
            began = time.perf_counter()
            make_run(Path(folder) / "large", rows)
            print(f"made a run of {rows:,} rows in {time.perf_counter() - began:.0f} s")
        serve(Path(folder), show, rows)
        pair = Path(made) / "pair"
        for seed, name in enumerate(("first", "second")):
            make_run(pair / name, rows // 10, seed)
        add_labels(pair / "first")
        serve(pair, show_tenth, rows // 10)


def serve(folder: Path, look: Callable[[subprocess.Popen[str], int], None], rows: int) -> None:
    """Serve the runs of a folder while ``look`` asks for them."""
    command = [sys.executable, "-m", "adjudge", "view", str(folder), "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            look(process, rows)
        finally:
            process.terminate()


if __name__ == "__main__":
    main()
