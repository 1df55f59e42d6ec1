"""Two hundred rows for an application that fails in every way, killed three times in between: every
row is answered once, or failed with its reason.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from support.commands import adjudge, start

ROWS = 200
FOR_A_WHILE = {1: 429, 2: 500, 3: 503}
"""Row modulo 20 → what the first try gets; so does that of a dropped connection (4) and of one that
hangs (5).
"""
FOR_EVER = {
    6: "is not JSON",
    7: "the answer is empty",
    8: "400",
    9: "the answer has no data.answer",
}


class Application(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.tries: Counter[int] = Counter()
        self.lock = threading.Lock()

    def note(self, row: int) -> int:
        with self.lock:
            self.tries[row] += 1
            return self.tries[row]


class Handler(BaseHTTPRequestHandler):
    server: Application

    def do_POST(self) -> None:
        row = int(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["id"])
        kind, tries = row % 20, self.server.note(row)
        time.sleep(0.01)
        if kind == 4 and tries == 1:
            self.connection.close()
        elif kind == 5 and tries == 1:
            time.sleep(3)
        elif kind in FOR_A_WHILE and tries == 1:
            self._say(FOR_A_WHILE[kind], b"{}")
        elif kind == 6:
            self._say(200, b"<html>oops")
        elif kind == 7:
            self._say(200, b'{"data": {"answer": "  "}}')
        elif kind == 8:
            self._say(400, b'{"error": "no such customer"}')
        elif kind == 9:
            self._say(200, b'{"data": {"text": "yes"}}')
        else:
            said = {"data": {"answer": f"answer {row}"}}
            self._say(200, json.dumps(said).encode())

    def _say(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        """Nothing."""


@pytest.fixture
def application() -> Iterator[Application]:
    server = Application()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def answered(ledger: Path) -> set[int]:
    """The rows whose answer is kept."""
    if not ledger.is_file():
        return set()
    with closing(sqlite3.connect(f"file:{ledger}?mode=ro", uri=True)) as connection:
        texts = [one for (one,) in connection.execute("SELECT text FROM votes WHERE text != ''")]
    return {int(text.rpartition("answer ")[2].split('"')[0]) for text in texts if "answer " in text}


def test_every_row_is_answered_once_or_has_its_reason(
    application: Application, tmp_path: Path
) -> None:
    ids = range(ROWS)
    (tmp_path / "rows.csv").write_text("id,question\n" + "".join(f"{n},q{n}\n" for n in ids))
    address = f"http://127.0.0.1:{application.server_port}/ask"
    (tmp_path / "eval.yaml").write_text(
        f"data: rows.csv\ntarget: {{url: '{address}', answer: data.answer, max_concurrency: 8, "
        "timeout: 1.5, max_retries: 3}\nchecks: {contains: answer}\n"
    )
    ledger = tmp_path / "runs" / "eval" / "ledger.sqlite"
    words = ("run", "eval.yaml", "--yes", "--json", "--quiet")
    for part in (1, 2, 3):
        before = answered(ledger)
        tries = dict(application.tries)
        process = start(*words, cwd=tmp_path)
        while len(answered(ledger)) < part * 30 and process.poll() is None:
            time.sleep(0.02)
        assert process.poll() is None, "it was to be killed in the middle"
        process.kill()
        process.communicate()
        again = {row for row in before if application.tries[row] > tries.get(row, 0)}
        assert not again, "what is kept is not asked again"
    before, tries = answered(ledger), dict(application.tries)
    done = adjudge(*words, cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert not {row for row in before if application.tries[row] > tries.get(row, 0)}
    results = {int(one["id"]): one for one in json.loads(done.stdout)["results"]}
    assert sorted(results) == list(ids)
    for row, one in results.items():
        if (reason := FOR_EVER.get(row % 20)) is None:
            assert (one["verdict"], one["fields"]["response"]) == ("PASS", f"answer {row}")
        else:
            assert (one["status"], one["score"]) == ("failed", None)
            assert reason in one["reason"], one["reason"]
