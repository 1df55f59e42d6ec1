"""The verdict in an object, and contradictions within that object."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from adjudge.core.domain.json_types import JsonDict, JsonObject
from adjudge.core.domain.numbers import number_of, plain_number
from adjudge.core.domain.options import as_pass, polarity, yes_and_no
from adjudge.core.domain.plain_text import plain
from adjudge.core.domain.question import Choice, Comparison, Question, Rating
from adjudge.core.domain.reading import Reading
from adjudge.core.domain.verdict import Chosen, Compared, Rated, Verdict, best_of
from adjudge.core.domain.vote import Outcome
from adjudge.core.verdicts.lenient import decode_at, find_objects
from adjudge.core.verdicts.parts import count_words
from adjudge.core.verdicts.phrases import phrase, words
from adjudge.core.verdicts.reading import clean, not_an_option, shorten
from adjudge.core.verdicts.values import highest, is_placeholder, match_value
from adjudge.messages import Message

_FAIL_KEYS, _PASS_KEYS, _SCORE_KEYS = words("fail_keys"), words("pass_keys"), words("score_keys")
_NAMED_KEYS = words("verdict_keys")
_VERDICT_KEYS = (*_NAMED_KEYS, *_PASS_KEYS, *_FAIL_KEYS)
# Names that may hold the answer to the judged problem, if that is a number or a letter.
_ANSWER_KEYS = frozenset(words("answer_keys"))
_NAMING_KEYS = _ANSWER_KEYS | frozenset(words("naming_keys"))
_GRADE_KEYS = tuple(name for name in _NAMED_KEYS if name not in _ANSWER_KEYS)
_NUMBER_KEYS = (*_SCORE_KEYS, *_GRADE_KEYS)
# Names that can only hold the verdict, and names of the response that is not preferred.
_FIRM_KEYS, _LOSER_KEYS = frozenset(words("firm_keys")), frozenset(words("loser_keys"))
# Names of the score of the chosen option, next to its name.
_OPTION_SCORE_KEYS = (*_SCORE_KEYS, *words("option_score_keys"))
_NUMBER_OR_FLAG_KEYS = frozenset((*_NUMBER_KEYS, *_PASS_KEYS, *_FAIL_KEYS))
_NUMERIC_OPTION_KEYS = ("selected_option", *_SCORE_KEYS, *_GRADE_KEYS)
_COMPARED_KEYS = (*_NAMED_KEYS, "ranking")
_DECIDING_TOKENS = frozenset(words("deciding_tokens"))
# Names of a boolean that is true if the text passes, or fails.
_GOOD_TOKENS, _BAD_TOKENS = frozenset(words("good_tokens")), frozenset(words("bad_tokens"))
# Texts that praise or reject.
_GOOD_WORDS = _GOOD_TOKENS | frozenset(words("good_words"))
_BAD_WORDS = _BAD_TOKENS | frozenset(words("bad_words"))
_SCALE_TOKENS = frozenset(words("scale_tokens"))
# Names of a number that counts something: one error is not a verdict.
_COUNT_TOKENS = frozenset(words("count_tokens"))
_EXPLANATION_KEYS = words("explanation_keys")
# Names whose values are never a verdict.
_WORDS_ONLY = frozenset((*_EXPLANATION_KEYS, *words("keys_without_verdict")))
# Names of objects that may hold the verdict.
_CONTAINERS = frozenset(words("container_keys"))
_TO_BE_FILLED = phrase("to_be_filled")
# Names under which a verdict is taken back.
_AFTERWARDS = phrase("correcting_keys")
# Names that need no second look.
_ORDINARY = frozenset(
    name
    for name in (*_NUMERIC_OPTION_KEYS, *_EXPLANATION_KEYS)
    if not _AFTERWARDS.match(name) and name == "_".join(name.casefold().split())
)
_LONGEST_FORM = 80
# Words; longer texts explain.
_LONGEST_VERDICT = 3


def reading_of(data: JsonObject, mended: bool, question: Question) -> Reading | None:
    """Return the reading of an object; None if it contains no verdict or only a placeholder.

    A correction without a verdict is unreadable.
    """
    if not mended and _is_as_asked(data, question):
        verdict = Chosen(str(data["selected_option"]), explanation_of(data))
        return Reading(Outcome.OK, verdict, data=data)
    return full_reading(data, mended, question)


def full_reading(data: JsonObject, mended: bool, question: Question) -> Reading | None:
    """Like ``reading_of``, without its shortcut for objects that are as they were asked for."""
    verdict_value = _verdict_value(data, keys_of(question))
    if verdict_value is None or _is_form(verdict_value[0]):
        return SEVERAL if verdict_value is None and _corrects(data, question) else None
    data, key, value = verdict_value
    explanation = explanation_of(data)
    if value is None:
        reason = explanation or Message("the model gave no verdict")
        return Reading(Outcome.ABSTAINED, reason=reason, data=data)
    verdict = _match_under(key, value, question)
    if verdict is None:
        return None if is_placeholder(value, question) else not_an_option(value, question)
    ranked = (
        _match_under("ranking", data.get("ranking"), question)
        if isinstance(question, Comparison)
        else None
    )
    if ranked is not None and ranked.option != verdict.option:
        return RANKED_OTHERWISE
    if other_key := _contradicting_key(verdict, key, value, data, question):
        reason = Message(
            "{other} may contradict {key}: give exactly one verdict",
            other=shorten(other_key),
            key=shorten(key),
        )
        return Reading(Outcome.UNREADABLE, reason=reason)
    verdict = (
        Chosen(verdict.option, explanation, verdict.feedback, verdict.score)
        if type(verdict) is Chosen  # nearly always, and quicker than ``replace``
        else replace(verdict, explanation=explanation)
    )
    return Reading(Outcome.REPAIRED if mended else Outcome.OK, verdict, data=data)


def _is_as_asked(data: JsonObject, question: Question) -> bool:
    """Return True if an object has only the two texts that were asked for: an explanation that is
    filled in and one of the options.

    There is no other key, so none can contradict the option.
    """
    option = data.get("selected_option")
    return (
        type(question) is Choice
        and len(data) == 2
        and question.labels.count(option) == 1
        and "{" not in str(option)  # perhaps an object as text
        and isinstance(data.get("explanation"), str)
        and not _is_form(data)
    )


def _is_form(data: JsonObject) -> bool:
    explained = str(data.get("explanation"))
    return len(explained) < _LONGEST_FORM and _TO_BE_FILLED.fullmatch(explained) is not None


SEVERAL = Reading(Outcome.UNREADABLE, reason=Message("the reply names several verdicts at once"))
RANKED_OTHERWISE = Reading(
    Outcome.UNREADABLE, reason=Message('"selected_option" is not first in "ranking"')
)


def keys_of(question: Question) -> tuple[str, ...]:
    """Return the keys that may hold a verdict in an object, in order of precedence."""
    if isinstance(question, Comparison):
        return _COMPARED_KEYS
    if not question.numeric:
        return _VERDICT_KEYS if max(map(len, question.labels), default=0) > 1 else _GRADE_KEYS
    return _NUMBER_KEYS if question.answer_key == "score" else _NUMERIC_OPTION_KEYS


def _match_under(key: str, value: object, question: Question) -> Verdict | None:
    """Return the verdict that ``value`` is under a key, if it can be nothing else."""
    if key == "ranking" and isinstance(question, Comparison):
        ranking = question.ranking(value)
        return Compared(best_of(ranking)) if ranking else None
    if key in _PASS_KEYS or key in _FAIL_KEYS:
        word = str(as_pass(value)) if isinstance(value, bool | str) else ""
        if word not in ("pass", "fail"):
            return question.match(value) if key in _PASS_KEYS and isinstance(value, str) else None
        return question.match("pass" if (word == "pass") == (key in _PASS_KEYS) else "fail")
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


def _contradicting_key(
    verdict: Verdict, key: str, said: object, data: JsonObject, question: Question
) -> str | None:
    """Return the first other key that gives or may give another verdict, or another scale; None if
    none does.
    """
    rated, rating_names = _rated_options(data, question)
    for name, value in data.items():
        is_verdict = name == key and (value is said or _open_value(value) == said)
        if is_verdict or name in _WORDS_ONLY or name in rating_names:
            continue
        other_verdict = _other_verdict(name, value, question)
        if other_verdict is not None and other_verdict.option != verdict.option:
            return name
        # "is_valid" means one end for any criterion, but "polite" does not.
        is_known = name in keys_of(question) or _decides(name)
        is_flag = isinstance(value, bool) and not is_known
        is_unclear = (other_verdict is None or is_flag) and _is_unclear(
            name, value, verdict, question
        )
        if is_unclear or _is_loser(name, value, verdict, question):
            return name
        if question.numeric and _changes_scale(name, value, question):
            return name
    if _rates_otherwise(rated, verdict, question):
        return next(name for name in data if name in rating_names)
    if not isinstance(question, Choice) or question.numeric:
        return None
    points = dict(zip(question.options, question.points, strict=False))
    scores = {name: _score(data[name]) for name in _OPTION_SCORE_KEYS if name in data}
    return next(
        (
            name
            for name, score in scores.items()
            if score is not None and not _fits(score, points.get(verdict.option), points.values())
        ),
        None,
    )


def _fits(score: float, own: float | None, points: Iterable[float | None]) -> bool:
    """Return True if a score may be that of the option with the points ``own``: no other option's
    points are nearer.

    A score above all points is on a scale that is not known.
    """
    known = [number for number in points if number is not None]
    if own is None or not known or score > max(known):
        return score not in known
    return abs(score - own) <= min(abs(score - number) for number in known)


def _score(value: object) -> float | None:
    """Return the number that a value writes; for "8/10" the ratio. None if it is not a number."""
    if not isinstance(value, str):
        return number_of(value)
    points, _, most = value.partition("/")
    number, top = plain_number(points), plain_number(most)
    return number / top if number is not None and top else plain_number(value)


def _is_unclear(name: str, value: object, verdict: Verdict, question: Question) -> bool:
    """Return True for a flag, a number or a short text that may be a second verdict.

    Only counts, names and a score that fits may be next to the verdict, and longer texts.
    """
    if question.numeric:
        return _is_unclear_next_to_number(name, value, verdict, question)
    if isinstance(value, bool):
        return _is_unclear_flag(name, value, verdict, question)
    if isinstance(value, str):
        is_brief = count_words(value) <= _LONGEST_VERDICT and not value.lstrip().startswith("{")
        return is_brief and (name not in _NAMING_KEYS or name in _SCORE_KEYS)
    if isinstance(value, list) and value and name != "ranking":
        return all(
            not isinstance(item, dict | list) and _is_unclear(name, item, verdict, question)
            for item in value
        )
    # ``_contradicting_key`` compares a score with the score of the chosen option
    if not isinstance(value, int | float) or name in _OPTION_SCORE_KEYS:
        return value is None and name in _FIRM_KEYS
    return _COUNT_TOKENS.isdisjoint(name.split("_"))


def _is_unclear_next_to_number(
    name: str, value: object, verdict: Verdict, question: Question
) -> bool:
    """Return True for a flag or a short text that does not agree with a numeric verdict.

    The scores of parts may be there, and "verdict": "good" in the better half of the scale.
    """
    is_verdict, last = name in _NUMBER_OR_FLAG_KEYS, name.rpartition("_")[2]
    if isinstance(value, bool) and (is_verdict or _decides(name)):
        good: bool | None = value
    elif isinstance(value, str) and (is_verdict or last in _DECIDING_TOKENS):
        if name in _SCORE_KEYS and any(map(str.isdigit, value)):
            return True
        if count_words(value) > _LONGEST_VERDICT or value.lstrip().startswith("{"):
            return False
        good = _praises(value)
    else:
        return value is None and name in _FIRM_KEYS
    if good is None:
        return True
    half = _half(verdict, question)
    is_bad_name = not _BAD_TOKENS.isdisjoint(name.split("_"))
    return half < 0 if good != is_bad_name else half > 0


def _praises(text: str) -> bool | None:
    """Return True for "good" or "yes", False for "rejected" or "no", None for other words."""
    word = plain(text).strip(" .!*_`'\"").casefold()
    if word in _GOOD_WORDS or polarity(word) == "pass":
        return True
    return False if word in _BAD_WORDS or polarity(word) == "fail" else None


def _half(verdict: Verdict, question: Question) -> float:
    """Return how far a number lies above the middle of its scale; 0 if the scale is not known."""
    if isinstance(question, Rating) and isinstance(verdict, Rated) and question.bounds:
        return verdict.number - sum(question.bounds) / 2
    if not isinstance(question, Choice):
        return 0
    numbers = [plain_number(option) for option in question.options]
    points = question.points if None not in question.points and question.points else numbers
    own = dict(zip(question.options, points, strict=True)).get(verdict.option)
    known = [number for number in points if number is not None]
    return 0 if own is None else own - (min(known) + max(known)) / 2


def _is_unclear_flag(name: str, value: bool, verdict: Verdict, question: Question) -> bool:
    """Return True if a flag may be a second verdict.

    ``"passed": false`` agrees with a "No" if the score of "No" is not the best.
    """
    if name in (*_PASS_KEYS, *_FAIL_KEYS) and isinstance(question, Choice):
        return (value == (name in _PASS_KEYS)) != _is_best(verdict, question)
    return value or "tie" not in name.split("_")


def _is_loser(name: str, value: object, verdict: Verdict, question: Question) -> bool:
    """Return True for ``"loser": "A"`` next to ``"winner": "A"``."""
    if name not in _LOSER_KEYS or not isinstance(question, Comparison):
        return False
    loser = _match_under("winner", value, question)
    return loser is not None and loser.option == verdict.option


def _is_best(verdict: Verdict, question: Choice) -> bool:
    points = dict(zip(question.options, question.points, strict=False))
    best = max((score for score in points.values() if score is not None), default=None)
    return best is not None and points.get(verdict.option) == best


def _other_verdict(name: str, value: object, question: Question) -> Verdict | None:
    """Return the verdict under a key other than the main one, if that key can hold one."""
    names = keys_of(question)
    if isinstance(value, dict):
        inner = _verdict_value(value, names)
        return _match_under(inner[1], inner[2], question) if inner else None
    if name in names:
        return _match_under("verdict" if name in _NAMED_KEYS else name, value, question)
    if _decides(name) and isinstance(value, bool):
        return _match_flag(name, value, question)
    is_text = isinstance(value, bool | str) and not question.numeric
    is_yes_or_no = as_pass(value) != value  # of an issue or a step, unless that was asked
    is_asked = not is_yes_or_no or any(as_pass(label) != label for label in question.labels)
    is_answer = names is _GRADE_KEYS and name in _ANSWER_KEYS
    if (is_text and is_asked and not is_answer) or (_decides(name) and name not in _ORDINARY):
        return _match_under("verdict", value, question)
    return None


def _match_flag(name: str, value: bool, question: Question) -> Verdict | None:
    """Return the verdict of ``"is_pass": true`` or ``"tie": true``; None if the flag gives none."""
    tokens = set(name.split("_"))
    if "tie" in tokens:
        return question.match("tie") if value else None
    is_pass, is_fail = not _GOOD_TOKENS.isdisjoint(tokens), not _BAD_TOKENS.isdisjoint(tokens)
    return question.match("pass" if value == is_pass else "fail") if is_pass or is_fail else None


def _decides(name: str) -> bool:
    return not _DECIDING_TOKENS.isdisjoint(name.split("_"))


def _changes_scale(name: str, value: object, question: Question) -> bool:
    """Return True for a penalty, and if a key such as "max_score" names another scale's top."""
    if name in ("penalty", "deduction"):
        return bool(value)
    numbers = re.findall(r"\d+(?:\.\d+)?", str(value)[-20:])
    is_scale = bool(numbers) and not _SCALE_TOKENS.isdisjoint(name.split("_"))
    return is_scale and highest(question) not in (None, float(numbers[-1]))


