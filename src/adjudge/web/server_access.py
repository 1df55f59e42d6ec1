"""Access checks and headers that the guards of both servers share."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import Message, Scope, Send

SAFE = ("GET", "HEAD")
CLOSED = {"connection": "close"}
"""For answers after which the connection cannot be trusted any more."""
HARDENING = {"x-content-type-options": "nosniff", "referrer-policy": "no-referrer"}
_LONGEST_PATH = 8_192


@dataclass(frozen=True)
class ServerAccess:
    """A server's port, additional host names, and the token that opens it."""

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    names: tuple[str, ...] = ()
    """Further names that a Host header may say, with a port or without."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """The Host headers that are accepted."""
        addresses = [
            f"{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]", *self.names)
        ]
        return (*addresses, *self.names)

    def knows(self, token: str | None) -> bool:
        """Return True if this is the token."""
        return is_secret(token, self.token)


def is_secret(candidate: str | None, secret: str) -> bool:
    """Compare with a secret in constant time."""
    return secrets.compare_digest((candidate or "").encode("utf-8", "replace"), secret.encode())


def is_too_long(scope: Scope) -> bool:
    """Return True if an address is longer than any of ours."""
    return len(scope.get("raw_path") or b"") + len(scope["query_string"]) > _LONGEST_PATH


def has_two_lengths(headers: Headers) -> bool:
    """Return True if a body has a length and is also chunked.

    Servers disagree on where such a body ends, which allows request smuggling.
    """
    return "content-length" in headers and "transfer-encoding" in headers


def with_headers(send: Send, fixed: Mapping[str, str], usual: Mapping[str, str]) -> Send:
    """Wrap ``send`` to set the headers ``fixed`` on every response, and ``usual`` where missing."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(fixed)
            for name, value in usual.items():
                headers.setdefault(name, value)
        await send(message)

    return send_with_headers
