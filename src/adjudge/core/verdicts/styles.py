"""The ways in which well-known judges write their verdicts. Each reader takes a whole reply and
says what it decides, or None.

Labels are those of the prompt: the first that is shown is always called A. Where the responses were
shown in another order, ``put_back`` turns the verdict round.
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
            "replies without a readable verdict count as the file counts them, where it does, and "
            "are left out elsewhere"
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
    """Which of two is better, and how clearly."""

    winner: Selection
    weight: int
    """3 for much better, 1 otherwise."""


def margin(reply: str, *, one_only: bool = False) -> Margin | None:
    """``[[A>>B]]`` … ``[[B>>A]]`` (Arena-Hard, JudgeBench), also with one bracket: the last counts.

    ``one_only``: a reply with different verdicts has none, as both tools hold it.
    """
    found = [_margin(*match) for match in _MARGIN.findall(reply)]
    if not found or (one_only and len(set(found)) > 1):
        return None
    return found[-1]


def rating(reply: str) -> float | None:
    """``[[7]]`` or ``[[7.5]]``; without such, ``[7]`` (FastChat): the first counts, as it does
    there.
    """
    for pattern in _RATING:
        if match := pattern.search(reply):
            return float(match[1])
    return None


def two_ratings(reply: str) -> tuple[float, float] | None:
    """``[[8, 7]]``, or two numbers on the first line (Vicuna)."""
    if match := _TWO_RATINGS.search(reply):
        return float(match[1]), float(match[2])
    lines = reply.strip().splitlines()
    found = _NUMBERS.findall(lines[0]) if lines else []
    return (float(found[0]), float(found[1])) if len(found) == 2 else None


def better_rated(ratings: tuple[float, float]) -> Selection:
    """The better of two that were rated."""
    return _TIE if ratings[0] == ratings[1] else int(ratings[1] > ratings[0])


def grade(reply: str) -> str | None:
    """``GRADE: C`` (Inspect): the last counts."""
    found = _GRADE.findall(reply)
    return found[-1].upper() if found else None


def decision(reply: str) -> Selection | None:
    """``final decision is Response 1`` (Auto-J), ``Decision: Output (a)``: the last counts."""
    found = _DECISION.findall(reply)
    if not found:
        return None
    said = found[-1].lower()
    return _TIE if said == _TIE else int("2" in said or "(b)" in said)


def put_back(verdict: Selection, *, swapped: bool) -> Selection:
    """The verdict in the row's own order."""
    return 1 - verdict if swapped and isinstance(verdict, int) else verdict


def unreadable_as(policy: UnreadablePolicy, truth: Selection) -> Selection | None:
    """What the policy counts an unreadable reply as, where ``truth`` is right; None: it is left
    out.
    """
    if policy in ("drop", "recorded"):
        return None
    wrong: Selection = 1 - truth if isinstance(truth, int) else 0
    return _TIE if policy == "tie" else wrong


def _margin(first: str, sign: str, second: str) -> Margin:
    one, two = first.upper(), second.upper()
    if sign == "=" or one == two:
        return Margin(_TIE, 1)
    better = one if ">" in sign else two
    return Margin(int(better == "B"), _WEIGHTS[sign])
