"""A stand-in for an assistant: it answers from a note, as it would with your prompt or skill."""

from __future__ import annotations

import zlib


def without_skill(question: str, day: str) -> str:
    """Answer as usual: sometimes with the day, more often without."""
    return _answer(question, day, often=3)


def with_skill(question: str, day: str) -> str:
    """Answer with the skill, which says: always name the day."""
    return _answer(question, day, often=8)


def _answer(question: str, day: str, often: int) -> str:
    # the same question gets the same answer each time, so that the example is the same everywhere
    luck = zlib.crc32(question.encode()) % 10
    return f"That is on {day}." if luck < often else "That will be soon. Please be patient."
