"""Whether a source says what a sentence says: the question, the verdict, and the quotes that show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

from adjudge.domain.question import Choice, Schema
from adjudge.domain.verdict import Chosen, Details, KeptQuote, KeptSupport, QuotedBy

Support = Literal["supported", "contradicted", "not found"]
SUPPORTED: Support = "supported"
CONTRADICTED: Support = "contradicted"
NOT_FOUND: Support = "not found"
SUPPORTS: tuple[Support, ...] = (SUPPORTED, CONTRADICTED, NOT_FOUND)
POINTS = (1.0, 0.0, 0.0)
"""What each is worth: the share of supported sentences is the mean."""
INVENTED = "invented_quotes"
"""Under which name a vote tells how many quotes it gave that stand in no such fragment."""


@dataclass(frozen=True, slots=True)
class Quote:
    """A passage of a fragment, exactly as it stands there: found by a program, whoever named it."""

    fragment: int
    """Which one, from 1."""
    text: str
    start: int
    """Where it begins in the fragment."""
    by: QuotedBy = "model"
    """Whether the model quoted it, or a program chose the passage that is most alike."""

    def to_dict(self) -> KeptQuote:
        """As a JSON-ready dict."""
        return {"fragment": self.fragment, "quote": self.text, "start": self.start, "by": self.by}

    @classmethod
    def of(cls, kept: KeptQuote) -> Quote:
        """Of what a ledger keeps."""
        return cls(kept["fragment"], kept["quote"], kept["start"], kept["by"])


@dataclass(frozen=True, slots=True)
class Grounded(Chosen):
    """What the sources say of one sentence."""

    evidence: tuple[Quote, ...] = ()

    @property
    def details(self) -> Details:
        """What there is beside the option and the explanation."""
        return {"evidence": [quote.to_dict() for quote in self.evidence]}

    def explained(self, explanation: str | None) -> Grounded:
        """The same for this reason."""
        return Grounded(self.option, explanation, evidence=self.evidence)

    def kept(self) -> KeptSupport:
        """As one of several."""
        return {"option": self.option, "explanation": self.explanation, "evidence": [quote.to_dict() for quote in self.evidence]}

    @classmethod
    def of(cls, option: str, explanation: str | None, evidence: Sequence[KeptQuote]) -> Grounded:
        """Of what a ledger keeps."""
        return cls(option, explanation, evidence=tuple(map(Quote.of, evidence)))


@dataclass(frozen=True, slots=True)
class GroundedEach(Chosen):
    """What the sources say of each of several sentences, in their order."""

    each: tuple[Grounded, ...] = ()

    @property
    def details(self) -> Details:
        """What there is beside the option and the explanation."""
        return {"each": [one.kept() for one in self.each]}

    def explained(self, explanation: str | None) -> GroundedEach:
        """The same for this reason."""
        return GroundedEach(self.option, explanation, each=self.each)


def grounded_each(each: Sequence[Grounded]) -> GroundedEach:
    """The verdict on several sentences at once; in writing: what was said of each."""
    return GroundedEach(", ".join(one.option for one in each), each=tuple(each))


@dataclass(frozen=True)
class SupportQuestion(Choice):
    """Whether one sentence is supported, contradicted or not found, with quotes from the fragments."""

    sources: str = "contexts"
    """The field that holds the fragments."""

    quoted: ClassVar[bool] = True
    repair: ClassVar[str] = "repair_evidence"

    def schema(self, *, feedback: bool = False) -> Schema:  # noqa: ARG002 - there is no advice on a sentence
        """JSON schema of an answer."""
        return _object({"explanation": {"type": "string"}, "evidence": _QUOTES, "selected_option": _OPTION})

    def recorded(self, option: str, explanation: str | None, details: Details) -> Grounded:
        """The verdict that a ledger holds."""
        return Grounded.of(option, explanation, details.get("evidence") or ())


@dataclass(frozen=True)
class SupportOfEach(SupportQuestion):
    """The same of several numbered sentences in one call."""

    count: int = 1

    several: ClassVar[bool] = True
    repair: ClassVar[str] = "repair_sentences"

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """None: the answer is not one label, so it has to be written."""
        return ()

    @property
    def identity(self) -> str:
        """What a ballot's identity says of its question."""
        return f"None\0()\0{self.count} sentences"

    def schema(self, *, feedback: bool = False) -> Schema:  # noqa: ARG002 - there is no advice on sentences
        """JSON schema of an answer."""
        said = {"number": {"type": "integer"}, "evidence": _QUOTES, "selected_option": _OPTION}
        return _object({"sentences": {"type": "array", "items": _object(said)}})

    def recorded(self, option: str, explanation: str | None, details: Details) -> GroundedEach:  # type: ignore[override]
        """The verdict that a ledger holds."""
        each = [Grounded.of(one["option"], one["explanation"], one["evidence"]) for one in details.get("each") or ()]
        return GroundedEach(option, explanation, each=tuple(each))


@dataclass(frozen=True)
class ClaimsQuestion(Choice):
    """What each of several numbered sentences claims. The answer in writing: [[number, claim], …] as JSON."""

    count: int = 1

    several: ClassVar[bool] = True
    repair: ClassVar[str] = "repair_claims"

    @property
    def identity(self) -> str:
        """What a ballot's identity says of its question."""
        return f"None\0()\0claims of {self.count} sentences"

    def schema(self, *, feedback: bool = False) -> Schema:  # noqa: ARG002 - there is no advice on sentences
        """JSON schema of an answer."""
        one = _object({"sentence": {"type": "integer"}, "claim": {"type": "string"}})
        return _object({"claims": {"type": "array", "items": one}})


def _object(properties: Mapping[str, object]) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


_OPTION: Schema = {"type": "string", "enum": list(SUPPORTS)}
_QUOTES: Schema = {"type": "array", "items": _object({"fragment": {"type": "integer"}, "quote": {"type": "string"}})}
