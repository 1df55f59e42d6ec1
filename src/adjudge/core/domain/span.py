"""Positions in a text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A range of a text: ``text[start:end]``."""

    start: int
    end: int
