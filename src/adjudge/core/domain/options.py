"""Match a value to one of the offered options, or to none. Never to the nearest one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from unicodedata import category, normalize

from adjudge.core.domain.numbers import match_number, plain_number
from adjudge.core.domain.plain_text import plain

_YES, _NO = frozenset({"yes", "true", "да"}), frozenset({"no", "false", "нет"})
# Names of options. As a reply, «верно» may also mean that the judged text is right.
_CALLED_YES, _CALLED_NO = _YES | {"верно"}, _NO | {"неверно"}
_PASS, _FAIL = frozenset({"pass", "passed"}), frozenset({"fail", "failed"})
TWO_WAY_WORDS = tuple(sorted(_YES | _NO | _PASS | _FAIL))
_INTEGER = re.compile(r"([+-]?[0-9]{1,100})(?:[.,]0{1,2})?")
# Punctuation that only decorates.
# Signs are not in it: "-1" is not "1", "<50%" not "50%", "A-" not "A", "C#" not "C".
_AROUND = " \"'`*_.,:;!?()[]{}«»“”„‘’「」『』【】|\u200b\ufeff"
_ONE_DASH = str.maketrans(dict.fromkeys("–−‐‑‒﹣－", "-"))
_SIGNS = "-+<>≤≥=≠≈~±—"
_SIGN_BEFORE = re.compile(rf"\A([{_SIGNS}]+) ")
_SIGN_BEHIND = re.compile(r" ([-+—#]+)\Z")
_BULLET = re.compile(r"\A[->—•] ")
_JOINER = re.compile(r"(?<=[^\W\d_])[_-](?=[^\W\d_])")
# Most characters of decoration around a name. Longer texts name nothing, and matching takes time.
_ROOM = 100


def match_option(
    value: object, options: Sequence[str], points: Sequence[float | None] = ()
) -> str | None:
    """Return the option that ``value`` names; None if it names none or several.

    It is compared exactly, then ignoring case and surrounding punctuation, then as a number, then
    in two-way words such as "yes".

    ``points``: the score of each option. Without them "pass" names only an option of that name.
    """
    offered = tuple(options)
    if (
        isinstance(value, str)
        and len(value) > _ROOM
        and len(value) > _ROOM + max(map(len, offered), default=0)
    ):
        return None
    for text in _spellings(value):
        matches = _match_names(text, offered)
        if matches:
            return matches[0] if len(matches) == 1 else None
    return _match_number_option(value, offered) or _match_two_way(value, offered, tuple(points))


def match_integer(value: object) -> int | None:
    """Return ``value`` as an integer, also from a string; None if it is not one."""
    return next(
        (int(match[1]) for text in _spellings(value) if (match := _INTEGER.fullmatch(_key(text)))),
        None,
    )


def are_numbers(options: Sequence[str]) -> bool:
    """Return True if every option is a number, and no two are the same."""
    return bool(_numbers(tuple(options)))


def yes_and_no(options: Sequence[str]) -> tuple[str, str] | None:
    """Return the options named yes or pass, and no or fail, if these are the only two."""
    return (
        _find_pair(options, _CALLED_YES | _PASS, _CALLED_NO | _FAIL) if len(options) == 2 else None
    )


def _find_pair(
    options: Sequence[str], good: frozenset[str], bad: frozenset[str]
) -> tuple[str, str] | None:
    """Return the single option named as in ``good`` and the single one named as in ``bad``; None
    unless both exist.
    """
    yes = [option for option in options if _fold(option) in good]
    no = [option for option in options if _fold(option) in bad]
    return (yes[0], no[0]) if len(yes) == len(no) == 1 else None


def as_pass(value: object) -> object:
    """Turn a truth value or yes/no under the key "pass" into "pass" or "fail", whatever the options
    are called.

    Other values are returned unchanged.
    """
    word = _fold(str(value)) if isinstance(value, bool | str) else ""
    return "pass" if word in _YES else "fail" if word in _NO else value


def polarity(text: str) -> str | None:
    """Return "pass" for yes and pass, "fail" for no and fail, None for everything else."""
    word = _fold(text) if len(text) < _ROOM else ""
    return "pass" if word in _CALLED_YES | _PASS else "fail" if word in _CALLED_NO | _FAIL else None


def _spellings(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value.strip(),)
    if isinstance(value, float) and value.is_integer():
        return (str(value), f"{value:.0f}")
    return (str(value),) if isinstance(value, int | float) else ()


# -- names -------------------------------------------------------------------------


def _match_names(text: str, options: tuple[str, ...]) -> tuple[str, ...]:
    """Return the options that ``text`` names, by the strictest comparison that finds any."""
    index = _index(options)
    if text in index[0]:  # the common case, without normalising
        return index[0][text]
    for names, way in zip((*index[:-1], *index[-2:]), _WAYS_TO_SAY, strict=True):
        spelling = way(text)
        if spelling and spelling in names:
            return names[spelling]
    return ()


@lru_cache(maxsize=1024)
def _index(options: tuple[str, ...]) -> tuple[Mapping[str, tuple[str, ...]], ...]:
    """Map, for each way to compare names, each spelling to the options it names; the strictest way
    first.
    """
    return tuple(_by_spelling(dict.fromkeys(options), way) for way in _WAYS)


def _by_spelling(
    options: Iterable[str], way: Callable[[str], str]
) -> Mapping[str, tuple[str, ...]]:
    options_by_spelling: dict[str, tuple[str, ...]] = {}
    for option in options:
        options_by_spelling[way(option)] = (*options_by_spelling.get(way(option), ()), option)
    return options_by_spelling


def _compose(text: str) -> str:
    return normalize("NFC", text)


def _fold(text: str) -> str:
    return _key(text).casefold()


def _key(text: str) -> str:
    """Return text without decoration, with signs attached and variant spellings unified."""
    text = _strip(_one_way(text))
    return _SIGN_BEHIND.sub(r"\1", _SIGN_BEFORE.sub(r"\1", text))


def _one_way(text: str) -> str:
    text = " ".join(_compose(plain(text)).split()).translate(_ONE_DASH)
    return text.replace("<=", "≤").replace(">=", "≥").replace(" %", "%")


def _strip(text: str) -> str:
    """Strip decoration, but keep a point or comma before a digit: ".5" is not "5"."""
    text_after = text.lstrip(_AROUND + "#")
    preceding = text[len(text) - len(text_after) - 1 : len(text) - len(text_after)]
    return (
        preceding + text_after
        if text_after[:1].isdigit() and preceding in (".", ",")
        else text_after
    ).rstrip(_AROUND)


def _without_bullet(text: str) -> str:
    """Reduce "- FAIL", "<FAIL>" and "✅ FAIL" to "fail"; empty unless a letter follows."""
    text = _strip(_without_pictures(_strip(_one_way(text))))
    inner = _BULLET.sub("", text)
    if text[:1] == "<" and text[-1:] == ">":
        inner = text[1:-1]
    inner = _strip(inner)
    # Before anything but a letter, the bullet is a sign: "-1".
    return _fold(inner) if inner[:1].isalpha() else ""


def _without_pictures(text: str) -> str:
    """Strip signs such as ✅ from both ends."""
    start, end = 0, len(text)
    while start < end and (text[start] == " " or category(text[start]) == "So"):
        start += 1
    while end > start and (text[end - 1] == " " or category(text[end - 1]) == "So"):
        end -= 1
    return text[start:end]


def _split_joined(text: str) -> str:
    """Turn "not_found" into "not found"."""
    return _JOINER.sub(" ", _fold(text))


# The ways to compare names, the strictest first.
_WAYS: tuple[Callable[[str], str], ...] = (str, _compose, _key, _fold, _split_joined)
# Like _WAYS, for replies, which may have a bullet before the name.
_WAYS_TO_SAY = (*_WAYS[:-1], _without_bullet, _split_joined)


# -- numbers and two-way words -----------------------------------------------------


@lru_cache(maxsize=1024)
def _numbers(options: tuple[str, ...]) -> Mapping[float, str]:
    """Map the numbers that the options are to the options; empty unless each is a different
    number.
    """
    values = [plain_number(option) for option in options]
    options_by_number = {
        value: option for value, option in zip(values, options, strict=True) if value is not None
    }
    return options_by_number if len(options_by_number) == len(options) else {}


def _match_number_option(value: object, options: tuple[str, ...]) -> str | None:
    numbers = _numbers(options)
    number = match_number(value, min(numbers), max(numbers)) if numbers else None
    return None if number is None else numbers.get(number)


def _match_two_way(
    value: object, options: tuple[str, ...], points: tuple[float | None, ...]
) -> str | None:
    """Match yes and true by the options' names, pass and fail by their scores; None if these
    disagree.
    """
    word = _fold(str(value)) if isinstance(value, bool | str) else ""
    by_name, by_score = _both_ends(options), _better_and_worse(options, points)
    if word in _YES | _NO:
        ends = (
            by_name
            if by_name and (_fold(by_name[0]) in _CALLED_YES or by_score in (None, by_name))
            else None
        )
    elif word in _PASS | _FAIL:
        ends = by_score
        if by_score is None:
            ends = by_name if by_name and _fold(by_name[0]) in _PASS else None
        elif _contradicts_names(by_score):
            ends = None
    else:
        return None
    return ends and ends[0 if word in _YES | _PASS else 1]


@lru_cache(maxsize=1024)
def _both_ends(options: tuple[str, ...]) -> tuple[str, str] | None:
    """Return yes and no, or pass and fail, even if there are other options too; None if there is no
    such pair.
    """
    return (
        yes_and_no(options)
        or _find_pair(options, _CALLED_YES, _CALLED_NO)
        or _find_pair(options, _PASS, _FAIL)
    )


def _better_and_worse(
    options: tuple[str, ...], points: tuple[float | None, ...]
) -> tuple[str, str] | None:
    """Return two options with different scores, the better one first; None for others."""
    if (
        len(options) != 2
        or len(points) != 2
        or points[0] is None
        or points[1] is None
        or points[0] == points[1]
    ):
        return None
    return (options[0], options[1]) if points[0] > points[1] else (options[1], options[0])


def _contradicts_names(scored: tuple[str, str]) -> bool:
    """Return True if the better option is called no or fail, or the worse one yes or pass."""
    better, worse = map(_fold, scored)
    return better in _CALLED_NO | _FAIL or worse in _CALLED_YES | _PASS
