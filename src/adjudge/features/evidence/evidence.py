"""Whether a source says what a sentence says: the question, the verdict, and the quotes that show
it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from adjudge.core.domain.question import Choice, Schema
from adjudge.core.domain.verdict import Chosen, Details, KeptQuote, KeptSupport, Quote
from adjudge.features.evidence.each import OfEach, object_schema

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


@dataclass(frozen=True)
class SupportQuestion(Choice):
    """Whether one sentence is supported, contradicted or not found, with quotes
    from the fragments.
    """

    sources: str = "contexts"
    """The field that holds the fragments."""

    quoted: ClassVar[bool] = True
    repair: ClassVar[str] = "repair_evidence"

    # there is no advice on a sentence
    def schema(self, *, feedback: bool = False) -> Schema:  # noqa: ARG002
        """JSON schema of an answer."""
        return object_schema(
            {"explanation": {"type": "string"}, "evidence": _QUOTES, "selected_option": _OPTION}
        )

    def recorded(self, option: str, explanation: str | None, details: Details) -> Grounded:
        """The verdict that a ledger holds."""
        return Grounded.of(option, explanation, details.get("evidence") or ())


@dataclass(frozen=True)
class SupportOfEach(OfEach, SupportQuestion):
    """The same of several numbered sentences in one call."""

    about: ClassVar[str] = "{} sentences"
    repair: ClassVar[str] = "repair_sentences"

    # there is no advice on sentences
    def schema(self, *, feedback: bool = False) -> Schema:  # noqa: ARG002
        """JSON schema of an answer."""
        said = {"number": {"type": "integer"}, "evidence": _QUOTES, "selected_option": _OPTION}
        return object_schema({"sentences": {"type": "array", "items": object_schema(said)}})

    def recorded(self, option: str, explanation: str | None, details: Details) -> Grounded:
        """The verdict that a ledger holds."""
        each = [
            Grounded.of(one["option"], one["explanation"], one["evidence"])
            for one in details.get("each") or ()
        ]
        return Grounded(option, explanation, each=tuple(each))


@dataclass(frozen=True)
class ClaimsQuestion(OfEach):
    """What each of several numbered sentences claims.

    The answer in writing: [[number, claim], …] as JSON.
    """

    about: ClassVar[str] = "claims of {} sentences"
    repair: ClassVar[str] = "repair_claims"

    # there is no advice on sentences
    def schema(self, *, feedback: bool = False) -> Schema:  # noqa: ARG002
        """JSON schema of an answer."""
        one = object_schema({"sentence": {"type": "integer"}, "claim": {"type": "string"}})
        return object_schema({"claims": {"type": "array", "items": one}})


_OPTION: Schema = {"type": "string", "enum": list(SUPPORTS)}
_QUOTES: Schema = {
    "type": "array",
    "items": object_schema({"fragment": {"type": "integer"}, "quote": {"type": "string"}}),
}
