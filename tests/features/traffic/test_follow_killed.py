"""Traffic with duplicates and disorder, followed by a command that is killed again and again:
every sampled event is judged once.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from adjudge.features.traffic.sampling import Sampling
from adjudge.features.traffic.source import TrafficEvent
from support.commands import adjudge, start

EVENTS = int(os.environ.get("ADJUDGE_TRAFFIC_EVENTS", "600"))
KILLS = int(os.environ.get("ADJUDGE_TRAFFIC_KILLS", "4"))
SHARE = 0.3


class Judge(ThreadingHTTPServer):
    """A model that says PASS of good texts, and counts who asked what."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: Counter[str] = Counter()
        self.loses_first = False
        """Whether the first reply about each event does not arrive."""
        self.lock = threading.Lock()


class Handler(BaseHTTPRequestHandler):
    server: Judge

    def do_POST(self) -> None:
        prompt = self.rfile.read(int(self.headers["Content-Length"])).decode()
        name = prompt.split("event-", 1)[1].split(" ", 1)[0]
        with self.server.lock:
            self.server.asked[name] += 1
            if self.server.loses_first and self.server.asked[name] == 1:
                self.close_connection = True
                return
        verdict = "PASS" if "good" in prompt.split("event-", 1)[1][:40] else "FAIL"
        said = json.dumps({"explanation": "So it is.", "verdict": verdict})
        reply = {
            "choices": [{"message": {"content": said}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10},
        }
        body = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        pass


@pytest.fixture
def judge() -> Iterator[Judge]:
    with Judge() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()


def lines(drawn: random.Random) -> list[str]:
    """Every event once or twice, not in order."""
    numbers = [*range(EVENTS), *drawn.sample(range(EVENTS), EVENTS // 5)]
    drawn.shuffle(numbers)
    return [
        json.dumps({"id": f"e{one}", "response": f"event-{one} {'good' if one % 4 else 'bad'} end"})
        for one in numbers
    ]


def command(folder: Path, *more: str) -> list[str]:
    return [
        *("follow", str(folder / "eval.yaml"), "--from", str(folder / "log.jsonl")),
        *("--sample", str(SHARE), "--no-cache", *more),
    ]


def write_eval(folder: Path, judge: Judge) -> None:
    server = f"http://127.0.0.1:{judge.server_address[1]}/v1"
    (folder / "eval.yaml").write_text(
        f"models: [{{model: openai/gpt-test, base_url: '{server}', max_concurrency: 4}}]\n"
        "judges: [{kind: aspect, name: good, criteria: 'Is it good?'}]\n",
        encoding="utf-8",
    )


def judged_events(folder: Path) -> Counter[str]:
    found: Counter[str] = Counter()
    for ledger in folder.glob("runs/eval-traffic/*/ledger.sqlite"):
        with closing(sqlite3.connect(ledger)) as connection:
            found.update(id for (id,) in connection.execute("SELECT id FROM judgments"))
    return found


def test_every_sampled_event_is_judged_once(tmp_path: Path, judge: Judge) -> None:
    write_eval(tmp_path, judge)
    drawn = random.Random(5)
    written = lines(drawn)
    environment = {**os.environ, "OPENAI_API_KEY": "a key"}
    step = len(written) // (KILLS + 1)
    for number in range(KILLS + 1):
        with (tmp_path / "log.jsonl").open("a", encoding="utf-8") as log:
            part = written[number * step : (number + 1) * step if number < KILLS else None]
            log.write("\n".join(part) + "\n")
        if number == KILLS:
            break
        before = sum(judge.asked.values())
        process = start(*command(tmp_path, "--every", "0.1"), environment=environment)
        while sum(judge.asked.values()) < before + 5:
            assert process.poll() is None
            time.sleep(0.02)
        process.kill()
        assert process.wait() == -signal.SIGKILL
        process.close()
    done = adjudge(*command(tmp_path, "--once", "--json"), environment=environment)
    assert done.returncode == 0, done.stderr
    sampling = Sampling(SHARE)
    chosen = {f"e{one}" for one in range(EVENTS) if sampling.choose(TrafficEvent(f"e{one}", {}), 0)}
    assert judged_events(tmp_path) == Counter(chosen)
    again = sum(judge.asked.values()) - len(chosen)
    assert 0 <= again <= 4 * KILLS  # what was under way when it was killed
    (rate,) = json.loads(done.stdout)["results"]
    assert rate["rows"] == len(chosen)
    assert rate["events"] == EVENTS
    assert rate["lower"] < 0.75 < rate["upper"]


def test_the_budget_of_a_day_holds_over_rounds_and_restarts(tmp_path: Path, judge: Judge) -> None:
    write_eval(tmp_path, judge)
    (tmp_path / "log.jsonl").write_text("\n".join(lines(random.Random(6))) + "\n", encoding="utf-8")
    environment = {**os.environ, "OPENAI_API_KEY": "a key"}
    for _ in range(3):
        words = command(tmp_path, "--once", "--json", "--max-calls-per-day", "20")
        done = adjudge(*words, environment=environment)
        assert done.returncode == 0, done.stderr
    assert sum(judge.asked.values()) == 20
    told = json.loads(done.stdout)["summary"]
    assert told["judged"] == 20
    assert (
        told["waiting"]
        == sum(1 for one in range(EVENTS) if Sampling(SHARE).choose(TrafficEvent(f"e{one}", {}), 0))
        - 20
    )


def test_sigterm_ends_it_cleanly(tmp_path: Path, judge: Judge) -> None:
    write_eval(tmp_path, judge)
    (tmp_path / "log.jsonl").write_text('{"id": "e1", "response": "event-1 good end"}\n')
    environment = {**os.environ, "OPENAI_API_KEY": "a key"}
    process = start(*command(tmp_path, "--every", "60"), environment=environment)
    assert "1 event" in process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (0, "")


@pytest.mark.parametrize("loses_first", [False, True])
def test_a_changed_eval_file_has_what_is_left_of_the_day(
    tmp_path: Path, judge: Judge, loses_first: bool
) -> None:
    """One budget holds for both folders of the day, requests without a reply included."""
    judge.loses_first = loses_first
    write_eval(tmp_path, judge)
    (tmp_path / "log.jsonl").write_text("\n".join(lines(random.Random(8))) + "\n", encoding="utf-8")
    environment = {**os.environ, "OPENAI_API_KEY": "a key"}
    for words in ("Is it good?", "Is it very good?", "Is it very good?"):
        file = tmp_path / "eval.yaml"
        file.write_text(file.read_text().replace("Is it good?", words))
        asked = command(tmp_path, "--once", "--json", "--max-calls-per-day", "20")
        done = adjudge(*asked, environment=environment)
        assert done.returncode == 0, done.stderr
    assert sum(judge.asked.values()) == 20
