"""Writes JSON as the API sends it."""

from __future__ import annotations

import json


def json_bytes(data: object) -> bytes:
    """In UTF-8. Half a surrogate pair has none: it stays the escape that JSON has for it."""
    return json.dumps(data, ensure_ascii=False, default=str).encode("utf-8", "backslashreplace")
