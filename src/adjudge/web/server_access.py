"""What the guards of both servers share: where one listens and its token, and what leaves with
every answer.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import Message, Scope, Send

SAFE = ("GET", "HEAD")
CLOSED = {"connection": "close"}
"""Of an answer behind which nothing on the connection can be trusted."""
HARDENING = {"x-content-type-options": "nosniff", "referrer-policy": "no-referrer"}
_LONGEST_PATH = 8_192


@dataclass(frozen=True)
class ServerAccess:
    """Where one server listens, the token that opens it, and what else it is called."""

    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    names: tuple[str, ...] = ()
    """Further names that a Host header may say, with a port or without."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """What a Host header may say."""
        own = [f"{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]", *self.names)]
        return (*own, *self.names)

    def knows(self, given: str | None) -> bool:
        """Whether it is the token."""
        return is_secret(given, self.token)


def is_secret(given: str | None, secret: str) -> bool:
    """Compared in the same time whatever is given."""
    return secrets.compare_digest((given or "").encode("utf-8", "replace"), secret.encode())


def is_too_long(scope: Scope) -> bool:
    """Whether an address is longer than any of ours."""
    return len(scope.get("raw_path") or b"") + len(scope["query_string"]) > _LONGEST_PATH


def has_two_lengths(headers: Headers) -> bool:
    """Whether a body has a length and comes in parts: servers differ on where such a body ends, and
    what follows it may be taken for somebody else's request.
    """
    return "content-length" in headers and "transfer-encoding" in headers


def sealed(send: Send, fixed: Mapping[str, str], usual: Mapping[str, str]) -> Send:
    """``send`` with the headers that every answer has, and those that it has unless it says
    otherwise.
    """

    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers.update(fixed)
            for name, value in usual.items():
                headers.setdefault(name, value)
        await send(message)

    return sent
