"""Text without invisible characters, and with ASCII digits and punctuation."""

from __future__ import annotations

from functools import cache
from typing import Final

# Soft hyphens, zero-width spaces, and marks of direction and of variants.
_UNSEEN: Final = (
    "\u00ad\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060"
    "\u2066\u2067\u2068\u2069\ufe0e\ufe0f\ufeff"
)
# The first digit of other scripts; the others follow it.
_ZEROS: Final = "\u0660\u06f0\u0966\u09e6\u0e50"
# The characters of ASCII at full width.
_WIDE: Final = range(0xFF01, 0xFF5F)
_TO_ASCII: Final = _WIDE.start - ord("!")


def plain(text: str) -> str:
    """Return ``text`` without invisible characters, with ASCII digits and punctuation."""
    return text if text.isascii() else text.translate(_table())


@cache
def _table() -> dict[int, int | None]:
    digits = {ord(zero) + value: ord("0") + value for zero in _ZEROS for value in range(10)}
    wide = {code: code - _TO_ASCII for code in _WIDE}
    return {**digits, **wide, **dict.fromkeys(map(ord, _UNSEEN))}
