"""Scores of which less is better, in files that do not say so.

Names that sound like it are reported; scores are turned round only on request.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from adjudge.errors import RunError
from adjudge.features.importers.record import (
    FAIL,
    PASS,
    PASS_OR_FAIL,
    RecordedAnswer,
    RecordedQuestion,
    RecordedRow,
    RecordedVote,
)
from adjudge.messages import Message

_SOUNDS_BAD = re.compile(
    r"hallucinat|toxic|bias|harmful|malicious|misuse|noise|violation|leakage|rude|offensive|unsafe"
    r"|error|mistake|галлюцин|токсичн|предвзят|груб|вредн|оскорб|ошиб",
    re.IGNORECASE,
)


def direction_notes(
    questions: Mapping[str, RecordedQuestion],
    less_is_better: Sequence[str],
    inverted: Collection[str],
) -> Iterator[str]:
    """Yield a note per question whose scores are reversed, or perhaps should be.

    Raise a RunError if `less_is_better` names an unknown question, or one without scores:
    one that is not among the `inverted`.
    """
    for name in less_is_better:
        if name not in questions:
            raise RunError(
                "there is no question named {name!r}; the data has {questions}",
                name=name,
                questions=", ".join(questions),
            )
        if name not in inverted:
            raise RunError(
                "--less-is-better {name!r} has no scores to invert: the answers are words "
                "({options}), and the file does not say which of them is better",
                name=name,
                options=", ".join(option.name for option in questions[name].options),
            )
        yield Message(
            "{name}: less is better, so scores are inverted: 1 minus what was recorded",
            name=name,
        )
    for name, question in questions.items():
        scored = question.kind == "rating" or (
            question.options != PASS_OR_FAIL
            and any(option.score is not None for option in question.options)
        )
        if scored and question.higher_is_better:
            yield from name_notes(name)


def name_notes(name: str) -> Iterator[str]:
    """Yield a note if less seems to be better in a column or question of this name."""
    if _SOUNDS_BAD.search(name):
        yield Message(
            "{name}: the file does not say which end is better, so higher scores count as "
            "better; --less-is-better {name!r} inverts them",
            name=name,
        )


def has_scores(row: RecordedRow) -> bool:
    """Return True if the row has scores that can be turned round."""
    scores = (
        *(option.score for option in row.question.options),
        *(vote.score for vote in row.votes),
    )
    return row.question.kind == "rating" or any(score is not None for score in scores)


def turn_round(row: RecordedRow) -> RecordedRow:
    """Reverse the row's scores and ratings; its votes keep the recorded ones.

    If it passes or fails, that is reversed. Raise a RunError for a comparison, which has no scores.
    """
    question = row.question
    if question.kind == "comparison":
        raise RunError(
            "{name!r} compares responses, so it has no scores to invert", name=question.name
        )
    if question.options == PASS_OR_FAIL:
        return replace(
            row,
            question=replace(question, higher_is_better=False),
            votes=tuple(_turn_pass(vote) for vote in row.votes),
            marks=tuple(replace(mark, answer=_other_end(mark.answer)) for mark in row.marks),
        )
    rated = question.kind == "rating"
    options = tuple(
        replace(
            option, score=None if option.score is None else _contrary(option.score, question.name)
        )
        for option in question.options
    )
    marks = tuple(
        replace(mark, answer=_contrary(mark.answer, question.name))
        if rated and isinstance(mark.answer, float)
        else mark
        for mark in row.marks
    )
    return replace(
        row,
        question=replace(question, options=options, higher_is_better=False),
        votes=tuple(_turn_vote(vote, question) for vote in row.votes),
        marks=marks,
    )


def _turn_pass(vote: RecordedVote) -> RecordedVote:
    if vote.answer is None:
        return vote
    more = {**vote.more, "recorded_verdict": vote.answer}
    score = None if vote.score is None else 1 - vote.score
    return replace(vote, answer=_other_end(vote.answer), score=score, more=more)


def _other_end(answer: RecordedAnswer) -> RecordedAnswer:
    return {PASS: FAIL, FAIL: PASS}.get(str(answer), answer)


def _turn_vote(vote: RecordedVote, question: RecordedQuestion) -> RecordedVote:
    rated = question.kind == "rating"
    recorded = vote.answer if rated else vote.score
    if not isinstance(recorded, int | float):
        return vote
    score = _contrary(recorded, question.name)
    turned = replace(vote, more={**vote.more, "recorded_score": recorded})
    return replace(turned, answer=score) if rated else replace(turned, score=score)


def _contrary(score: float, name: str) -> float:
    if not 0 <= score <= 1:
        raise RunError(
            "{name}: {score:g} is outside 0 to 1, so it cannot be inverted",
            name=name,
            score=score,
        )
    return 1 - score
