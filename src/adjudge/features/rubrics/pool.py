"""Pool votes on points into a verdict per point. Without a majority there is no verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.domain.verdict import Quote
from adjudge.core.domain.vote import Outcome, Vote
from adjudge.features.evidence.support import Grounded
from adjudge.features.rubrics.questions import PointQuestion, PointsQuestion
from adjudge.features.rubrics.rubric import CANNOT_TELL, MET, NOT_MET, Point, Rubric
from adjudge.features.rubrics.verdicts import NO_VERDICT
from adjudge.features.rubrics.wording import NO, YES
from adjudge.messages import Message

_OF_LIKELIHOOD = {YES: MET, NO: NOT_MET}


@dataclass(frozen=True, kw_only=True)
class PointVerdict:
    """A point with the result of its votes."""

    point: Point
    answer: str | None = None
    """Met or not met, a level or a count; None without a verdict."""
    value: Fraction | None = None
    """The value of the answer, from 0 to 1."""
    counts: Mapping[str, int] = field(default_factory=FrozenDict)
    """Answer → votes, "cannot tell" included."""
    failed: int = 0
    """Votes without an answer to this point."""
    agreement: float | None = None
    explanation: str | None = None
    quote: Quote | None = None
    """A passage of the text, found there by a program."""
    reason: str | None = None
    """The reason why there is no verdict."""
    undecided: bool = False
    """True if there is no verdict although votes were cast: a tie, or "cannot tell"."""

    @property
    def earned(self) -> Fraction | None:
        """The points that it adds to its group's sum."""
        return None if self.value is None else self.value * self.point.points


def answers_in(vote: Vote) -> dict[str, Grounded]:
    """Return point → answer of a vote; points without a verdict are left out."""
    question, verdict = vote.ballot.question, vote.verdict
    if isinstance(question, PointsQuestion) and isinstance(verdict, Grounded):
        answered = zip(question.asked, verdict.each, strict=True)
        return {point.id: answer for point, answer in answered if answer.option != NO_VERDICT}
    if isinstance(question, PointQuestion) and verdict is not None and not _lacks_quote(vote):
        (point,) = question.asked
        option = _OF_LIKELIHOOD.get(verdict.option, verdict.option)
        quotes = verdict.evidence if isinstance(verdict, Grounded) else ()
        return {point.id: Grounded(option, verdict.explanation, evidence=quotes)}
    return {}


def _lacks_quote(vote: Vote) -> bool:
    """Return True if the answer needs a quote, and the model writes none."""
    question, verdict = vote.ballot.question, vote.verdict
    if not isinstance(question, PointQuestion) or verdict is None:
        return False
    (point,) = question.asked
    option = _OF_LIKELIHOOD.get(verdict.option, verdict.option)
    return vote.ballot.mode != "generate" and point.quoted and option in point.needs_quote_for


def points_asked(vote: Vote) -> tuple[str, ...]:
    """Return the points that a vote was asked about."""
    question = vote.ballot.question
    if isinstance(question, PointsQuestion | PointQuestion):
        return tuple(point.id for point in question.asked)
    return ()


def pool_points(rubric: Rubric, votes: Sequence[Vote]) -> tuple[PointVerdict, ...]:
    """Return every point of a rubric with its verdict."""
    asked_keys: dict[str, set[tuple[str, int]]] = {point.id: set() for point in rubric.points}
    answers: dict[str, dict[tuple[str, int], Grounded]] = {id: {} for id in asked_keys}
    reasons: dict[str, str | None] = {}
    for vote in votes:
        key = (vote.model, vote.sample)
        vote_answers = answers_in(vote)
        for id in points_asked(vote):
            asked_keys[id].add(key)
            if id in vote_answers:
                # One answer per model and sample counts, whichever request brought it.
                answers[id].setdefault(key, vote_answers[id])
            else:
                reasons.setdefault(id, _no_quote(vote) if _lacks_quote(vote) else vote.reason)
    return tuple(
        _pool_point(
            point,
            list(answers[point.id].values()),
            len(asked_keys[point.id]),
            reasons.get(point.id),
        )
        for point in rubric.points
    )


def _no_quote(vote: Vote) -> Message:
    return Message("the point needs a quote, but {model} generates no text", model=vote.model)


def _pool_point(
    point: Point, answers: Sequence[Grounded], asked_count: int, reason: str | None
) -> PointVerdict:
    counts = Counter(answer.option for answer in answers)
    counted = FrozenDict(dict(counts.most_common()))
    failed = asked_count - len(answers)
    if not answers:
        return PointVerdict(
            point=point,
            failed=failed,
            reason=reason
            or Message("the reply has no valid verdict on the point, also when asked again"),
        )
    choose = _majority if point.kind == "met" else _median
    answer, value = choose(point, counts)
    if answer is None:
        why = (
            Message("most votes say that it cannot be decided")
            if 2 * counts[CANNOT_TELL] >= len(answers)
            else Message("the votes are tied")
        )
        shown_answer = next(
            (grounded for grounded in answers if grounded.option == CANNOT_TELL), answers[0]
        )
        return PointVerdict(
            point=point,
            counts=counted,
            failed=failed,
            explanation=shown_answer.explanation,
            reason=why,
            undecided=True,
        )
    agreeing = [grounded for grounded in answers if grounded.option == answer] or answers
    quotes = [quote for grounded in agreeing for quote in grounded.evidence]
    return PointVerdict(
        point=point,
        answer=answer,
        value=value,
        counts=counted,
        failed=failed,
        agreement=counts[answer] / len(answers),
        explanation=next(
            (grounded.explanation for grounded in agreeing if grounded.explanation), None
        ),
        quote=quotes[0] if quotes else None,
    )


def _majority(point: Point, counts: Counter[str]) -> tuple[str | None, Fraction | None]:
    """Return the answer with more than half of the votes; "cannot tell" counts as a vote."""
    answer = next((name for name in (MET, NOT_MET) if 2 * counts[name] > counts.total()), None)
    return answer, None if answer is None else point.value(answer)


def _median(point: Point, counts: Counter[str]) -> tuple[str | None, Fraction | None]:
    """Return the median of levels or counts; with an even number of votes, the mean of the middle
    two.
    """
    if 2 * counts[CANNOT_TELL] >= counts.total():
        return None, None
    places = sorted(
        place for place, answer in enumerate(point.answers) for _ in range(counts[answer])
    )
    low, high = places[(len(places) - 1) // 2], places[len(places) // 2]
    value = (point.value(point.answers[low]) + point.value(point.answers[high])) / 2
    if low == high:
        return point.answers[low], value
    low_number, high_number = int(point.answers[low]), int(point.answers[high])
    return f"{(low_number + high_number) / 2:g}", value


def was_unreachable(votes: Sequence[Vote]) -> bool:
    """Return True if a request failed, or a reply could not be read."""
    return any(vote.outcome in (Outcome.MODEL_ERROR, Outcome.UNREADABLE) for vote in votes)
