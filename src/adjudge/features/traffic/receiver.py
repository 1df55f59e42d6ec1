"""Receive OpenTelemetry spans on this machine.

Spans are on the disk before the exporter gets its answer, in files that are followed like any
other.
"""

from __future__ import annotations

import json
import os
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from adjudge.core.ledger.file import refuse_links_below
from adjudge.errors import SetupError
from adjudge.features.traffic.intake import today
from adjudge.features.traffic.otlp import holds_spans
from adjudge.messages import reason_of

FOLDER = "received"
_PATH = "/v1/traces"
_LARGEST = 64 << 20
"""Bytes of a request, packed or not."""
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, port: int, folder: Path) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.folder, self.lock = folder, threading.Lock()

    def keep(self, document: object) -> None:
        """Append one line. It is on the disk when this returns."""
        with self.lock, (self.folder / f"{today()}.jsonl").open("a", encoding="ascii") as file:
            file.write(json.dumps(document) + "\n")
            file.flush()
            os.fsync(file.fileno())


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = 30

    def do_POST(self) -> None:
        """Accept OTLP spans sent as JSON over HTTP."""
        try:
            status, message = self._receive()
        except (ValueError, RecursionError, OSError, EOFError, zlib.error) as error:
            status, message = 400, f"cannot be read: {error}"[:200]
        body = json.dumps({} if status == 200 else {"message": message}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _receive(self) -> tuple[int, str]:
        host = (self.headers.get("Host") or "").rsplit(":", 1)[0]
        # A web page that the user has open must not be able to send spans: refuse other hosts and
        # any Origin.
        if host not in _LOOPBACK or self.headers.get("Origin"):
            return 403, "only programs on this machine may send spans"
        if self.path != _PATH:
            return 404, f"spans are sent to {_PATH}"
        if "json" not in (self.headers.get("Content-Type") or ""):
            return 415, "send JSON: OTEL_EXPORTER_OTLP_PROTOCOL=http/json"
        size = int(self.headers.get("Content-Length") or 0)
        if not 0 < size <= _LARGEST:
            return 413, f"a request has 1 to {_LARGEST} bytes"
        body = self.rfile.read(size)
        if self.headers.get("Content-Encoding") == "gzip":
            body = _unpack(body)
        document = json.loads(body)
        if not isinstance(document, dict) or not holds_spans(document):
            return 400, "there are no resourceSpans in it"
        self.server.keep(document)
        return 200, ""

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: the sender gets the error."""


def _unpack(body: bytes) -> bytes:
    unpacking = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    # At most so many bytes: a small request may unpack to very many.
    data = unpacking.decompress(body, _LARGEST)
    if unpacking.unconsumed_tail:
        raise ValueError("it is too large when unpacked")
    return data


@contextmanager
def receiving(port: int, folder: Path) -> Iterator[int]:
    """Receive spans inside the block and yield the port; port 0 takes a free one."""
    refuse_links_below(folder.parent)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        server = _Server(port, folder)
    except OSError as error:
        raise SetupError(
            "cannot listen on port {port} ({reason}): choose another one, such as otlp:4319",
            port=port,
            reason=reason_of(error),
        ) from error
    thread = threading.Thread(target=server.serve_forever, name="adjudge otlp", daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
