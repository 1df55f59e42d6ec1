"""A bot over HTTP that counts what it is asked, and the script that a killed process runs."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

SCENARIOS = """
- id: {id}
  goal: Cancel the order {number}.
  withheld: {{email: user{number}@example.com}}
  unknown: [phone number]
  expect: {{state: {{status: cancelled}}, calls: [cancel]}}
"""
EVAL = """
data: scenarios.yaml
target: {{name: bot, url: "{url}", state: state, timeout: 20}}
repeat: {repeat}
judges:
  - {{kind: conversation, user: rules, session: {session}{more}}}
"""


class Bot:
    """An application that keeps its conversations, and counts how often it acts."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.worked: dict[str, int] = {}
        self.latency = 0.0
        self.fail: Callable[[dict[str, Any]], bool] = lambda _: False
        self._replies: dict[str, dict[str, Any]] = {}
        self._states: dict[str, dict[str, Any]] = {}
        self._lock = threading.Lock()

    def answer(self, body: dict[str, Any], *, idempotent: bool) -> dict[str, Any]:
        with self._lock:
            self.asked.append(body)
            key = str(body["turn_key"])
            if idempotent and key in self._replies:
                return self._replies[key]
            self.worked[key] = self.worked.get(key, 0) + 1
            state = self._states.setdefault(body["session"], {"status": "open"})
            text, calls = self._reply(body, state)
            reply = {"response": text, "tool_calls": calls, "state": dict(state)}
            self._replies[key] = reply
            return reply

    def _reply(
        self, body: dict[str, Any], state: dict[str, Any]
    ) -> tuple[str, list[dict[str, Any]]]:
        said = "\n".join(one["content"] for one in body["messages"] if one["role"] == "user")
        number = re.search(r"\d{4}", said)
        if "@" not in said:
            return "What is your email?", []
        if "phone" not in said:
            return "What is your phone number?", []
        if not re.search(r"\byes\b", said, re.IGNORECASE):
            return "Shall I cancel it?", []
        state["status"] = "cancelled"
        call = {"name": "cancel", "arguments": {"order": number[0] if number else ""}}
        return "It is cancelled. Anything else?", [call]


@contextmanager
def serving(bot: Bot) -> Iterator[str]:
    """Serve a bot; POST /keeps repeats its answer to a turn_key, POST /chat acts again."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if bot.latency:
                threading.Event().wait(bot.latency)
            status, reply = 200, {}
            if bot.fail(body):
                status, reply = 500, {"error": "broken"}
                bot.asked.append(body)
            else:
                reply = bot.answer(body, idempotent=self.path == "/keeps")
            text = json.dumps(reply).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def write_eval(
    folder: Path,
    url: str,
    *,
    count: int = 3,
    repeat: int = 1,
    session: str = "stateless",
    more: str = "",
) -> Path:
    """Write scenarios and an eval file; return the eval file."""
    folder.mkdir(parents=True, exist_ok=True)
    scenarios = [SCENARIOS.format(id=f"s{n}", number=4000 + n) for n in range(count)]
    (folder / "scenarios.yaml").write_text("".join(scenarios), encoding="utf-8")
    path = folder / "eval.yaml"
    path.write_text(
        EVAL.format(url=url, repeat=repeat, session=session, more=more), encoding="utf-8"
    )
    return path


def run_eval(path: Path, folder: Path, *, retry_failed: bool = False) -> None:
    """Run an eval file into a folder."""
    from adjudge.runs.eval_file import load_eval
    from adjudge.runs.execute import execute
    from adjudge.runs.plan import resolve

    plan = resolve(load_eval(path), folder=folder)
    with execute(plan, retry_failed=retry_failed) as events:
        for _ in events:
            pass


if __name__ == "__main__":
    import sys

    run_eval(Path(sys.argv[1]), Path(sys.argv[2]))
