"""Google's application default credentials, and the access tokens that they buy."""

from __future__ import annotations

import json
import os
from base64 import b64decode, urlsafe_b64encode
from hashlib import sha256
from pathlib import Path
from time import time
from urllib.parse import urlencode

from adjudge.core.domain.json_types import JsonObject
from adjudge.core.gateway.http import Endpoint
from adjudge.core.gateway.providers.tokens import AccessToken
from adjudge.errors import SetupError
from adjudge.messages import Message

_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_SERVICE = "https://oauth2.googleapis.com/token"
_SERVICE_ACCOUNT, _USER = "service_account", "authorized_user"
_NEEDED = {
    _SERVICE_ACCOUNT: ("client_email", "private_key"),
    _USER: ("client_id", "client_secret", "refresh_token"),
}
# DER prefix of a SHA-256 digest in a PKCS #1 v1.5 signature (RFC 8017, 9.2).
_SHA256_INFO = bytes.fromhex("3031300d060960864801650304020105000420")
_INTEGER, _OCTETS, _SEQUENCE = 0x02, 0x04, 0x30


def read_credentials(path: str) -> JsonObject:
    """Read a Google credentials file; an empty path means the one that gcloud writes.

    Errors do not show ``path``: it is passed in place of a key, and may be a key by mistake. Raise
    a SetupError if the file is missing or unusable.
    """
    shown = "$GOOGLE_APPLICATION_CREDENTIALS" if path else _default_file()
    try:
        data = json.loads(Path(path or _default_file()).expanduser().read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise SetupError(
            "vertex needs credentials: set GOOGLE_APPLICATION_CREDENTIALS to the file of a service "
            "account, or run 'gcloud auth application-default login' (no such file: {file})",
            file=shown,
        ) from None
    except (OSError, ValueError):
        raise SetupError("{file} is not a Google credentials file", file=shown) from None
    kind = data.get("type") if isinstance(data, dict) else None
    if kind not in _NEEDED:
        raise SetupError(
            "{file}: credentials of type {kind} cannot be used, only {kinds}",
            file=shown,
            kind=repr(kind),
            kinds=", ".join(_NEEDED),
        )
    missing = [name for name in _NEEDED[kind] if not isinstance(data.get(name), str)]
    if missing:
        raise SetupError("{file} has no {names}", file=shown, names=", ".join(missing))
    if kind == _SERVICE_ACCOUNT:
        _read_key(str(data["private_key"]))  # raises now if it is damaged
    return dict(data)


def _default_file() -> str:
    folder = os.environ.get("CLOUDSDK_CONFIG") or "~/.config/gcloud"
    return f"{folder}/application_default_credentials.json"


def token_for(credentials: JsonObject, provider: str, model: str) -> AccessToken:
    """Return the access token of a service account or of a user."""
    service = Endpoint(
        provider,
        model,
        str(credentials.get("token_uri") or _SERVICE),
        {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"},
        private=frozenset(
            str(credentials[name])
            for name in ("private_key", "client_secret", "refresh_token")
            if name in credentials
        ),
        hints={
            400: Message("check the credentials file"),
            401: Message("check the credentials file"),
        },
    )
    return AccessToken(lambda: service, lambda: _grant(credentials, service.url))


def _grant(credentials: JsonObject, audience: str) -> str:
    if credentials["type"] == _USER:
        names = ("client_id", "client_secret", "refresh_token")
        return urlencode(
            {"grant_type": "refresh_token", **{name: credentials[name] for name in names}}
        )
    now = int(time())
    claims = {
        "iss": credentials["client_email"],
        "scope": _SCOPE,
        "aud": audience,
        "iat": now,
        "exp": now + 3600,
    }
    header = {"alg": "RS256", "typ": "JWT", "kid": credentials.get("private_key_id")}
    text = f"{_base64(json.dumps(header).encode())}.{_base64(json.dumps(claims).encode())}"
    signature = sign_rs256(str(credentials["private_key"]), text.encode())
    return urlencode(
        {
            "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
            "assertion": f"{text}.{_base64(signature)}",
        }
    )


def _base64(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def sign_rs256(private_key: str, data: bytes) -> bytes:
    """Sign with RSASSA-PKCS1-v1_5 and SHA-256 (RFC 8017, 8.2.1).

    ``private_key`` is an unencrypted PKCS #8 key in PEM, as Google's files hold it. One signature
    per hour needs no package for cryptography.
    """
    modulus, exponent = _read_key(private_key)
    size = (modulus.bit_length() + 7) // 8
    digest = _SHA256_INFO + sha256(data).digest()
    padded = b"\x00\x01" + b"\xff" * (size - len(digest) - 3) + b"\x00" + digest
    return pow(int.from_bytes(padded), exponent, modulus).to_bytes(size)


def _read_key(pem: str) -> tuple[int, int]:
    """Return the modulus and the private exponent of a key; raise SetupError if it cannot be
    read.
    """
    try:
        head, _, rest = pem.strip().partition("-----BEGIN PRIVATE KEY-----")
        text, end, _ = rest.partition("-----END PRIVATE KEY-----")
        if head or not end:
            raise ValueError
        # PKCS #8: version, algorithm, and a PKCS #1 key within an octet string.
        outer = _elements(_elements(b64decode(text))[0][1])
        inner = _elements(_elements(outer[2][1])[0][1])
        if outer[2][0] != _OCTETS or any(tag != _INTEGER for tag, _ in inner[:4]):
            raise ValueError
        # PKCS #1: version, modulus, public exponent, private exponent, primes.
        modulus, exponent = (int.from_bytes(inner[place][1]) for place in (1, 3))
        if modulus.bit_length() < 1024:
            raise ValueError
    except (ValueError, IndexError):
        raise SetupError("the private key of the service account cannot be read") from None
    return modulus, exponent


def _elements(data: bytes) -> list[tuple[int, bytes]]:
    """Split DER into tags and contents."""
    elements = []
    place = 0
    while place < len(data):
        tag, length = data[place], data[place + 1]
        place += 2
        if length & 0x80:
            count = length & 0x7F
            length = int.from_bytes(data[place : place + count])
            place += count
        if place + length > len(data):
            raise ValueError
        elements.append((tag, data[place : place + length]))
        place += length
    return elements
