"""The verdict that an object holds, and what in the object speaks against it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from adjudge.domain.json_types import JsonDict, JsonObject
from adjudge.domain.numbers import number_of, plain_number
from adjudge.domain.options import as_pass, yes_and_no
from adjudge.domain.plain import plain
from adjudge.domain.question import Choice, Comparison, Question
from adjudge.domain.verdict import Chosen, Compared, Verdict, best_of
from adjudge.domain.vote import Outcome
from adjudge.lazy import lazy_pattern
from adjudge.messages import Message
from adjudge.verdicts.lenient import decoded, find_objects
from adjudge.verdicts.phrases import phrase, words
from adjudge.verdicts.reading import Reading, clean, unmatched
from adjudge.verdicts.values import highest, is_placeholder, match_value

_FAIL_KEYS, _PASS_KEYS, _SCORE_KEYS = words("fail_keys"), words("pass_keys"), words("score_keys")
_NAMED_KEYS = words("verdict_keys")
_VERDICT_KEYS = (*_NAMED_KEYS, *_PASS_KEYS, *_FAIL_KEYS)
_ANSWER_KEYS = frozenset(words("answer_keys"))
"""Names that may hold the answer to the judged problem, if that is a number or a letter."""
_GRADE_KEYS = tuple(name for name in _NAMED_KEYS if name not in _ANSWER_KEYS)
_NUMBER_KEYS = (*_SCORE_KEYS, *_GRADE_KEYS)
_NUMERIC_OPTION_KEYS = ("selected_option", *_SCORE_KEYS, *_GRADE_KEYS)
_COMPARED_KEYS = (*_NAMED_KEYS, "ranking")
_DECIDING_TOKENS = frozenset(words("deciding_tokens"))
_GOOD_TOKENS = frozenset(words("good_tokens"))
"""Names of a boolean that is true if the text passes."""
_SCALE_TOKENS = frozenset(words("scale_tokens"))
_EXPLANATION_KEYS = words("explanation_keys")
_WORDS_ONLY = frozenset((*_EXPLANATION_KEYS, *words("keys_without_verdict")))
"""What stands there is no verdict, whatever it looks like."""
_CONTAINERS = frozenset(words("container_keys"))
"""Names of objects that may hold the verdict."""
_TO_BE_FILLED = lazy_pattern(
    r"(?=[\s\S]*(?:[^\W\d_]{2}|\.\.|…|__))"  # [0] and [A] point at something
    r"\s*(?:<[^<>]+>|\[[^\[\]]+\]|your (?:explanation|reasoning)\b.*|string)\s*",
    re.IGNORECASE,
)
_AFTERWARDS = phrase("correcting_keys")
"""Names under which a verdict is taken back."""
_ORDINARY = frozenset(
    name
    for name in (*_NUMERIC_OPTION_KEYS, *_EXPLANATION_KEYS)
    if not _AFTERWARDS.match(name) and name == "_".join(name.casefold().split())
)
"""Names that need no second look."""
_MISSING = object()


def reading_of(data: JsonObject, mended: bool, question: Question) -> Reading | None:
    """What an object says; None where it holds no verdict, or only shows where one goes."""
    names = keys_of(question)
    said = _verdict_value(data, names)
    data, key, value = said or (data, "", None)
    explained = data.get("explanation")
    if said is None or (
        isinstance(explained, str) and len(explained) < 80 and _TO_BE_FILLED.fullmatch(explained)
    ):
        return SEVERAL if said is None and _corrects(data, question) else None
    explanation = explanation_of(data)
    if value is None:
        reason = explanation or Message("the model gave no verdict")
        return Reading(Outcome.ABSTAINED, reason=reason, data=data)
    verdict = _match_under(key, value, question)
    if verdict is None:
        return None if is_placeholder(value, question) else unmatched(value, question)
    ranked = (
        _match_under("ranking", data.get("ranking"), question)
        if isinstance(question, Comparison)
        else None
    )
    if ranked is not None and ranked.option != verdict.option:
        return _RANKED_OTHERWISE
    if _says_otherwise(verdict, key, value, data, names, question):
        return SEVERAL
    verdict = (
        Chosen(verdict.option, explanation, verdict.feedback, verdict.score)
        if type(verdict) is Chosen  # nearly always, and quicker than ``replace``
        else replace(verdict, explanation=explanation)
    )
    return Reading(Outcome.REPAIRED if mended else Outcome.OK, verdict, data=data)


SEVERAL = Reading(Outcome.UNREADABLE, reason=Message("the reply names several verdicts at once"))


_RANKED_OTHERWISE = Reading(
    Outcome.UNREADABLE, reason=Message('"selected_option" is not what stands first in "ranking"')
)


def keys_of(question: Question) -> tuple[str, ...]:
    """Names under which the answer may stand in an object, those that count first."""
    if isinstance(question, Comparison):
        return _COMPARED_KEYS
    if not question.numeric:
        return _VERDICT_KEYS if max(map(len, question.labels), default=0) > 1 else _GRADE_KEYS
    return _NUMBER_KEYS if question.answer_key == "score" else _NUMERIC_OPTION_KEYS


def _match_under(key: str, value: object, question: Question) -> Verdict | None:
    """The answer that ``value`` is where it can be nothing else."""
    if key == "ranking" and isinstance(question, Comparison):
        ranking = question.ranking(value)
        return Compared(best_of(ranking)) if ranking else None
    if key in _PASS_KEYS or key in _FAIL_KEYS:
        said = str(as_pass(value)) if isinstance(value, bool | str) else ""
        if said not in ("pass", "fail"):
            return question.match(value) if key in _PASS_KEYS and isinstance(value, str) else None
        return question.match("pass" if (said == "pass") == (key in _PASS_KEYS) else "fail")
    if not isinstance(value, str) or value in question.labels:
        return question.match(_as_option(key, value, question), certain=True)
    return match_value(value, question)


def _as_option(key: str, value: object, question: Question) -> object:
    """Return yes for a 1 and no for a 0, if the options are yes and no by name and by score."""
    is_end = isinstance(value, int | float) and not isinstance(value, bool) and value in (0, 1)
    if not is_end or not isinstance(question, Choice) or key not in ("verdict", "score"):
        return value
    ends = yes_and_no(question.options)
    points = dict(zip(question.options, question.points, strict=False))
    is_scored = ends is not None and points.get(ends[0]) == 1 and points.get(ends[1]) == 0
    return ends[0 if value else 1] if ends and is_scored else value


def _says_otherwise(
    verdict: Verdict,
    key: str,
    said: object,
    data: JsonObject,
    names: Sequence[str],
    question: Question,
) -> bool:
    """Return True if anything else in the object gives another verdict or another scale."""
    for name, value in data.items():
        if name == key and value is said:
            continue
        if name in _WORDS_ONLY:
            continue
        other = _other_verdict(name, value, names, question)
        if other is not None and other.option != verdict.option:
            return True
        if question.numeric and (
            _is_another_scale(name, value, question) or (name in ("penalty", "deduction") and value)
        ):
            return True
    if isinstance(question, Comparison):
        return _rates_otherwise(verdict, data, question)
    if not isinstance(question, Choice) or question.numeric or "score" not in data:
        return False
    return _scores_otherwise(verdict, data["score"], question)


def _other_verdict(
    name: str, value: object, names: Sequence[str], question: Question
) -> Verdict | None:
    """Return the verdict under another name, if the name can hold one."""
    if isinstance(value, dict):
        inner = _verdict_value(value, names)
        return _match_under(inner[1], inner[2], question) if inner else None
    tokens = set(name.split("_"))
    is_verdict = name in names or (
        name not in _ORDINARY and not tokens.isdisjoint(_DECIDING_TOKENS)
    )
    if not is_verdict:
        return None
    if isinstance(value, bool) and name not in names:
        if "tie" in tokens:
            return question.match("tie") if value else None
        is_pass = not tokens.isdisjoint(_GOOD_TOKENS)
        is_fail = not tokens.isdisjoint(("fail", "fails", "failed"))
        return (
            question.match("pass" if value == is_pass else "fail") if is_pass or is_fail else None
        )
    return _match_under(name if name in names else "verdict", value, question)


def prose_of(data: JsonObject, question: Question) -> Iterator[str]:
    """Yield the texts of an object that may come to another verdict than its verdict key."""
    for name, value in data.items():
        is_other = name not in _ORDINARY and name not in keys_of(question)
        is_remark = is_other and (_AFTERWARDS.match(name) or _decides(name))
        if isinstance(value, str) and (name in _EXPLANATION_KEYS or is_remark):
            yield value


def _decides(name: str) -> bool:
    return not _DECIDING_TOKENS.isdisjoint(name.split("_"))


def _corrects(data: JsonObject, question: Question) -> bool:
    """Return True if an object without a verdict holds a correction: ``{"correction": "FAIL"}``."""
    return any(
        _AFTERWARDS.match(name) and _match_under("verdict", value, question) is not None
        for name, value in _with_plain_keys(data).items()
        if name not in _WORDS_ONLY
    )


def _is_another_scale(name: str, top: object, question: Question) -> bool:
    """Return True if a key such as "max_score" names the top of another scale."""
    if set(name.split("_")).isdisjoint(_SCALE_TOKENS):
        return False
    told, top_of_scale = re.findall(r"\d+(?:\.\d+)?", str(top)[-20:]), highest(question)
    return bool(told) and top_of_scale is not None and float(told[-1]) != top_of_scale


def _scores_otherwise(verdict: Verdict, score: object, question: Choice) -> bool:
    """Return True if a score next to the option is that of another one."""
    number = plain_number(score) if isinstance(score, str) else score
    if number is None or isinstance(number, bool) or not isinstance(number, int | float):
        return False
    points = dict(zip(question.options, question.points, strict=False))
    return number in points.values() and points.get(verdict.option) != number


def _rates_otherwise(verdict: Verdict, data: JsonObject, question: Comparison) -> bool:
    """Return True if the scores of the responses make another one the best."""
    rated: dict[str, float] = {}
    for name, value in data.items():
        inner = value.items() if isinstance(value, dict) else ((name, value),)
        for key, score in inner:
            tokens = {token.upper() for token in str(key).split("_")}
            letters = [letter for letter in question.letters if letter in tokens]
            number = number_of(score)
            if len(letters) == 1 and number is not None:
                rated[letters[0]] = number
    if set(rated) != set(question.letters):
        return False
    best = [letter for letter, score in rated.items() if score == max(rated.values())]
    return len(best) == 1 and question.put_back(best[0]).option != verdict.option


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
        return (decoded(value.strip(), 0) or (value,))[0]
    return value


def _with_plain_keys(data: JsonObject) -> JsonDict:
    """Return the object with plain names; two values under one name become a list of both."""
    made: JsonDict = {}
    for written, value in data.items():
        name = written if written in _ORDINARY else _key(written)
        is_other = name in made and made[name] != value
        made[name] = [made[name], value] if is_other else value
    return made


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
