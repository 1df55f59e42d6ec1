"""A decision model on 127.0.0.1, in any of the wire formats, and with faults.

The probabilities are a hash of state, instructions and option: the same whatever else is asked.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from adjudge.core.domain.decision import (
    DecisionAnswer,
    DecisionQuestion,
    DecisionReply,
    DecisionRequest,
)
from adjudge.core.domain.message import Usage
from adjudge.core.gateway.decisions.format import DecisionFormat
from adjudge.core.gateway.decisions.systemone import SystemOne

KEY = "sk-decision-7c1f55aa90"
Change = Callable[[Any], Any]
"""A reply's body → what is sent instead."""
Fault = tuple[int, Any, dict[str, str]]
"""Status, body and headers of an answer that is an error."""


def probability(state: object, question: DecisionQuestion, value: str) -> float:
    """How likely the fake model thinks an option is, before it is divided by the sum."""
    text = json.dumps([state, question.instructions, value], sort_keys=True)
    return 1 + int(hashlib.sha256(text.encode()).hexdigest()[:8], 16) % 997


def answer_to(request: DecisionRequest) -> tuple[DecisionAnswer, ...]:
    """What the fake model answers."""
    answers = []
    for question in request.questions:
        weights = [probability(request.state, question, value) for value in question.values]
        answers.append(DecisionAnswer(tuple(weight / sum(weights) for weight in weights)))
    return tuple(answers)


class DecisionServer:
    """Use ``with serving(…) as server``."""

    def __init__(self, form: DecisionFormat) -> None:
        self.form = form
        self.requests: list[DecisionRequest] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.change: Change = lambda body: body
        self.fault: Callable[[int, DecisionRequest], Fault | None] = lambda number, request: None
        self.model = "fake-1"
        self._lock = threading.Lock()
        self.url = ""

    def answer(self, path: str, headers: dict[str, str], body: Any) -> Fault:
        _, request = self.form.decode_request(body)
        with self._lock:
            self.requests.append(request)
            self.headers.append(headers)
            self.paths.append(path)
            number = len(self.requests)
        if fault := self.fault(number, request):
            return fault
        tokens = max(1, len(json.dumps(body)) // 4)
        reply = DecisionReply(answer_to(request), self.model, Usage(1, tokens, 0))
        return 200, self.change(self.form.encode_reply(request, reply)), {}


@contextmanager
def serving(form: DecisionFormat | None = None) -> Iterator[DecisionServer]:
    """Serve decisions for as long as this holds."""
    fake = DecisionServer(form or SystemOne())

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self._send(*fake.answer(self.path, dict(self.headers), body))

        def do_GET(self) -> None:
            listed = {"models": [{"name": "fake-1", "description": "", "release_date": ""}]}
            self._send(200, listed, {})

        def _send(self, status: int, body: Any, headers: dict[str, str]) -> None:
            sent = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    fake.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
