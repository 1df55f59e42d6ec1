"""Writes JSON as the API sends it."""

from __future__ import annotations

import json


def json_bytes(data: object) -> bytes:
    """Encode as JSON in UTF-8. Lone surrogates, which UTF-8 cannot encode, become escapes."""
    return json.dumps(data, ensure_ascii=False, default=str).encode("utf-8", "backslashreplace")
