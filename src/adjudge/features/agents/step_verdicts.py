"""Read a reply about the steps of an agent. Its evidence is a step and a quote, which is looked up
in the shown text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from adjudge.core.domain.frozen_mapping import NOTHING
from adjudge.core.domain.instance import STEPS
from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.reading import Reading
from adjudge.core.domain.verdict import Chosen, KeptPlace
from adjudge.core.domain.vote import Ballot, Outcome
from adjudge.features.agents.steps import MOST_CITED, MOVED, Cited, StepCitation, numbered_text
from adjudge.features.evidence.quotes import find_quote
from adjudge.features.evidence.reply_lists import lists_differ, lists_under, whole_number
from adjudge.features.evidence.support import INVENTED
from adjudge.messages import Message

_LONGEST_POINT = 500
MOST_POINTS = 20


def with_steps(reading: Reading, ballot: Ballot) -> Reading:
    """Check the evidence of a verdict.

    Evidence that cannot be found is counted, but does not make the vote fail. If a step number is
    required and there is no such step, the reply is unreadable.
    """
    verdict = reading.verdict
    if not isinstance(verdict, Chosen):
        return reading
    data = reading.data or {}
    evidence = data.get("evidence")
    pieces = evidence if isinstance(evidence, list) else [evidence]
    blocks = [numbered_text(block) for block in ballot.instance.fields.get(STEPS, ())]
    cited = [
        citation
        for piece in pieces
        if isinstance(piece, Mapping) and (citation := _citation(piece, blocks)) is not None
    ][:MOST_CITED]
    place = _place(data, ballot, blocks)
    if isinstance(place, Message):
        return Reading(Outcome.UNREADABLE, reason=place)
    counts = {
        INVENTED: sum(citation.found == "invented" for citation in cited),
        MOVED: sum(citation.found == "moved" for citation in cited),
    }
    nonzero = {name: count for name, count in counts.items() if count}
    return replace(
        reading,
        verdict=Cited(verdict.option, verdict.explanation, evidence=tuple(cited), place=place),
        beside=nonzero or NOTHING,
    )


def _citation(piece: JsonObject, blocks: Sequence[tuple[range, str]]) -> StepCitation | None:
    """Look up one piece of evidence in the step that it names, then in the others.

    Return None if it has neither a quote nor a text under ``absent``.
    """
    quote, absent = _text(piece.get("quote")), _text(piece.get("absent"))
    number = whole_number(piece.get("step"))
    if quote is None:
        return None if absent is None else StepCitation("absent", absent=absent)
    if number is not None and not any(number in numbers for numbers, _ in blocks):
        return StepCitation("void", number, quote)
    matches = [
        (numbers[0], passage)
        for numbers, text in blocks
        if len(numbers) == 1 and (passage := _passage(quote, text))
    ]
    here = next((passage for step, passage in matches if step == number), None)
    if here is not None:
        return StepCitation("proven", number, here)
    if matches:
        return StepCitation("moved", *matches[0])
    return StepCitation("invented", number, quote)


def _passage(quote: str, text: str) -> str | None:
    """Return the passage that matches a quote, as the step has it; None if there is none."""
    span = find_quote(quote, text)
    return None if span is None else text[span.start : span.end]


def _place(
    data: JsonObject, ballot: Ballot, blocks: Sequence[tuple[range, str]]
) -> KeptPlace | Message:
    """Return the places that the question asks for, or a Message if there is no such step."""
    places: Sequence[str] = ballot.question.places
    step = whole_number(data.get("step")) if "step" in places else None
    if "step" in places and not any(step in numbers for numbers, _ in blocks):
        return Message('"step" must be the number of a step, not {step!r}', step=data.get("step"))
    return {
        "step": step,
        "agent": _text(data.get("agent")) if "agent" in places else None,
        "paragraph": whole_number(data.get("paragraph")) if "paragraph" in places else None,
    }


def read_points(objects: Sequence[JsonObject]) -> Reading | None:
    """Read the points of a checklist; None if the reply has none."""
    listed = lists_under(objects).get("points")
    if not listed:
        return None
    if len(listed) > 1:
        return lists_differ("points")
    points = [
        " ".join(point.split()) for point in listed[0] if isinstance(point, str) and point.strip()
    ]
    if not 1 <= len(points) <= MOST_POINTS or len(points) != len(listed[0]):
        return Reading(
            Outcome.UNREADABLE,
            reason=Message('"points" must contain 1 to {most} sentences', most=MOST_POINTS),
        )
    if any(len(point) > _LONGEST_POINT for point in points):
        return Reading(Outcome.UNREADABLE, reason=Message("a point must be one short sentence"))
    return Reading(Outcome.OK, Chosen(json.dumps(points, ensure_ascii=False)))


def _text(value: object) -> str | None:
    return value.strip() if isinstance(value, str) and value.strip() else None
