"""Turn recorded judgments into votes and results, as adjudge's own judges would have left them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from statistics import fmean

from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.frozen_mapping import FrozenDict, nonempty
from adjudge.core.domain.instance import NAMED_ONLY, Instance
from adjudge.core.domain.question import Choice, Comparison, Question, Rating
from adjudge.core.domain.results import DirectInstanceResult, PairwiseInstanceResult, Result
from adjudge.core.domain.sampled import QuantitativeResult
from adjudge.core.domain.verdict import TIE, Chosen, Compared, Rated, Verdict
from adjudge.core.domain.vote import Ballot, Vote
from adjudge.core.judges.case import Case
from adjudge.core.judges.direct import BaseDirectJudge
from adjudge.core.judges.pairwise import BasePairwiseJudge
from adjudge.core.pooling.majority import status_of
from adjudge.core.pooling.numbers import aggregate, numbers_of, shares, spread
from adjudge.features.importers.record import RecordedQuestion, RecordedRow, RecordedVote
from adjudge.messages import Message

TEMPLATE = "imported"
_NOT_JUDGED = Message("no verdict is recorded for this row")


class _Texts(BaseDirectJudge):
    """Pools votes on single texts."""


class _Comparisons(BasePairwiseJudge):
    """Pools votes on compared responses."""


_TEXTS = {bias: _Texts(check_positional_bias=bias) for bias in (False, True)}
_COMPARISONS = {
    (bias, ties): _Comparisons(check_positional_bias=bias, tie_enabled=ties)
    for bias in (False, True)
    for ties in (False, True)
}


@dataclass(frozen=True, kw_only=True)
class UnjudgedRow(DirectInstanceResult):
    """A row without any verdict in the file. It can be labelled, and judged later."""

    @property
    def reason(self) -> str:
        return _NOT_JUDGED


@dataclass(frozen=True, kw_only=True)
class UnjudgedComparison(PairwiseInstanceResult):
    """Like UnjudgedRow, for responses to compare."""

    @property
    def reason(self) -> str:
        return _NOT_JUDGED


def instance_of(row: RecordedRow) -> Instance:
    """Return the row as an instance; other values of the file are kept in its metadata."""
    systems = nonempty(systems=row.systems)
    more = {**row.more, **(NAMED_ONLY if row.named_only else {})}
    return Instance(row.fields, row.id, FrozenDict({**systems, **nonempty(row=more)}))


def criteria_of(question: RecordedQuestion, answers: tuple[str, ...] = ()) -> Criteria:
    """Return the question as criteria, with an option for every recorded answer."""
    description = (
        question.description.strip() or f"{question.name}, as the file that was imported asked it."
    )
    names = [option.name for option in question.options]
    new = [CriteriaOption(answer) for answer in dict.fromkeys(answers) if answer not in names]
    return Criteria(
        question.name,
        description,
        (*question.options, *new) if question.kind == "choice" else (),
        to_evaluate_field=question.to_evaluate_field,
        context_fields=question.context_fields,
        examples=question.examples,
        higher_is_better=question.higher_is_better,
    )


def result_of(row: RecordedRow, instance: Instance) -> Result:
    """Pool the votes by adjudge's own rules, including both orders, failures and ties."""
    answers = tuple(str(vote.answer) for vote in row.votes if vote.answer is not None)
    criteria = criteria_of(row.question, answers)
    votes = tuple(_vote(vote, row.question, criteria, instance) for vote in row.votes)
    case, both = Case(instance, criteria), len({vote.swapped for vote in row.votes}) > 1
    if row.question.kind == "comparison":
        compared: PairwiseInstanceResult = _COMPARISONS[both, row.question.ties].pool(case, votes)
        if votes:
            return _with_stated_rates(compared)
        return UnjudgedComparison(
            instance=instance,
            criteria=criteria,
            status=compared.status,
            per_system_results=compared.per_system_results,
        )
    if not votes:
        return UnjudgedRow(instance=instance, criteria=criteria, status=status_of((), False))
    if row.question.kind == "rating":
        return _rating_result(row.question, criteria, instance, votes)
    return _TEXTS[both].pool(case, votes)


def _with_stated_rates(result: PairwiseInstanceResult) -> PairwiseInstanceResult:
    """Use the win rates that the votes state."""
    valid = [vote for vote in result.votes if vote.verdict is not None]
    if len(result.per_system_results) != 2 or not any(vote.distribution for vote in valid):
        return result
    # A stated preference of .6 counts as .6 of a win, not as a whole one.
    rate_a = fmean(_first_share(vote) for vote in valid)
    systems = zip(result.per_system_results, (rate_a, 1 - rate_a), strict=True)
    return replace(
        result, per_system_results=tuple(replace(system, winrate=rate) for system, rate in systems)
    )


