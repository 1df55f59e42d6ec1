"""The real Langfuse client sends to a real socket: scores for verdicts, an
event for what has none.
"""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from adjudge import Criteria, CriteriaOption, Instance
from support.neighbours import BAD, GOOD, ODD, critic, direct

pytest.importorskip("langfuse", reason="langfuse is not installed: make test-neighbours tries it")
import langfuse

from adjudge.features.integrations.langfuse import send_scores

TRACES = [f"{number:032x}" for number in range(1, 4)]


class Receiver:
    def __init__(self) -> None:
        self.bodies: list[tuple[str, bytes]] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                receiver.bodies.append(
                    (self.path, self.rfile.read(int(self.headers["Content-Length"])))
                )
                answer = b'{"successes": [], "errors": []}'
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def scores(self) -> list[dict[str, Any]]:
        return [
            one
            for path, body in self.bodies
            if path.endswith("/scores")
            for one in json.loads(body)
        ]

    @property
    def spans(self) -> bytes:
        return b"".join(gzip.decompress(body) for path, body in self.bodies if "otel" in path)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.server.shutdown()
    made.server.server_close()


def client_of(receiver: Receiver) -> Any:
    host = f"http://127.0.0.1:{receiver.server.server_port}"
    return langfuse.Langfuse(
        public_key=f"pk-{receiver.server.server_port}",
        secret_key="sk-lf",
        base_url=host,
        flush_at=1,
    )


def test_verdicts_are_scores_and_a_failure_is_none(receiver: Receiver) -> None:
    client = client_of(receiver)
    rows = [
        Instance({"response": text}, metadata={"trace_id": id})
        for text, id in zip((GOOD, BAD, ODD), TRACES, strict=True)
    ]
    results = critic().evaluate(rows)
    assert send_scores(results, client) == 2
    assert {
        (one["traceId"], one["name"], one["value"], one["dataType"]) for one in receiver.scores
    } == {
        (TRACES[0], "year", 1.0, "NUMERIC"),
        (TRACES[1], "year", 0.0, "NUMERIC"),
    }
    assert {one["comment"] for one in receiver.scores} == {"it does", "it does not"}
    first = {one["id"] for one in receiver.scores}
    send_scores(results, client)
    assert {one["id"] for one in receiver.scores} == first  # sent again, they replace themselves
    client.shutdown()
    assert b"year: no verdict" in receiver.spans
    assert b"unreadable" in receiver.spans


def test_options_without_scores_are_categories(receiver: Receiver) -> None:
    client = client_of(receiver)
    kinds = Criteria("kind", "Which kind?", [CriteriaOption("all"), CriteriaOption("none")])
    assert send_scores(direct().evaluate([GOOD], kinds), client, TRACES[:1]) == 1
    ((value, kind),) = [(one["value"], one["dataType"]) for one in receiver.scores]
    assert (value, kind) == ("all", "CATEGORICAL")
    client.shutdown()
