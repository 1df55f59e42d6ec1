"""What direct judges share: their ballots, how votes are pooled, several criteria at once."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from adjudge.catalog.criteria import is_risk
from adjudge.domain.ballot import Ballot
from adjudge.domain.criteria import Criteria, CriteriaOption
from adjudge.domain.instance import Instance
from adjudge.domain.multi_criteria import MultiCriteria
from adjudge.domain.question import Choice, Rating, question_of
from adjudge.domain.results import DirectInstanceResult, MultiCriteriaDirectInstanceResult, PositionalBias
from adjudge.domain.verdict import Chosen, Verdict
from adjudge.domain.vote import Vote
from adjudge.errors import SetupError
from adjudge.judges.case import Case, CaseJudge, PairwiseLike
from adjudge.judges.inputs import as_instance
from adjudge.judges.judge import InstanceLike
from adjudge.judges.settings import OwnSettings
from adjudge.pooling.composite import composite
from adjudge.pooling.majority import majority
from adjudge.pooling.orders import flip_rate, noise_rate
from adjudge.pooling.panel import status_of
from adjudge.prompts.render import shown_fields


class Direct(CaseJudge[DirectInstanceResult, MultiCriteriaDirectInstanceResult]):
    """What judges of single texts share: which ballots they write, and how the votes are pooled."""

    def instance_of(self, item: InstanceLike | PairwiseLike) -> Instance:
        """A text is the field ``response``."""
        return as_instance(item, "response")

    def check(self, item: Case) -> None:
        """The criteria must have options, its fields must be there, and its examples must have one of its options."""
        if not item.criteria.options:
            raise SetupError(f"criteria {item.criteria.name!r} offers no options: only comparisons can do without")
        shown_fields(item.criteria, item.instance)
        for example in item.criteria.examples:
            if example.option not in item.criteria.option_names:
                raise SetupError(f"an example of criteria {item.criteria.name!r} has no option of it: {example.option!r}")

    def shown(self, ballot: Ballot) -> tuple[Instance, Criteria]:
        """With the options in the ballot's order. The criteria names the field that is judged: the only one, if so."""
        criteria = ballot.criteria
        *_, judged = shown_fields(criteria, ballot.instance)
        shown = replace(criteria, options=ballot.question.shown(criteria.options), to_evaluate_field=judged)
        return ballot.instance, shown

    def fallback_result(self, result: DirectInstanceResult, choice: random.Random) -> DirectInstanceResult:
        """A random option; the status stays what it was, so no aggregate takes it for a judgment."""
        option = choice.choice(result.criteria.options)
        return replace(result, option=option.name, score=option.points, fallback="random")

    def plan(self, item: Case, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """Every model as often as asked, in each order."""
        return [] if votes else self.ballots(item)

    def ballots(self, case: Case) -> list[Ballot]:
        """All of them: the listed order first."""
        question = question_of(case.criteria)
        turned = [question.reversed()] if self.check_positional_bias and isinstance(question, Choice) else []
        return [
            self.ballot(case, model, asked, sample)
            for asked in (question, *turned)
            for model in self.panel or (type(self).__name__,)
            for sample in range(self.samples)
        ]

    def ballot(self, case: Case, model: str, question: Choice | Rating, sample: int) -> Ballot:
        """One of them."""
        return Ballot(case.criteria, case.instance, question, "direct", model, self.language, sample=sample)

    def pool(self, item: Case, votes: Sequence[Vote]) -> DirectInstanceResult:
        """The majority in the listed order; how far all votes agree with it; the other order beside it."""
        forward = [vote for vote in votes if vote.order is None]
        result = self._pooled(item, forward)
        if not self.check_positional_bias:
            return result
        backward = [vote for vote in votes if vote.order is not None]
        bias = self._bias(item, result, forward, backward)
        return replace(_over_both_orders(result, item.criteria, votes), positional_bias=bias, notes=self.notes(item, votes))

    def _pooled(self, case: Case, votes: Sequence[Vote]) -> DirectInstanceResult:
        said = [vote.verdict.option for vote in votes if vote.verdict]
        case = replace(case, criteria=_with_integers(case.criteria, said))
        won = majority(said, case.criteria)
        agreeing = [vote.verdict for vote in votes if won and vote.verdict and vote.verdict.option == won.option]
        scores = [_score(vote.verdict, case.criteria) for vote in votes if vote.verdict]
        return DirectInstanceResult(
            instance=case.instance,
            criteria=case.criteria,
            status=status_of(votes, won is not None),
            votes=tuple(votes),
            option=won.option if won else None,
            score=_mean([_score(verdict, case.criteria) for verdict in agreeing]),
            mean_score=_mean(scores),
            explanation=next((verdict.explanation for verdict in agreeing), None),
            feedback=self._feedback(case, won.option, [verdict.feedback for verdict in agreeing]) if won else None,
            agreement=won.agreement if won else None,
            tie=won.tie if won else False,
            metadata=self.metadata_with(votes, won.option if won else None),
            notes=self.notes(case, votes),
        )

    def _bias(
        self, case: Case, result: DirectInstanceResult, forward: Sequence[Vote], backward: Sequence[Vote]
    ) -> PositionalBias:
        other = self._pooled(case, backward)
        differ = None if None in (result.option, other.option) else result.option != other.option
        return PositionalBias(differ, other, flip_rate(forward, backward), noise_rate(forward, backward))

    def _feedback(self, case: Case, option: str, given: Sequence[str | None]) -> str | None:
        """The first advice there is; empty when the best option was chosen."""
        advice = [text for text in given if text is not None]
        if not self.panel:  # a judge of one's own knows when it has something to say
            return next(filter(None, advice), None)
        criteria = replace(case.criteria, higher_is_better=False) if is_risk(case.criteria.name) else case.criteria
        if advice and option in criteria.best_options:
            return ""
        return next(filter(None, advice), None)

    # -- several criteria ------------------------------------------------------

    def check_multi_criteria(self, multi: MultiCriteria) -> None:
        """Every option needs a score where scores are added up."""
        multi.check_scores()

    def combine(
        self, instance: Instance, multi: MultiCriteria, results: Sequence[DirectInstanceResult]
    ) -> MultiCriteriaDirectInstanceResult:
        """The weighted sum of the scores."""
        return composite(instance, multi, results)


@dataclass(kw_only=True, eq=False)
class BaseDirectJudge(OwnSettings, Direct):
    """Judges texts one by one. A judge of one's own writes ``_run(instances, criteria)``, which returns for each case
    a DirectInstanceResult or the name of an option; repetition, order and pooling are done here."""


def _over_both_orders(result: DirectInstanceResult, criteria: Criteria, votes: Sequence[Vote]) -> DirectInstanceResult:
    """The result of the listed order with what is said of all votes; one without a verdict stays without numbers."""
    if result.option is None:
        return replace(result, votes=tuple(votes))
    verdicts = [vote.verdict for vote in votes if vote.verdict]
    said = [verdict.option for verdict in verdicts]
    offered = _with_integers(criteria, said)
    agreement, mean = said.count(result.option) / len(said), _mean([_score(verdict, offered) for verdict in verdicts])
    return replace(result, votes=tuple(votes), agreement=agreement, mean_score=mean)


def _score(verdict: Verdict, criteria: Criteria) -> float | None:
    """The judge's own score where it gave one, else the option's."""
    own = verdict.score if isinstance(verdict, Chosen) else None
    return criteria.option(verdict.option).points if own is None else own


def _mean(scores: Sequence[float | None]) -> float | None:
    """None unless there are scores and all of them are known. Equal ones are that score to the last digit."""
    known = [score for score in scores if score is not None]
    if not known or len(known) < len(scores):
        return None
    return known[0] if len(set(known)) == 1 else sum(known) / len(known)


def _with_integers(criteria: Criteria, said: Sequence[str]) -> Criteria:
    """Criteria that accept any integer, with those that were said as options, the lowest first."""
    if not criteria.any_integer or not said:
        return criteria
    return replace(criteria, options=[CriteriaOption(text) for text in sorted(set(said), key=int)])
