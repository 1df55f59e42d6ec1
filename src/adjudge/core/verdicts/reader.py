"""Read a reply: its verdict, or the reason to ask again. Never raises.

A clean object is read at once. Any other reply is read only if its verdict has one of the shapes in
``shapes.SHAPES``, every statement in it agrees, and nothing around them denies or corrects it. A
wrong verdict that looks right is worse than asking again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.message import Reply
from adjudge.core.domain.question import Comparison, Question
from adjudge.core.domain.reading import Reading
from adjudge.core.domain.verdict import Chosen, Compared, best_of
from adjudge.core.domain.vote import Ballot, Outcome
from adjudge.core.verdicts.doubts import (
    explains_otherwise,
    find_doubt,
    grows_into_other,
    is_part_of_label,
)
from adjudge.core.verdicts.lenient import decode_at, find_objects
from adjudge.core.verdicts.objects import (
    RANKED_OTHERWISE,
    SEVERAL,
    explanation_of,
    keys_of,
    prose_of,
    reading_of,
    unjudged_explanations,
)
from adjudge.core.verdicts.parts import OBJECT, Line, ReplyParts, parts_of
from adjudge.core.verdicts.reading import clean, not_an_option, refusal, says_no_answer, shorten
from adjudge.core.verdicts.shapes import Statement, statements_of
from adjudge.core.verdicts.thoughts import without_thoughts
from adjudge.messages import Message


def read_ballot(reply: Reply, ballot: Ballot, *, settle: bool = False) -> Reading:
    """Return the verdict of ``reply`` on ``ballot``, in the instance's own order, with feedback and
    ranking if requested.

    ``settle``: the model will not be asked again, so a verdict on a sentence with missing quotes
    becomes "not found".
    """
    if ballot.question.several:
        return _read_each(reply, ballot, settle=settle)
    reading = ballot.question.check_reading(read(reply, ballot.question), ballot, settle=settle)
    feedback = (reading.data or {}).get("feedback") if ballot.feedback else None
    if reading.verdict and isinstance(feedback, str):
        reading = replace(reading, verdict=replace(reading.verdict, feedback=clean(feedback)))
    if isinstance(ballot.question, Comparison) and isinstance(reading.verdict, Compared):
        return _with_ranking(reading, reading.verdict, ballot.question)
    return reading


def _read_each(reply: Reply, ballot: Ballot, *, settle: bool) -> Reading:
    """Read the verdicts on several texts. A reply without any is refused or unreadable."""
    text = without_thoughts(reply.text).strip()
    objects = [
        reply_object.data
        for reply_object in find_objects(text, cut=reply.finish == "length")
        if reply_object.data is not None
    ]
    if reply.finish == "refusal" or any(
        says_no_answer(part, ballot.question)
        for part in (text, *unjudged_explanations(text, False))
    ):
        return refusal(text)
    reading = ballot.question.read_objects(objects, ballot, settle=settle)
    return reading or Reading(
        Outcome.UNREADABLE,
        reason=Message("no list of sentences found in the reply: {said}", said=shorten(text)),
    )


def _with_ranking(reading: Reading, verdict: Compared, question: Comparison) -> Reading:
    """Add the order of all responses if it was requested. It must agree with the verdict."""
    if not question.asks_for_ranking:
        return reading
    ranking = verdict.ranking or question.ranking((reading.data or {}).get("ranking"))
    if ranking is None:
        reason = Message(
            '"ranking" must name each of {letters} once, best first',
            letters=", ".join(question.letters),
        )
        return Reading(Outcome.UNREADABLE, reason=reason)
    if best_of(ranking) != verdict.winner:
        return RANKED_OTHERWISE
    return replace(reading, verdict=replace(verdict, ranking=ranking))


def read(reply: Reply, question: Question) -> Reading:
    """Return the verdict in ``reply``, or the reason to ask again."""
    if reply.finish == "refusal":
        return refusal(reply.text)
    cut = reply.finish == "length"
    text = reply.text.strip().lstrip("\ufeff").strip()
    if reading := _read_clean_json(text, question):
        return reading
    text = without_thoughts(text).strip()
    if not text:
        return Reading(Outcome.UNREADABLE, reason=Message("the reply was empty"))
    if reading := _read_statements(text, question, cut):
        return reading
    if any(says_no_answer(part, question) for part in (text, *unjudged_explanations(text, cut))):
        return refusal(text)
    reason = (
        Message("no verdict found in the reply (it was cut off): {said}", said=shorten(text))
        if cut
        else Message("no verdict found in the reply: {said}", said=shorten(text))
    )
    return Reading(Outcome.UNREADABLE, reason=reason)


def read_written(reply: Reply) -> Reading:
    """Return the reply unchanged, unless it is cut off or refused."""
    if reply.finish == "refusal":
        return Reading(Outcome.REFUSED, reason=Message("the model refused"))
    if reply.finish == "length":
        return Reading(Outcome.UNREADABLE, reason=Message("it was cut off: write a shorter reply"))
    return Reading(Outcome.OK, Chosen(reply.text))


# -- one object ----------------------------------------------------------------------


def _read_clean_json(text: str, question: Question) -> Reading | None:
    """Read a reply that is one object, or a list of one, perhaps written as a string; None for
    others.
    """
    if not text.startswith(("{", "[", '"')):
        return None
    value, end = decode_at(text, 0) or (None, 0)
    if end < len(text):
        return None
    if isinstance(value, str) and "{" in value:
        return _read_clean_json(value.strip(), question)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return _read_object(value, False, question) if isinstance(value, dict) else None


def _read_object(data: JsonObject, mended: bool, question: Question) -> Reading | None:
    """Return an object's reading; ``SEVERAL`` if its explanation comes to another verdict."""
    reading = reading_of(data, mended, question)
    if reading is None or reading.verdict is None:
        return reading
    verdict, data = reading.verdict, reading.data or {}
    is_doubtful = any(
        explains_otherwise(text, verdict, question) for text in prose_of(data, question)
    )
    is_part = is_part_of_label(verdict.option, question.labels) and any(
        isinstance(text, str)
        and len(text.split()) <= _LONGEST_PART
        and grows_into_other(verdict, text, question)
        for text in data.values()
    )
    return SEVERAL if is_doubtful or is_part else reading


