"""Texts judged one by one by a criterion with options."""

from __future__ import annotations

import random
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from adjudge.core.aio.event_loop import sync_edge
from adjudge.core.catalog.criteria import is_risk
from adjudge.core.domain.criteria import ANY_INTEGER, Criteria, CriteriaOption
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.message import ChatMessage, Prompt, Role, Usage
from adjudge.core.domain.multi_criteria import MultiCriteria
from adjudge.core.domain.multi_results import MultiCriteriaDirectInstanceResult
from adjudge.core.domain.question import Choice, Rating, question_of
from adjudge.core.domain.results import DirectInstanceResult, PositionalBias, mean_of, score_of
from adjudge.core.domain.vote import Ballot, Mode, Outcome, Vote
from adjudge.core.engine.ask import ask_with
from adjudge.core.engine.decide import check_decides
from adjudge.core.judges.case import Case, CaseJudge, PairwiseLike
from adjudge.core.judges.custom import OwnJudge
from adjudge.core.judges.inputs import as_instance
from adjudge.core.judges.judge import InstanceLike
from adjudge.core.judges.settings import (
    ModelSettings,
    OnFailure,
    OwnSettings,
    alias,
    check_mode,
    check_written,
)
from adjudge.core.pooling.composite import composite
from adjudge.core.pooling.contests import flip_rate, noise_rate
from adjudge.core.pooling.majority import majority, notes_on, samples_still_needed, status_of
from adjudge.core.prompts.renderer import render_improvement, render_persona, shown_fields
from adjudge.core.verdicts.text import read_persona, read_text
from adjudge.errors import ModelError, Refused, SetupError
from adjudge.messages import Message


