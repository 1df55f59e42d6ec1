"""Verdicts on the steps of an agent: an option, with steps and quotes as evidence."""

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
    """A step with a quote from it, or something that is absent from all steps."""

    found: CitationFound
    step: int | None = None
    quote: str | None = None
    absent: str | None = None

    @property
    def proven(self) -> bool:
        """True if the quote was found, in this step or in another."""
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
    """An option with its evidence and, if requested, the place of an event."""

    evidence: tuple[StepCitation, ...] = ()
    place: KeptPlace = field(default_factory=lambda: NOWHERE)

    @property
    def details(self) -> Details:
        """The details stored in addition to the option and the explanation."""
        return {
            "score": self.score,
            "cited": [citation.to_dict() for citation in self.evidence],
            "place": None if self.place == NOWHERE else self.place,
        }


def numbered_text(block: str) -> tuple[range, str]:
    """Split a shown block into its step numbers and its text; no numbers without a label."""
    match = _LABEL.match(block)
    if match is None:
        return range(0), block
    first_number = int(match[1])
    return range(first_number, int(match[2] or first_number) + 1), block[match.end() :]


def steps_identity(texts: Sequence[str]) -> str:
    """Return a hash that identifies steps that are not stored; equal for equal texts."""
    encoded = json_text(list(texts)).encode("utf-8", "surrogatepass")
    return hashlib.sha256(encoded).hexdigest()[:16]
