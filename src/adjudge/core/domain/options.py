"""Which of the offered options a value names, if any. Never the nearest one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from unicodedata import category, normalize

from adjudge.core.domain.numbers import match_number, plain_number
from adjudge.core.domain.plain_text import plain

_YES, _NO = frozenset({"yes", "true", "да"}), frozenset({"no", "false", "нет"})
_CALLED_YES, _CALLED_NO = _YES | {"верно"}, _NO | {"неверно"}
"""Names of options. As a reply, «верно» may also mean that the judged text is right."""
_PASS, _FAIL = frozenset({"pass", "passed"}), frozenset({"fail", "failed"})
TWO_WAY_WORDS = tuple(sorted(_YES | _NO | _PASS | _FAIL))
_INTEGER = re.compile(r"([+-]?[0-9]{1,100})(?:[.,]0{1,2})?")
_AROUND = " \"'`*_.,:;!?()[]{}«»“”„‘’「」『』【】|\u200b\ufeff"
"""Punctuation that only decorates.

Signs are not in it: "-1" is not "1", "<50%" not "50%", "A-" not "A", "C#" not "C".
"""
_ONE_DASH = str.maketrans(dict.fromkeys("–−‐‑‒﹣－", "-"))
_SIGNS = "-+<>≤≥=≠≈~±—"
_SIGN_BEFORE = re.compile(rf"\A([{_SIGNS}]+) ")
_SIGN_BEHIND = re.compile(r" ([-+—#]+)\Z")
_BULLET = re.compile(r"\A[->—•] ")
_JOINER = re.compile(r"(?<=[^\W\d_])[_-](?=[^\W\d_])")
_ROOM = 100
"""Characters that decorate a name at the most: what is longer names nothing, and is not worth the
time.
"""


def match_option(
    value: object, options: Sequence[str], points: Sequence[float | None] = ()
) -> str | None:
    """The option that ``value`` names: exactly, then ignoring case and surrounding punctuation, as
    a number, in two-way words.

    ``points``: what each option scores. Where it is not known, "pass" names only an option that is
    called so.
    """
    offered = tuple(options)
    if (
        isinstance(value, str)
        and len(value) > _ROOM
        and len(value) > _ROOM + max(map(len, offered), default=0)
    ):
        return None
    for text in _spellings(value):
        named = _named(text, offered)
        if named:
            return named[0] if len(named) == 1 else None
    return _numbered(value, offered) or _two_way(value, offered, tuple(points))


def match_integer(value: object) -> int | None:
    """The integer that ``value`` is or writes."""
    return next(
        (int(found[1]) for text in _spellings(value) if (found := _INTEGER.fullmatch(_key(text)))),
        None,
    )


def are_numbers(options: Sequence[str]) -> bool:
    """Whether every option is a number, no two of them the same."""
    return bool(_numbers(tuple(options)))


def yes_and_no(options: Sequence[str]) -> tuple[str, str] | None:
    """The option that is called yes or pass and the one that is called no or fail, where there are
    just these two.
    """
    return _only(options, _CALLED_YES | _PASS, _CALLED_NO | _FAIL) if len(options) == 2 else None


def _only(
    options: Sequence[str], good: frozenset[str], bad: frozenset[str]
) -> tuple[str, str] | None:
    """The one option that is called one of ``good`` and the one that is called one of ``bad``."""
    yes = [option for option in options if _folded(option) in good]
    no = [option for option in options if _folded(option) in bad]
    return (yes[0], no[0]) if len(yes) == len(no) == 1 else None


def as_pass(value: object) -> object:
    """What stands under the key "pass": true and "yes" mean that it passes, whatever the options
    are called.
    """
    said = _folded(str(value)) if isinstance(value, bool | str) else ""
    return "pass" if said in _YES else "fail" if said in _NO else value


def polarity(text: str) -> str | None:
    """Return "pass" for yes and pass, "fail" for no and fail, None for everything else."""
    word = _folded(text) if len(text) < _ROOM else ""
    return "pass" if word in _CALLED_YES | _PASS else "fail" if word in _CALLED_NO | _FAIL else None


def _spellings(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value.strip(),)
    if isinstance(value, float) and value.is_integer():
        return (str(value), f"{value:.0f}")
    return (str(value),) if isinstance(value, int | float) else ()


# -- names -------------------------------------------------------------------------


def _named(text: str, options: tuple[str, ...]) -> tuple[str, ...]:
    """The options that ``text`` names in the strictest way in which it names any."""
    index = _index(options)
    if text in index[0]:  # as most replies say it
        return index[0][text]
    for names, way in zip((*index[:-1], *index[-2:]), _WAYS_TO_SAY, strict=True):
        spelling = way(text)
        if spelling and spelling in names:
            return names[spelling]
    return ()


@lru_cache(maxsize=1024)
def _index(options: tuple[str, ...]) -> tuple[Mapping[str, tuple[str, ...]], ...]:
    """For each way to compare names, the strictest first: a spelling → the options it names."""
    return tuple(_by_spelling(dict.fromkeys(options), way) for way in _WAYS)


def _by_spelling(
    options: Iterable[str], way: Callable[[str], str]
) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for option in options:
        found[way(option)] = (*found.get(way(option), ()), option)
    return found


def _composed(text: str) -> str:
    return normalize("NFC", text)


def _folded(text: str) -> str:
    return _key(text).casefold()


def _key(text: str) -> str:
    """Without decoration and with each sign at what it belongs to, in one way of writing."""
    text = _stripped(_one_way(text))
    return _SIGN_BEHIND.sub(r"\1", _SIGN_BEFORE.sub(r"\1", text))


def _one_way(text: str) -> str:
    text = " ".join(_composed(plain(text)).split()).translate(_ONE_DASH)
    return text.replace("<=", "≤").replace(">=", "≥").replace(" %", "%")


def _stripped(text: str) -> str:
    """A point or comma before a digit stays: ".5" is not "5"."""
    rest = text.lstrip(_AROUND + "#")
    before = text[len(text) - len(rest) - 1 : len(text) - len(rest)]
    return (before + rest if rest[:1].isdigit() and before in (".", ",") else rest).rstrip(_AROUND)


def _without_bullet(text: str) -> str:
    """ "- FAIL", "<FAIL>" and "✅ FAIL" → "fail".

    What stands before anything but a letter is a sign.
    """
    text = _stripped(_without_pictures(_stripped(_one_way(text))))
    inner = _BULLET.sub("", text)
    if text[:1] == "<" and text[-1:] == ">":
        inner = text[1:-1]
    inner = _stripped(inner)
    return _folded(inner) if inner[:1].isalpha() else ""


def _without_pictures(text: str) -> str:
    """Without signs such as ✅ at its ends."""
    start, end = 0, len(text)
    while start < end and (text[start] == " " or category(text[start]) == "So"):
        start += 1
    while end > start and (text[end - 1] == " " or category(text[end - 1]) == "So"):
        end -= 1
    return text[start:end]


def _parted(text: str) -> str:
    """ "not_found" → "not found"."""
    return _JOINER.sub(" ", _folded(text))


_WAYS: tuple[Callable[[str], str], ...] = (str, _composed, _key, _folded, _parted)
"""How names are compared, the strictest first."""
_WAYS_TO_SAY = (*_WAYS[:-1], _without_bullet, _parted)
"""The same for what is said, which may have a bullet before it."""


# -- numbers and two-way words -----------------------------------------------------


@lru_cache(maxsize=1024)
def _numbers(options: tuple[str, ...]) -> Mapping[float, str]:
    """The options by their values; empty unless each is a number of its own."""
    values = [plain_number(option) for option in options]
    found = {
        value: option for value, option in zip(values, options, strict=True) if value is not None
    }
    return found if len(found) == len(options) else {}


def _numbered(value: object, options: tuple[str, ...]) -> str | None:
    numbers = _numbers(options)
    number = match_number(value, min(numbers), max(numbers)) if numbers else None
    return None if number is None else numbers.get(number)


def _two_way(
    value: object, options: tuple[str, ...], points: tuple[float | None, ...]
) -> str | None:
    """Yes and true go by the options' names, pass and fail by their scores; where these disagree,
    neither is taken.
    """
    said = _folded(str(value)) if isinstance(value, bool | str) else ""
    named, scored = _both_ends(options), _better_and_worse(options, points)
    if said in _YES | _NO:
        both = (
            named
            if named and (_folded(named[0]) in _CALLED_YES or scored in (None, named))
            else None
        )
    elif said in _PASS | _FAIL:
        both = (
            _if_not_named_otherwise(scored)
            if scored
            else named
            if named and _folded(named[0]) in _PASS
            else None
        )
    else:
        return None
    return both and both[0 if said in _YES | _PASS else 1]


@lru_cache(maxsize=1024)
def _both_ends(options: tuple[str, ...]) -> tuple[str, str] | None:
    """Yes and no, or pass and fail; others may lie between them."""
    return (
        yes_and_no(options)
        or _only(options, _CALLED_YES, _CALLED_NO)
        or _only(options, _PASS, _FAIL)
    )


def _better_and_worse(
    options: tuple[str, ...], points: tuple[float | None, ...]
) -> tuple[str, str] | None:
    """Of two options with different scores."""
    if (
        len(options) != 2
        or len(points) != 2
        or points[0] is None
        or points[1] is None
        or points[0] == points[1]
    ):
        return None
    return (options[0], options[1]) if points[0] > points[1] else (options[1], options[0])


def _if_not_named_otherwise(scored: tuple[str, str]) -> tuple[str, str] | None:
    """None where the good end is called no or fail, or the bad end yes or pass."""
    better, worse = map(_folded, scored)
    return None if better in _CALLED_NO | _FAIL or worse in _CALLED_YES | _PASS else scored
