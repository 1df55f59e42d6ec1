"""A verdict that a reply states, with how surely and where.

Statements decide, the strongest first, as long as none contradicts them. Hints never decide; they
contradict.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from adjudge.domain.verdict import Verdict


class Strength(IntEnum):
    """How surely something is meant as the verdict."""

    UNMATCHED = 0
    """Behind a label stands something else than a verdict. It says nothing."""
    REMARK = 1
    """Prose that takes a verdict back, where it stands behind one: "Wait, it should be FAIL"."""
    HINT = 2
    """Prose that would not be written of another verdict: "B is better"."""
    BARE = 3
    """A line that is nothing but an option."""
    ANSWER = 4
    """Behind a word such as "Answer:"."""
    VERDICT = 5
    """Behind a word such as "Verdict:". An object is stronger than any line."""


class Statement(NamedTuple):
    """A verdict that a reply states, with its place."""

    strength: Strength
    verdict: Verdict | None
    """None: something else stands where the verdict should, or it is taken back."""
    line: int
    words: str
    note: str = ""
    """What stands behind it, where that is its explanation."""
    denied: bool = False
    """It is stated that the verdict is not this."""

    def contradicts(self, verdict: Verdict) -> bool:
        """Whether both cannot be so."""
        if self.verdict is None:
            return True
        same = self.verdict.option == verdict.option
        return same if self.denied else not same
