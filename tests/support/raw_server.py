"""A server on 127.0.0.1 that answers with whatever bytes a test says, HTTP or not, once or without
end.
"""

from __future__ import annotations

import base64
import json
import re
import socket
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress

TOKEN = "eyMARKED-token-7f3a91c2"
"""What the token service gives for a watsonx key."""
_KEY = re.compile(
    r"^(?:authorization: *bearer|x-api-key:|x-goog-api-key:) *(\S+)", re.IGNORECASE | re.MULTILINE
)
_LOGIN = re.compile(r"^(?:proxy-)?authorization: *basic *(\S+)", re.IGNORECASE | re.MULTILINE)
_IN_URL = re.compile(r"[?&](?:api-key|apikey)=([^&\s]+)")

Script = Callable[[str], Iterable[bytes]]


class RawServer:
    """Start it with ``with``.

    ``script`` makes an answer of the key or password that a request carries.
    """

    def __init__(self, script: Script) -> None:
        self.script = script
        self.token_script: Script | None = None
        """Of the token service; None: it works."""
        self.requests: list[str] = []
        """The head of each."""
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> RawServer:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # without it, the thread that accepts would not end on Linux
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in list(self._open):
            connection.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._open.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection:
                head, body = _request(connection)
                self.requests.append(head)
                for piece in self._answer(head, body):
                    connection.sendall(piece)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(
                    65536
                ):  # closed by the client, so that no reset overtakes the answer
                    pass
        except OSError:
            pass
        finally:
            self._open.discard(connection)

    def _answer(self, head: str, body: str) -> Iterable[bytes]:
        if "/identity/token" in head:
            return self.token_script(key_in(f"{head}&{body}")) if self.token_script else [_token()]
        return self.script(key_in(head))


def key_in(text: str) -> str:
    """The key or password in a request."""
    if found := _KEY.search(text) or _IN_URL.search(text):
        return found[1]
    login = _LOGIN.search(text)
    return base64.b64decode(login[1]).decode().partition(":")[2] if login else "no key"


def answer(body: bytes, headers: str = "", status: str = "200 OK") -> bytes:
    """A proper answer."""
    return f"HTTP/1.1 {status}\r\n{headers}Content-Length: {len(body)}\r\n\r\n".encode() + body


def _token() -> bytes:
    return answer(
        json.dumps({"access_token": TOKEN, "expires_in": 3600}).encode(), "Connection: close\r\n"
    )


def _request(connection: socket.socket) -> tuple[str, str]:
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536) or b"\r\n\r\n"
    head, _, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
    while length and len(body) < int(length[1]):
        body += connection.recv(65536) or b" " * int(length[1])
    return head.decode(), body.decode()
