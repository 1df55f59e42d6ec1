"""Removes keys and passwords from texts of others: addresses, and replies of servers."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from urllib.parse import unquote, unquote_plus, urlsplit

# Shortest key that is searched for: a shorter one would match ordinary words.
_LEAST = 6
_LOGIN = re.compile(r"(?<=://)[^/?#\s]*@")
_PARAMETER = re.compile(r"([?&])([^=&?#\s]+)=([^&#\s]*)")
_SECRET_NAME = re.compile(
    r"key|token|secret|pass|pwd|auth|sig|cred|code|jwt|bearer|session", re.IGNORECASE
)
_LIKE_A_KEY = re.compile(r"(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{20,}")
_LEFT_OVER = re.compile(r"\?(?=#|\s|$)")
_HEX = r"([2-7][0-9a-f])"
_ESCAPE = re.compile(
    rf"\\u00{_HEX}|\\x{_HEX}|%{_HEX}|&#x0{{0,6}}{_HEX};?|&#0{{0,6}}(\d{{2,3}});?".encode(),
    re.IGNORECASE,
)
_ESCAPE_MARKS = (b"\\u00", b"\\x", b"%", b"&#", b"&amp;", b"\\/")
# Rounds of a slow hash, so that short values are not guessed quickly from a shared folder.
_ROUNDS = 20_000
# Characters of a slow hash that show a change.
MARK = 8
# Layers of escapes that are undone, such as JSON in JSON in JSON. No client decodes more.
_MOST_LAYERS = 4
# Escapes of plain ASCII characters per reply.
# No honest reply has so many, and a hostile one must not take minutes to search.
_MOST_ESCAPES = 100_000


def without_secrets(text: str) -> str:
    """Return ``text`` without logins and secret query parameters in its addresses."""
    if "://" not in text:
        return text
    return _LEFT_OVER.sub("", _PARAMETER.sub(_drop_secret, _LOGIN.sub("", text)).replace("?&", "?"))


def harmless_address(address: str) -> str:
    """Return the harmless part of an unusable address, perhaps without its ``http://``."""
    if "://" in address:
        return (
            without_secrets(address)
            if _has_readable_host(address)
            else f"{address.partition('://')[0].strip()}://…"
        )
    return address.rpartition("@")[2].partition("?")[0]


def _has_readable_host(address: str) -> bool:
    """Return False if a "/", "#" or "?" in a password may have moved the end of the host."""
    return bool(host_of(address.strip())) and not ("@" in address and address.count("#") > 1)


def secrets_in(url: str) -> tuple[str, ...]:
    """Return the secrets of an address, as they are sent: a password, a user without one, values of
    secret parameters.
    """
    login = (_LOGIN.search(url) or [""])[0].removesuffix("@")
    user, _, password = map(unquote, login.partition(":"))
    parameters = _PARAMETER.findall(url)
    values = [unquote_plus(value) for _, name, value in parameters if _is_secret(name, value)]
    return tuple(
        value
        for value in (password or user, f"{user}:{password}" if password else "", *values)
        if value
    )


def environment_secrets(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of variables whose names and lengths are those of secrets."""
    return tuple(
        value
        for name, value in environment.items()
        if _SECRET_NAME.search(name) and len(value) >= 2 * _LEAST
    )


def host_of(url: str) -> str:
    """Return host and port, for messages; empty if the address cannot be read."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return ""
    return f"{host}:{port}" if host and port else host


def strike_out(body: bytes, secrets: Iterable[str]) -> bytes:
    """Return ``body`` without the secrets: plain, in base64, or with characters escaped as in JSON,
    URLs or HTML.
    """
    # JSON has no zero bytes, and those of UTF-16 and UTF-32 would separate the characters.
    body = body.replace(b"\0", b"")
    for secret in secrets:
        if len(secret) >= _LEAST:
            body = _strike_out_one(body, secret)
    return body


def _drop_secret(parameter: re.Match[str]) -> str:
    mark, name, value = parameter.groups()
    if not _is_secret(name, value):
        return parameter[0]
    return "?" if mark == "?" else ""


@cache
def slow_hash(text: str, salt: str = "") -> str:
    """Return a hash of a text that may be secret and short, so guessing it must take time."""
    return hashlib.pbkdf2_hmac("sha256", text.encode(), salt.encode(), _ROUNDS).hex()


def looks_like_a_key(value: str) -> bool:
    """Return True if a text mixes letters and digits at a length that only keys have."""
    return bool(_LIKE_A_KEY.search(value))


def _is_secret(name: str, value: str) -> bool:
    return bool(_SECRET_NAME.search(name) or looks_like_a_key(value))


def _strike_out_one(body: bytes, secret: str) -> bytes:
    forms = _encodings(secret)
    for form in forms:
        if form in body:
            body = body.replace(form, b"***")
    if not any(mark in body for mark in _ESCAPE_MARKS):
        return body
    # Escapes may hide a secret, so it is searched again in the decoded text.
    bare = _unescape(body)
    if bare and not any(form in bare for form in forms):
        return body
    for form in forms:
        bare = bare.replace(form, b"***")
    return bare


def _unescape(body: bytes) -> bytes:
    """Return ``body`` with its escaped characters written plainly, and without backslashes.

    The result need not be JSON. It is empty if there are suspiciously many escapes.
    """
    for _ in range(_MOST_LAYERS):
        body, count = _ESCAPE.subn(_character, body.replace(b"&amp;", b"&"), _MOST_ESCAPES)
        # A hostile reply is dropped: decoding it could take minutes.
        if count == _MOST_ESCAPES:
            return b""
        if not count:
            break
    return body.replace(b"\\", b"")


def _character(escape: re.Match[bytes]) -> bytes:
    *codes, decimal = escape.groups()
    number = int(decimal) if decimal else int(next(filter(None, codes)), 16)
    return bytes((number,)) if 0x20 <= number < 0x7F else escape[0]


@lru_cache(maxsize=64)
def _encodings(secret: str) -> tuple[bytes, ...]:
    return tuple(form.encode() for form in dict.fromkeys((secret, *_base64(secret))))


def _base64(secret: str) -> Iterator[str]:
    """Return the characters that the secret leaves in the base64 of any text around it."""
    raw = secret.encode()
    # Base64 works on groups of three bytes, so the secret can start at three offsets. The
    # characters at the edges depend on the neighbours and are cut off.
    for offset in range(3):
        for encode in (b64encode, urlsafe_b64encode):
            start = (0, 2, 3)[offset]
            end = (offset + len(raw)) * 8 // 6
            yield encode(b"\0" * offset + raw).decode()[start:end]
