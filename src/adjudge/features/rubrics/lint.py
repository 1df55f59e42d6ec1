"""Find likely problems of a rubric before it costs money."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypedDict

from adjudge.core.catalog.double_barrelled import find_double_question
from adjudge.features.rubrics.rubric import LOGICAL, Group, Rubric, nodes
from adjudge.messages import Message
from adjudge.runs.view.clean_text import visible

Severity = Literal["error", "warning"]
_WORD = re.compile(r"\w+")
# Characters: longer points are seldom one demand.
_LONGEST = 400
_LONGEST_SHOWN = 80
_MANY = 40
# A point that is worth more than this share decides the score alone.
_HEAVY = 0.5
# The share of words that two points must have in common.
_ALIKE = 0.8
_FEWEST_WORDS = 4
_SUBJECTIVE = frozenset(
    {
        *("good", "nice", "appropriate", "adequate", "excellent"),
        *("хороший", "хорошо", "уместный", "качественный", "достаточный", "отличный"),
    }
)

_JUST_RIGHT = re.compile(
    r"\W*(?:(?:the|this) )?(?:answer|response|text|it)? ?(?:is|must be|should be)? ?(?:factually )?"
    r"(?:correct|right|accurate|true)\W*|\W*(?:ответ|текст)? ?(?:фактически )?"
    r"(?:верен|правилен|правильный|верный|точен|точный)\W*",
    re.IGNORECASE,
)
"""Demands that no judge can decide without knowing the right answer."""

# Words that make another demand of the same sentence.
_TELLING = frozenset({"not", "no", "never", "without", "не", "нет", "ни", "никогда", "без"})


class RubricFindingShape(TypedDict):
    """A fault of a rubric, found before it costs money."""

    severity: Literal["error", "warning"]
    row: str
    point: str
    message: str


@dataclass(frozen=True)
class RubricProblem:
    """A certain or likely problem of a rubric."""

    severity: Severity
    row: str
    point: str
    message: str


def lint_rubric(rubric: Rubric, row: str = "") -> list[RubricProblem]:
    """Return the likely problems of a valid rubric."""
    remarks = [
        *_texts(rubric),
        *_weights(rubric),
        *_pairs(rubric),
    ]
    return [RubricProblem("warning", row, point, message) for point, message in remarks]


def _texts(rubric: Rubric) -> Iterator[tuple[str, Message]]:
    for point in rubric.points:
        if pair := find_double_question(point.text):
            yield (
                point.id,
                Message(
                    "seems to demand two things at once ({pair!r}): split it into two points",
                    pair=pair,
                ),
            )
        if len(point.text) > _LONGEST:
            yield point.id, Message("is longer than {most} characters", most=_LONGEST)
        if (shown := visible(point.text)) != point.text:
            yield (
                point.id,
                Message("has invisible characters: {text!r}", text=shown[:_LONGEST_SHOWN]),
            )
        words = _WORD.findall(point.text.casefold())
        if vague := next((word for word in words if word in _SUBJECTIVE), None):
            yield (
                point.id,
                Message(
                    "{word!r} is a matter of opinion: say what the answer must contain", word=vague
                ),
            )
        if _JUST_RIGHT.fullmatch(point.text):
            yield (
                point.id,
                Message("cannot be decided from the answer alone: describe a correct answer"),
            )
        if point.invert and point.points < 0:
            yield (
                point.id,
                Message("is inverted and has negative points, so it costs points if it is not met"),
            )
        if (
            not point.points
            and not point.required
            and not any(
                point in node.parts
                for node in nodes(rubric.root)
                if isinstance(node, Group) and node.combine in LOGICAL
            )
        ):
            yield point.id, Message("is worth 0 points, so it is judged but never counts")
    if len(rubric.points) > _MANY:
        yield (
            "",
            Message(
                "has {count} points: models lose track of long lists; per: point asks one by one",
                count=len(rubric.points),
            ),
        )


def _weights(rubric: Rubric) -> Iterator[tuple[str, Message]]:
    for unit in rubric.units:
        if len(rubric.units) > 2 and abs(unit.weight) > _HEAVY:
            yield (
                unit.node.id,
                Message("is worth {share:.0%} of the maximum score", share=float(abs(unit.weight))),
            )
    if all(unit.weight >= 0 for unit in rubric.units) and all(
        point.required for point in rubric.points
    ):
        yield "", Message("every point is required, so the score can only be 1 or 0")


def _pairs(rubric: Rubric) -> Iterator[tuple[str, Message]]:
    words = [(point, Counter(_WORD.findall(point.text.casefold()))) for point in rubric.points]
    for place, (point, word_counts) in enumerate(words):
        for earlier_point, earlier_counts in words[:place]:
            if _is_same(word_counts, earlier_counts):
                yield (
                    point.id,
                    Message(
                        "says nearly the same as point {other}, so it counts twice",
                        other=earlier_point.id,
                    ),
                )


def _is_same(counts_a: Counter[str], counts_b: Counter[str]) -> bool:
    if counts_a == counts_b:
        return True
    if min(counts_a.total(), counts_b.total()) < _FEWEST_WORDS:
        return False
    # one word more or less, such as "not" or a number, may be what tells them apart
    different = {*(counts_a - counts_b), *(counts_b - counts_a)}
    if any(word.isdecimal() or word in _TELLING for word in different):
        return False
    return (counts_a & counts_b).total() / (counts_a | counts_b).total() >= _ALIKE
