"""What labels and verdicts mean that are words or codes: all of a file tells it, one of them does
not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from adjudge.domain.criteria import CriteriaOption
from adjudge.domain.vote import Outcome
from adjudge.errors import RunError
from adjudge.importers.record import FAIL, PASS, Asked, RecordedVote
from adjudge.importers.values import number, text
from adjudge.messages import Message

GOOD = ("correct", "yes", "pass", "passed", "true", "good", "right", "1", "1.0")
BAD = ("incorrect", "no", "fail", "failed", "false", "bad", "wrong", "0", "0.0")
"""Words for the ends of a scale."""
_MOST_SHOWN = 5
_FROM_NOUGHT, _FROM_ONE = {"0", "1"}, {"1", "2"}
Codes = Mapping[str, str]
"""Numbers that stand for compared responses → the usual words for them."""


@dataclass(frozen=True)
class LabelSet:
    """What the labels of a whole file tell of each of them."""

    words: frozenset[str]
    every: bool
    """Whether all records have one, so that the rows are no selection; else somebody may have
    picked them.
    """

    def passes(self, label: object) -> str | None:
        """PASS or FAIL, where the labels are such; of words that name the good one, every other is
        a FAIL.
        """
        word, words = text(label).strip().casefold(), {one.strip().casefold() for one in self.words}
        graded = all(number(one) is not None for one in words)
        if graded and not words <= {*GOOD, *BAD}:
            return None
        if word in GOOD:
            return PASS
        return FAIL if word in BAD or (not graded and words & {*GOOD}) else None


def scale_of(words: Collection[str]) -> Asked:
    """What the labels are: numbers, or words, the better of two first, where one of them is known
    to be good or bad.
    """
    points = [points for word in words if (points := number(word)) is not None]
    if len(points) == len(set(words)):
        low, high = (min(points), max(points)) if points else (0.0, 1.0)
        bounds = (0.0, 1.0) if low >= 0 and high <= 1 else (low, high)
        return Asked("verdict", "Which number does it deserve?", "rating", bounds=bounds)
    apart = {word.strip().casefold(): word.strip() for word in sorted(words, reverse=True)}.values()
    ordered = sorted(apart, key=goodness)
    ends = [(word.casefold() in GOOD, word.casefold() in BAD) for word in ordered]
    told = len(ordered) == 2 and ends[0] != ends[1]
    scores = (1.0, 0.0) if told else (None,) * len(ordered)
    options = (
        CriteriaOption(name, score=score) for name, score in zip(ordered, scores, strict=True)
    )
    return Asked("verdict", "What is to be said of it?", options=tuple(options))


def goodness(word: str) -> tuple[bool, bool, str]:
    """Words by what is known of them, the good ones first: whatever a file begins with, the same
    one is measured.
    """
    return word.casefold() not in GOOD, word.casefold() in BAD, word


def said_on(vote: RecordedVote, value: str, asked: Asked) -> RecordedVote:
    """A verdict on the scale of the labels; one that is not on it is not a further option of it."""
    if asked.kind == "rating":
        points = number(value)
        return (
            vote.failed(Message("{value!r} is not a number", value=value), Outcome.UNREADABLE)
            if points is None
            else vote.said(points)
        )
    named = option_on(asked, value)
    if named is None:
        known = ", ".join(one.name for one in asked.options)
        return vote.failed(
            Message("{value!r} is none of the labels ({known})", value=value, known=known),
            Outcome.UNREADABLE,
        )
    return vote.said(named)


def option_on(asked: Asked, word: str) -> str | None:
    """The option that a word names, in any case; None where it names none."""
    return next(
        (one.name for one in asked.options if one.name.casefold() == word.strip().casefold()), None
    )


def truth_on(vote: RecordedVote, truth: str, asked: Asked) -> RecordedVote:
    """What is true or false, as the better or the worse of two options."""
    if truth.casefold() not in (*GOOD, *BAD):
        return vote.failed(
            Message("{value!r} is neither true nor false", value=truth), Outcome.UNREADABLE
        )
    return vote.said(asked.options[0 if truth.casefold() in GOOD else 1].name)


def codes_of(
    source: str, labels: Iterable[object], verdicts: Mapping[str, Iterable[object]] | None = None
) -> Codes:
    """Responses are counted from 0 or from 1: what the labels say decides, and where they do not,
    what judges say.

    ``verdicts``: what each judge said. A third number may be a tie, a grade or an error, and so
    tells nothing.
    """
    given, said = (
        _codes(labels),
        {judge: _codes(words) for judge, words in (verdicts or {}).items()},
    )
    known = given if given - {"1"} else given.union(*said.values())
    if not (known <= _FROM_NOUGHT or known <= _FROM_ONE):
        raise RunError(
            "{source}: pairs are labelled {in_words}, and nobody says which of them is a "
            "tie: write 'tie' for it, and 1 and 2 for the responses",
            source=source,
            in_words=_in_words(known),
        )
    other = _FROM_ONE if "0" in known else _FROM_NOUGHT
    for judge, codes in said.items():
        if known - {"1"} and codes - {"1"} and codes <= other:
            raise RunError(
                "{source}: pairs are labelled {in_words}, and {judge!r} says {in_words2}: "
                "nobody says which responses are the same ones: write 1 and 2 in both, and "
                "'tie'",
                source=source,
                in_words=_in_words(known),
                judge=judge,
                in_words2=_in_words(codes),
            )
    return {"0": "model_1", "1": "model_2", "2": ""} if "0" in known else {}


def _codes(words: Iterable[object]) -> set[str]:
    return {f"{code:g}" for one in words if (code := number(one)) is not None}


def _in_words(codes: Iterable[str]) -> str:
    each = sorted(codes, key=float)
    return ", ".join(each if len(each) <= _MOST_SHOWN else [*each[:_MOST_SHOWN], "…"])


def response_of(value: object, codes: Codes) -> object:
    """What names a response, in the usual words."""
    code = number(value)
    return value if code is None else codes.get(f"{code:g}", f"{code:g}")
