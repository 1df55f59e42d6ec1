"""Scores of which less is better, in files that do not say so: what sounds like one is told of, and
turned round on request.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from adjudge.errors import RunError
from adjudge.importers.record import PASS_OR_FAIL, Asked, Recorded, RecordedVote
from adjudge.messages import Message

_SOUNDS_BAD = re.compile(
    r"hallucinat|toxic|bias|harmful|malicious|misuse|noise|violation|leakage", re.IGNORECASE
)


def direction_notes(questions: Mapping[str, Asked], less_is_better: Sequence[str]) -> Iterator[str]:
    """What a reader of the import must know about directions.

    A RunError names a question that is not there.
    """
    for name in less_is_better:
        if name not in questions:
            raise RunError(
                "there is no question {name!r}; it has {questions}",
                name=name,
                questions=", ".join(questions),
            )
        yield Message(
            "{name}: less is better, so that scores are turned round: 1 minus what was recorded",
            name=name,
        )
    for name, asked in questions.items():
        scored = asked.kind == "rating" or (
            asked.options != PASS_OR_FAIL and any(one.score is not None for one in asked.options)
        )
        if scored and asked.higher_is_better and _SOUNDS_BAD.search(name):
            yield (
                Message(
                    "{name}: more counts as better, as the file does not say otherwise; "
                    "--less-is-better {name!r} turns it round",
                    name=name,
                )
            )


def turned(recorded: Recorded) -> Recorded:
    """A record whose scores are turned round, with what was recorded beside them."""
    asked = recorded.asked
    if asked.kind == "comparison":
        raise RunError(
            "{name!r} compares responses, and has no scores to turn round", name=asked.name
        )
    options = tuple(
        replace(one, score=None if one.score is None else _other_end(one.score, asked))
        for one in asked.options
    )
    rated = asked.kind == "rating"
    marks = tuple(
        replace(mark, answer=_other_end(mark.answer, asked))
        if rated and isinstance(mark.answer, float)
        else mark
        for mark in recorded.marks
    )
    return replace(
        recorded,
        asked=replace(asked, options=options, higher_is_better=False),
        votes=tuple(_turned_vote(vote, asked) for vote in recorded.votes),
        marks=marks,
    )


def _turned_vote(vote: RecordedVote, asked: Asked) -> RecordedVote:
    said = vote.answer if asked.kind == "rating" else vote.score
    if not isinstance(said, int | float):
        return vote
    more, score = {**vote.more, "recorded_score": said}, _other_end(said, asked)
    return (
        replace(vote, answer=score, more=more)
        if asked.kind == "rating"
        else replace(vote, score=score, more=more)
    )


def _other_end(score: float, asked: Asked) -> float:
    if not 0 <= score <= 1:
        raise RunError(
            "{name}: {score:g} lies outside 0 to 1, so that nobody knows which score is its "
            "contrary",
            name=asked.name,
            score=score,
        )
    return 1 - score