def prose_of(data: JsonObject, question: Question) -> Iterator[str]:
    """Yield the texts of an object that may contradict its verdict key."""
    names = keys_of(question)
    for name, value in data.items():
        is_other = name not in _ORDINARY and name not in names
        is_remark = is_other and (_AFTERWARDS.match(name) or _decides(name))
        if isinstance(value, str) and (name in _EXPLANATION_KEYS or is_remark):
            yield value


def _corrects(data: JsonObject, question: Question) -> bool:
    """Return True if an object without a verdict holds a correction: ``{"correction": "FAIL"}``."""
    return any(
        _AFTERWARDS.match(name) and _match_under("verdict", value, question) is not None
        for name, value in _with_plain_keys(data).items()
        if name not in _WORDS_ONLY
    )


def _rates_otherwise(rated: Mapping[str, float], verdict: Verdict, question: Question) -> bool:
    """Return True if the scores or probabilities of the options favour an option other than the
    verdict.
    """
    best = [option for option, score in rated.items() if score == max(rated.values())]
    return len(best) == 1 and question.put_back(best[0]).option != verdict.option


def _rated_options(data: JsonObject, question: Question) -> tuple[dict[str, float], frozenset[str]]:
    """Return the scores that an object gives to all options, and the names that hold them."""
    options = question.letters if isinstance(question, Comparison) else question.labels
    if not any(isinstance(value, dict | list) for value in data.values()):
        parts_of_names = {part for name in data for part in _parts_of(name.casefold())}
        if not parts_of_names.issuperset(map(str.casefold, options)):
            return {}, frozenset()  # as in nearly every reply
    rated: dict[str, float] = {}
    names = set()
    for name, value in data.items():
        inner: Iterable[tuple[object, object]] = ((name, value),)
        if isinstance(value, dict):
            inner = value.items()
        elif isinstance(value, list) and isinstance(question, Comparison):
            inner = zip(options, value, strict=False) if len(value) == len(options) else ()
        for key, score in inner:
            number = None if isinstance(score, bool) else _score(score)
            folded_key = str(key).casefold()
            parts = {folded_key} if question.numeric else _parts_of(folded_key)
            rated_options = [option for option in options if option.casefold() in parts]
            if number is not None and len(rated_options) == 1:
                rated[rated_options[0]] = number
                names.add(name)
    return (rated, frozenset(names)) if set(rated) == set(options) else ({}, frozenset())


