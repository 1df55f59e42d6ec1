"""The JSON objects of a reply, and the verdict that one of them holds."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from adjudge.domain.json_types import JsonDict, JsonObject
from adjudge.domain.options import as_pass
from adjudge.domain.plain import plain
from adjudge.domain.question import Choice, Comparison, Question, Rating
from adjudge.domain.verdict import Chosen, Compared, Verdict, best_of
from adjudge.domain.vote import Outcome
from adjudge.lazy import lazy_pattern
from adjudge.messages import Message
from adjudge.verdicts.phrases import phrase, words
from adjudge.verdicts.reading import Reading, clean, unmatched

_FAIL_KEYS, _PASS_KEYS, _SCORE_KEYS = words("fail_keys"), words("pass_keys"), words("score_keys")
_VERDICT_KEYS = (*words("verdict_keys"), *_PASS_KEYS, *_FAIL_KEYS)
_NUMBER_KEYS = (*_SCORE_KEYS, *_VERDICT_KEYS)
_NUMERIC_OPTION_KEYS = ("selected_option", *_SCORE_KEYS, *_VERDICT_KEYS)
_COMPARED_KEYS = (*_VERDICT_KEYS, "ranking")
_EXPLANATION_KEYS = words("explanation_keys")
_WORDS_ONLY = frozenset((*_EXPLANATION_KEYS, *words("keys_without_verdict")))
"""What stands there is no verdict, whatever it looks like."""
_CONTAINERS = frozenset(words("container_keys"))
"""Names of objects that may hold the verdict."""
_LAST_WORDS = lazy_pattern(
    r"(?<![\"'“«])\b(?:(?:verdict|selected[ _]option|winner|final (?:answer|score)|вердикт"
    r"|победитель)"
    r"\s*(?:[:=]|is\b(?! not))|(?:i(?:'d| would)?|we) (?:give|rate|score) (?:it|this)(?: "
    r"response| answer| text)?(?: an?)?\b"
    r"|(?:it|this|that|(?:verdict|answer|score|rating)) (?:should|must) be(?: an?)?\b)"
    r"\s*([^\s:=][^:=]{0,39})\Z",
    re.IGNORECASE,
)
_LAST_WORDS_HAVE = re.compile(
    "verd.{1,2}ct|selected|w.{1,2}nner|f.{1,2}nal|вердикт|победитель|g.{1,2}ve|rate|score|should"
    "|must"
)
"""One of these is in whatever ``_LAST_WORDS`` finds; in small letters, where a Turkish i is another
one or two, they are found ten times as quickly.
"""
_ENDING = 160
"""Characters of an explanation in which it may come to another verdict."""
_TO_BE_FILLED = re.compile(
    r"(?=[\s\S]*(?:[^\W\d_]{2}|\.\.|…|__))"  # [0] and [A] point at something
    r"\s*(?:<[^<>]+>|\[[^\[\]]+\]|your (?:explanation|reasoning)\b.*|string)\s*",
    re.IGNORECASE,
)
_AFTERWARDS = re.compile(
    r"(?:revised|corrected|updated|adjusted|amended|new|actual|final)_|corrections?\Z"
    r"|revision\Z|revised\Z|updated?\Z"
    r"|notes?\Z|remarks?\Z|comments?\Z|(?:selected_option|verdict)_\w*\Z"
)
"""Names under which a verdict is taken back."""
_ORDINARY = frozenset(
    name
    for name in (*_NUMERIC_OPTION_KEYS, *_EXPLANATION_KEYS)
    if not _AFTERWARDS.match(name) and name == "_".join(name.casefold().split())
)
"""Names that need no second look."""
_TOP_KEYS = words("scale_keys")
_MISSING = object()


class Found(NamedTuple):
    """An object in a reply, whether its text had to be mended to be read, and where it ends."""

    data: JsonDict | None
    """None where there is an object that cannot be read."""
    mended: bool
    end: int


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


def _strict(text: str) -> list[JsonDict] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return [
        item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict)
    ]


def reading_of(data: JsonObject, mended: bool, question: Question) -> Reading | None:
    """What an object says; None where it holds no verdict, or only shows where one goes."""
    names = keys_of(question)
    said = _verdict_value(data, names)
    data, key, value = said or (data, "", None)
    explained = data.get("explanation")
    if said is None or (
        isinstance(explained, str) and len(explained) < 80 and _TO_BE_FILLED.fullmatch(explained)
    ):
        return None
    explanation = explanation_of(data)
    if value is None:
        reason = explanation or Message("the model gave no verdict")
        return Reading(Outcome.ABSTAINED, reason=reason, data=data)
    verdict = _match_under(key, value, question)
    if verdict is None:
        from adjudge.verdicts.values import is_placeholder

        return None if is_placeholder(value, question) else unmatched(value, question)
    if isinstance(question, Comparison):
        ranked = _match_under("ranking", data.get("ranking"), question)
        if ranked is not None and ranked.option != verdict.option:
            return Reading(
                Outcome.UNREADABLE,
                reason=Message('"selected_option" is not what stands first in "ranking"'),
            )
    if _says_otherwise(verdict, key, value, data, names, question):
        return Reading(
            Outcome.UNREADABLE, reason=Message("the reply names several verdicts at once")
        )
    verdict = (
        Chosen(verdict.option, explanation, verdict.feedback, verdict.score)
        if type(verdict) is Chosen  # nearly always, and quicker than ``replace``
        else replace(verdict, explanation=explanation)
    )
    return Reading(Outcome.REPAIRED if mended else Outcome.OK, verdict, data=data)


def keys_of(question: Question) -> tuple[str, ...]:
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
    if key in _PASS_KEYS:
        value = as_pass(value)
    if not isinstance(value, str) or value in question.labels:
        return question.match(_as_option(value, question), certain=True)
    from adjudge.verdicts.values import match_value  # not needed for a clean option

    return match_value(value, question)


def _as_option(value: object, question: Question) -> object:
    """Return the option of a 0 or 1 if the options score 0 and 1, as the name of its end.

    ``Question.match`` then refuses options whose names say the opposite of their scores.
    """
    is_end = isinstance(value, int | float) and not isinstance(value, bool) and value in (0, 1)
    if not is_end or not isinstance(question, Choice) or question.numeric:
        return value
    is_zero_or_one = sorted(map(str, question.points)) == ["0.0", "1.0"]
    return ("pass" if value else "fail") if is_zero_or_one else value


def _says_otherwise(
    verdict: Verdict,
    key: str,
    said: object,
    data: JsonObject,
    names: Sequence[str],
    question: Question,
) -> bool:
    """Whether another name in the object, an object in it, or the end of its explanation gives
    another verdict.
    """
    for name, value in data.items():
        if isinstance(value, (dict, list)) and value is not said and name not in _WORDS_ONLY:
            inner = _verdict_value(value, names) if isinstance(value, dict) else None
            other = _match_under(inner[1], inner[2], question) if inner else None
        elif (name not in _ORDINARY and _AFTERWARDS.match(name)) or (
            name in names and not (name == key and value is said)
        ):
            other = _match_under(name, value, question)
            if other is None and isinstance(value, str) and phrase("taken_back").match(value):
                return True
        else:
            continue
        if other is not None and other.option != verdict.option:
            return True
    if (
        "score" in data
        and isinstance(question, Choice)
        and not question.numeric
        and _scores_otherwise(verdict, data["score"], question)
    ):
        return True
    if question.numeric and any(
        name in data and _is_another_scale(data[name], question) for name in _TOP_KEYS
    ):
        return True
    explained = data.get("explanation")
    explained = explained if isinstance(explained, str) else ""
    ending = _concluded(explained, question)
    is_other = ending is not None and ending.option != verdict.option
    return is_other or _is_denied(explained[-_ENDING:], verdict.option)


def _is_denied(ending: str, option: str) -> bool:
    """Return True if the last words say that the option is not meant: "I would not let it pass"."""
    denied = rf"\bnot\s+(?:\w+\s+){{0,3}}{re.escape(option)}\W*\Z"
    is_possible = len(option) > len("no") and "not" in ending
    return is_possible and re.search(denied, ending, re.IGNORECASE) is not None


def _concluded(explained: str, question: Question) -> Verdict | None:
    """What an explanation ends with, where that is a verdict."""
    end = explained[-80:].rstrip(" .!*_")
    if _LAST_WORDS_HAVE.search(end.casefold()) and (last := _LAST_WORDS.search(end)):
        return question.match(last[1], certain=True)
    ending = explained[-_ENDING:]
    if not isinstance(question, Comparison) and "criteri" not in ending and "критери" not in ending:
        return None
    from adjudge.verdicts.conclusions import (
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


def _scores_otherwise(verdict: Verdict, score: object, question: Choice) -> bool:
    """Whether a score beside the option is that of another one."""
    if score is None or isinstance(score, bool) or not isinstance(score, int | float):
        return False
    points = dict(zip(question.options, question.points, strict=False))
    return score in points.values() and points.get(verdict.option) != score


def _verdict_value(
    data: JsonObject, names: Sequence[str], depth: int = 3
) -> tuple[JsonObject, str, object] | None:
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
    own = next((inner for key, inner in found if key in _CONTAINERS), None)
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


def _with_plain_keys(data: JsonObject) -> JsonDict:
    return {name if name in _ORDINARY else _key(name): value for name, value in data.items()}


def _key(name: object) -> str:
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", plain(str(name)).strip())
    return re.sub(r"[\s_-]+", "_", parted.casefold())


def explanation_of(data: JsonObject) -> str | None:
    for name in _EXPLANATION_KEYS:
        text = data.get(name)
        if isinstance(text, str) and (shown := clean(text)):
            return shown
    return None


def unjudged_explanations(text: str, cut: bool) -> list[str]:
    """What the objects explain in a reply that holds no verdict."""
    explained = (
        explanation_of(_with_plain_keys(found.data or {})) for found in find_objects(text, cut=cut)
    )
    return [explanation for explanation in explained if explanation]
