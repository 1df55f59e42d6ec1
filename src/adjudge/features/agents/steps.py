"""Verdicts on the steps of an agent: an option with steps and quotes that show it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from adjudge.core.domain.frozen_mapping import json_text
from adjudge.core.domain.verdict import Chosen, CitationFound, Details, KeptCitation, KeptPlace

MOST_CITED = 3
"""Pieces of evidence that count."""
MOVED = "moved_quotes"
"""Under which name a vote tells how many quotes it gave with the number of another step."""
_LABEL = re.compile(r"steps? (\d+)(?:–(\d+))?\n")
NOWHERE: KeptPlace = {"step": None, "agent": None, "paragraph": None}


@dataclass(frozen=True, slots=True)
class StepCitation:
    """A step with a quote from it, or what is absent from all of them."""

    found: CitationFound
    step: int | None = None
    quote: str | None = None
    absent: str | None = None

    @property
    def proven(self) -> bool:
        """Whether a program found the quote."""
        return self.found in ("proven", "moved")

    def to_dict(self) -> KeptCitation:
        return {
            "step": self.step,
            "quote": self.quote,
            "absent": self.absent,
            "found": self.found,
        }

    @classmethod
    def of(cls, kept: KeptCitation) -> StepCitation:
        return cls(kept["found"], kept["step"], kept["quote"], kept["absent"])


@dataclass(frozen=True, slots=True)
class Cited(Chosen):
    """An option with its evidence and, where that was asked, where it happened."""

    evidence: tuple[StepCitation, ...] = ()
    place: KeptPlace = field(default_factory=lambda: NOWHERE)

    @property
    def details(self) -> Details:
        """What there is beside the option and the explanation."""
        return {
            "score": self.score,
            "cited": [one.to_dict() for one in self.evidence],
            "place": None if self.place == NOWHERE else self.place,
        }


def numbered_text(block: str) -> tuple[range, str]:
    """The steps that a shown text stands for, and the text itself."""
    found = _LABEL.match(block)
    if found is None:
        return range(0), block
    first = int(found[1])
    return range(first, int(found[2] or first) + 1), block[found.end() :]


def steps_identity(texts: Sequence[str]) -> str:
    """By what steps are known where they are not kept: equal for equal texts."""
    said = json_text(list(texts)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(said).hexdigest()[:16]
