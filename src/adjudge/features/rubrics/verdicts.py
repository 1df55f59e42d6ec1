"""Read verdicts on points from a reply. Only a point that is answered once and clearly has a
verdict.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from adjudge.core.domain.frozen_mapping import NOTHING
from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.options import match_option
from adjudge.core.domain.question import Choice
from adjudge.core.domain.reading import Reading
from adjudge.core.domain.verdict import Chosen, Quote
from adjudge.core.domain.vote import Outcome
from adjudge.core.verdicts.doubts import explains_otherwise
from adjudge.features.evidence.quotes import find_quote
from adjudge.features.evidence.reply_lists import lists_differ, lists_under
from adjudge.features.evidence.support import INVENTED, Grounded
from adjudge.features.rubrics.rubric import MET, NOT_MET
from adjudge.messages import Message, join

if TYPE_CHECKING:
    from adjudge.features.rubrics.questions import AskedPoint

UNANSWERED = "points_without_verdict"
"""The key in a vote's metadata for the number of its points without a verdict."""
SURPLUS = "surplus_points"
"""The key for the number of entries about points that were not asked."""
NO_VERDICT = ""
"""Stands for the verdict of a point that has none."""
_VERDICT_KEYS = ("verdict", "selected_option", "level", "count")
_BOOLEAN_KEYS = ("met", "criteria_met")
_MOST_NAMED = 5
_LONGEST_SHOWN = 80


@dataclass(frozen=True, slots=True)
class _Answer:
    """A checked entry of a reply."""

    verdict: Grounded | None
    problem: str | None = None
    invented: int = 0


def read_answers(objects: Sequence[JsonObject], asked: Sequence[AskedPoint], text: str) -> Reading:
    """Read an entry per point.

    A point that is missing, answered twice or answered with something else has no verdict. A reply
    without any verdict is unreadable.
    """
    listed = lists_under([{"points": list(objects)}] if _are_entries(objects) else objects)
    if "points" not in listed:
        reason = Message('the reply has no list "points"')
        return Reading(Outcome.UNREADABLE, reason=reason)
    # two lists that differ: nothing says which one the model meant
    if len(listed["points"]) > 1:
        return lists_differ("points")
    entries = [entry for entry in listed["points"][0] if isinstance(entry, Mapping)]
    labels = [_label(entry) for entry in entries]
    counts = Counter(labels)
    labels_asked = {point.label for point in asked}
    surplus = (
        sum(label not in labels_asked for label in labels) + len(listed["points"][0]) - len(entries)
    )
    answers = [
        _answer(
            point,
            [entry for entry, label in zip(entries, labels, strict=True) if label == point.label],
            text,
        )
        if counts[point.label] == 1
        else _Answer(
            None,
            Message("{point} has no answer", point=point.label)
            if not counts[point.label]
            else Message("{point} has two answers", point=point.label),
        )
        for point in asked
    ]
    unanswered = sum(answer.verdict is None for answer in answers)
    invented = sum(answer.invented for answer in answers)
    counters = {
        name: count
        for name, count in ((INVENTED, invented), (UNANSWERED, unanswered), (SURPLUS, surplus))
        if count
    }
    if unanswered == len(asked):
        problems = [answer.problem for answer in answers if answer.problem][:_MOST_NAMED]
        counters.pop(UNANSWERED)
        return Reading(Outcome.UNREADABLE, reason=join("; ", problems), beside=counters or NOTHING)
    verdicts = tuple(answer.verdict or Grounded(NO_VERDICT) for answer in answers)
    option_text = ", ".join(
        f"{point.label} {answer.option or '–'}"
        for point, answer in zip(asked, verdicts, strict=True)
    )
    return Reading(Outcome.OK, Grounded(option_text, each=verdicts), beside=counters or NOTHING)


def with_quote(reading: Reading, point: AskedPoint, text: str) -> Reading:
    """Return the verdict on one point, with its quote if it is in the text."""
    if reading.verdict is None:
        return reading
    verdict, data = reading.verdict, reading.data or {}
    answer = _check_quote(point, verdict.option, verdict.explanation, data, text)
    counters = {INVENTED: answer.invented} if answer.invented else NOTHING
    if answer.verdict is None:
        return Reading(Outcome.UNREADABLE, reason=answer.problem, beside=counters)
    return replace(reading, verdict=answer.verdict, beside=counters)


def _are_entries(objects: Sequence[JsonObject]) -> bool:
    """Return True if the entries are in the reply without a list around them."""
    return bool(objects) and all("point" in entry and "points" not in entry for entry in objects)


def _label(entry: JsonObject) -> str:
    label = entry.get("point")
    return label.strip().strip("[]().:").casefold() if isinstance(label, str) else ""


def _answer(point: AskedPoint, entries: Sequence[JsonObject], text: str) -> _Answer:
    (entry,) = entries
    options = {
        option
        for name, value in entry.items()
        if name in (*_VERDICT_KEYS, *_BOOLEAN_KEYS)
        and (option := _option(name, value, point)) is not None
    }
    verdict_keys = [name for name in entry if name in (*_VERDICT_KEYS, *_BOOLEAN_KEYS)]
    if len(options) != 1 or any(_option(name, entry[name], point) is None for name in verdict_keys):
        return _Answer(
            None,
            Message(
                "{point}: its verdict is not one of {answers}",
                point=point.label,
                answers=", ".join(point.answers),
            ),
        )
    option, explanation = options.pop(), entry.get("explanation")
    question = Choice(point.answers)
    if isinstance(explanation, str) and explains_otherwise(explanation, Chosen(option), question):
        return _Answer(
            None,
            Message("{point}: its explanation reaches another verdict", point=point.label),
        )
    return _check_quote(
        point,
        option,
        explanation if isinstance(explanation, str) and explanation.strip() else None,
        entry,
        text,
    )


def _option(name: str, value: object, point: AskedPoint) -> str | None:
    if name in _BOOLEAN_KEYS:
        if not isinstance(value, bool) or MET not in point.answers:
            return None
        return MET if value else NOT_MET
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float) and math.isfinite(value) and value == int(value):
        value = str(int(value))
    return match_option(value, point.answers)


def _check_quote(
    point: AskedPoint, option: str, explanation: str | None, entry: JsonObject, text: str
) -> _Answer:
    """Return the verdict with the quoted passage as it is in the text.

    If the point requires a quote and there is none, there is no verdict.
    """
    quote_value = entry.get("quote")
    quote = quote_value.strip() if isinstance(quote_value, str) else ""
    span = find_quote(quote, text) if quote else None
    invented = int(bool(quote) and span is None)
    quotes = () if span is None else (Quote(1, text[span.start : span.end], span.start),)
    # Also if the model is not asked again: without its quote, such a verdict does not count.
    needs = point.quoted and option in point.needs_quote_for
    if needs and not quotes:
        return _Answer(None, _no_quote(point, option, quote), invented)
    return _Answer(Grounded(option, explanation, evidence=quotes), None, invented)


def _no_quote(point: AskedPoint, option: str, quote: str) -> Message:
    if not quote:
        return Message(
            "{point}: {option!r} needs a quote from the response",
            point=point.label,
            option=option,
        )
    return Message(
        "{point}: the quote {quote!r} is not in the response: copy it word for word",
        point=point.label,
        quote=quote if len(quote) <= _LONGEST_SHOWN else quote[: _LONGEST_SHOWN - 1] + "…",
    )