def _parts_of(name: str) -> set[str]:
    return {name, *name.split("_")}


def _verdict_value(
    data: JsonObject, names: Sequence[str], depth: int = 3
) -> tuple[JsonObject, str, object] | None:
    """Return an object's pairs, the first verdict key and its value.

    The value may be in an object, a list of one item, or an object written as a text. Without a
    verdict key, the objects under known names are searched; others may not say otherwise.
    """
    keys = _with_plain_keys(data)
    name = next((name for name in names if name in keys), "")
    searched = {name: keys[name]} if name else keys
    inner = {
        key: inner_value
        for key, value in searched.items()
        if depth
        and isinstance(opened := _open_value(value), dict)
        and (inner_value := _verdict_value(opened, names, depth - 1))
    }
    if name and name not in inner:
        return keys, name, _open_value(keys[name])
    chosen_value = next(
        (inner_value for key, inner_value in inner.items() if key == name or key in _CONTAINERS),
        None,
    )
    if chosen_value is None:
        return None
    values = [inner_value[2] for inner_value in inner.values()]
    is_same = all(value == chosen_value[2] for value in values)
    return {**keys, **chosen_value[0]}, chosen_value[1], chosen_value[2] if is_same else values


def _open_value(value: object) -> object:
    """Unwrap a list of one item, and parse an object written as text; return other values
    unchanged.
    """
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, str) and value.lstrip().startswith("{"):
        return (decode_at(value.strip(), 0) or (value,))[0]
    return value


def _with_plain_keys(data: JsonObject) -> JsonDict:
    """Return the object with plain names; two values under one name become a list of both."""
    plain_data: JsonDict = {}
    for raw_key, value in data.items():
        name = raw_key if raw_key in _ORDINARY else _plain_key(raw_key)
        is_other = name in plain_data and plain_data[name] != value
        plain_data[name] = [plain_data[name], value] if is_other else value
    return plain_data


def _plain_key(name: object) -> str:
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", plain(str(name)).strip())
    return re.sub(r"[\s_-]+", "_", parted.casefold())


def explanation_of(data: JsonObject) -> str | None:
    """Return the first explanation of an object that is not empty, or None."""
    for name in _EXPLANATION_KEYS:
        text = data.get(name)
        if isinstance(text, str) and (explanation := clean(text)):
            return explanation
    return None


def unjudged_explanations(text: str, cut: bool) -> list[str]:
    """Return the explanations in the objects of a reply that holds no verdict."""
    explained = (
        explanation_of(_with_plain_keys(reply_object.data or {}))
        for reply_object in find_objects(text, cut=cut)
    )
    return [explanation for explanation in explained if explanation]
