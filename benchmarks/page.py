"""How fast ``adjudge view`` answers over a run of a million rows, in how much memory, with how many bytes.

    python benchmarks/page.py [ROWS [FOLDER]]

Makes the run in a temporary folder, or in FOLDER where it stays and is used again, starts the command, and asks it over a socket.
Times are from request to the whole answer.
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
from pathlib import Path
from urllib.parse import quote, urlsplit

from adjudge.ledger.file import FILE, connect, migrate, write_meta
from adjudge.ledger.rows import insert, sealed

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


def make_run(folder: Path, rows: int) -> None:
    """A run of one judge, of the size that real ones have: a few hundred characters a row."""
    folder.mkdir(parents=True)
    choice = random.Random(0)
    with connect(folder / FILE) as ledger:
        migrate(ledger, folder / FILE)
        ledger.execute("PRAGMA synchronous = OFF")
        criteria = {
            "name": "quality",
            "description": "How good is it?",
            "options": [{"name": name, "score": value} for name, value in OPTIONS.items()],
        }
        judge = {"judge": "DirectJudge", "settings": {}, "models": {"scripted": {}}, "criteria": [criteria], "templates": {}}
        write_meta(ledger, {"configuration": {"judges": {"quality": judge}}, "started": time.time(), "ended": "complete"})
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
    result = {
        **{"id": f"r{number}", "criteria": "quality", "status": "failed" if failed else "scored", "score": score},
        **{
            "explanation": text[:120],
            "reason": "no reply" if failed else None,
            "agreement": None if failed else 1.0,
            "tie": False,
        },
        **{"votes_requested": 1, "votes_valid": int(not failed), "option": None if failed else option, "notes": []},
    }
    fields = json.dumps({"question": text[:80], "response": text})
    judgment = sealed("quality", number, f"r{number}", fields, key, result["status"], score, json.dumps(result))
    said = (None, None) if failed else (option, text[:120])
    vote = sealed(number + 1, key, "scripted", 0, "ok", *said, None, text[:120], None, 1, 200, 30, 0, 0.1, 0.0, None)
    return judgment, vote


class Asking:
    """One browser, so to speak."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 0, timeout=120)
        self._headers = {"X-Adjudge-Token": parts.query.removeprefix("token=")}

    def get(self, path: str, *, as_json: bool = False) -> tuple[float, bytes]:
        began = time.perf_counter()
        self._connection.request("GET", path, headers={**self._headers, **({"Accept": "application/json"} if as_json else {})})
        answer = self._connection.getresponse()
        body = answer.read()
        assert answer.status == 200, body[:300]
        return 1000 * (time.perf_counter() - began), body

    def data(self, path: str) -> dict[str, object]:
        found: dict[str, object] = json.loads(self.get(path, as_json=True)[1])
        return found


def measured(url: str, rows: int) -> dict[str, float]:
    """Milliseconds for each thing that people do, the first time and again."""
    ask, found = Asking(url), {}
    found["list of runs, first time"], body = ask.get("/")
    run = re.findall(rb'href="(/run/[^"]+)"', body)[0].decode()
    found["its line, counted behind the list"], _ = ask.get(f"{run}/line")
    found["list of runs, again"], _ = ask.get("/")
    found["worst first, first page"], body = ask.get(run)
    found["bytes of the first page, files included"] = len(body) + sum(len(ask.get(path)[1]) for path in files_in(body))
    found["the figures, first time"], _ = ask.get(f"{run}/figures")
    found["the figures, again"], _ = ask.get(f"{run}/figures")
    found["failed rows"], _ = ask.get(f"{run}?status=failed")
    found["an option"], _ = ask.get(f"{run}?verdict=Good")
    found["an option, by row"], _ = ask.get(f"{run}?verdict=Good&sort=row")
    found["an option that nobody chose, 20,000 rows"], _ = ask.get(f"{run}?verdict=Nothing")
    found["scores from 0.75"], _ = ask.get(f"{run}?min=0.75")
    found["a rare word, 4,000 rows looked through"], _ = ask.get(f"{run}?q=zebra")
    following = str(ask.data(f"{run}?min=1")["next"])
    found["a page among the last scores"], _ = ask.get(f"{run}?min=1&after={quote(following)}")
    found["a page by row, deep in the run"], _ = ask.get(f"{run}?sort=row&after=0__{rows * 9 // 10}")
    found["a row"], _ = ask.get(f"{run}/row/{rows // 2}?part=1")
    found["the next row"], _ = ask.get(f"{run}/row/{rows // 2 + 1}?part=1")
    return found


def files_in(page: bytes) -> list[str]:
    """What a browser loads beside a page."""
    return [path.decode() for path in re.findall(rb'(?:src|href)="(/static/[^"]+)"', page)]


def memory_of(process: int) -> float:
    """Resident megabytes."""
    return int(re.findall(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())[0]) / 1000


def show(process: subprocess.Popen[str], rows: int) -> None:
    """Ask the page that ``process`` serves."""
    assert process.stdout
    began = time.perf_counter()
    url = process.stdout.readline().strip()
    print(f"started in {time.perf_counter() - began:.2f} s")
    for name, value in measured(url, rows).items():
        print(f"{name:45} {value:10,.1f}")
    print(f"{'resident memory, MB':45} {memory_of(process.pid):10,.1f}")


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with tempfile.TemporaryDirectory() as made:
        folder = sys.argv[2] if len(sys.argv) > 2 else made
        if not (Path(folder) / "large").exists():
            began = time.perf_counter()
            make_run(Path(folder) / "large", rows)
            print(f"made a run of {rows:,} rows in {time.perf_counter() - began:.0f} s")
        command = [sys.executable, "-m", "adjudge", "view", folder, "--no-open"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                show(process, rows)
            finally:
                process.terminate()


if __name__ == "__main__":
    main()
