"""Verdict formats of well-known judges. Each reader takes a whole reply and returns its decision,
or None.

Labels are those of the prompt: the first response shown is always A. If the responses were swapped,
``put_back`` swaps the verdict.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, NamedTuple

from adjudge.core.domain.verdict import Selection
from adjudge.messages import Message

_TIE: Selection = "tie"
UnreadablePolicy = Literal["drop", "tie", "wrong", "recorded"]
UNREADABLE_POLICIES: Mapping[UnreadablePolicy, str] = {
    "drop": Message("replies without a readable verdict are left out"),
    "tie": Message("replies without a readable verdict count as a tie"),
    "wrong": Message("replies without a readable verdict count as wrong"),
    "recorded": (
        Message(
            "replies without a readable verdict are counted as in the file, or left out if the "
            "file does not count them"
        )
    ),
}
_MARGIN = re.compile(r"\[\[?([AB])\s*(>>|>|=|<|<<)\s*([AB])\]\]?", re.IGNORECASE)
_RATING = (re.compile(r"\[\[(-?\d+(?:\.\d+)?)\]\]"), re.compile(r"\[(-?\d+(?:\.\d+)?)\]"))
_TWO_RATINGS = re.compile(r"\[\[\s*(-?\d+(?:\.\d+)?)\s*,\s*(-?\d+(?:\.\d+)?)\s*\]\]")
_NUMBERS = re.compile(r"-?\d+(?:\.\d+)?")
_GRADE = re.compile(r"GRADE\s*:\s*\**\s*([A-Z])\b", re.IGNORECASE)
_DECISION = re.compile(
    r"(?:final decision is|decision:?)\s*(response\s*[12]|tie|output\s*\([ab]\))", re.IGNORECASE
)
_WEIGHTS = {">>": 3, ">": 1, "=": 1, "<": 1, "<<": 3}


class Margin(NamedTuple):
    """The better of two responses, and by how much."""

    winner: Selection
    weight: int
    """3 for much better, 1 otherwise."""


def margin(reply: str, *, one_only: bool = False) -> Margin | None:
    """Read ``[[A>>B]]`` … ``[[B>>A]]`` (Arena-Hard, JudgeBench), also with single brackets. The
    last one counts.

    ``one_only``: different verdicts in a reply give None, as in both tools.
    """
    margins = [_margin(*match) for match in _MARGIN.findall(reply)]
    if not margins or (one_only and len(set(margins)) > 1):
        return None
    return margins[-1]


def rating(reply: str) -> float | None:
    """Read ``[[7]]`` or ``[[7.5]]``, else ``[7]`` (FastChat). The first one counts, as in
    FastChat.
    """
    for pattern in _RATING:
        if match := pattern.search(reply):
            return float(match[1])
    return None


def read_two_ratings(reply: str) -> tuple[float, float] | None:
    """Read ``[[8, 7]]``, or two numbers on the first line (Vicuna)."""
    if match := _TWO_RATINGS.search(reply):
        return float(match[1]), float(match[2])
    lines = reply.strip().splitlines()
    numbers = _NUMBERS.findall(lines[0]) if lines else []
    return (float(numbers[0]), float(numbers[1])) if len(numbers) == 2 else None


def pick_better_rated(ratings: tuple[float, float]) -> Selection:
    """Return the response with the higher rating; a tie if both ratings are equal."""
    return _TIE if ratings[0] == ratings[1] else int(ratings[1] > ratings[0])


def grade(reply: str) -> str | None:
    """Read ``GRADE: C`` (Inspect). The last one counts."""
    grades = _GRADE.findall(reply)
    return grades[-1].upper() if grades else None


def decision(reply: str) -> Selection | None:
    """Read ``final decision is Response 1`` (Auto-J), ``Decision: Output (a)``. The last one
    counts.
    """
    decisions = _DECISION.findall(reply)
    if not decisions:
        return None
    last_decision = decisions[-1].lower()
    return _TIE if last_decision == _TIE else int("2" in last_decision or "(b)" in last_decision)


def put_back(verdict: Selection, *, swapped: bool) -> Selection:
    """Return the verdict in the row's own order."""
    return 1 - verdict if swapped and isinstance(verdict, int) else verdict


def unreadable_as(policy: UnreadablePolicy, truth: Selection) -> Selection | None:
    """Return the verdict that a policy gives an unreadable reply; None: it is left out."""
    if policy in ("drop", "recorded"):
        return None
    wrong: Selection = 1 - truth if isinstance(truth, int) else 0
    return _TIE if policy == "tie" else wrong


def _margin(first: str, sign: str, second: str) -> Margin:
    left_name, right_name = first.upper(), second.upper()
    if sign == "=" or left_name == right_name:
        return Margin(_TIE, 1)
    better = left_name if ">" in sign else right_name
    return Margin(int(better == "B"), _WEIGHTS[sign])
