"""Questions about points: one point, or several in one request."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonDict, JsonObject
from adjudge.core.domain.question import Choice, Schema
from adjudge.core.domain.reading import Reading
from adjudge.core.domain.verdict import Details
from adjudge.core.domain.vote import Ballot
from adjudge.features.evidence.grouped_questions import OfEach, object_schema
from adjudge.features.evidence.support import Grounded
from adjudge.features.rubrics.layouts import written
from adjudge.features.rubrics.rubric import CANNOT_TELL, Point
from adjudge.features.rubrics.verdicts import read_answers, with_quote
from adjudge.features.rubrics.wording import answers_line

POINT, POINTS = "point", "points"
TEMPLATES = ("rubric_point", "rubric_points")
_LETTERS = "abcdefghjkmnpqrstuvwxyz"


@dataclass(frozen=True)
class AskedPoint:
    """A point as a request shows it."""

    id: str
    label: str
    """Its number with a letter made from its text: an answer that counts wrongly has the wrong
    letter.
    """
    answers: tuple[str, ...]
    quoted: bool
    """True if some answers count only with a quote that is in the text."""
    needs_quote_for: tuple[str, ...] = ()
    """The answers that need it."""


def asked_point(point: Point, number: int, *, quotes_required: bool) -> AskedPoint:
    """Return a point with the label under which it is shown."""
    # A reply that miscounts the points then has a label with the wrong letter.
    digest = hashlib.sha256(point.text.encode("utf-8", "surrogatepass")).digest()
    needs = point.evidence or quotes_required
    return AskedPoint(
        point.id,
        f"{number}{_LETTERS[digest[0] % len(_LETTERS)]}",
        (*point.answers, CANNOT_TELL),
        quoted=needs,
        needs_quote_for=point.answers[:1] if point.kind == "met" else point.answers[1:],
    )


def shown_point(point: Point, language: str, *, with_points: bool) -> str:
    """Return the text of a point with its possible answers."""
    worth = f" [{written(point.points)}]" if with_points else ""
    return f"{point.text}{worth}\n({answers_line(point, language)})"


@dataclass(frozen=True)
class PointsQuestion(OfEach):
    """Several points in one request. A reply may answer only some of them."""

    asked: tuple[AskedPoint, ...] = ()
    judged: str = "response"
    """The field in which quotes are looked for."""
    again: int = 0
    """Number of earlier requests for these points."""

    quoted: ClassVar[bool] = True
    repair: ClassVar[str] = "repair_rubric"

    @property
    def identity(self) -> str:
        """The question's part of a ballot's identity."""
        points = "\0".join(
            f"{point.id} {point.label} {'|'.join(point.answers)} {point.quoted}"
            for point in self.asked
        )
        return f"rubric {self.again}\0{self.judged}\0{points}"

    # there is no advice on points
    def schema(self, *, feedback: bool = False) -> Schema:  # noqa: ARG002
        """Return the JSON schema of an answer: the reason comes before the verdict."""
        labels = [point.label for point in self.asked]
        answers = list(dict.fromkeys(answer for point in self.asked for answer in point.answers))
        entry: JsonDict = {
            "point": {"type": "string", "enum": labels},
            "explanation": {"type": "string"},
            "quote": {"type": "string"},
            "verdict": {"type": "string", "enum": answers},
        }
        return object_schema({"points": {"type": "array", "items": object_schema(entry)}})

    def restore(self, option: str, explanation: str | None, details: Details) -> Grounded:
        """Rebuild the verdict that a ledger holds."""
        each = [
            Grounded.of(answer["option"], answer["explanation"], answer["evidence"])
            for answer in details.get("each") or ()
        ]
        return Grounded(option, explanation, each=tuple(each))

    def read_objects(
        self,
        objects: Sequence[JsonObject],
        ballot: Ballot,
        *,
        settle: bool,  # noqa: ARG002 - a point without its quote has no verdict in any case
    ) -> Reading | None:
        return read_answers(objects, self.asked, text_in(ballot.instance, self.judged))


@dataclass(frozen=True)
class PointQuestion(Choice):
    """One point in a separate request."""

    asked: tuple[AskedPoint, ...] = ()
    judged: str = "response"

    quoted: ClassVar[bool] = True
    repair: ClassVar[str] = "repair_rubric_point"

    @property
    def identity(self) -> str:
        """The question's part of a ballot's identity."""
        (point,) = self.asked
        return f"rubric\0{self.judged}\0{self.labels}\0{point.id}\0{point.quoted}"

    # there is no advice on a point
    def schema(self, *, feedback: bool = False) -> Schema:  # noqa: ARG002
        """Return the JSON schema of an answer: the reason comes before the verdict."""
        return object_schema(
            {
                "explanation": {"type": "string"},
                "quote": {"type": "string"},
                "selected_option": {"type": "string", "enum": list(self.labels)},
            }
        )

    def restore(self, option: str, explanation: str | None, details: Details) -> Grounded:
        """Rebuild a verdict from a ledger."""
        return Grounded.of(option, explanation, details.get("evidence") or ())

    def check_reading(
        self,
        reading: Reading,
        ballot: Ballot,
        *,
        settle: bool,  # noqa: ARG002 - a point without its quote has no verdict in any case
    ) -> Reading:
        (point,) = self.asked
        return with_quote(reading, point, text_in(ballot.instance, self.judged))


def text_in(instance: Instance, field: str) -> str:
    """Return the text of a field; a list is joined."""
    value = instance.fields.get(field, "")
    return value if isinstance(value, str) else "\n\n".join(value)
