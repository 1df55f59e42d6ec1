"""What stands where a verdict should: an option with what explains it, or a mere placeholder."""

from __future__ import annotations

import re
from itertools import islice

from adjudge.domain.question import Question
from adjudge.domain.verdict import Verdict
from adjudge.verdicts.sentences import EMPHASIS, numbers_in

_PICTURES = re.compile(r"\A(?:[★☆⭐🌟✅❌✔☑✖✗✘👍👎🟢🔴🏆]\s*+)++")
BOXED = re.compile(r"\$*+\\(?:boxed|text|mathrm|mathbf|textbf)\{([^{}]*+)\}\$*+")
_ENDS = re.compile(
    r"(?:[:;,(\n（：。，!|]|\.(?=\s|\Z)|\s[-–—]++(?=\s)|[–—]|\s(?:because|since|as|for|due|given"
    r"|so|for the|потому"
    r"|так как|поскольку|ведь|weil|porque|car)\b)"
)
"""What stands between a verdict and its explanation."""
_MOST_ENDS, _DECORATION = 8, 40
LONGEST = 200
"""A verdict stands in so much of a line."""
_GOES_ON = re.compile(
    r"\W*+(?:or|and|to|rather|maybe|perhaps|possibly|probably|likely|almost|nearly|not"
    r"|i\ (?:think|guess"
    r"|believe|suppose)|if|unless|except|provided"
    r"|partial\w*|partly|mostly|mainly|somewhat|sort\ of|kind\ of|borderline|in\ part"
    r"|but\ (?:only|not|just"
    r"|barely\ not)|но\ (?:не|только)|или|и|либо|возможно|наверное|вероятно|скорее|почти"
    r"|отчасти|частично|если|кроме)\b"
    r"|\W*+[-–~]?\s*+\d",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"""\W*+(?:\.{3}|…|<[^<>]*>|\[[^\[\]]*\]|\{[^{}]*\}|string|str|integer|int|number|float
    |boolean|your\b.*
    |one\ of\b.*|option(?:\ name)?|the\ .*\ option|x|n
    |(?:an?\ )?(?:integer|number)\b.*|\d+\s*(?:-|–|to|до|\.\.)\s*\d+|from\ \d+.*|от\ \d+.*
    |(?:insert|put|option|verdict|answer|score)\b.{0,30}\ here
    |ваш\w*\b.*|число\b.*|один\ из\b.*)?\W*""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_GOOD_SIGNS, _BAD_SIGNS = frozenset("✅✔☑👍🟢"), frozenset("❌✖✗✘👎🔴🚫⛔")
_NOT = re.compile(
    r"(?:and |but )?(?:not|rather than|instead of|а не)\s+(?:an?\s+)?(\S+?)[.!)]*\Z", re.IGNORECASE
)
_WAVERS = re.compile(
    r"\b(?:could|might|would|maybe|perhaps|was|or|rather|from|instead|actually|hm+|almost"
    r"|nearly|close"
    r"|border\w*|fairer|minus|between|but|though"
    r"|мог\w*|бы|было|или|скорее|почти|вернее|точнее|минус)\b",
    re.IGNORECASE,
)


def is_placeholder(value: object, question: Question) -> bool:
    """Whether ``value`` only shows where a verdict goes: "…", "PASS or FAIL", the schema of an
    answer.
    """
    if isinstance(value, dict):
        return bool({"type", "enum", "const", "anyOf", "description"} & value.keys())
    if not isinstance(value, str):
        return False
    if _PLACEHOLDER.fullmatch(value[:LONGEST]):
        return True
    parts = re.split(
        r"\s*(?:\||/|,|\bor\b|\band\b|\bили\b)\s*",
        value[:LONGEST].strip("\"'`*[](){}<> "),
        flags=re.IGNORECASE,
    )
    named = {found.option for part in parts if (found := question.match(part, certain=True))}
    return len(parts) > 1 and len(named) == len(parts)


def match_value(text: str, question: Question) -> tuple[Verdict, str] | None:
    """The verdict that ``text`` begins with, and what is said behind it; None where it names none,
    or goes on to another.
    """
    text = BOXED.sub(r"\1", BOXED.sub(r"\1", text)).strip()
    pictures = _PICTURES.match(text)
    text = text[pictures.end() :].strip("() ") or text if pictures else text
    stars = sum(map(pictures.group().count, "★⭐🌟")) if pictures and question.numeric else 0
    found = _begun(text, question)
    return None if found and stars and question.match(str(stars)) != found[0] else found


def _begun(text: str, question: Question) -> tuple[Verdict, str] | None:
    whole = question.match(text, certain=True)
    if whole is None and any(mark in text for mark in ("*", "`", "__")):
        text = EMPHASIS.sub("", text).strip()
        whole = question.match(text, certain=True)
    if whole:
        return (whole, "") if not text.rstrip("\"'”»*_ ").endswith("?") else None
    best, room = None, max(map(len, question.labels), default=0) + _DECORATION
    for end in islice(_ENDS.finditer(text, 0, LONGEST), _MOST_ENDS):
        verdict = question.match(text[: end.start()], certain=True) if end.start() <= room else None
        if verdict and not _signed_otherwise(text, end, question):
            best = verdict, end
    if best is None:
        return None
    verdict, end = best
    rest = text[end.start() :].lstrip(" .,:;!–—-(（：。，")
    other = _NOT.match(rest)
    if (
        other
        and (excluded := question.match(other[1], certain=True))
        and excluded.option != verdict.option
    ):
        return verdict, rest
    if question.numeric and _WAVERS.search(rest) and _names_other_number(rest, verdict, question):
        return None
    if (
        _GOES_ON.match(rest)
        or (rest and question.match(rest, certain=True))
        or text[end.start() : end.end()].strip() == "?"
    ):
        return None
    head = match_value(rest, question) if len(rest) <= LONGEST else None
    return None if head and head[0].option != verdict.option else (verdict, rest.rstrip(")） "))


def _names_other_number(text: str, verdict: Verdict, question: Question) -> bool:
    numbers = (question.match(number) for number in numbers_in(text))
    return any(found is not None and found.option != verdict.option for found in numbers)


def _signed_otherwise(text: str, end: re.Match[str], question: Question) -> bool:
    """Whether what follows may be a sign of the option: "A - solid work" where there is an A-."""
    if end.group().strip()[:1] not in ("-", "–", "—"):
        return False
    return question.match(text[: end.start()] + "-", certain=True) is not None


def signs_otherwise(line: str, verdict: Verdict, question: Question) -> bool:
    """Whether a sign such as ✅ says the opposite."""
    good, bad = not _GOOD_SIGNS.isdisjoint(line), not _BAD_SIGNS.isdisjoint(line)
    if good == bad:
        return False
    meant = question.match("pass" if good else "fail")
    return meant is not None and meant.option != verdict.option
