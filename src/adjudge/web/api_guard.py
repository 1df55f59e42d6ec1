"""Access control of the JSON API: programs that have the key and use one of our host names, but no
foreign web page.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adjudge.core.domain.json_types import JsonDict, JsonValue
from adjudge.web.json_bytes import json_bytes
from adjudge.web.server_access import (
    CLOSED,
    HARDENING,
    SAFE,
    ServerAccess,
    has_two_lengths,
    is_too_long,
    with_headers,
)

_FIXED = {
    **HARDENING,
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
}
_ERROR_TYPES = {401: "authentication_error", 429: "rate_limit_error"}
"""Status → what System One's clients know it by."""


@dataclass(frozen=True)
class ApiAccess(ServerAccess):
    """The address of the API. The token is its key."""

    def knows_header(self, header: str) -> bool:
        """Return True if an Authorization header holds the key."""
        kind, _, key = header.partition(" ")
        return kind.lower() == "bearer" and self.knows(key.strip())


class ApiGuard:
    def __init__(self, app: ASGIApp, access: ApiAccess, *, largest: int) -> None:
        self._app = app
        self._access = access
        self._largest = largest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it with the reason for refusing it."""
        if scope["type"] == "http":
            answer = self._refusal(scope)
            await _answer_until_stopped(
                answer or self._app, scope, receive, with_headers(send, _FIXED, {})
            )

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if has_two_lengths(headers):
            return problem(
                400, "two_lengths", "send the body's length or send it in parts, not both", CLOSED
            )
        if is_too_long(scope):
            return problem(414, "too_long", "the address is too long")
        if headers.get("host", "").lower() not in self._access.hosts:
            return problem(
                421,
                "host",
                "this name is not served here: use the address that adjudge serve printed, "
                "or --name",
            )
        if headers.get("origin") is not None or headers.get("sec-fetch-site", "none") not in (
            "none",
            "same-origin",
        ):
            return problem(403, "origin", "web pages may not use this API")
        if not self._access.knows_header(headers.get("authorization", "")):
            return problem(
                401,
                "key",
                "send the key: Authorization: Bearer KEY",
                {"www-authenticate": "Bearer"},
            )
        return None if scope["method"] in SAFE else self._refused_body(headers)

    def _refused_body(self, headers: Headers) -> Response | None:
        if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            return problem(415, "content_type", "send JSON: Content-Type: application/json")
        length = headers.get("content-length", "")
        if not length.isdigit():
            return problem(411, "length", "send the length of the body: Content-Length")
        if int(length) > self._largest:
            return problem(
                413,
                "too_large",
                f"the body has {length} bytes, and at most {self._largest} are read",
            )
        return None


async def _answer_until_stopped(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request. If the server is stopped before the response starts, respond with 503.

    A model's reply that arrives later is cached, so asking again costs nothing.
    """
    is_answered = False

    async def send_and_note(message: Message) -> None:
        nonlocal is_answered
        is_answered = True
        await send(message)

    try:
        await app(scope, receive, send_and_note)
    except asyncio.CancelledError:
        if not is_answered:
            await problem(
                503, "stopped", "the server is being stopped: ask again later", {"retry-after": "5"}
            )(scope, receive, send)


def problem(
    status: int,
    kind: str,
    message: str,
    headers: Mapping[str, str] | None = None,
    *,
    detail: JsonValue = None,
    parameter: str | None = None,
) -> Response:
    """Build an error response: ``error`` for OpenAI's clients, ``detail`` for TypeSafe's."""
    error: JsonDict = {"type": kind, "message": message, "code": kind, "param": parameter}
    typesafe_detail: JsonDict = {"error_type": _ERROR_TYPES.get(status, kind), "message": message}
    return Response(
        json_bytes({"error": error, "detail": typesafe_detail if detail is None else detail}),
        status,
        headers,
        "application/json",
    )


def host_names(names: Sequence[str]) -> tuple[str, ...]:
    """Normalize names for comparison with Host headers."""
    return tuple(name.strip().lower() for name in names)
