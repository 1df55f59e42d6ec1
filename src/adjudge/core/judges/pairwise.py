"""Compare responses with each other."""

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import ClassVar

from adjudge.core.catalog.entry import Kind
from adjudge.core.data.sources.row import Row
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import Instance, PairwiseInstance
from adjudge.core.domain.multi_criteria import MultiCriteria
from adjudge.core.domain.multi_results import MultiCriteriaPairwiseInstanceResult
from adjudge.core.domain.question import Comparison
from adjudge.core.domain.results import PairwiseInstanceResult, PositionalBias
from adjudge.core.domain.verdict import TIE, letter
from adjudge.core.domain.vote import Ballot, Mode, Vote
from adjudge.core.judges.case import Case, CaseJudge, PairwiseLike
from adjudge.core.judges.custom import OwnJudge
from adjudge.core.judges.inputs import comparison_instance, fit_to_criteria
from adjudge.core.judges.judge import InstanceLike
from adjudge.core.judges.settings import (
    Contests,
    ModelSettings,
    OnFailure,
    OwnSettings,
    ReplacementSettings,
    alias,
    check_mode,
    check_written,
    one_of,
)
from adjudge.core.pooling.contests import (
    balanced_orders,
    best_or_tie,
    certainty_of,
    contests,
    explanation_of,
    flip_rate,
    highest,
    noise_rate,
    system_results,
)
from adjudge.core.pooling.majority import ONE_ORDER, status_of
from adjudge.core.prompts.renderer import judged_field, shown_fields
from adjudge.core.verdicts.likelihood import labels_for
from adjudge.errors import SetupError