def _first_share(vote: Vote) -> float:
    """Return the probability that the first response is better; a tie counts half."""
    shares = vote.distribution or {vote.verdict.option if vote.verdict else TIE: 1.0}
    return shares.get("0", 0.0) + shares.get(TIE, 0.0) / 2


def keys_of(judge: str, number: int, votes: int) -> list[bytes]:
    """Return the ledger keys of a judgment's votes."""
    # No real ballot has such a key, so an imported vote is never reused for one.
    prefix = f"{TEMPLATE}\0{judge}\0{number}".encode("utf-8", "surrogatepass")
    return [hashlib.sha256(prefix + b"\0%d" % place).digest()[:16] for place in range(votes)]


def _vote(
    recorded_vote: RecordedVote, question: RecordedQuestion, criteria: Criteria, instance: Instance
) -> Vote:
    own_score = _own_score(recorded_vote, criteria)
    recorded = {"recorded_score": recorded_vote.score} if own_score != recorded_vote.score else {}
    prompt = recorded_vote.prompt.encode("utf-8", "surrogatepass")
    kind = _kind(recorded_vote, question, criteria, instance)
    return Vote(
        ballot=Ballot(
            criteria, instance, kind, TEMPLATE, recorded_vote.model, sample=recorded_vote.sample
        ),
        outcome=recorded_vote.outcome,
        verdict=None
        if recorded_vote.answer is None
        else _verdict(recorded_vote, question, own_score),
        reason=recorded_vote.reason,
        text=recorded_vote.text or None,
        usage=recorded_vote.usage,
        distribution=FrozenDict(recorded_vote.distribution) if recorded_vote.distribution else None,
        prompt_hash=hashlib.sha256(prompt).hexdigest() if prompt else None,
        metadata=FrozenDict(
            {**nonempty(prompt=recorded_vote.prompt), **recorded, **recorded_vote.more}
        ),
    )


def _kind(
    recorded_vote: RecordedVote, question: RecordedQuestion, criteria: Criteria, instance: Instance
) -> Question:
    if question.kind == "rating":
        return Rating(question.bounds)
    if question.kind == "comparison":
        every = range(len(instance.fields[question.to_evaluate_field]))
        order = recorded_vote.compared or tuple(every)
        return Comparison(order[::-1] if recorded_vote.swapped else order, question.ties)
    listed = Choice(criteria.option_names, criteria.points)
    return listed.reverse() if recorded_vote.swapped else listed


def _own_score(recorded_vote: RecordedVote, criteria: Criteria) -> float | None:
    """Return the judge's own number if it fits the options' scale."""
    scale = {points for points in criteria.points if points is not None}
    # For example, 6 of 7 is not a score between FAIL and PASS.
    if recorded_vote.score is None or len(scale) < 2:
        return recorded_vote.score
    return recorded_vote.score if min(scale) <= recorded_vote.score <= max(scale) else None


def _verdict(
    recorded_vote: RecordedVote, question: RecordedQuestion, own_score: float | None
) -> Verdict:
    explanation = recorded_vote.explanation or None
    if question.kind == "rating":
        return Rated(float(recorded_vote.answer or 0.0), explanation)
    if question.kind == "comparison":
        return Compared(
            None if recorded_vote.answer == TIE else int(recorded_vote.answer or 0), explanation
        )
    return Chosen(str(recorded_vote.answer), explanation, recorded_vote.feedback or None, own_score)


def _rating_result(
    question: RecordedQuestion, criteria: Criteria, instance: Instance, votes: tuple[Vote, ...]
) -> QuantitativeResult:
    numbers = numbers_of(votes)
    verdicts = [vote.verdict for vote in votes if vote.verdict]
    return QuantitativeResult(
        instance=instance,
        criteria=criteria,
        status=status_of(votes, bool(numbers)),
        votes=votes,
        score=aggregate(numbers, "avg") if numbers else None,
        explanation=next(
            (verdict.explanation for verdict in verdicts if verdict.explanation), None
        ),
        distribution=FrozenDict(shares(votes)),
        numbers=numbers,
        spread=spread(numbers),
        range=question.bounds,
    )


def merge(
    one: RecordedQuestion,
    two: RecordedQuestion,
    answers: tuple[str, ...] = (),
    numbers: tuple[float, ...] = (),
) -> RecordedQuestion:
    """Merge two versions of a question: all options, and bounds that include all numbers."""
    options = {option.name: option for option in (*one.options, *two.options)}
    if one.kind == "choice":
        options |= {name: CriteriaOption(name) for name in answers if name not in options}
    bounds = (*one.bounds, *two.bounds, *numbers)
    return replace(
        one,
        options=tuple(options.values()),
        bounds=(min(bounds), max(bounds)),
        description=one.description or two.description,
    )
