"""What a reply says, or why it cannot be read. Never raises, never yields an option that was not offered."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from adjudge.domain.message import Reply
from adjudge.domain.options import as_pass
from adjudge.domain.question import Comparison, Question
from adjudge.domain.verdict import Chosen, Compared, Verdict, best_of
from adjudge.domain.vote import Ballot, Outcome
from adjudge.verdicts.reading import Reading
from adjudge.verdicts.refusal import declines


def find_objects(text: str, *, cut: bool = False) -> list[Found]:
    """Every outermost JSON object in ``text``, in order.

    One that cannot be read is the last: what follows it may be inside it, such as a verdict that it only quotes.
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
    return [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict)]


_VERDICT_KEYS = ("selected_option", "verdict", "option", "label", "answer", "choice", "result", "grade", "pass")
_SCORE_KEYS = ("score", "selected_score", "rating", "value")
_NUMBER_KEYS = (*_SCORE_KEYS, *_VERDICT_KEYS)
_NUMERIC_OPTION_KEYS = ("selected_option", *_SCORE_KEYS, *_VERDICT_KEYS[1:])
_EXPLANATION_KEYS = ("explanation", "reason", "reasoning", "rationale")
_THINKING = re.compile(r"\A(?:\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z))+|\A[^{]*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_OPTION_WORDS = (*_VERDICT_KEYS, "selected option", "вердикт", "ответ")
_NUMBER_WORDS = (*_SCORE_KEYS, "selected score", "оценка", "балл", *_OPTION_WORDS)
_MISSING = object()


@cache
def _line_with(words: tuple[str, ...]) -> re.Pattern[str]:
    """A line that names what follows: "Verdict: PASS". A comparison mark belongs to what follows: "Grade: >= 3"."""
    return re.compile(rf"^\W*(?:final\s+)?({'|'.join(words)})[^\w:=<>≤≥]*[:=]\s*(.+)$", re.IGNORECASE)


class Found(NamedTuple):
    """An object in a reply, whether its text had to be mended to be read, and where it ends."""

    data: dict[str, object] | None
    """None where there is an object that cannot be read."""
    mended: bool
    end: int


def read_ballot(reply: Reply, ballot: Ballot, *, settle: bool = False) -> Reading:
    """What ``reply`` says to ``ballot``, with all that was asked for, in the instance's own order.

    ``settle``: the model will not be asked again, so that a verdict on a sentence whose quotes do not exist is "not found".
    """
    if ballot.question.several:
        return _read_each(reply, ballot, settle=settle)
    reading = read(reply, ballot.question)
    if ballot.question.quoted:
        from adjudge.verdicts.evidence import with_evidence  # not loaded where nothing is looked up in sources

        return with_evidence(reading, ballot, settle=settle)
    feedback = (reading.data or {}).get("feedback") if ballot.feedback else None
    if reading.verdict and isinstance(feedback, str):
        reading = replace(reading, verdict=replace(reading.verdict, feedback=_clean(feedback)))
    return _with_ranking(reading, ballot.question)


def _read_each(reply: Reply, ballot: Ballot, *, settle: bool) -> Reading:
    """The verdicts on several texts; a reply without any is refused or unreadable like every other."""
    from adjudge.verdicts.each import read_each

    text = _THINKING.sub("", reply.text).strip()
    objects = [found.data for found in find_objects(text, cut=reply.finish == "length") if found.data is not None]
    if reply.finish == "refusal" or any(_declined(one, ballot.question) for one in (text, *_unjudged_explanations(text, False))):
        return _refusal(text)
    reading = read_each(objects, ballot, settle=settle)
    return reading or Reading(Outcome.UNREADABLE, reason=f"no list of sentences found in the reply: {_short(text)}")


def _with_ranking(reading: Reading, question: Question) -> Reading:
    """The order of all responses, where it was asked for; it has to say the same as the verdict."""
    verdict = reading.verdict
    if not isinstance(verdict, Compared) or not isinstance(question, Comparison) or not question.ranked:
        return reading
    ranking = question.ranking((reading.data or {}).get("ranking"))
    if ranking is None:
        reason = f'"ranking" must name each of {", ".join(question.letters)} once, best first'
        return Reading(Outcome.UNREADABLE, reason=reason)
    if best_of(ranking) != verdict.winner:
        return Reading(Outcome.UNREADABLE, reason='"selected_option" is not what stands first in "ranking"')
    return replace(reading, verdict=replace(verdict, ranking=ranking))


def read(reply: Reply, question: Question) -> Reading:
    """The last verdict in ``reply``, if it is one that ``question`` accepts."""
    if reply.finish == "refusal":
        return _refusal(reply.text)
    said = reply.text
    text = (said if said.startswith("{") else _THINKING.sub("", said)).strip()
    if not text:
        return Reading(Outcome.UNREADABLE, reason="the reply was empty")
    cut = reply.finish == "length"
    reading = _last_verdict(text, question, cut)
    if reading:
        return reading
    if any(_declined(said, question) for said in (text, *_unjudged_explanations(text, cut))):
        return _refusal(text)
    was_cut = " (it was cut off)" if cut else ""
    return Reading(Outcome.UNREADABLE, reason=f"no verdict found in the reply{was_cut}: {_short(text)}")


def read_written(reply: Reply) -> Reading:
    """The reply as it stands, unless it is cut off or no answer at all."""
    if reply.finish == "refusal":
        return Reading(Outcome.REFUSED, reason="the model refused")
    if reply.finish == "length":
        return Reading(Outcome.UNREADABLE, reason="it was cut off: write it shorter")
    return Reading(Outcome.OK, Chosen(reply.text))


def _keys(question: Question) -> tuple[str, ...]:
    """Names under which the answer may stand in an object, those that count first."""
    if not question.numeric:
        return _VERDICT_KEYS
    return _NUMBER_KEYS if question.answer_key == "score" else _NUMERIC_OPTION_KEYS


def _match_under(key: str, value: object, question: Question) -> Verdict | None:
    """The answer that ``value`` is where it can be nothing else."""
    return question.match(as_pass(value) if key.casefold() == "pass" else value, certain=True)


def _declined(text: str, question: Question) -> bool:
    """Whether ``text`` says in plain words that there will be no answer."""
    return declines(text, question.labels, numeric=question.numeric)


def _refusal(text: str) -> Reading:
    return Reading(Outcome.REFUSED, reason=f"the model refused: {_short(text)}")


def _unjudged_explanations(text: str, cut: bool) -> list[str]:
    """What the objects explain in a reply that holds no verdict."""
    explained = (_explanation(_with_plain_keys(found.data or {})) for found in find_objects(text, cut=cut))
    return [explanation for explanation in explained if explanation]


def _last_verdict(text: str, question: Question, cut: bool) -> Reading | None:
    """The verdict that stands last: an object, or a line behind it such as "Verdict: PASS"; failing these, the first line.

    Lines between them are not looked at: there a judge quotes what it judges. Nor is anything in or behind an object
    that cannot be read, for the same reason. A reply that was cut off is read only when it is one whole object.
    """
    objects = find_objects(text, cut=cut)
    if (objects and objects[-1].data is None) or (cut and len(objects) != 1):
        return None
    said = _from_objects(objects, question)
    if cut or (text.startswith("{") and not said):
        return said
    behind = text[objects[-1].end :] if objects else text
    if said and not behind:
        return said
    return _from_line(behind, -1, question, only_labelled=said is not None) or said or _from_line(text, 0, question)


def _from_objects(objects: Sequence[Found], question: Question) -> Reading | None:
    for found in reversed(objects):
        data, key, said = _verdict_value(found.data or {}, _keys(question))
        if said is not _MISSING:
            return _judged(key, said, data, found.mended, question)
    return None


def _judged(key: str, said: object, data: Mapping[str, object], mended: bool, question: Question) -> Reading:
    if said is None:
        return Reading(Outcome.ABSTAINED, reason=_explanation(data) or "the model gave no verdict")
    verdict = _match_under(key, said, question)
    if verdict is None:
        return _unmatched(said, question)
    others = [name for name in _keys(question) if name in data and not (name == key and data[name] is said)]
    if others and any(_match_under(name, data[name], question) not in (None, verdict) for name in others):
        return Reading(Outcome.UNREADABLE, reason="the reply names several verdicts at once")
    outcome = Outcome.REPAIRED if mended else Outcome.OK
    return Reading(outcome, replace(verdict, explanation=_explanation(data)), data=data)


def _unmatched(said: object, question: Question) -> Reading:
    if isinstance(said, str) and _declined(said, question):
        return _refusal(said)
    return Reading(Outcome.UNREADABLE, reason=f"{_short(said)} is not {question}")


def _verdict_value(data: Mapping[str, object], names: Sequence[str], depth: int = 3) -> tuple[Mapping[str, object], str, object]:
    """The first verdict key and its value, looking into objects and one-item lists that stand there."""
    keys = _with_plain_keys(data)
    name = next((name for name in names if name in keys), "")
    value = keys[name] if name else _MISSING
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict) and depth:
        inner, key, said = _verdict_value(value, names, depth - 1)
        if said is not _MISSING:
            return {**keys, **inner}, key, said
    return keys, name, value


