"""Questions about the steps of an agent: which option, with steps and quotes that show it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from adjudge.core.domain.frozen import json_text
from adjudge.core.domain.question import Choice, Schema
from adjudge.core.domain.verdict import Chosen, CitationFound, Details, KeptCitation, KeptPlace
from adjudge.features.evidence.each import ChoiceOfEach, OfEach, object_schema

MOST_CITED = 3
"""Pieces of evidence that count."""
MOVED = "moved_quotes"
"""Under which name a vote tells how many quotes it gave with the number of another step."""
PlaceName = Literal["step", "agent", "paragraph"]
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


@dataclass(frozen=True)
class StepsQuestion(Choice):
    """Which of the options it is, shown by steps."""

    asked: tuple[PlaceName, ...] = ()
    """What else is to be said: of a rule that was broken its paragraph, of a failure the step and
    the agent.
    """

    cites: ClassVar[bool] = True
    repair: ClassVar[str] = "repair_steps"

    @property
    def places(self) -> tuple[str, ...]:
        """What an answer says beside its option of where something happened."""
        return self.asked

    @property
    def identity(self) -> str:
        """What a ballot's identity says of its question."""
        return f"{self.order}\0{self.asked}\0steps"

    # there is no advice on steps
    def schema(self, *, feedback: bool = False) -> Schema:  # noqa: ARG002
        """JSON schema of an answer."""
        option = {"type": "string", "enum": list(self.labels)}
        return object_schema(
            {
                "explanation": {"type": "string"},
                "evidence": _EVIDENCE,
                **{name: _PLACES[name] for name in self.asked},
                "selected_option": option,
            }
        )

    def recorded(self, option: str, explanation: str | None, details: Details) -> Cited:
        """The verdict that a ledger holds."""
        return Cited(
            option,
            explanation,
            score=details.get("score"),
            evidence=tuple(map(StepCitation.of, details.get("cited") or ())),
            place=details.get("place") or NOWHERE,
        )


@dataclass(frozen=True)
class ChecklistQuestion(ChoiceOfEach):
    """Which of the points of a list are met, shown by steps."""

    about: ClassVar[str] = "checklist of {}"
    cites: ClassVar[bool] = True


@dataclass(frozen=True)
class PointsQuestion(OfEach):
    """What must be so at the end of a task, as points that can be checked one by one.

    The answer in writing: the points as a JSON list.
    """

    about: ClassVar[str] = "points"
    repair: ClassVar[str] = "repair_points"

    # there is no advice on points
    def schema(self, *, feedback: bool = False) -> Schema:  # noqa: ARG002
        """JSON schema of an answer."""
        return object_schema({"points": {"type": "array", "items": {"type": "string"}}})


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


_NULLABLE_TEXT: Schema = {"type": ["string", "null"]}
_NULLABLE_NUMBER: Schema = {"type": ["integer", "null"]}
_EVIDENCE: Schema = {
    "type": "array",
    "items": object_schema(
        {"step": _NULLABLE_NUMBER, "quote": _NULLABLE_TEXT, "absent": _NULLABLE_TEXT}
    ),
}
_PLACES: dict[PlaceName, Schema] = {
    "step": _NULLABLE_NUMBER,
    "agent": _NULLABLE_TEXT,
    "paragraph": _NULLABLE_NUMBER,
}
