"""The limits on what is read of HTTP replies, and the wait that their headers ask for."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping

GOOD = (200, 201, 202)
MAX_REPLY = 32_000_000
"""Bytes, after decompression. A longer body is not read."""
LARGE = 1_000_000
"""Bytes. Of longer replies only a few are in memory at once."""


class Unread(Exception):
    """Raised for an answer whose body is not read; its text says why."""


def wait_in(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks for; ``Retry-After-Ms`` takes precedence over ``Retry-
    After``.
    """
    milliseconds = retry_after(headers.get("Retry-After-Ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    return retry_after(headers.get("Retry-After"))


def retry_after(value: str | None) -> float | None:
    """Return the seconds to wait by a ``Retry-After`` header (seconds or a date); None if it is
    unreadable.
    """
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        seconds = seconds_until(value)
    return max(0.0, seconds) if math.isfinite(seconds) else None


def seconds_until(date: str) -> float:
    """Return the seconds until a date of an HTTP header; NaN if it is unreadable."""
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(date).timestamp() - time.time()
    except (ValueError, TypeError, OverflowError):
        return float("nan")
