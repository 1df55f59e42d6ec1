"""Where something stands in a text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a text: ``text[start:end]``."""

    start: int
    end: int