# Words that may complete the name of an option: "Correct" and "but incomplete".
_LONGEST_PART = 4
# An object whose first pair is whole and whose second value is a text that was cut off.
_CUT_OBJECT = re.compile(
    r'(?:`{3}\w*\s*)?(?P<begun>\{\s*"(?P<key>\w{1,40})"\s*:'
    r'\s*(?:"(?:[^"\\]|\\.){0,200}"|true|false|-?[\d.]{1,20})'
    r'\s*,\s*"(?P<second>\w{1,40})"\s*:\s*"(?:[^"\\]|\\.)*+)\\?',
    re.DOTALL,
)


def _read_begun(begun: re.Match[str], question: Question) -> Reading | None:
    """Return the verdict of an object whose explanation was cut off; None without one, or if it may
    be taken back.
    """
    try:
        data = json.loads(begun["begun"] + '"}', strict=False)
    except ValueError:
        return None
    explanation = explanation_of(data)
    if begun["key"] not in keys_of(question) or not explanation:
        return None
    reading = _read_object(data, True, question)
    lines = [Line(0, explanation, explanation)]
    is_doubtful = reading and reading.verdict and find_doubt(reading.verdict, (), lines, question)
    return None if is_doubtful else reading


# -- all statements of a reply -------------------------------------------------------


def _read_statements(text: str, question: Question, cut: bool) -> Reading | None:
    """Return the verdict that all statements of the reply agree on; None if it states none.

    A reply that was cut off is read if its verdict came first and is whole.
    """
    if cut and (begun_object := _CUT_OBJECT.fullmatch(text)):
        return _read_begun(begun_object, question)
    text = text.replace("\\_", "_")
    parts = parts_of(text.replace('\\"', '"') if text.startswith('{\\"') else text, cut=cut)
    is_lost = text.startswith("{") and not parts.objects
    if parts.broken or is_lost or (cut and len(parts.objects) > 1):
        return None
    return _find_agreement(parts, question, cut)