class Pairwise(CaseJudge[PairwiseInstanceResult, MultiCriteriaPairwiseInstanceResult]):
    """Base of judges that compare responses: which ballots they plan and how votes are pooled.

    Parameters:
        tie_enabled: whether a tie is offered and accepted.
        contests: "joint": one call compares all responses; "pairs": each pair of them is a
            separate contest.
        rotations: ask in several orders, in which every response is equally often at every
            position and before every other.
    """

    tie_enabled: bool = True
    contests: Contests = "joint"
    rotations: bool = False
    kind: ClassVar[Kind] = "pairwise"

    def check_settings(self) -> None:
        """Raise a SetupError if a field has a value that is not allowed."""
        one_of("contests", self.contests, ("joint", "pairs"))
        super().check_settings()

    def instance_of(self, item: InstanceLike | PairwiseLike) -> Instance:
        """Return the item as an instance; a list of texts becomes its responses.

        Raise a SetupError for a single text, which cannot be compared.
        """
        if isinstance(item, Instance):
            return (
                item
                if isinstance(item, PairwiseInstance)
                else PairwiseInstance(item.fields, item.id, item.metadata)
            )
        if isinstance(item, str):
            raise SetupError(
                "a comparison needs at least two responses: pass a list of texts per instance, "
                "such as evaluate([[first, second]])"
            )
        return (
            comparison_instance(item)
            if isinstance(item, Row | Mapping)
            else PairwiseInstance(responses=item)
        )

    def case(self, instance: Instance, criteria: Criteria) -> Case:
        """Return the case; a single field of responses is renamed to the one that the criterion
        reads.
        """
        instance = fit_to_criteria(instance, criteria)
        judged_name = judged_field(criteria, instance)
        if judged_name != criteria.to_evaluate_field:
            instance = replace(
                instance, fields={criteria.to_evaluate_field: instance.fields[judged_name]}
            )
        return Case(instance, criteria)

    def check(self, item: Case) -> None:
        """Raise a SetupError if there are fewer than two responses, or if an example is malformed.

        An example needs a list of responses, and the label of one of them or a tie.
        """
        name, field = item.criteria.name, item.criteria.to_evaluate_field
        responses = shown_fields(item.criteria, item.instance)[field]
        if isinstance(responses, str) or len(responses) < 2:
            raise SetupError(
                "the field {judged!r} must contain a list of at least two responses", judged=field
            )
        for example in item.criteria.examples:
            examples = example.fields.get(field, "")
            if isinstance(examples, str) or example.option not in (
                *map(letter, range(len(examples))),
                TIE,
            ):
                raise SetupError(
                    "an example of criterion {name!r} needs responses in the field "
                    "{judged!r}, and the label of one",
                    name=name,
                    judged=field,
                )

    def arrange(self, ballot: Ballot) -> tuple[Instance, Criteria]:
        """Return the instance with its responses in the ballot's order, and its criterion."""
        name = ballot.criteria.to_evaluate_field
        responses = ballot.instance.fields[name]
        order = ballot.question.order or range(len(responses))
        arranged = replace(
            ballot.instance,
            fields={**ballot.instance.fields, name: [responses[place] for place in order]},
        )
        return arranged, ballot.criteria

    def fallback_result(
        self, result: PairwiseInstanceResult, choice: random.Random
    ) -> PairwiseInstanceResult:
        """Return a random response. The status does not change, so aggregates skip this result."""
        count = len(result.instance.fields[result.criteria.to_evaluate_field])
        return replace(result, selected_option=choice.randrange(count), fallback="random")

    def plan(self, item: Case, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """Plan every contest in every order in the first round, none later."""
        return self.replacement_ballots(item, votes) if votes else self.ballots(item)

    def ballots(self, case: Case) -> list[Ballot]:
        """Return all ballots of a case: those in the given order first."""
        count = len(case.instance.fields[case.criteria.to_evaluate_field])
        members = (
            [tuple(range(count))]
            if self.contests == "joint"
            else list(combinations(range(count), 2))
        )
        return [
            self.ballot(case, model, Comparison(order, self.offers_tie), sample)
            for member in members
            for order in self._orders(member)
            for model in self.panel.members or (type(self).__name__,)
            for sample in range(self.samples)
        ]

    def ballot(self, case: Case, model: str, question: Comparison, sample: int) -> Ballot:
        """Return one ballot: this question, this model, this sample."""
        return Ballot(
            case.criteria, case.instance, question, "pairwise", model, self.language, sample=sample
        )

    @property
    def offers_tie(self) -> bool:
        """Return True if a ballot offers a tie."""
        return self.tie_enabled

    def pool(self, item: Case, votes: Sequence[Vote]) -> PairwiseInstanceResult:
        """Pool all contests from all votes, whatever their order; add the positional bias if it is
        checked.
        """
        result = self._pool_votes(item, votes)
        return (
            replace(result, positional_bias=self._bias(item, votes))
            if self.check_positional_bias
            else result
        )

    def _pool_votes(self, item: Case, votes: Sequence[Vote]) -> PairwiseInstanceResult:
        count = len(item.instance.fields[item.criteria.to_evaluate_field])
        both_orders = self.check_positional_bias or self.rotations
        pooled = contests(votes, count, self.tie_enabled, both_orders=both_orders)
        systems = system_results(count, pooled, self._flips(count, *_by_order(votes)))
        rates = [system.winrate for system in systems]
        best, winner = highest(rates), best_or_tie(rates, self.tie_enabled)
        agreed = best if winner == TIE else best[:1]
        certainty = certainty_of(agreed, pooled)
        return PairwiseInstanceResult(
            instance=item.instance,
            criteria=item.criteria,
            status=status_of(votes, winner is not None),
            votes=tuple(votes),
            selected_option=winner,
            per_system_results=systems,
            certainty=certainty,
            agreement=certainty,
            explanation=explanation_of(agreed, pooled),
            tie=len(best) > 1
            or any(
                contest.even for contest in pooled if {contest.first, contest.second} & set(best)
            ),
            replaced=self.replaced_by(votes),
            metadata=self.metadata(votes, winner),
            notes=self.notes(item, votes),
        )

    def notes(self, item: Case, votes: Sequence[Vote]) -> tuple[str, ...]:
        """Return notes for readers, one of them if only one order was asked."""
        common_notes = super().notes(item, votes)
        return (
            common_notes
            if self.check_positional_bias or self.rotations
            else (*common_notes, ONE_ORDER)
        )

    def _orders(self, member: tuple[int, ...]) -> list[tuple[int, ...]]:
        if self.rotations:
            return [
                tuple(member[place] for place in order) for order in balanced_orders(len(member))
            ]
        return [member, member[::-1]] if self.check_positional_bias else [member]

    def _flips(
        self, count: int, forward: Sequence[Vote], backward: Sequence[Vote]
    ) -> list[bool | None]:
        pairs = zip(
            contests(forward, count, self.tie_enabled),
            contests(backward, count, self.tie_enabled),
            strict=True,
        )
        return [
            None
            if None in (forward_contest.value, backward_contest.value)
            else forward_contest.value != backward_contest.value
            for forward_contest, backward_contest in pairs
        ]

    def _bias(self, case: Case, votes: Sequence[Vote]) -> PositionalBias:
        forward, backward = _by_order(votes)
        ahead, back = self._pool_votes(case, forward), self._pool_votes(case, backward)
        both = (ahead.selected_option, back.selected_option)
        # Without a verdict in one order, nothing can be said about a difference.
        differ = None if None in both else ahead.selected_option != back.selected_option
        return PositionalBias(
            differ, back, flip_rate(forward, backward), noise_rate(forward, backward)
        )

    # -- several criteria ------------------------------------------------------

    def check_multi_criteria(self, multi: MultiCriteria) -> None:
        """Raise a SetupError if a criterion has more than a weight; only win rates are combined."""
        for item in multi.items:
            if item.required or item.target_option is not None or item.score_threshold is not None:
                raise SetupError(
                    "criterion {name!r} compares responses, so it can have a weight, but no "
                    "target, threshold or required flag",
                    name=item.criterion.name,
                )

    def combine(
        self, instance: Instance, multi: MultiCriteria, results: Sequence[PairwiseInstanceResult]
    ) -> MultiCriteriaPairwiseInstanceResult:
        """Return the responses' win rates, weighted over the criteria."""
        rates: list[float | None] = []
        for place in range(len(results[0].per_system_results)):
            winrates = [result.per_system_results[place].winrate for result in results]
            weighted = [
                rate * (item.weight or 0.0)
                for rate, item in zip(winrates, multi.items, strict=True)
                if rate is not None
            ]
            rates.append(math.fsum(weighted) if len(weighted) == len(winrates) else None)
        winner, tie = best_or_tie(rates, self.tie_enabled), len(highest(rates)) > 1
        return MultiCriteriaPairwiseInstanceResult(
            instance, multi, tuple(results), tuple(rates), winner, tie=tie
        )


@dataclass(kw_only=True, eq=False)
class BasePairwiseJudge(
    OwnSettings, OwnJudge[PairwiseInstanceResult, MultiCriteriaPairwiseInstanceResult], Pairwise
):
    """Base of custom judges that compare responses.

    Write ``_run(instances, criteria)``, which returns the index of the better response, "tie", or a
    PairwiseInstanceResult for each case. This class repeats, reorders and pools.
    """

    tie_enabled: bool = True
    contests: Contests = "joint"
    rotations: bool = False


@dataclass(frozen=True, kw_only=True)
class ContestSettings:
    """Settings of judges that have models compare responses."""

    tie_enabled: bool = True
    contests: Contests = "joint"
    rotations: bool = False


def _by_order(votes: Sequence[Vote]) -> tuple[list[Vote], list[Vote]]:
    """Return the votes in the given order and those in the reversed one; other orders are
    dropped.
    """
    forward = [vote for vote in votes if vote.order == tuple(sorted(vote.order or ()))]
    backward = [
        vote for vote in votes if vote.order == tuple(sorted(vote.order or (), reverse=True))
    ]
    return forward, backward


@BasePairwiseJudge.register
@dataclass(frozen=True, kw_only=True)
class PairwiseJudge(ContestSettings, ReplacementSettings, ModelSettings, Pairwise):
    """Asks models which of two or more responses is better.

    Parameters:
        judge_description_prompt: the role that the prompt gives the judge.
        mode: "generate": the model writes a verdict with its explanation; "likelihood": the options
            are compared by log-probability, and nothing is written. By default local models use
            "likelihood" and other models that write use "generate".
        on_generation_failure: EvalAssist's name for ``on_failure``.
    """

    judge_description_prompt: str | None = None
    mode: Mode | None = None
    on_generation_failure: OnFailure | None = alias("on_failure")

    def __post_init__(self) -> None:
        super().__post_init__()
        check_mode(self.mode, self.panel)
        check_written(self.panel, judge_description_prompt=self.judge_description_prompt)

    def check(self, item: Case) -> None:
        """Like the base class, but also raise a SetupError if likelihood mode has too few letters
        for the responses.
        """
        super().check(item)
        for ballot in self.ballots(item)[:1]:
            if ballot.mode == "likelihood" and ballot.model not in self.panel.deciding:
                labels_for(ballot.question)

    def ballot(self, case: Case, model: str, question: Comparison, sample: int) -> Ballot:
        """Return the ballot for one question to one model."""
        criteria = self._offered_only(case.criteria)
        ballot = self.ballot_for(
            criteria, case.instance, question, "pairwise", model, sample, self.mode
        )
        return (
            replace(ballot, persona=self.judge_description_prompt)
            if self.judge_description_prompt
            else ballot
        )

    @property
    def _plans_alone(self) -> bool:
        return type(self) is PairwiseJudge

    def _offered_only(self, criteria: Criteria) -> Criteria:
        """Drop the examples of a tie if no tie is offered."""
        examples = [
            example for example in criteria.examples if self.tie_enabled or example.option != TIE
        ]
        return (
            replace(criteria, examples=examples)
            if len(examples) < len(criteria.examples)
            else criteria
        )
