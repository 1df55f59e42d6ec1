"""Whether a source says what a sentence says: the verdict, and the quotes that show it."""

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
"""What each is worth: the share of supported sentences is the mean."""
Flag = Literal["unsupported", "look here", "nothing found against it"]
UNSUPPORTED: Flag = "unsupported"
LOOK_HERE: Flag = "look here"
NOTHING_AGAINST: Flag = "nothing found against it"
FLAGS: tuple[Flag, ...] = (UNSUPPORTED, LOOK_HERE, NOTHING_AGAINST)
"""What a small model can say of a sentence: never that it is supported."""
INVENTED = "invented_quotes"
"""Under which name a vote tells how many quotes it gave that stand in no such fragment."""


@dataclass(frozen=True, slots=True)
class Grounded(Chosen):
    """What the sources say of one sentence, or of each of several in their order."""

    evidence: tuple[Quote, ...] = ()
    each: tuple[Grounded, ...] = ()

    @property
    def details(self) -> Details:
        """What there is beside the option and the explanation."""
        return (
            {"each": [one.kept() for one in self.each]}
            if self.each
            else {"evidence": self.kept()["evidence"]}
        )

    def kept(self) -> KeptSupport:
        return {
            "option": self.option,
            "explanation": self.explanation,
            "evidence": [quote.to_dict() for quote in self.evidence],
        }

    @classmethod
    def of(cls, option: str, explanation: str | None, evidence: Sequence[KeptQuote]) -> Grounded:
        return cls(option, explanation, evidence=tuple(map(Quote.of, evidence)))


def grounded_each(each: Sequence[Grounded]) -> Grounded:
    """The verdict on several sentences at once; in writing: what was said of each."""
    return Grounded(", ".join(one.option for one in each), each=tuple(each))
