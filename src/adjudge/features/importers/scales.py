"""Find out what labels and verdicts mean that are words or codes. One of them is not enough: all
values of a file are needed.
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
    """The meaning of a file's labels."""

    question: RecordedQuestion
    words: frozenset[str]
    """Every label in the file."""
    every: bool
    """True if all records have a label, so that the rows are not a selection by anyone."""
    codes: Codes

    @property
    def design(self) -> Design:
        return "random" if self.every else "chosen"

    def read(self, label: Json) -> RecordedAnswer | None:
        """Return the answer that a label stands for, or None."""
        if self.question.kind == "comparison":
            return winner(response_of(label, self.codes))
        if self.question.kind == "rating":
            return number(label)
        if self.question.options == PASS_OR_FAIL:
            return self._passes(label)
        return option_named(self.question, text(label))

    def _passes(self, label: Json) -> str | None:
        """Return PASS or FAIL for a label, or None if it means neither.

        If one of the labels is a known good word, every word but the good ones fails.
        """
        word, words = (
            text(label).strip().casefold(),
            {other.strip().casefold() for other in self.words},
        )
        graded = all(number(other) is not None for other in words)
        if graded and not words <= {*GOOD, *BAD}:
            return None
        # If one of the labels is a word for good, every other word is a FAIL.
        if word in GOOD:
            return PASS
        return FAIL if word in BAD or (not graded and words & {*GOOD}) else None


def question_of(words: Collection[str]) -> RecordedQuestion:
    """Return the question that these labels answer: a rating if all are numbers, else a choice.

    Of two options, the better one comes first if one of them is known to be good or bad.
    """
    points = [points for word in words if (points := number(word)) is not None]
    if len(points) == len(set(words)):
        low, high = (min(points), max(points)) if points else (0.0, 1.0)
        bounds = (0.0, 1.0) if low >= 0 and high <= 1 else (low, high)
        return RecordedQuestion("verdict", "Which number does it deserve?", "rating", bounds=bounds)
    apart = {word.strip().casefold(): word.strip() for word in sorted(words, reverse=True)}.values()
    ordered = sorted(apart, key=goodness)
    ends = [(word.casefold() in GOOD, word.casefold() in BAD) for word in ordered]
    has_ends = len(ordered) == 2 and ends[0] != ends[1]
    scores = (1.0, 0.0) if has_ends else (None,) * len(ordered)
    options = (
        CriteriaOption(name, score=score) for name, score in zip(ordered, scores, strict=True)
    )
    return RecordedQuestion("verdict", "What is to be said of it?", options=tuple(options))


def goodness(word: str) -> tuple[bool, bool, str]:
    """Return a sort key for words: good ones first, bad ones last."""
    # So the same option is measured, whatever a file begins with.
    return word.casefold() not in GOOD, word.casefold() in BAD, word


def read_verdict(vote: RecordedVote, value: str, question: RecordedQuestion) -> RecordedVote:
    """Read a verdict as one of the labels' options or numbers; others are unreadable."""
    if question.kind == "rating":
        return vote.with_answer_or_failure(
            number(value), Message("{value!r} is not a number", value=value), unreadable=True
        )
    names = ", ".join(option.name for option in question.options)
    unknown = Message("{value!r} is not one of the labels ({known})", value=value, known=names)
    return vote.with_answer_or_failure(option_named(question, value), unknown, unreadable=True)


def read_truth(vote: RecordedVote, truth: str, question: RecordedQuestion) -> RecordedVote:
    """Read true or false as the better or worse of two options, else as unreadable."""
    if truth.casefold() not in (*GOOD, *BAD):
        return vote.with_failure(
            Message("{value!r} is neither true nor false", value=truth), unreadable=True
        )
    return vote.with_answer(question.options[0 if truth.casefold() in GOOD else 1].name)


def option_named(question: RecordedQuestion, word: str) -> str | None:
    """Return the option that a word names in any case, or None."""
    names = {option.name.casefold(): option.name for option in reversed(question.options)}
    return names.get(word.strip().casefold())


def find_codes(
    source: str, labels: Iterable[Json], verdicts: Mapping[str, Iterable[Json]] | None = None
) -> Codes:
    """Return the words for response codes if they count from 0; empty if from 1.

    The labels decide or, if they cannot, the judges' `verdicts`. Raise a RunError if the codes are
    ambiguous: a third number may be a tie, a grade or an error.
    """
    label_codes = _numbers(labels)
    codes_by_judge = {judge: _numbers(words) for judge, words in (verdicts or {}).items()}
    # A lone 1 may be the first or the second response.
    seen_codes = label_codes if label_codes - {"1"} else label_codes.union(*codes_by_judge.values())
    if not (seen_codes <= _FROM_NOUGHT or seen_codes <= _FROM_ONE):
        raise RunError(
            "{source}: pairs are labelled {labels}, but it is not known which of them is a tie: "
            "write 'tie' for it, and 1 and 2 for the responses",
            source=source,
            labels=_join(seen_codes),
        )
    other_codes = _FROM_ONE if "0" in seen_codes else _FROM_NOUGHT
    for judge, codes in codes_by_judge.items():
        if seen_codes - {"1"} and codes - {"1"} and codes <= other_codes:
            raise RunError(
                "{source}: pairs are labelled {labels}, and {judge!r} says {verdicts}, but it is "
                "not known which of these match: write 1 and 2 in both, and 'tie'",
                source=source,
                labels=_join(seen_codes),
                judge=judge,
                verdicts=_join(codes),
            )
    return {"0": "model_1", "1": "model_2", "2": ""} if "0" in seen_codes else {}


def _numbers(words: Iterable[Json]) -> set[str]:
    return {f"{code:g}" for word in words if (code := number(word)) is not None}


def _join(codes: Iterable[str]) -> str:
    ordered = sorted(codes, key=float)
    return ", ".join(ordered if len(ordered) <= _MOST_SHOWN else [*ordered[:_MOST_SHOWN], "…"])


def response_of(value: Json, codes: Codes) -> Json:
    """Translate a response's code to the usual word; other values are unchanged."""
    code = number(value)
    return value if code is None else codes.get(f"{code:g}", f"{code:g}")
