"""Questions about the steps of an agent, answered by an option with steps and quotes as
evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.question import Choice, Schema
from adjudge.core.domain.reading import Reading
from adjudge.core.domain.verdict import Details
from adjudge.core.domain.vote import Ballot
from adjudge.features.agents.step_verdicts import read_points, with_steps
from adjudge.features.agents.steps import NOWHERE, Cited, StepCitation
from adjudge.features.evidence.grouped_questions import ChoiceOfEach, OfEach, object_schema

PlaceName = Literal["step", "agent", "paragraph"]


@dataclass(frozen=True)
class StepsQuestion(Choice):
    """A choice between options, with steps as evidence."""

    asked: tuple[PlaceName, ...] = ()
    """Further things that the reply must name: the paragraph of a broken rule, the step and agent
    of a failure.
    """

    cites: ClassVar[bool] = True
    repair: ClassVar[str] = "repair_steps"

    @property
    def places(self) -> tuple[str, ...]:
        """The places that an answer names in addition to its option."""
        return self.asked

    @property
    def identity(self) -> str:
        """The part of a ballot's identity that identifies its question."""
        return f"{self.order}\0{self.asked}\0steps"

    # there is no advice on steps
    def schema(self, *, feedback: bool = False) -> Schema:  # noqa: ARG002
        """Return the JSON schema of an answer."""
        option = {"type": "string", "enum": list(self.labels)}
        return object_schema(
            {
                "explanation": {"type": "string"},
                "evidence": _EVIDENCE,
                **{name: _PLACES[name] for name in self.asked},
                "selected_option": option,
            }
        )

    def restore(self, option: str, explanation: str | None, details: Details) -> Cited:
        """Rebuild a verdict from the ledger."""
        return Cited(
            option,
            explanation,
            score=details.get("score"),
            evidence=tuple(map(StepCitation.of, details.get("cited") or ())),
            place=details.get("place") or NOWHERE,
        )

    def check_reading(self, reading: Reading, ballot: Ballot, *, settle: bool) -> Reading:  # noqa: ARG002
        return with_steps(reading, ballot)


@dataclass(frozen=True)
class ChecklistQuestion(ChoiceOfEach):
    """A choice for each point of a checklist, with steps as evidence."""

    about: ClassVar[str] = "checklist of {}"
    cites: ClassVar[bool] = True


@dataclass(frozen=True)
class ChecklistPointQuestion(Choice):
    """A choice for one point of a checklist, for models that write nothing."""

    cites: ClassVar[bool] = True
    quoted: ClassVar[bool] = True


@dataclass(frozen=True)
class GoalPointsQuestion(OfEach):
    """A request for the points that must hold at the end of a task, to be checked one by one.

    The answer is stored as a JSON list of points.
    """

    about: ClassVar[str] = "points"
    repair: ClassVar[str] = "repair_points"

    # there is no advice on points
    def schema(self, *, feedback: bool = False) -> Schema:  # noqa: ARG002
        """Return the JSON schema of an answer."""
        return object_schema({"points": {"type": "array", "items": {"type": "string"}}})

    def read_objects(
        self,
        objects: Sequence[JsonObject],
        ballot: Ballot,  # noqa: ARG002
        *,
        settle: bool,  # noqa: ARG002
    ) -> Reading | None:
        return read_points(objects)


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
