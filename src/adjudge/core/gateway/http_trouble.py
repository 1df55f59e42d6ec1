"""Failures below HTTP, in our own words.

The client's exceptions quote what the server sent and hold the request's headers, and with them the
key. Their text is therefore never passed on.
"""

from __future__ import annotations

import os
import ssl

import aiohttp
from aiohttp.http_exceptions import (
    ContentEncodingError,
    HttpProcessingError,
    LineTooLong,
    TransferEncodingError,
)

from adjudge.messages import Message

NO_ANSWER = (
    aiohttp.ClientError,
    HttpProcessingError,
    OSError,
    EOFError,
    ValueError,
    RuntimeError,
    AssertionError,
)
"""Exceptions of the client if there is no answer; the last three if a server confuses it."""
_NO_HTTP = Message("the server's answer is not valid HTTP")
# The first entry that matches an exception or its cause counts.
_WORDS: tuple[tuple[type[BaseException], str], ...] = (
    (aiohttp.ClientHttpProxyError, Message("the proxy {proxy} answered {status}")),
    (aiohttp.ClientProxyConnectionError, Message("Cannot connect to the proxy {proxy} ({reason})")),
    (
        aiohttp.ClientConnectorCertificateError,
        Message("the certificate of {host} was not accepted ({reason})"),
    ),
    (aiohttp.ClientConnectorDNSError, Message("the host {host} is unknown")),
    (aiohttp.ClientConnectorError, Message("Cannot connect to host {host} ({reason})")),
    (aiohttp.ConnectionTimeoutError, Message("Cannot connect to host {host} in time")),
    (
        aiohttp.ServerDisconnectedError,
        Message("the server closed the connection without an answer"),
    ),
    (ContentEncodingError, Message("the server's answer cannot be decompressed")),
    (TransferEncodingError, _NO_HTTP),
    (LineTooLong, Message("the headers of the server's answer are too long")),
    (aiohttp.ClientPayloadError, Message("the server's answer was cut off")),
    (aiohttp.ClientResponseError, _NO_HTTP),
    (HttpProcessingError, _NO_HTTP),
    (OSError, "{reason}"),
)


def describe(error: BaseException, host: str, proxy: str) -> str:
    """Return one clause that describes the failure."""
    status, reason = getattr(error, "status", ""), _reason(error)
    for kind, words in _WORDS:
        if isinstance(error, kind) or isinstance(error.__cause__, kind):
            return Message(words, host=host, proxy=proxy, status=status, reason=reason)
    return Message("{problem} ({kind})", problem=_NO_HTTP, kind=type(error).__name__)


def _reason(error: BaseException) -> str:
    """Return the fixed words of the system or the TLS library."""
    error = getattr(error, "certificate_error", None) or getattr(error, "os_error", None) or error
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message
    if isinstance(error, ssl.SSLError):
        return error.reason or Message("TLS failed")
    code = getattr(error, "errno", None)
    return os.strerror(code) if isinstance(code, int) and code > 0 else type(error).__name__
