"""Verdicts on whether a source supports a sentence, with the quotes that show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from adjudge.core.domain.verdict import Chosen, Details, KeptQuote, KeptSupport, Quote

Support = Literal["supported", "contradicted", "not found"]
SUPPORTED: Support = "supported"
CONTRADICTED: Support = "contradicted"
NOT_FOUND: Support = "not found"
SUPPORTS: tuple[Support, ...] = (SUPPORTED, CONTRADICTED, NOT_FOUND)
POINTS = (1.0, 0.0, 0.0)
"""Scores of the verdicts, so that their mean is the share of supported sentences."""
Flag = Literal["unsupported", "look here", "nothing found against it"]
UNSUPPORTED: Flag = "unsupported"
LOOK_HERE: Flag = "look here"
NOTHING_AGAINST: Flag = "nothing found against it"
FLAGS: tuple[Flag, ...] = (UNSUPPORTED, LOOK_HERE, NOTHING_AGAINST)
"""The flags of a small model. None of them says that a sentence is supported."""
INVENTED = "invented_quotes"
"""Metadata key of a vote: how many of its quotes are not in the fragment that they name."""


@dataclass(frozen=True, slots=True)
class Grounded(Chosen):
    """The verdict on one sentence with its quotes, or on each of several sentences, in order."""

    evidence: tuple[Quote, ...] = ()
    each: tuple[Grounded, ...] = ()

    @property
    def details(self) -> Details:
        """The quotes, which are stored in addition to the option and the explanation."""
        return (
            {"each": [verdict.to_stored() for verdict in self.each]}
            if self.each
            else {"evidence": self.to_stored()["evidence"]}
        )

    def to_stored(self) -> KeptSupport:
        return {
            "option": self.option,
            "explanation": self.explanation,
            "evidence": [quote.to_dict() for quote in self.evidence],
        }

    @classmethod
    def of(cls, option: str, explanation: str | None, evidence: Sequence[KeptQuote]) -> Grounded:
        return cls(option, explanation, evidence=tuple(map(Quote.of, evidence)))


def grounded_each(verdicts: Sequence[Grounded]) -> Grounded:
    """Combine the verdicts on several sentences into one, whose option lists theirs."""
    return Grounded(", ".join(verdict.option for verdict in verdicts), each=tuple(verdicts))
