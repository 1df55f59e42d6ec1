"""What a reply says of each of several numbered texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.options import match_option
from adjudge.core.domain.vote import Ballot, Outcome
from adjudge.core.verdicts.reading import Reading
from adjudge.features.agents.step_verdicts import read_points
from adjudge.features.agents.steps import PointsQuestion
from adjudge.features.evidence.each import ChoiceOfEach, ChoiceOfLists, said_of_each
from adjudge.features.evidence.evidence import ClaimsQuestion
from adjudge.features.evidence.verdicts import (
    differing,
    lists_under,
    read_claims,
    read_sentences,
    whole_number,
)
from adjudge.messages import Message

_OPTION_KEYS = ("selected_option", "verdict", "option", "label", "answer")


def read_each(objects: Sequence[JsonObject], ballot: Ballot, *, settle: bool) -> Reading | None:
    """What the objects of a reply say of each text that was asked about; None where they hold no
    list.
    """
    question = ballot.question
    if isinstance(question, PointsQuestion):
        return read_points(objects)
    if isinstance(question, ClaimsQuestion):
        return read_claims(objects, question)
    if isinstance(question, ChoiceOfLists):
        return _lists(objects, question)
    listed = [{"sentences": objects}] if len(objects) > 1 and "number" in objects[0] else objects
    if isinstance(question, ChoiceOfEach):
        return _answers(listed, question)
    return read_sentences(listed, ballot, settle=settle)


def _answers(objects: Sequence[JsonObject], question: ChoiceOfEach) -> Reading | None:
    """One option for every number; None where no object of the reply holds a list."""
    held = lists_under(objects)
    listed = held.get("answers") or [one for named in held.values() for one in named]
    if len(listed) > 1:
        return differing("answers")
    return (
        _read([("answers", question.count, question.options)], {"answers": listed[0]})
        if listed
        else None
    )


def _lists(objects: Sequence[JsonObject], question: ChoiceOfLists) -> Reading | None:
    """One option for every number of every list; None where no object of the reply holds a list."""
    held = lists_under(objects)
    asked = [(one.field, one.count, one.criteria.option_names) for one in question.lists]
    if twice := next((name for name, _, _ in asked if len(held.get(name, ())) > 1), None):
        return differing(twice)
    return _read(asked, {name: listed[0] for name, listed in held.items()}) if held else None


def _read(
    asked: Sequence[tuple[str, int, Sequence[str]]], held: Mapping[str, Sequence[object]]
) -> Reading:
    options: list[str] = []
    for name, count, offered in asked:
        said = [one for one in held.get(name, ()) if isinstance(one, Mapping)]
        if [whole_number(one.get("number")) for one in said] != list(range(1, count + 1)):
            reason = Message(
                '"{name}" must hold one object for each number from 1 to {count}, in that order',
                name=name,
                count=count,
            )
            return Reading(Outcome.UNREADABLE, reason=reason)
        for number, one in enumerate(said, 1):
            option = match_option(
                next((one[key] for key in _OPTION_KEYS if key in one), None), offered
            )
            if option is None:
                return Reading(
                    Outcome.UNREADABLE,
                    reason=(
                        Message(
                            'number {number} of "{name}": its option is not one of {options}',
                            number=number,
                            name=name,
                            options=", ".join(offered),
                        )
                    ),
                )
            options.append(option)
    return Reading(Outcome.OK, said_of_each(options))
