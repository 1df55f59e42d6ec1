"""What a reply says of sentences and their sources.

A quote that does not stand in its fragment is no evidence.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from adjudge.core.domain.frozen_mapping import NOTHING
from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.options import match_option
from adjudge.core.domain.reading import Reading
from adjudge.core.domain.verdict import Chosen, Quote
from adjudge.core.domain.vote import Outcome
from adjudge.features.evidence.quotes import find_quote
from adjudge.features.evidence.reply_lists import differing, lists_under, whole_number
from adjudge.features.evidence.support import (
    INVENTED,
    NOT_FOUND,
    SUPPORTS,
    Grounded,
    grounded_each,
)
from adjudge.messages import Message, join

_OPTION_KEYS = ("selected_option", "verdict", "option", "label", "answer", "support")


@dataclass(frozen=True, slots=True)
class _Checked:
    """A verdict as far as a program can follow it."""

    verdict: Grounded
    """Not found, where what it rests on is no evidence."""
    wrong: str | None = None
    """Why it cannot stand as it was given."""
    invented: int = 0


def with_evidence(reading: Reading, fragments: Sequence[str], *, settle: bool) -> Reading:
    """The verdict on one sentence with its quotes from the ``fragments``.

    ``settle``: nobody asks again, so what has no evidence is not found.
    """
    if reading.verdict is None:
        return reading
    data = reading.data or {}
    checked = _checked(
        reading.verdict.option,
        reading.verdict.explanation,
        data.get("evidence", data),
        fragments,
    )
    beside = {INVENTED: checked.invented} if checked.invented else NOTHING
    if checked.wrong and not settle:
        return Reading(Outcome.UNREADABLE, reason=checked.wrong, beside=beside)
    return replace(reading, verdict=checked.verdict, beside=beside)


def read_sentences(
    objects: Sequence[JsonObject], count: int, fragments: Sequence[str], *, settle: bool
) -> Reading | None:
    """The verdicts on so many numbered sentences; None where no object of the reply holds any."""
    listed = lists_under(objects)
    if "sentences" not in listed:
        return None
    if len(listed["sentences"]) > 1:
        return differing("sentences")
    said = [one for one in listed["sentences"][0] if isinstance(one, Mapping)]
    numbers = [whole_number(one.get("number")) for one in said]
    if numbers != list(range(1, count + 1)):
        reason = Message(
            '"{name}" must hold one object for each number from 1 to {count}, in that order',
            name="sentences",
            count=count,
        )
        return Reading(Outcome.UNREADABLE, reason=reason)
    options = [match_option(_first(one, _OPTION_KEYS), SUPPORTS) for one in said]
    if None in options:
        wrong = options.index(None) + 1
        return Reading(
            Outcome.UNREADABLE,
            reason=Message(
                "sentence {number}: its option is not one of {options}",
                number=wrong,
                options=", ".join(SUPPORTS),
            ),
        )
    checked = [
        _checked(
            option or NOT_FOUND, _text(one.get("explanation")), one.get("evidence", one), fragments
        )
        for one, option in zip(said, options, strict=True)
    ]
    return _all_of(checked, settle=settle)


def read_claims(objects: Sequence[JsonObject], count: int) -> Reading | None:
    """What so many sentences claim; None where no object of the reply says it."""
    listed = lists_under(objects).get("claims")
    if not listed:
        return None
    if len(listed) > 1:
        return differing("claims")
    said = [
        (whole_number(one.get("sentence")), _text(one.get("claim")))
        for one in listed[0]
        if isinstance(one, Mapping)
    ]
    claims = [(number, text.strip()) for number, text in said if number is not None and text]
    if (
        not claims
        or len(claims) != len(listed[0])
        or any(not 1 <= number <= count for number, _ in claims)
    ):
        reason = Message(
            '"claims" must hold objects with a "sentence" from 1 to {count} and its "claim"',
            count=count,
        )
        return Reading(Outcome.UNREADABLE, reason=reason)
    return Reading(Outcome.OK, Chosen(json.dumps(claims, ensure_ascii=False)))


def _all_of(checked: Sequence[_Checked], *, settle: bool) -> Reading:
    invented = sum(one.invented for one in checked)
    beside = {INVENTED: invented} if invented else NOTHING
    wrong = [
        Message("sentence {number}: {problem}", number=number, problem=one.wrong)
        for number, one in enumerate(checked, 1)
        if one.wrong
    ]
    if wrong and not settle:
        return Reading(Outcome.UNREADABLE, reason=join("; ", wrong), beside=beside)
    return Reading(Outcome.OK, grounded_each([one.verdict for one in checked]), beside=beside)


def _checked(
    option: str, explanation: str | None, given: object, fragments: Sequence[str]
) -> _Checked:
    if option == NOT_FOUND:
        return _Checked(Grounded(NOT_FOUND, explanation))
    asked = [
        one for one in (given if isinstance(given, list) else [given]) if isinstance(one, Mapping)
    ]
    found = [quote for one in asked if (quote := _quote(one, fragments))]
    invented = [one for one in asked if _text(one.get("quote")) and not _quote(one, fragments)]
    wrong = None if found and not invented else _why(option, invented)
    verdict = (
        Grounded(option, explanation, evidence=tuple(found))
        if found
        else Grounded(NOT_FOUND, explanation)
    )
    return _Checked(verdict, wrong, len(invented))


def _why(option: str, invented: Sequence[JsonObject]) -> str:
    if not invented:
        return Message(
            "{option!r} needs evidence: the number of a fragment and a quote from it", option=option
        )
    quote, number = _text(invented[0].get("quote")) or "", invented[0].get("fragment")
    shown = quote if len(quote) <= 80 else quote[:79] + "…"
    return Message(
        "the quote {first!r} does not stand in fragment {number}: copy it word for word, or "
        "choose {not_found!r}",
        first=shown,
        number=number,
        not_found=NOT_FOUND,
    )


def _quote(given: JsonObject, fragments: Sequence[str]) -> Quote | None:
    """The passage itself: what is shown as evidence is cut from the fragment, never taken from the
    reply.
    """
    number, text = whole_number(given.get("fragment")), _text(given.get("quote"))
    if number is None or not text or not 1 <= number <= len(fragments):
        return None
    fragment = fragments[number - 1]
    passage = find_quote(text, fragment)
    return (
        None
        if passage is None
        else Quote(number, fragment[passage.start : passage.end], passage.start)
    )


def _first(given: JsonObject, names: Sequence[str]) -> object:
    return next((given[name] for name in names if name in given), None)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None
