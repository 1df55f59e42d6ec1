"""What a reply says of the steps of an agent: evidence is a step and a quote, which a program looks
for where it was shown.
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
    """The verdict with its evidence as far as a program can follow it. Evidence that is not there
    is counted; it does not make the vote fail.
    """
    verdict = reading.verdict
    if not isinstance(verdict, Chosen):
        return reading
    data = reading.data or {}
    given = data.get("evidence")
    pieces = given if isinstance(given, list) else [given]
    shown = [numbered_text(one) for one in ballot.instance.fields.get(STEPS, ())]
    cited = [
        found
        for one in pieces
        if isinstance(one, Mapping) and (found := _citation(one, shown)) is not None
    ][:MOST_CITED]
    place = _place(data, ballot, shown)
    if isinstance(place, Message):
        return Reading(Outcome.UNREADABLE, reason=place)
    counts = {
        INVENTED: sum(one.found == "invented" for one in cited),
        MOVED: sum(one.found == "moved" for one in cited),
    }
    beside = {name: count for name, count in counts.items() if count}
    return replace(
        reading,
        verdict=Cited(verdict.option, verdict.explanation, evidence=tuple(cited), place=place),
        beside=beside or NOTHING,
    )


def _citation(given: JsonObject, shown: Sequence[tuple[range, str]]) -> StepCitation | None:
    """One piece of evidence, looked for in the step that it names, then in the others."""
    quote, absent = _text(given.get("quote")), _text(given.get("absent"))
    number = whole_number(given.get("step"))
    if quote is None:
        return None if absent is None else StepCitation("absent", absent=absent)
    if number is not None and not any(number in numbers for numbers, _ in shown):
        return StepCitation("void", number, quote)
    found = [
        (numbers[0], passage)
        for numbers, text in shown
        if len(numbers) == 1 and (passage := _passage(quote, text))
    ]
    here = next((passage for step, passage in found if step == number), None)
    if here is not None:
        return StepCitation("proven", number, here)
    if found:
        return StepCitation("moved", *found[0])
    return StepCitation("invented", number, quote)


def _passage(quote: str, text: str) -> str | None:
    """The passage itself: what is shown as evidence is cut from the step, never taken from the
    reply.
    """
    span = find_quote(quote, text)
    return None if span is None else text[span.start : span.end]


def _place(
    data: JsonObject, ballot: Ballot, shown: Sequence[tuple[range, str]]
) -> KeptPlace | Message:
    """Where it happened, as far as that was asked; a Message says what is wrong with it."""
    asked: Sequence[str] = ballot.question.places
    step = whole_number(data.get("step")) if "step" in asked else None
    if "step" in asked and not any(step in numbers for numbers, _ in shown):
        return Message('"step" must be the number of a step, not {step!r}', step=data.get("step"))
    return {
        "step": step,
        "agent": _text(data.get("agent")) if "agent" in asked else None,
        "paragraph": whole_number(data.get("paragraph")) if "paragraph" in asked else None,
    }


def read_points(objects: Sequence[JsonObject]) -> Reading | None:
    """The points of a checklist; None where no object of the reply holds any."""
    listed = lists_under(objects).get("points")
    if not listed:
        return None
    if len(listed) > 1:
        return lists_differ("points")
    points = [" ".join(one.split()) for one in listed[0] if isinstance(one, str) and one.strip()]
    if not 1 <= len(points) <= MOST_POINTS or len(points) != len(listed[0]):
        return Reading(
            Outcome.UNREADABLE,
            reason=Message('"points" must hold 1 to {most} sentences', most=MOST_POINTS),
        )
    if any(len(one) > _LONGEST_POINT for one in points):
        return Reading(Outcome.UNREADABLE, reason=Message("a point is one short sentence"))
    return Reading(Outcome.OK, Chosen(json.dumps(points, ensure_ascii=False)))


def _text(value: object) -> str | None:
    return value.strip() if isinstance(value, str) and value.strip() else None
