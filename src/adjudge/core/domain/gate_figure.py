"""Figures of a judge that gates can name."""

from __future__ import annotations

from typing import NamedTuple

from adjudge.messages import Message


class GateFigure(NamedTuple):
    """A figure that a gate can name, in addition to the criteria of a judge."""

    name: str
    refusal: Message | None = None
    """The reason why it cannot have a minimum."""