def _find_agreement(parts: ReplyParts, question: Question, cut: bool) -> Reading | None:
    """Return the verdict that all statements agree on, or the contradiction between two of them;
    None without a statement.
    """
    readings = [
        (reading, reply_object)
        for reply_object in parts.objects
        if reply_object.is_own
        and (reading := _read_object(reply_object.data or {}, reply_object.mended, question))
    ]
    objects = [
        Statement(reading.verdict, reply_object.line, _verdict_pair(reading, question))
        for reading, reply_object in readings
    ]
    # A statement at the cut may be incomplete: "Good" could have been "Good enough".
    lines = [
        statement
        for statement in statements_of(parts.lines, question)
        if not (cut and not statement.note and statement.line == parts.lines[-1].number)
    ]
    stated = [
        *objects,
        *(statement for statement in lines if statement.is_own and statement.decides),
    ]
    if not stated or (cut and not objects and _ends_in_verdict(parts, question)):
        return None
    first_statement, last = stated[0], max(statement.line for statement in stated)
    against = [
        *stated,
        *(
            statement
            for statement in lines
            if (statement.is_own and not statement.decides) or statement.line >= last
        ),
        *_quoted_after(last, parts, question),
    ]
    if contrary := next(
        (statement for statement in against if not _agree(statement, first_statement)), None
    ):
        return _contradiction(
            first_statement.words, _contrary_words(first_statement, contrary, parts)
        )
    doubt = first_statement.verdict and find_doubt(
        first_statement.verdict, stated, parts.lines, question, cut=cut
    )
    if doubt:
        return _contradiction(first_statement.words, doubt)
    if readings:
        return readings[-1][0]
    if first_statement.verdict is None:
        # "Verdict: MAYBE" → "MAYBE"
        value = re.split(r"[:：=]\s*", first_statement.words, maxsplit=1)[-1].strip("*_ ")
        return not_an_option(value, question)
    ranked = (
        statement.verdict for statement in stated if getattr(statement.verdict, "ranking", None)
    )
    verdict = next(ranked, first_statement.verdict) or first_statement.verdict
    return Reading(Outcome.OK, replace(verdict, explanation=_text_around(stated, parts)))


def _contrary_words(first: Statement, contrary: Statement, parts: ReplyParts) -> str:
    """Return the words that contradict the first statement: the line after it, if it is taken back
    there.
    """
    if contrary.words != first.words:
        return contrary.words
    later = (line.text for line in parts.lines if line.is_own and line.number > contrary.line)
    return next(later, contrary.words)


def _quoted_after(last: int, parts: ReplyParts, question: Question) -> Iterator[Statement]:
    """Yield objects after the verdict that are not the judge's own, such as a second thought."""
    for quoted in parts.objects:
        if quoted.is_own or quoted.line < last:
            continue
        reading = _read_object(quoted.data or {}, quoted.mended, question)
        if reading and (reading.verdict or reading.outcome is Outcome.ABSTAINED):
            yield Statement(
                reading.verdict, quoted.line, _verdict_pair(reading, question), is_own=False
            )


def _ends_in_verdict(parts: ReplyParts, question: Question) -> bool:
    """Return True if the last line of a reply that was cut off begins another verdict."""
    last = parts.lines[-1].text.casefold()
    is_label = last.rstrip("*_ ").endswith((":", "：", "[", "(")) or last.startswith(("[[", "<"))
    return is_label or any(label.casefold().startswith(last) for label in question.labels)


def _agree(one: Statement, other: Statement) -> bool:
    if one.verdict is None or other.verdict is None:
        return one.verdict is other.verdict
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


def _verdict_pair(reading: Reading, question: Question) -> str:
    """Return the pair of an object that holds its verdict, as it is written."""
    data = reading.data or {}
    key = next((name for name in keys_of(question) if name in data), "")
    return f"{key}: {data[key]}" if key else reading.reason or "null"


def _text_around(stated: Sequence[Statement], parts: ReplyParts) -> str | None:
    """Return the text around the verdict: the other lines, and the rest of its own line."""
    verdict_lines = {statement.line for statement in stated}
    notes = dict.fromkeys(statement.note for statement in stated)
    lines = [
        line.written.replace(OBJECT, "") for line in parts.lines if line.number not in verdict_lines
    ]
    return clean("\n".join(filter(None, (*notes, *lines)))) or None
