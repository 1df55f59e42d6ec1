"""What a file recorded → votes and a result as a judge of ours would have left them."""

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
    """Pools what was said of texts."""


class _Comparisons(BasePairwiseJudge):
    """Pools what was said of compared responses."""


_TEXTS = {bias: _Texts(check_positional_bias=bias) for bias in (False, True)}
_COMPARISONS = {
    (bias, ties): _Comparisons(check_positional_bias=bias, tie_enabled=ties)
    for bias in (False, True)
    for ties in (False, True)
}


@dataclass(frozen=True, kw_only=True)
class UnjudgedRow(DirectInstanceResult):
    """A row that the file holds without any verdict: it can be labelled, and judged anew."""

    @property
    def reason(self) -> str:
        return _NOT_JUDGED


@dataclass(frozen=True, kw_only=True)
class UnjudgedComparison(PairwiseInstanceResult):
    """The same of responses that nobody compared."""

    @property
    def reason(self) -> str:
        return _NOT_JUDGED


def instance_of(row: RecordedRow) -> Instance:
    """The row, with whatever else the file says of it as the row that was read."""
    known = nonempty(systems=row.systems)
    more = {**row.more, **(NAMED_ONLY if row.named_only else {})}
    return Instance(row.fields, row.id, FrozenDict({**known, **nonempty(row=more)}))


def criteria_of(question: RecordedQuestion, answers: tuple[str, ...] = ()) -> Criteria:
    """The question as criteria, with options for what was answered."""
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
    """The votes pooled, by our own rules: both orders, failures and ties included."""
    answers = tuple(str(vote.answer) for vote in row.votes if vote.answer is not None)
    criteria = criteria_of(row.question, answers)
    votes = tuple(_vote(vote, row.question, criteria, instance) for vote in row.votes)
    case, both = Case(instance, criteria), len({vote.order for vote in votes}) > 1
    if row.question.kind == "comparison":
        compared: PairwiseInstanceResult = _COMPARISONS[both, row.question.ties].pool(case, votes)
        if votes:
            return _as_stated(compared)
        return UnjudgedComparison(
            instance=instance,
            criteria=criteria,
            status=compared.status,
            per_system_results=compared.per_system_results,
        )
    if not votes:
        return UnjudgedRow(instance=instance, criteria=criteria, status=status_of((), False))
    if row.question.kind == "rating":
        return _rated(row.question, criteria, instance, votes)
    return _TEXTS[both].pool(case, votes)


def _as_stated(result: PairwiseInstanceResult) -> PairwiseInstanceResult:
    """With the win rates of two responses as the votes state them, where they do: a preference of
    .6 is not a whole win.
    """
    valid = [vote for vote in result.votes if vote.verdict is not None]
    if len(result.per_system_results) != 2 or not any(vote.distribution for vote in valid):
        return result
    first = fmean(_stated(vote) for vote in valid)
    systems = zip(result.per_system_results, (first, 1 - first), strict=True)
    return replace(
        result, per_system_results=tuple(replace(system, winrate=rate) for system, rate in systems)
    )


def _stated(vote: Vote) -> float:
    """How likely the first response is the better one, by a vote: a tie is half of it."""
    said = vote.distribution or {vote.verdict.option if vote.verdict else TIE: 1.0}
    return said.get("0", 0.0) + said.get(TIE, 0.0) / 2


def keys_of(judge: str, number: int, votes: int) -> list[bytes]:
    """What the votes of a judgment are found by.

    No ballot of ours has such a key: nothing is reused by mistake.
    """
    asked = f"{TEMPLATE}\0{judge}\0{number}".encode("utf-8", "surrogatepass")
    return [hashlib.sha256(asked + b"\0%d" % place).digest()[:16] for place in range(votes)]


def _vote(
    said: RecordedVote, question: RecordedQuestion, criteria: Criteria, instance: Instance
) -> Vote:
    own = _own_score(said, criteria)
    beside = {"recorded_score": said.score} if own != said.score else {}
    prompt = said.prompt.encode("utf-8", "surrogatepass")
    kind = _kind(said, question, criteria, instance)
    return Vote(
        ballot=Ballot(criteria, instance, kind, TEMPLATE, said.model, sample=said.sample),
        outcome=said.outcome,
        verdict=None if said.answer is None else _verdict(said, question, own),
        reason=said.reason,
        text=said.text or None,
        usage=said.usage,
        distribution=FrozenDict(said.distribution) if said.distribution else None,
        prompt_hash=hashlib.sha256(prompt).hexdigest() if prompt else None,
        metadata=FrozenDict({**nonempty(prompt=said.prompt), **beside, **said.more}),
    )


def _kind(
    said: RecordedVote, question: RecordedQuestion, criteria: Criteria, instance: Instance
) -> Question:
    if question.kind == "rating":
        return Rating(question.bounds)
    if question.kind == "comparison":
        order = tuple(range(len(instance.fields[question.to_evaluate_field])))
        return Comparison(order[::-1] if said.swapped else order, question.ties)
    listed = Choice(criteria.option_names, criteria.points)
    return listed.reversed() if said.swapped else listed


def _own_score(said: RecordedVote, criteria: Criteria) -> float | None:
    """The judge's number beside its option, where it is on the scale of the options: 6 of 7 is no
    score between FAIL and PASS.
    """
    known = {points for points in criteria.points if points is not None}
    if said.score is None or len(known) < 2:
        return said.score
    return said.score if min(known) <= said.score <= max(known) else None


def _verdict(said: RecordedVote, question: RecordedQuestion, own: float | None) -> Verdict:
    explanation = said.explanation or None
    if question.kind == "rating":
        return Rated(float(said.answer or 0.0), explanation)
    if question.kind == "comparison":
        return Compared(None if said.answer == TIE else int(said.answer or 0), explanation)
    return Chosen(str(said.answer), explanation, said.feedback or None, own)


def _rated(
    question: RecordedQuestion, criteria: Criteria, instance: Instance, votes: tuple[Vote, ...]
) -> QuantitativeResult:
    numbers = numbers_of(votes)
    said = [vote.verdict for vote in votes if vote.verdict]
    return QuantitativeResult(
        instance=instance,
        criteria=criteria,
        status=status_of(votes, bool(numbers)),
        votes=votes,
        score=aggregate(numbers, "avg") if numbers else None,
        explanation=next((one.explanation for one in said if one.explanation), None),
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
    """A question by what several rows tell of it: all options that were seen, bounds that hold all
    numbers.
    """
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
