"""Whether a command that is kept in a run folder was given on this machine by this user.

A run folder may come from anybody. The command in it is signed with a secret in the user's cache folder, so that one that was
put there by somebody else, or before there were signatures, can be told and is shown before it is given again.
"""

from __future__ import annotations

import hmac
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adjudge.errors import SetupError
from adjudge.local.cache_folder import cache_folder

_FILE = "origin.key"
_BYTES = 32
_FOR_OTHERS = 0o077


def signed(argv: list[str], cwd: str) -> dict[str, Any]:
    """A command as it is kept; without a signature where the user's cache folder cannot hold the secret."""
    secret = _secret(make=True)
    return {"argv": argv, "cwd": cwd, **({"signature": _signature(secret, argv, cwd)} if secret else {})}


def is_ours(command: Mapping[str, Any]) -> bool:
    """Whether this user gave the command here."""
    secret, signature = _secret(make=False), command.get("signature")
    if secret is None or not isinstance(signature, str) or not signature.isascii():
        return False
    return hmac.compare_digest(signature, _signature(secret, command["argv"], command["cwd"]))


def _signature(secret: bytes, argv: list[str], cwd: str) -> str:
    return hmac.new(secret, json.dumps(["command", argv, cwd]).encode(), "sha256").hexdigest()


def _secret(*, make: bool) -> bytes | None:
    """The user's secret, or None where there is none that only the user can read."""
    try:
        path = cache_folder() / _FILE
        if make and not path.exists():
            _make(path)
        return _own(path)
    except (OSError, SetupError):
        return None


def _make(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{_FILE}.{secrets.token_hex(8)}.part")
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(secrets.token_bytes(_BYTES))
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _own(path: Path) -> bytes | None:
    with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
        about = os.fstat(file.fileno())
        if os.name == "posix" and (about.st_uid != os.getuid() or about.st_mode & _FOR_OTHERS):
            return None
        secret = file.read(_BYTES)
    return secret if len(secret) == _BYTES else None
