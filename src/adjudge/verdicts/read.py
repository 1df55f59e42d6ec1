"""What a reply says, or why it cannot be read. Never raises, never yields an option that was not
offered.

A clean object is read at once. In any other reply everything that states a verdict is collected,
and the strongest statement decides only where no other contradicts it: a verdict that looks right
and is wrong is worse than asking again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from adjudge.domain.message import Reply
from adjudge.domain.options import as_pass
from adjudge.domain.plain import plain
from adjudge.domain.question import Choice, Comparison, Question, Rating
from adjudge.domain.verdict import Chosen, Compared, Verdict, best_of
from adjudge.domain.vote import Ballot, Outcome
from adjudge.messages import Message
from adjudge.verdicts.reading import Reading
from adjudge.verdicts.refusal import declines

if TYPE_CHECKING:
    from adjudge.verdicts.parts import Held, ReplyParts
    from adjudge.verdicts.statements import Statement


def find_objects(text: str, *, cut: bool = False) -> list[Found]:
    """Every outermost JSON object in ``text``, in order.

    One that cannot be read is the last: what follows it may be inside it, such as a verdict that it
    only quotes.
    """
    whole = _strict(text)
    if whole is not None:
        return [Found(item, False, len(text)) for item in whole]
    from adjudge.verdicts.lenient import objects_in  # not loaded where every reply is clean JSON

    return [Found(*one) for one in objects_in(text, cut)]


def _strict(text: str) -> list[dict[str, object]] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return [
        item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict)
    ]


_FAIL_KEYS = ("fail", "failed")
_PASS_KEYS = ("pass", "passed", "meets_criterion", "meets_criteria", "meets_the_criterion")
_VERDICT_KEYS = (
    *(
        "final_verdict",
        "selected_option",
        "verdict",
        "вердикт",
        "final_answer",
        "option",
        "label",
        "answer",
        "choice",
        "result",
    ),
    *(
        "grade",
        "decision",
        "judgment",
        "judgement",
        "winner",
        "rating",
        "better",
        "preferred",
        "selected",
        "ответ",
        "решение",
    ),
    *_PASS_KEYS,
    *_FAIL_KEYS,
)
_SCORE_KEYS = (
    "final_score",
    "score",
    "selected_score",
    "rating",
    "overall_score",
    "value",
    "оценка",
    "балл",
)
_NUMBER_KEYS = (*_SCORE_KEYS, *_VERDICT_KEYS)
_NUMERIC_OPTION_KEYS = ("selected_option", *_SCORE_KEYS, *_VERDICT_KEYS)
_COMPARED_KEYS = (*_VERDICT_KEYS, "ranking")
_EXPLANATION_KEYS = ("explanation", "reason", "reasoning", "rationale")
_WORDS_ONLY = frozenset(
    (
        *_EXPLANATION_KEYS,
        *(
            "feedback",
            "evidence",
            "analysis",
            "thought",
            "thoughts",
            "think",
            "thinking",
            "draft",
            "example",
            "quote",
            "quoted",
        ),
        *(
            "input",
            "text",
            "question",
            "context",
            "contexts",
            "candidate",
            "original",
            "prompt",
            "submission",
            "judged",
            "instance",
        ),
    )
)
"""What stands there is no verdict, whatever it looks like."""
_LAST_WORDS = re.compile(
    r"(?<![\"'“«])\b(?:(?:verdict|selected[ _]option|winner|final (?:answer|score)|вердикт"
    r"|победитель)"
    r"\s*(?:[:=]|is\b(?! not))|(?:i(?:'d| would)?|we) (?:give|rate|score) (?:it|this)(?: "
    r"response| answer| text)?(?: an?)?\b"
    r"|(?:it|this|that|(?:verdict|answer|score|rating)) (?:should|must) be(?: an?)?\b)"
    r"\s*([^\s:=][^:=]{0,39})\Z",
    re.IGNORECASE,
)
_ENDING = 160
"""Characters of an explanation in which it may come to another verdict."""
_TO_BE_FILLED = re.compile(
    r"\s*(?:<[^<>]+>|\[[^\[\]]+\]|your (?:explanation|reasoning)\b.*|string)\s*", re.IGNORECASE
)
_AFTERWARDS = re.compile(
    r"(?:revised|corrected|updated|adjusted|amended|new|actual|final)_|corrections?\Z"
    r"|revision\Z|revised\Z|updated?\Z"
    r"|notes?\Z|remarks?\Z|comments?\Z|(?:selected_option|verdict)_\w*\Z"
)
"""Names under which a verdict is taken back."""
_TOP_KEYS = ("max_score", "max", "maximum", "out_of", "scale")
_MISSING = object()


class Found(NamedTuple):
    """An object in a reply, whether its text had to be mended to be read, and where it ends."""

    data: dict[str, object] | None
    """None where there is an object that cannot be read."""
    mended: bool
    end: int


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
    feedback = (reading.data or {}).get("feedback") if ballot.feedback else None
    if reading.verdict and isinstance(feedback, str):
        reading = replace(reading, verdict=replace(reading.verdict, feedback=_clean(feedback)))
    return _with_ranking(reading, ballot.question)


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
        _declined(one, ballot.question) for one in (text, *_unjudged_explanations(text, False))
    ):
        return _refusal(text)
    reading = read_each(objects, ballot, settle=settle)
    return reading or Reading(
        Outcome.UNREADABLE,
        reason=Message("no list of sentences found in the reply: {said}", said=_short(text)),
    )


def _with_ranking(reading: Reading, question: Question) -> Reading:
    """The order of all responses, where it was asked for; it has to say the same as the verdict."""
    verdict = reading.verdict
    if (
        not isinstance(verdict, Compared)
        or not isinstance(question, Comparison)
        or not question.ranked
    ):
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
        return _refusal(reply.text)
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
    if any(_declined(said, question) for said in (text, *_unjudged_explanations(text, cut))):
        return _refusal(text)
    reason = (
        Message("no verdict found in the reply (it was cut off): {said}", said=_short(text))
        if cut
        else Message("no verdict found in the reply: {said}", said=_short(text))
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
    reading = _from_object(one, False, question)
    if reading and reading.verdict and _says_twice(text, reading.data or {}, question):
        return _contradiction("one name twice", "two values")
    return reading


def _says_twice(text: str, data: Mapping[str, object], question: Question) -> bool:
    """Whether a name that counts stands in the text more than once: of two values JSON keeps the
    last.
    """
    return any(
        name in data and text.count(f'"{name}"') > 1 and _differ(text)
        for name in _keys(question)[:3]
    )


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


def _keys(question: Question) -> tuple[str, ...]:
    """Names under which the answer may stand in an object, those that count first."""
    if isinstance(question, Comparison):
        return _COMPARED_KEYS
    if not question.numeric:
        return _VERDICT_KEYS
    return _NUMBER_KEYS if question.answer_key == "score" else _NUMERIC_OPTION_KEYS


def _match_under(key: str, value: object, question: Question) -> Verdict | None:
    """The answer that ``value`` is where it can be nothing else."""
    if key == "ranking" and isinstance(question, Comparison):
        ranking = question.ranking(value)
        return Compared(best_of(ranking)) if ranking else None
    if key in _FAIL_KEYS:
        value = {"pass": "fail", "fail": "pass"}.get(str(as_pass(value)).casefold(), value)
    verdict = question.match(as_pass(value) if key in _PASS_KEYS else value, certain=True)
    if verdict is None and isinstance(value, str) and any(mark in value for mark in ":-–—(✅❌"):
        from adjudge.verdicts.values import match_value

        verdict = found[0] if (found := match_value(value, question)) else None
    return verdict


def _declined(text: str, question: Question) -> bool:
    """Whether ``text`` says in plain words that there will be no answer."""
    return declines(text, question.labels, numeric=question.numeric)


def _refusal(text: str) -> Reading:
    return Reading(Outcome.REFUSED, reason=Message("the model refused: {said}", said=_short(text)))


def _unjudged_explanations(text: str, cut: bool) -> list[str]:
    """What the objects explain in a reply that holds no verdict."""
    explained = (
        _explanation(_with_plain_keys(found.data or {})) for found in find_objects(text, cut=cut)
    )
    return [explanation for explanation in explained if explanation]


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
        if (one := _from_object(held.data or {}, held.mended, question)) is not None
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
        return _Leading(_unmatched(best.note or best.words, question), best.line, best.words)
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
            one=_short(one),
            other=_short(other),
        ),
    )


def _words(reading: Reading, question: Question) -> str:
    """What an object says, as it says it."""
    data = reading.data or {}
    key = next((name for name in _keys(question) if name in data), "")
    return f"{key}: {data[key]}" if key else reading.reason or "null"


def _around(best: Statement, parts: ReplyParts) -> str | None:
    """What stands behind the verdict in its line and in all the others."""
    from adjudge.verdicts.parts import OBJECT

    lines = [line.written.replace(OBJECT, "") for line in parts.lines if line.number != best.line]
    return _clean("\n".join(filter(None, (best.note, *lines)))) or None


def _from_object(data: Mapping[str, object], mended: bool, question: Question) -> Reading | None:
    """What an object says; None where it holds no verdict, or only shows where one goes."""
    said = _verdict_value(data, _keys(question))
    if said is None:
        return None
    data, key, value = said
    verdict = None if value is None else _match_under(key, value, question)
    if verdict is None and value is not None and not isinstance(value, bool | int | float):
        from adjudge.verdicts.values import is_placeholder

        if is_placeholder(value, question):
            return None
    explained = data.get("explanation")
    if isinstance(explained, str) and len(explained) < 80 and _TO_BE_FILLED.fullmatch(explained):
        return None
    return _judged(key, value, verdict, data, mended, question)


def _judged(
    key: str,
    said: object,
    verdict: Verdict | None,
    data: Mapping[str, object],
    mended: bool,
    question: Question,
) -> Reading:
    if said is None:
        return Reading(
            Outcome.ABSTAINED,
            reason=_explanation(data) or Message("the model gave no verdict"),
            data=data,
        )
    if verdict is None:
        return _unmatched(said, question)
    ranked = (
        _match_under("ranking", data.get("ranking"), question)
        if isinstance(question, Comparison)
        else None
    )
    if ranked is not None and ranked.option != verdict.option:
        return Reading(
            Outcome.UNREADABLE,
            reason=Message('"selected_option" is not what stands first in "ranking"'),
        )
    if _says_otherwise(verdict, key, said, data, question):
        return Reading(
            Outcome.UNREADABLE, reason=Message("the reply names several verdicts at once")
        )
    outcome = Outcome.REPAIRED if mended else Outcome.OK
    return Reading(outcome, replace(verdict, explanation=_explanation(data)), data=data)


def _says_otherwise(
    verdict: Verdict, key: str, said: object, data: Mapping[str, object], question: Question
) -> bool:
    """Whether another name in the object, an object in it, or the end of its explanation gives
    another verdict.
    """
    for name, value in data.items():
        if isinstance(value, dict | list) and value is not said and name not in _WORDS_ONLY:
            inner = (
                _verdict_value({name: value}, _keys(question)) if isinstance(value, dict) else None
            )
            other = _match_under(inner[1], inner[2], question) if inner else None
        elif (name in _keys(question) and not (name == key and value is said)) or _AFTERWARDS.match(
            name
        ):
            other = _match_under(name, value, question)
            if other is None and isinstance(value, str) and _takes_back(value):
                return True
        else:
            continue
        if other is not None and other.option != verdict.option:
            return True
    if (
        isinstance(question, Choice)
        and not question.numeric
        and _scores_otherwise(verdict, data.get("score"), question)
    ):
        return True
    if question.numeric and any(
        name in data and _is_another_scale(data[name], question) for name in _TOP_KEYS
    ):
        return True
    explained = data.get("explanation")
    ending = _concluded(explained, question) if isinstance(explained, str) else None
    return ending is not None and ending.option != verdict.option


def _concluded(explained: str, question: Question) -> Verdict | None:
    """What an explanation ends with, where that is a verdict."""
    last = _LAST_WORDS.search(explained[-80:].rstrip(" .!*_"))
    if last:
        return question.match(last[1], certain=True)
    ending = explained[-_ENDING:]
    if not isinstance(question, Comparison) and "criteri" not in ending and "критери" not in ending:
        return None
    from adjudge.verdicts.hints import (
        conclusion_of,
    )  # not loaded where an explanation speaks of what is judged

    return conclusion_of(ending, question, cut=len(explained) > _ENDING)


def _is_another_scale(top: object, question: Question) -> bool:
    """Whether a score is told to be one of another scale than was asked for."""
    told = re.findall(r"\d+(?:\.\d+)?", str(top)[-20:])
    highest = question.bounds[1] if isinstance(question, Rating) and question.bounds else None
    if isinstance(question, Choice):
        highest = max(map(float, question.labels))
    return bool(told) and highest is not None and float(told[-1]) != highest


def _takes_back(text: str) -> bool:
    from adjudge.verdicts.hints import takes_back

    return takes_back(text)


def _scores_otherwise(verdict: Verdict, score: object, question: Choice) -> bool:
    """Whether a score beside the option is that of another one."""
    if score is None or isinstance(score, bool) or not isinstance(score, int | float):
        return False
    points = dict(zip(question.options, question.points, strict=False))
    return score in points.values() and points.get(verdict.option) != score


def _unmatched(said: object, question: Question) -> Reading:
    if isinstance(said, str) and _declined(said, question):
        return _refusal(said)
    return Reading(
        Outcome.UNREADABLE,
        reason=Message("{said} is not {wanted}", said=_short(said), wanted=str(question)),
    )


def _verdict_value(
    data: Mapping[str, object], names: Sequence[str], depth: int = 3
) -> tuple[Mapping[str, object], str, object] | None:
    """The names of an object with the first that counts and its value, looking into what stands
    there: objects, lists of one item, objects that are written as a text. Where none counts, into
    all that it holds.
    """
    keys = _with_plain_keys(data)
    name = next((name for name in names if name in keys), "")
    value = _opened(keys[name]) if name else _MISSING
    if isinstance(value, dict) and depth:
        inner = _verdict_value(value, names, depth - 1)
        if inner:
            return {**keys, **inner[0]}, inner[1], inner[2]
    if name:
        return keys, name, value
    held = [(key, _opened(value)) for key, value in keys.items()] if depth else []
    found = [
        (key, inner)
        for key, one in held
        if isinstance(one, dict) and (inner := _verdict_value(one, names, depth - 1))
    ]
    own = next((inner for key, inner in found if key not in _WORDS_ONLY), None)
    if own is None:
        return None
    if any(inner[2] != own[2] for _, inner in found):
        return {**keys}, own[1], [inner[2] for _, inner in found]
    return {**keys, **own[0]}, own[1], own[2]


def _opened(value: object) -> object:
    """A list of one as that one, and an object in writing as the object."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _with_plain_keys(data: Mapping[str, object]) -> dict[str, object]:
    return {_key(name): value for name, value in data.items()}


def _key(name: object) -> str:
    if (
        isinstance(name, str) and name.isascii() and name.islower() and name.isidentifier()
    ):  # nothing in it to replace
        return name
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", plain(str(name)).strip())
    return re.sub(r"[\s_-]+", "_", parted.casefold())


def _explanation(data: Mapping[str, object]) -> str | None:
    for name in _EXPLANATION_KEYS:
        text = data.get(name)
        if isinstance(text, str) and (clean := _clean(text)):
            return clean
    return None


def _clean(text: str) -> str:
    """Without half characters (a cut emoji), which no file or terminal takes."""
    text = text.strip()
    return text if text.isascii() else text.encode(errors="replace").decode()


def _short(value: object) -> str:
    text = (
        f"a {type(value).__name__}"
        if isinstance(value, dict | list)
        else " ".join(str(value).split())
    )
    return repr(text if len(text) <= 120 else text[:117] + "…")
