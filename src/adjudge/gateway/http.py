"""POST and GET over one shared session, and what a status code means."""

from __future__ import annotations

import asyncio
import json
import math
import re
import time
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from adjudge.errors import ModelError, RateLimited, Refused, SetupError, Unavailable, Unreachable
from adjudge.gateway.home import before_leaving

if TYPE_CHECKING:
    import aiohttp

_RETRYABLE = frozenset({408, 409})
_HINTS = {
    401: "check the API key",
    402: "the account has no credit",
    403: "this key may not use the model",
    404: "check the model's name and the base URL",
    413: "the text is too long for this model",
}
_sessions: WeakKeyDictionary[asyncio.AbstractEventLoop, aiohttp.ClientSession] = WeakKeyDictionary()


class Secret:
    """A key that is in memory and nowhere else: it does not show in ``repr``, and is struck out of what servers send."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        value = value.strip()
        if not value.isascii() or not value.isprintable():
            raise SetupError("the API key contains characters that no key has: copy it again")
        self._value = value

    def reveal(self) -> str:
        """The key itself, for a request header."""
        return self._value

    def __bool__(self) -> bool:
        return bool(self._value)

    def __repr__(self) -> str:
        return "Secret(…)"

    def __reduce__(self) -> str:
        raise TypeError("a key is not written anywhere")

    def struck_out(self, body: bytes) -> bytes:
        """``body`` without the key."""
        key = self._value.encode()
        return body.replace(key, b"***") if len(key) > 5 and key in body else body


_NO_SECRET = Secret("")


@dataclass(frozen=True)
class Endpoint:
    """Where a provider is asked, and in whose name errors speak."""

    provider: str
    model: str
    url: str = field(repr=False)  # it may hold a password
    headers: Mapping[str, str] = field(repr=False)
    secret: Secret = field(default=_NO_SECRET, repr=False)

    def error(self, kind: type[ModelError], message: str, hint: str = "", **more: Any) -> ModelError:
        """An error that names this provider and model."""
        return kind(message, provider=self.provider, model=self.model, hint=hint, **more)


async def post_json(endpoint: Endpoint, body: Mapping[str, object]) -> dict[str, Any]:
    """The JSON object that answers ``body``; a ModelError when there is none."""
    return await _exchange("POST", endpoint, json.dumps(body).encode())


async def get_json(endpoint: Endpoint) -> dict[str, Any]:
    """The JSON object at the endpoint."""
    return await _exchange("GET", endpoint, None)


async def post_form(endpoint: Endpoint, body: str) -> dict[str, Any]:
    """The JSON object that answers a form, as token services want it."""
    return await _exchange("POST", endpoint, body.encode())


async def _exchange(method: str, endpoint: Endpoint, data: bytes | None) -> dict[str, Any]:
    import aiohttp

    session = _session()
    proxy = _proxy_for(endpoint.url)
    try:
        # Redirects are not followed: a key goes to the host it was meant for.
        async with session.request(
            method, endpoint.url, data=data, headers=endpoint.headers, proxy=proxy, allow_redirects=False
        ) as response:
            raw = endpoint.secret.struck_out(await response.read())
            status, headers = response.status, response.headers
    except aiohttp.InvalidURL:
        raise SetupError(f"the URL of {endpoint.provider}/{endpoint.model} cannot be asked: check its base URL") from None
    except (aiohttp.ClientError, OSError, ValueError) as error:
        # "from None": the client's exceptions carry request headers, and with them the key.
        kind = Unreachable if isinstance(error, aiohttp.ClientConnectorError) else Unavailable
        raise endpoint.error(kind, f"the connection failed: {_plain_error(error)}") from None
    if status != 200:
        failure = _error_for(endpoint, status, headers, raw)
        failure.status = status
        raise failure
    return _object(endpoint, raw)


def _object(endpoint: Endpoint, raw: bytes) -> dict[str, Any]:
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        raise endpoint.error(Unavailable, f"the server answered with something that is no JSON: {_brief(raw)}") from None
    if not isinstance(data, dict):
        raise endpoint.error(Unavailable, "the server answered with JSON that is no object")
    if data.get("error"):
        raise endpoint.error(Unavailable, f"the server answered with an error: {error_message(raw, endpoint.secret)}")
    return data


def _error_for(endpoint: Endpoint, status: int, headers: Mapping[str, str], raw: bytes) -> ModelError:
    message = f"{status}: {error_message(raw, endpoint.secret)}"
    wait = retry_after(headers.get("Retry-After"))
    retryable = status >= 500 or status in _RETRYABLE
    if status == 429 or (retryable and wait is not None):
        return endpoint.error(RateLimited, message, retry_after=wait)
    if retryable:
        return endpoint.error(Unavailable, message)
    declined = rb"content[_ ](?:filter|policy|management)|ResponsibleAI" + (rb"|flagged|moderation" if status == 403 else b"")
    if re.search(declined, raw):
        return endpoint.error(Refused, message)
    return endpoint.error(ModelError, message, hint=_HINTS.get(status, ""))


def error_message(raw: bytes, secret: Secret = _NO_SECRET) -> str:
    """What the body of an error says, in one line, without the key: JSON may have hidden it in escapes."""
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        return _brief(raw)
    inner = data.get("error", data) if isinstance(data, dict) else data
    if isinstance(inner, dict):
        inner = inner.get("message") or inner.get("detail") or inner
    return _brief(secret.struck_out(str(inner).encode(errors="replace")))


def retry_after(value: str | None) -> float | None:
    """Seconds to wait by a ``Retry-After`` header, given in seconds or as a date."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        seconds = _seconds_until(value)
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _seconds_until(date: str) -> float:
    try:
        return parsedate_to_datetime(date).timestamp() - time.time()
    except (ValueError, TypeError, OverflowError):
        return float("nan")


def _session() -> aiohttp.ClientSession:
    import aiohttp

    loop = asyncio.get_running_loop()
    session = _sessions.get(loop)
    if session is None or session.closed:
        connector = aiohttp.TCPConnector(limit=0, loop=loop)
        session = aiohttp.ClientSession(
            connector=connector, cookie_jar=aiohttp.DummyCookieJar(), timeout=aiohttp.ClientTimeout(total=None)
        )
        _sessions[loop] = session
    return session


async def close_session() -> None:
    """Close the running loop's connections."""
    session = _sessions.pop(asyncio.get_running_loop(), None)
    if session is not None:
        await session.close()


before_leaving(close_session)


@lru_cache(maxsize=64)
def _proxy_for(url: str) -> str | None:
    """The proxy the environment names for this URL."""
    parts = urlsplit(url)
    if not parts.hostname or urllib.request.proxy_bypass(parts.hostname):
        return None
    return urllib.request.getproxies().get(parts.scheme)


def _plain_error(error: BaseException) -> str:
    return _brief(str(error).encode(errors="replace") or type(error).__name__.encode())


def _brief(raw: bytes) -> str:
    text = " ".join(raw[:2000].decode(errors="replace").split())
    return (text[:297] + "…" if len(text) > 300 else text) or "(empty)"