class Direct(CaseJudge[DirectInstanceResult, MultiCriteriaDirectInstanceResult]):
    """What judges of single texts share: which ballots they write, and how the votes are pooled."""

    def instance_of(self, item: InstanceLike | PairwiseLike) -> Instance:
        """A text is the field ``response``."""
        return as_instance(item, "response")

    def check(self, item: Case) -> None:
        """The criteria must have options, its fields must be there, and its examples must have one
        of its options.
        """
        if not item.criteria.options:
            raise SetupError(
                "criterion {name!r} offers no options: only comparisons can do without",
                name=item.criteria.name,
            )
        shown_fields(item.criteria, item.instance)
        for example in item.criteria.examples:
            if example.option not in item.criteria.option_names:
                raise SetupError(
                    "an example of criterion {name!r} has no option of it: {option!r}",
                    name=item.criteria.name,
                    option=example.option,
                )

    def shown(self, ballot: Ballot) -> tuple[Instance, Criteria]:
        """With the options in the ballot's order.

        The criteria names the field that is judged: the only one, if so.
        """
        criteria = ballot.criteria
        *_, judged = shown_fields(criteria, ballot.instance)
        shown = replace(
            criteria, options=ballot.question.shown(criteria.options), to_evaluate_field=judged
        )
        return ballot.instance, shown

    def fallback_result(
        self, result: DirectInstanceResult, choice: random.Random
    ) -> DirectInstanceResult:
        """A random option; the status stays what it was, so no aggregate takes
        it for a judgment.
        """
        option = choice.choice(result.criteria.options)
        return replace(result, option=option.name, score=option.points, fallback="random")

    def plan(self, item: Case, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """Every model as often as asked, in each order."""
        return [] if votes else self.ballots(item)

    def ballots(self, case: Case) -> list[Ballot]:
        """All of them: the listed order first."""
        question = question_of(case.criteria)
        turned = (
            [question.reversed()]
            if self.check_positional_bias and isinstance(question, Choice)
            else []
        )
        return [
            self.ballot(case, model, asked, sample)
            for asked in (question, *turned)
            for model in self.panel or (type(self).__name__,)
            for sample in range(self.samples)
        ]

    def ballot(self, case: Case, model: str, question: Choice | Rating, sample: int) -> Ballot:
        """One ballot: this question, this model, this sample."""
        return Ballot(
            case.criteria, case.instance, question, "direct", model, self.language, sample=sample
        )

    def pool(self, item: Case, votes: Sequence[Vote]) -> DirectInstanceResult:
        """The majority in the listed order; how far all votes agree with it; the other order beside
        it.
        """
        if not self.check_positional_bias:
            return self._pooled(item, votes)
        forward = [vote for vote in votes if vote.order is None]
        result = self._pooled(item, forward)
        backward = [vote for vote in votes if vote.order is not None]
        bias = self._bias(item, result, forward, backward)
        return replace(
            _over_both_orders(result, item.criteria, votes),
            positional_bias=bias,
            notes=self.notes(item, votes),
        )

    def _pooled(self, case: Case, votes: Sequence[Vote]) -> DirectInstanceResult:
        said = [vote.verdict.option for vote in votes if vote.verdict]
        case = (
            replace(case, criteria=_with_integers(case.criteria, said))
            if case.criteria.any_integer
            else case
        )
        won = majority(said, case.criteria)
        scores = [
            (vote.verdict, score_of(vote.verdict, case.criteria)) for vote in votes if vote.verdict
        ]
        agreeing = [
            (verdict, score) for verdict, score in scores if won and verdict.option == won.option
        ]
        mean = mean_of([score for _, score in scores])
        advice = [verdict.feedback for verdict, _ in agreeing if verdict.feedback is not None]
        return DirectInstanceResult(
            instance=case.instance,
            criteria=case.criteria,
            status=status_of(votes, won is not None),
            votes=tuple(votes),
            option=won.option if won else None,
            score=mean
            if len(agreeing) == len(scores)
            else mean_of([score for _, score in agreeing]),
            mean_score=mean,
            explanation=next((verdict.explanation for verdict, _ in agreeing), None),
            feedback=self._feedback(case, won.option, advice) if won and advice else None,
            agreement=won.agreement if won else None,
            tie=won.tie if won else False,
            metadata=self.metadata(votes, won.option if won else None),
            notes=self.notes(case, votes),
        )

    def _bias(
        self,
        case: Case,
        result: DirectInstanceResult,
        forward: Sequence[Vote],
        backward: Sequence[Vote],
    ) -> PositionalBias:
        other = self._pooled(case, backward)
        differ = None if None in (result.option, other.option) else result.option != other.option
        return PositionalBias(
            differ, other, flip_rate(forward, backward), noise_rate(forward, backward)
        )

    def _feedback(self, case: Case, option: str, advice: Sequence[str]) -> str | None:
        """The first advice there is; empty when the best option was chosen."""
        if not self.panel:  # a judge of one's own knows when it has something to say
            return next(filter(None, advice), None)
        criteria = (
            replace(case.criteria, higher_is_better=False)
            if is_risk(case.criteria.name)
            else case.criteria
        )
        if option in criteria.best_options:
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
class BaseDirectJudge(
    OwnSettings, OwnJudge[DirectInstanceResult, MultiCriteriaDirectInstanceResult], Direct
):
    """Judges texts one by one. A judge of one's own writes ``_run(instances, criteria)``, which
    returns for each case a DirectInstanceResult or the name of an option; repetition, order and
    pooling are done here.
    """


def _over_both_orders(
    result: DirectInstanceResult, criteria: Criteria, votes: Sequence[Vote]
) -> DirectInstanceResult:
    """The result of the listed order with what is said of all votes; one without a verdict stays
    without numbers.
    """
    if result.option is None:
        return replace(result, votes=tuple(votes))
    verdicts = [vote.verdict for vote in votes if vote.verdict]
    said = [verdict.option for verdict in verdicts]
    offered = _with_integers(criteria, said)
    agreement, mean = (
        said.count(result.option) / len(said),
        mean_of([score_of(verdict, offered) for verdict in verdicts]),
    )
    return replace(result, votes=tuple(votes), agreement=agreement, mean_score=mean)


def _with_integers(criteria: Criteria, said: Sequence[str]) -> Criteria:
    """Criteria that accept any integer, with those that were said as options, the lowest first."""
    if not criteria.any_integer or not said:
        return criteria
    return replace(criteria, options=[CriteriaOption(text) for text in sorted(set(said), key=int)])


ValidOutputs = Sequence[str] | tuple[int, int] | range | None
_MOST_INTEGERS = 1000
_PERSONA = "persona"
_A_TEXT = Choice(())
_WHO_JUDGES = Criteria(_PERSONA, "Who is best placed to judge?")


@BaseDirectJudge.register
@dataclass(frozen=True, kw_only=True)
class DirectJudge(ModelSettings, Direct):
    """Asks models to choose one of the criteria's options.

    Parameters:
        generate_feedback: ask for advice on how the text would get the best option.
        judge_description_prompt: who the judge is told to be.
        generate_synthetic_persona: have the model invent that, once for each criteria.
        mode: "generate": the model writes a verdict with its explanation; "likelihood": the options
            are compared by their log-probability, nothing is written. By default local models do
            the latter, all others the former.
        early_stop: ask only as many votes as can still change the option.
        on_generation_failure: EvalAssist's name of ``on_failure``.
    """

    generate_feedback: bool = False
    judge_description_prompt: str | None = None
    generate_synthetic_persona: bool = False
    mode: Mode | None = None
    early_stop: bool = False
    on_generation_failure: OnFailure | None = alias("on_failure")
    _personas: dict[str, Vote] = field(init=False, repr=False, compare=False, default_factory=dict)
    _decidable: set[str] = field(init=False, repr=False, compare=False, default_factory=set)
    """Criteria that a decision model can be asked, by their identity."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.generate_synthetic_persona and self.judge_description_prompt:
            raise SetupError("a judge has a description or a synthetic persona, not both")
        check_mode(self.mode, self.panel)
        check_written(
            self.panel,
            generate_feedback=self.generate_feedback,
            judge_description_prompt=self.judge_description_prompt,
            generate_synthetic_persona=self.generate_synthetic_persona,
        )

    def check(self, item: Case) -> None:
        """A decision model must be able to choose among the options."""
        super().check(item)
        if not self.panel.deciding or item.criteria.identity in self._decidable:
            return
        ballots = [one for one in self.ballots(item) if one.model in self.panel.deciding]
        check_decides(ballots, turned=self.check_positional_bias)
        self._decidable.add(item.criteria.identity)

    def ask(self, ballot: Ballot) -> Coroutine[object, object, Vote]:
        """Ask the model that the ballot names; where there is to be a persona, that first."""
        if ballot.template == _PERSONA:
            return self._invent_persona(ballot)
        if self.generate_synthetic_persona and ballot.mode == "generate":
            return self._ask_in_persona(ballot)
        return super().ask(ballot)

    def plan(self, item: Case, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """Every model as often as asked, in each order; with ``early_stop`` only what can still
        matter.
        """
        adaptive = (
            self.early_stop and not self.check_positional_bias and not item.criteria.any_integer
        )
        if not adaptive:
            return [] if votes else self.ballots(item)
        remaining = self.ballots(item)[len(votes) :]
        said = [vote.verdict.option for vote in votes if vote.verdict]
        return remaining[: samples_still_needed(said, len(remaining), item.criteria)]

    def ballot(self, case: Case, model: str, question: Choice | Rating, sample: int) -> Ballot:
        """One question to one model."""
        ballot = self.ballot_for(
            case.criteria, case.instance, question, case.template, model, sample, self.mode
        )
        if not self.generate_feedback and self.judge_description_prompt is None:
            return ballot
        return replace(
            ballot, feedback=self.generate_feedback, persona=self.judge_description_prompt
        )

    @property
    def _plans_alone(self) -> bool:
        return type(self) is DirectJudge and not self.early_stop

    # as the base class has it
    def notes(self, item: Case, votes: Sequence[Vote]) -> tuple[str, ...]:  # noqa: ARG002
        """What a reader of the result must know."""
        return notes_on(votes, self.temperatures, persona=self.generate_synthetic_persona)

    async def aevaluate_with_custom_prompt(
        self, judge_prompts: str | Sequence[str], valid_outputs: ValidOutputs = None
    ) -> list[DirectInstanceResult]:
        """Ask prompts of your own, each as it stands.

        Valid outputs: options, ``(low, high)``, a range, or None: any integer.
        """
        options = [CriteriaOption(text) for text in _outputs(valid_outputs)]
        prompts = [judge_prompts] if isinstance(judge_prompts, str) else judge_prompts
        cases = [
            Case(Instance({"prompt": text}), Criteria("custom prompt", text, options), "custom")
            for text in prompts
        ]
        plain = replace(
            self, check_positional_bias=False, mode="generate", generate_synthetic_persona=False
        )
        return await plain.judge_items(cases)

    evaluate_with_custom_prompt = sync_edge(aevaluate_with_custom_prompt)

    async def aimprove(self, instance: InstanceLike, result: DirectInstanceResult) -> str:
        """The judged text, rewritten as the result's feedback says."""
        if not result.feedback:
            raise SetupError(
                "the result has no feedback to improve by: judge with generate_feedback=True"
            )
        found = self.case(self.instance_of(instance), result.criteria).instance
        *_, original = shown_fields(result.criteria, found).values()
        said = {"feedback": result.feedback, "explanation": result.explanation or ""}
        prompt = render_improvement(result.criteria, found, said, self.language)
        name, model = next(iter(self.panel.items()))
        text = original if isinstance(original, str) else "\n".join(original)
        vote = await ask_with(
            Ballot(result.criteria, found, _A_TEXT, "improve", name, self.language),
            model,
            prompt,
            lambda reply: read_text(reply, text),
        )
        if vote.verdict is None:
            raise (Refused if vote.outcome is Outcome.REFUSED else ModelError)(
                Message("the text could not be improved: {reason}", reason=vote.reason)
            )
        return vote.verdict.option

    improve = sync_edge(aimprove)

    def _persona_ballot(self, criteria: Criteria) -> Ballot:
        """It is what it asks: criteria that differ in their names alone have one persona."""
        prompt = render_persona(criteria, self.language)
        asked = Instance({message.role: message.content for message in prompt.messages})
        return Ballot(
            _WHO_JUDGES,
            asked,
            _A_TEXT,
            _PERSONA,
            next(iter(self.panel)),
            self.language,
            seed=self.seed,
        )

    async def _ask_in_persona(self, ballot: Ballot) -> Vote:
        made = await self.answer_once(self._persona_ballot(ballot.criteria))
        if made.verdict is None:
            return Vote(
                ballot=ballot,
                outcome=made.outcome,
                reason=Message("the persona could not be made: {reason}", reason=made.reason),
            )
        return await super().ask(replace(ballot, persona=made.verdict.option))

    async def _invent_persona(self, ballot: Ballot) -> Vote:
        """One that was made for an earlier call of this judge is used again."""
        if ballot.id in self._personas:
            return replace(self._personas[ballot.id], usage=Usage(), latency=0.0)
        turns = ballot.instance.fields.items()
        prompt = Prompt(tuple(ChatMessage(cast("Role", role), str(text)) for role, text in turns))
        vote = await ask_with(ballot, self.panel[ballot.model], prompt, read_persona)
        if vote.valid:
            self._personas[ballot.id] = vote
        return vote


def _outputs(valid: ValidOutputs) -> Sequence[str]:
    """What a custom prompt may be answered with, as options."""
    if valid is None:
        return [ANY_INTEGER]
    if (
        isinstance(valid, tuple)
        and len(valid) == 2
        and all(isinstance(bound, int) for bound in valid)
    ):
        valid = range(int(valid[0]), int(valid[1]) + 1)
    if isinstance(valid, str) or not 1 <= len(valid) <= _MOST_INTEGERS:
        raise SetupError(
            "valid outputs are options, or a range of 1 to {most} integers; None "
            "accepts any integer",
            most=_MOST_INTEGERS,
        )
    return [str(output) for output in valid]
