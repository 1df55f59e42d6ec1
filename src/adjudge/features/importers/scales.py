"""What labels and verdicts mean that are words or codes: all of a file tells it, one of them does
not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from adjudge.core.domain.criteria import CriteriaOption
from adjudge.core.domain.label import Design
from adjudge.errors import RunError
from adjudge.features.importers.pairs import winner
from adjudge.features.importers.record import (
    FAIL,
    PASS,
    PASS_OR_FAIL,
    RecordedAnswer,
    RecordedQuestion,
    RecordedVote,
)
from adjudge.features.importers.values import Json, number, text
from adjudge.messages import Message

GOOD = ("correct", "yes", "pass", "passed", "true", "good", "right", "1", "1.0")
BAD = ("incorrect", "no", "fail", "failed", "false", "bad", "wrong", "0", "0.0")
"""Words for the ends of a scale."""
_MOST_SHOWN = 5
_FROM_NOUGHT, _FROM_ONE = {"0", "1"}, {"1", "2"}
Codes = Mapping[str, str]
"""Numbers that stand for compared responses → the usual words for them."""


@dataclass(frozen=True)
class LabelMeaning:
    """What the labels of a whole file tell of each of them."""

    question: RecordedQuestion
    words: frozenset[str]
    """Every label in the file."""
    every: bool
    """Whether all records have one, so that the rows are no selection; else somebody may have
    picked them.
    """
    codes: Codes

    @property
    def design(self) -> Design:
        return "random" if self.every else "chosen"

    def read(self, label: Json) -> RecordedAnswer | None:
        """The answer that a label is; None where it is none."""
        if self.question.kind == "comparison":
            return winner(response_of(label, self.codes))
        if self.question.kind == "rating":
            return number(label)
        if self.question.options == PASS_OR_FAIL:
            return self._passes(label)
        return _option(self.question, text(label))

    def _passes(self, label: Json) -> str | None:
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


def question_of(words: Collection[str]) -> RecordedQuestion:
    """What the labels answer: numbers, or words, the better of two first, where one of them is
    known to be good or bad.
    """
    points = [points for word in words if (points := number(word)) is not None]
    if len(points) == len(set(words)):
        low, high = (min(points), max(points)) if points else (0.0, 1.0)
        bounds = (0.0, 1.0) if low >= 0 and high <= 1 else (low, high)
        return RecordedQuestion("verdict", "Which number does it deserve?", "rating", bounds=bounds)
    apart = {word.strip().casefold(): word.strip() for word in sorted(words, reverse=True)}.values()
    ordered = sorted(apart, key=goodness)
    ends = [(word.casefold() in GOOD, word.casefold() in BAD) for word in ordered]
    told = len(ordered) == 2 and ends[0] != ends[1]
    scores = (1.0, 0.0) if told else (None,) * len(ordered)
    options = (CriteriaOption(name, score=one) for name, one in zip(ordered, scores, strict=True))
    return RecordedQuestion("verdict", "What is to be said of it?", options=tuple(options))


def goodness(word: str) -> tuple[bool, bool, str]:
    """Words by what is known of them, the good ones first: whatever a file begins with, the same
    one is measured.
    """
    return word.casefold() not in GOOD, word.casefold() in BAD, word


def read_verdict(vote: RecordedVote, value: str, question: RecordedQuestion) -> RecordedVote:
    """A verdict on the scale of the labels; one that is not on it is not a further option of it."""
    if question.kind == "rating":
        return vote.said_or_failed(
            number(value), Message("{value!r} is not a number", value=value), unreadable=True
        )
    known = ", ".join(one.name for one in question.options)
    unknown = Message("{value!r} is none of the labels ({known})", value=value, known=known)
    return vote.said_or_failed(_option(question, value), unknown, unreadable=True)


def read_truth(vote: RecordedVote, truth: str, question: RecordedQuestion) -> RecordedVote:
    """What is true or false, as the better or the worse of two options."""
    if truth.casefold() not in (*GOOD, *BAD):
        return vote.failed(
            Message("{value!r} is neither true nor false", value=truth), unreadable=True
        )
    return vote.said(question.options[0 if truth.casefold() in GOOD else 1].name)


def _option(question: RecordedQuestion, word: str) -> str | None:
    """The option that a word names, in any case; None where it names none."""
    names = {one.name.casefold(): one.name for one in reversed(question.options)}
    return names.get(word.strip().casefold())


def find_codes(
    source: str, labels: Iterable[Json], verdicts: Mapping[str, Iterable[Json]] | None = None
) -> Codes:
    """Responses are counted from 0 or from 1: what the labels say decides, and where they do not,
    what judges say.

    ``verdicts``: what each judge said. A third number may be a tie, a grade or an error, and so
    tells nothing.
    """
    given = _numbers(labels)
    said = {judge: _numbers(words) for judge, words in (verdicts or {}).items()}
    known = given if given - {"1"} else given.union(*said.values())
    if not (known <= _FROM_NOUGHT or known <= _FROM_ONE):
        raise RunError(
            "{source}: pairs are labelled {labels}, and nobody says which of them is a "
            "tie: write 'tie' for it, and 1 and 2 for the responses",
            source=source,
            labels=_join(known),
        )
    other = _FROM_ONE if "0" in known else _FROM_NOUGHT
    for judge, codes in said.items():
        if known - {"1"} and codes - {"1"} and codes <= other:
            raise RunError(
                "{source}: pairs are labelled {labels}, and {judge!r} says {verdicts}: "
                "nobody says which responses are the same ones: write 1 and 2 in both, and "
                "'tie'",
                source=source,
                labels=_join(known),
                judge=judge,
                verdicts=_join(codes),
            )
    return {"0": "model_1", "1": "model_2", "2": ""} if "0" in known else {}


def _numbers(words: Iterable[Json]) -> set[str]:
    return {f"{code:g}" for one in words if (code := number(one)) is not None}


def _join(codes: Iterable[str]) -> str:
    each = sorted(codes, key=float)
    return ", ".join(each if len(each) <= _MOST_SHOWN else [*each[:_MOST_SHOWN], "…"])


def response_of(value: Json, codes: Codes) -> Json:
    """What names a response, in the usual words."""
    code = number(value)
    return value if code is None else codes.get(f"{code:g}", f"{code:g}")