def _with_plain_keys(data: Mapping[str, object]) -> dict[str, object]:
    return {_key(name): value for name, value in data.items()}


def _key(name: object) -> str:
    if isinstance(name, str) and name.isascii() and name.isidentifier():  # nothing in it to replace
        return name.lower()
    return re.sub(r"[\s-]+", "_", str(name).strip().casefold())


def _explanation(data: Mapping[str, object]) -> str | None:
    for name in _EXPLANATION_KEYS:
        text = data.get(name)
        if isinstance(text, str) and (clean := _clean(text)):
            return clean
    return None


def _from_line(text: str, place: int, question: Question, *, only_labelled: bool = False) -> Reading | None:
    """A verdict that is the whole line at ``place``, alone or behind a word like "Verdict:"."""
    lines = [line for line in map(str.strip, text.splitlines()) if line and not line.startswith("```")]
    if not lines:
        return None
    line = lines.pop(place)
    labelled = _line_with(_NUMBER_WORDS if question.numeric else _OPTION_WORDS).match(line)
    if only_labelled and not labelled:
        return None
    word, said = labelled.groups() if labelled else ("", line)
    certain = labelled or not lines  # one line among others may be a heading, "Response A:", or count: "2: It is short."
    verdict = _match_under(word, said, question) if certain else question.match(said)
    if verdict is None:
        return _unmatched(said, question) if labelled else None
    return Reading(Outcome.OK, replace(verdict, explanation=_clean("\n".join(lines)) or None))


def _clean(text: str) -> str:
    """Without half characters (a cut emoji), which no file or terminal takes."""
    text = text.strip()
    return text if text.isascii() else text.encode(errors="replace").decode()


def _short(value: object) -> str:
    text = f"a {type(value).__name__}" if isinstance(value, dict | list) else " ".join(str(value).split())
    return repr(text if len(text) <= 120 else text[:117] + "…")
