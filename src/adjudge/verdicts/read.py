"""What a reply says, or why it cannot be read. Never raises, never yields an option that was not
offered.

A clean object is read at once. In any other reply everything that states a verdict is collected,
and the strongest statement decides only where no other contradicts it: a verdict that looks right
and is wrong is worse than asking again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from adjudge.domain.json_types import JsonObject
from adjudge.domain.message import Reply
from adjudge.domain.question import Comparison, Question
from adjudge.domain.verdict import Chosen, Compared, best_of
from adjudge.domain.vote import Ballot, Outcome
from adjudge.messages import Message
from adjudge.verdicts.objects import find_objects, keys_of, reading_of, unjudged_explanations
from adjudge.verdicts.reading import Reading, clean, declined, refusal, shorten, unmatched

if TYPE_CHECKING:
    from adjudge.verdicts.parts import Held, ReplyParts
    from adjudge.verdicts.statements import Statement


def read_ballot(reply: Reply, ballot: Ballot, *, settle: bool = False) -> Reading:
    """What ``reply`` says to ``ballot``, with all that was asked for, in the instance's own order.

    ``settle``: the model will not be asked again, so that a verdict on a sentence whose quotes do
    not exist is "not found".
    """
    if ballot.question.several:
        return _read_each(reply, ballot, settle=settle)
    reading = read(reply, ballot.question)
    if ballot.question.quoted:
        from adjudge.verdicts.evidence import (
            with_evidence,
        )  # not loaded where nothing is looked up in sources

        return with_evidence(reading, ballot, settle=settle)
    if ballot.question.cites:
        from adjudge.verdicts.steps import with_steps  # not loaded where nobody judges agents

        return with_steps(reading, ballot)
    feedback = (reading.data or {}).get("feedback") if ballot.feedback else None
    if reading.verdict and isinstance(feedback, str):
        reading = replace(reading, verdict=replace(reading.verdict, feedback=clean(feedback)))
    if isinstance(ballot.question, Comparison) and isinstance(reading.verdict, Compared):
        return _with_ranking(reading, reading.verdict, ballot.question)
    return reading


def _read_each(reply: Reply, ballot: Ballot, *, settle: bool) -> Reading:
    """The verdicts on several texts; a reply without any is refused or
    unreadable like every other.
    """
    from adjudge.verdicts.each import read_each
    from adjudge.verdicts.thoughts import without_thoughts

    text = without_thoughts(reply.text).strip()
    objects = [
        found.data
        for found in find_objects(text, cut=reply.finish == "length")
        if found.data is not None
    ]
    if reply.finish == "refusal" or any(
        declined(one, ballot.question) for one in (text, *unjudged_explanations(text, False))
    ):
        return refusal(text)
    reading = read_each(objects, ballot, settle=settle)
    return reading or Reading(
        Outcome.UNREADABLE,
        reason=Message("no list of sentences found in the reply: {said}", said=shorten(text)),
    )


def _with_ranking(reading: Reading, verdict: Compared, question: Comparison) -> Reading:
    """The order of all responses, where it was asked for; it has to say the same as the verdict."""
    if not question.ranked:
        return reading
    ranking = verdict.ranking or question.ranking((reading.data or {}).get("ranking"))
    if ranking is None:
        reason = Message(
            '"ranking" must name each of {letters} once, best first',
            letters=", ".join(question.letters),
        )
        return Reading(Outcome.UNREADABLE, reason=reason)
    if best_of(ranking) != verdict.winner:
        return Reading(
            Outcome.UNREADABLE,
            reason=Message('"selected_option" is not what stands first in "ranking"'),
        )
    return replace(reading, verdict=replace(verdict, ranking=ranking))


def read(reply: Reply, question: Question) -> Reading:
    """The verdict in ``reply``, if it is one that ``question`` accepts and nothing in the reply
    contradicts it.
    """
    if reply.finish == "refusal":
        return refusal(reply.text)
    cut = reply.finish == "length"
    text = reply.text.strip()
    reading = _of_clean_json(text, question, cut)
    if reading:
        return reading
    from adjudge.verdicts.thoughts import (
        without_thoughts,
    )  # not loaded where every reply is clean JSON

    text = without_thoughts(text).strip()
    if not text:
        return Reading(Outcome.UNREADABLE, reason=Message("the reply was empty"))
    reading = _decided(text, question, cut)
    if reading:
        return reading
    if any(declined(said, question) for said in (text, *unjudged_explanations(text, cut))):
        return refusal(text)
    reason = (
        Message("no verdict found in the reply (it was cut off): {said}", said=shorten(text))
        if cut
        else Message("no verdict found in the reply: {said}", said=shorten(text))
    )
    return Reading(Outcome.UNREADABLE, reason=reason)


def _of_clean_json(text: str, question: Question, cut: bool) -> Reading | None:
    """What a reply says that is one object, or a list of one, and nothing else; it may be written
    as a text.
    """
    if not text.startswith(("{", "[", '"')):
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, str) and "{" in value:
        return _of_clean_json(value.strip(), question, cut)
    one = value[0] if isinstance(value, list) and len(value) == 1 else value
    if not isinstance(one, dict):
        return None
    reading = reading_of(one, False, question)
    if reading and reading.verdict and _says_twice(text, reading.data or {}, question):
        return _contradiction("one name twice", "two values")
    return reading


def _says_twice(text: str, data: JsonObject, question: Question) -> bool:
    """Whether a name that counts stands in the text more than once: of two values JSON keeps the
    last.
    """
    counted = keys_of(question)[:3]
    repeated = [name for name in counted if name in data and text.count(f'"{name}"') > 1]
    return bool(repeated) and _differ(text)


def _differ(text: str) -> bool:
    from adjudge.verdicts.lenient import (
        decoded,
    )  # which takes no object that says two things under one name

    return decoded(text[text.index("{") :], 0) is None


def read_written(reply: Reply) -> Reading:
    """The reply as it stands, unless it is cut off or no answer at all."""
    if reply.finish == "refusal":
        return Reading(Outcome.REFUSED, reason=Message("the model refused"))
    if reply.finish == "length":
        return Reading(Outcome.UNREADABLE, reason=Message("it was cut off: write it shorter"))
    return Reading(Outcome.OK, Chosen(reply.text))


class _Leading(NamedTuple):
    """What decides, unless something contradicts it."""

    reading: Reading
    line: int
    words: str
    note: str = ""
    alone: bool = False
    """Whether it has no label."""


def _decided(text: str, question: Question, cut: bool) -> Reading | None:
    """The verdict that all statements of ``text`` agree on.

    Nothing is read where an object cannot be: what stands in or behind it may be quoted there. A
    reply that was cut off is read only when it holds one whole object.
    """
    from adjudge.verdicts.lines import line_statements
    from adjudge.verdicts.parts import parts_of

    text = text.replace("\\_", "_")
    parts = parts_of(text.replace('\\"', '"') if text.startswith('{\\"') else text, cut=cut)
    if (
        parts.broken
        or (cut and len(parts.objects) != 1)
        or (text.startswith("{") and not parts.objects)
    ):
        return None
    lines = line_statements(parts.lines, question)
    leading = _of_objects(parts.objects, question) or (
        None if cut else _of_lines(lines, parts, question)
    )
    if leading is None or leading.reading.outcome is Outcome.UNREADABLE:
        return leading and leading.reading
    against = _against(leading, lines, parts, question)
    return _contradiction(leading.words, against) if against else leading.reading


def _of_objects(objects: Sequence[Held], question: Question) -> _Leading | None:
    """What the objects say that hold a verdict, the last if all agree.

    One that is only supposed counts behind it.
    """
    said = [
        (one, held)
        for held in objects
        if (one := reading_of(held.data or {}, held.mended, question)) is not None
    ]
    meant = [one for one in said if not one[1].supposed]
    if not meant:
        return None
    reading, held = meant[-1]
    words = _words(reading, question)
    others = (one for one, other in said if other.line >= held.line or not other.supposed)
    against = next((one for one in others if not _agree(one, reading)), None)
    return _Leading(
        _contradiction(_words(against, question), words) if against else reading, held.line, words
    )


def _of_lines(lines: Sequence[Statement], parts: ReplyParts, question: Question) -> _Leading | None:
    """The strongest of the lines that state a verdict, the last of several."""
    from adjudge.verdicts.statements import Strength

    best = max(
        lines, key=lambda one: (one.strength, one.verdict is not None, one.line), default=None
    )
    if best is None or best.strength in (Strength.REMARK, Strength.HINT):
        return None
    if best.verdict is None:
        return _Leading(unmatched(best.note or best.words, question), best.line, best.words)
    reading = Reading(Outcome.OK, replace(best.verdict, explanation=_around(best, parts)))
    return _Leading(reading, best.line, best.words, best.note, best.strength is Strength.BARE)


def _against(
    leading: _Leading, lines: Sequence[Statement], parts: ReplyParts, question: Question
) -> str | None:
    """What in the reply says something else.

    Remarks count behind the verdict, and of the hints before it the last.
    """
    from adjudge.verdicts.hints import hints, names_another
    from adjudge.verdicts.parts import Line
    from adjudge.verdicts.statements import Strength

    verdict = leading.reading.verdict
    stated = [one for one in lines if one.strength >= Strength.BARE]
    if verdict is None:
        return next((one.words for one in stated if one.verdict is not None), None)
    others = [
        line
        for line in parts.lines
        if line.number > leading.line or (leading.alone and line.number != leading.line)
    ]
    note = Line(leading.line, leading.note, leading.note)
    if named := names_another([note, *others], verdict, question, alone=leading.alone):
        return named
    last = max([leading.line, *(one.line for one in stated if not one.contradicts(verdict))])
    hinted = [
        *(one for one in lines if one.strength is Strength.HINT),
        *hints(parts.lines, question, lines),
    ]
    behind = [one for one in hinted if one.line >= last]
    before = [one for one in hinted if one.line < last and one.strength is Strength.HINT]
    return next(
        (one.words for one in (*stated, *behind, *before[-1:]) if one.contradicts(verdict)), None
    )


def _agree(one: Reading, other: Reading) -> bool:
    if one.verdict is None or other.verdict is None:
        return one.outcome is other.outcome
    return one.verdict.option == other.verdict.option


def _contradiction(one: str, other: str) -> Reading:
    return Reading(
        Outcome.UNREADABLE,
        reason=Message(
            "the reply contradicts itself: {one} and {other}",
            one=shorten(one),
            other=shorten(other),
        ),
    )


def _words(reading: Reading, question: Question) -> str:
    """What an object says, as it says it."""
    data = reading.data or {}
    key = next((name for name in keys_of(question) if name in data), "")
    return f"{key}: {data[key]}" if key else reading.reason or "null"


def _around(best: Statement, parts: ReplyParts) -> str | None:
    """What stands behind the verdict in its line and in all the others."""
    from adjudge.verdicts.parts import OBJECT

    lines = [line.written.replace(OBJECT, "") for line in parts.lines if line.number != best.line]
    return clean("\n".join(filter(None, (best.note, *lines)))) or None
