"""Writes JSON as the API sends it."""

from __future__ import annotations

import json


def json_bytes(data: object) -> bytes:
    """Encode as UTF-8. Half a surrogate pair, which UTF-8 cannot hold, stays a JSON escape."""
    return json.dumps(data, ensure_ascii=False, default=str).encode("utf-8", "backslashreplace")
