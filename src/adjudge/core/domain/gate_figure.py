"""Figures of a judge that gates can name."""

from __future__ import annotations

from typing import NamedTuple

from adjudge.messages import Message


class GateFigure(NamedTuple):
    """A figure that a gate can name besides the criteria of a judge."""

    name: str
    refusal: Message | None = None
    """Why it cannot be held to a least value."""
