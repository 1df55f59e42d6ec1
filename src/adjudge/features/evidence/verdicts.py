"""Read verdicts on sentences, and check their quotes.

A quote that is not in its fragment is no evidence.
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
from adjudge.features.evidence.reply_lists import lists_differ, lists_under, whole_number
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
    """A verdict whose quotes have been checked."""

    verdict: Grounded
    """The verdict; "not found" if it rests on no evidence."""
    wrong: str | None = None
    """Why the verdict cannot stand as it was given."""
    invented: int = 0


def with_evidence(reading: Reading, fragments: Sequence[str], *, settle: bool) -> Reading:
    """Check the quotes of a verdict on one sentence against ``fragments``.

    An invented quote, or no quote at all, makes the reply unreadable unless the verdict is "not
    found". With ``settle``, when the model is not asked again, invented quotes are dropped, and a
    verdict without any other becomes "not found".
    """
    if reading.verdict is None:
        return reading
    data = reading.data or {}
    checked = _check(
        reading.verdict.option,
        reading.verdict.explanation,
        data.get("evidence", data),
        fragments,
    )
    metadata = {INVENTED: checked.invented} if checked.invented else NOTHING
    if checked.wrong and not settle:
        return Reading(Outcome.UNREADABLE, reason=checked.wrong, beside=metadata)
    return replace(reading, verdict=checked.verdict, beside=metadata)


def read_sentences(
    objects: Sequence[JsonObject], count: int, fragments: Sequence[str], *, settle: bool
) -> Reading | None:
    """Read the verdicts on ``count`` numbered sentences; None if no object in the reply has any."""
    listed = lists_under(objects)
    if "sentences" not in listed:
        return None
    if len(listed["sentences"]) > 1:
        return lists_differ("sentences")
    entries = [entry for entry in listed["sentences"][0] if isinstance(entry, Mapping)]
    numbers = [whole_number(entry.get("number")) for entry in entries]
    if numbers != list(range(1, count + 1)):
        reason = Message(
            '"{name}" must contain one object for each number from 1 to {count}, in that order',
            name="sentences",
            count=count,
        )
        return Reading(Outcome.UNREADABLE, reason=reason)
    options = [
        match_option(next((entry[name] for name in _OPTION_KEYS if name in entry), None), SUPPORTS)
        for entry in entries
    ]
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
        _check(
            option or NOT_FOUND,
            _text(entry.get("explanation")),
            entry.get("evidence", entry),
            fragments,
        )
        for entry, option in zip(entries, options, strict=True)
    ]
    return _all_of(checked, settle=settle)


def read_claims(objects: Sequence[JsonObject], count: int) -> Reading | None:
    """Read the claims in ``count`` sentences; None if no object in the reply has any."""
    listed = lists_under(objects).get("claims")
    if not listed:
        return None
    if len(listed) > 1:
        return lists_differ("claims")
    numbered_claims = [
        (whole_number(entry.get("sentence")), _text(entry.get("claim")))
        for entry in listed[0]
        if isinstance(entry, Mapping)
    ]
    claims = [
        (number, text.strip()) for number, text in numbered_claims if number is not None and text
    ]
    if (
        not claims
        or len(claims) != len(listed[0])
        or any(not 1 <= number <= count for number, _ in claims)
    ):
        reason = Message(
            '"claims" must contain objects with a "sentence" from 1 to {count} and its "claim"',
            count=count,
        )
        return Reading(Outcome.UNREADABLE, reason=reason)
    return Reading(Outcome.OK, Chosen(json.dumps(claims, ensure_ascii=False)))


def _all_of(checked: Sequence[_Checked], *, settle: bool) -> Reading:
    invented = sum(sentence.invented for sentence in checked)
    metadata = {INVENTED: invented} if invented else NOTHING
    wrong = [
        Message("sentence {number}: {problem}", number=number, problem=sentence.wrong)
        for number, sentence in enumerate(checked, 1)
        if sentence.wrong
    ]
    if wrong and not settle:
        return Reading(Outcome.UNREADABLE, reason=join("; ", wrong), beside=metadata)
    return Reading(
        Outcome.OK, grounded_each([sentence.verdict for sentence in checked]), beside=metadata
    )


def _check(
    option: str, explanation: str | None, evidence: object, fragments: Sequence[str]
) -> _Checked:
    if option == NOT_FOUND:
        return _Checked(Grounded(NOT_FOUND, explanation))
    quoted = [
        entry
        for entry in (evidence if isinstance(evidence, list) else [evidence])
        if isinstance(entry, Mapping)
    ]
    quotes = [quote for entry in quoted if (quote := _quote(entry, fragments))]
    invented = [
        entry for entry in quoted if _text(entry.get("quote")) and not _quote(entry, fragments)
    ]
    # one invented quote is enough to ask again, even next to good ones
    wrong = None if quotes and not invented else _why(option, invented)
    verdict = (
        Grounded(option, explanation, evidence=tuple(quotes))
        if quotes
        else Grounded(NOT_FOUND, explanation)
    )
    return _Checked(verdict, wrong, len(invented))


def _why(option: str, invented: Sequence[JsonObject]) -> str:
    """Return the message that tells the model why its verdict cannot stand."""
    if not invented:
        return Message(
            "{option!r} needs evidence: the number of a fragment and a quote from it", option=option
        )
    quote, number = _text(invented[0].get("quote")) or "", invented[0].get("fragment")
    shortened = quote if len(quote) <= 80 else quote[:79] + "…"
    return Message(
        "the quote {first!r} is not in fragment {number}: copy it word for word, or choose "
        "{not_found!r}",
        first=shortened,
        number=number,
        not_found=NOT_FOUND,
    )


def _quote(entry: JsonObject, fragments: Sequence[str]) -> Quote | None:
    """Find an entry's quote in its fragment; None if it is not there."""
    number, text = whole_number(entry.get("fragment")), _text(entry.get("quote"))
    if number is None or not text or not 1 <= number <= len(fragments):
        return None
    fragment = fragments[number - 1]
    passage = find_quote(text, fragment)
    return (
        None
        if passage is None
        # cut from the fragment, not copied from the reply: what is shown as evidence really stands
        # there
        else Quote(number, fragment[passage.start : passage.end], passage.start)
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value.strip() else None
