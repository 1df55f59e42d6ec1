"""What a reply says of each of several numbered texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adjudge.domain.each import ChoiceOfEach, said_of_each
from adjudge.domain.evidence import ClaimsQuestion
from adjudge.domain.options import match_option
from adjudge.domain.vote import Ballot, Outcome
from adjudge.verdicts.evidence import read_claims, read_sentences
from adjudge.verdicts.reading import Reading

_OPTION_KEYS = ("selected_option", "verdict", "option", "label", "answer")


def read_each(objects: Sequence[Mapping[str, object]], ballot: Ballot, *, settle: bool) -> Reading | None:
    """What the objects of a reply say of each text that was asked about; None where they hold no list."""
    question = ballot.question
    if isinstance(question, ClaimsQuestion):
        return read_claims(objects, question)
    listed = [{"sentences": objects}] if len(objects) > 1 and "number" in objects[0] else objects
    if isinstance(question, ChoiceOfEach):
        return _answers(listed, question)
    return read_sentences(listed, ballot, settle=settle)


def _answers(objects: Sequence[Mapping[str, object]], question: ChoiceOfEach) -> Reading | None:
    """One option for every number; None where no object of the reply holds a list."""
    lists = [found for one in objects for found in one.values() if isinstance(found, list)]
    if not lists:
        return None
    said = [one for one in lists[-1] if isinstance(one, Mapping)]
    if [one.get("number") for one in said] != list(range(1, question.count + 1)):
        reason = f'"answers" must hold one object for each number from 1 to {question.count}, in that order'
        return Reading(Outcome.UNREADABLE, reason=reason)
    options = [_option(one, question.options) for one in said]
    known = [one for one in options if one is not None]
    if len(known) < len(options):
        wrong = options.index(None) + 1
        return Reading(Outcome.UNREADABLE, reason=f"number {wrong}: its option is not one of {', '.join(question.options)}")
    return Reading(Outcome.OK, said_of_each(known))


def _option(one: Mapping[str, object], offered: Sequence[str]) -> str | None:
    return match_option(next((one[key] for key in _OPTION_KEYS if key in one), None), offered)
