"""Judge texts one by one by a criterion with options."""

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
    ReplacementSettings,
    alias,
    check_mode,
    check_written,
)
from adjudge.core.pooling.composite import composite
from adjudge.core.pooling.contests import flip_rate, noise_rate
from adjudge.core.pooling.majority import (
    majority,
    notes_on,
    replacement_notes,
    samples_still_needed,
    status_of,
)
from adjudge.core.prompts.renderer import render_improvement, render_persona, shown_fields
from adjudge.core.verdicts.text import read_persona, read_text
from adjudge.errors import ModelError, Refused, SetupError
from adjudge.messages import Message


class Direct(CaseJudge[DirectInstanceResult, MultiCriteriaDirectInstanceResult]):
    """Base of judges of single texts: which ballots they plan and how their votes are pooled."""

    def instance_of(self, item: InstanceLike | PairwiseLike) -> Instance:
        """Return the item as an instance; a plain text becomes the field ``response``."""
        return as_instance(item, "response")

    def check(self, item: Case) -> None:
        """Raise a SetupError if the criterion has no options, a field is missing, or an example
        names an unknown option.
        """
        if not item.criteria.options:
            raise SetupError(
                "criterion {name!r} has no options; only comparisons work without options",
                name=item.criteria.name,
            )
        shown_fields(item.criteria, item.instance)
        for example in item.criteria.examples:
            if example.option not in item.criteria.option_names:
                raise SetupError(
                    "an example of criterion {name!r} has an unknown option: {option!r}",
                    name=item.criteria.name,
                    option=example.option,
                )

    def arrange(self, ballot: Ballot) -> tuple[Instance, Criteria]:
        """Return the instance and its criterion with the options in the ballot's order.

        The criterion's ``to_evaluate_field`` names the field that is actually judged, even if the
        instance has a single field with another name.
        """
        criteria = ballot.criteria
        *_, judged_field = shown_fields(criteria, ballot.instance)
        arranged = replace(
            criteria,
            options=ballot.question.arrange(criteria.options),
            to_evaluate_field=judged_field,
        )
        return ballot.instance, arranged

    def fallback_result(
        self, result: DirectInstanceResult, choice: random.Random
    ) -> DirectInstanceResult:
        """Return a random option. The status does not change, so aggregates skip this result."""
        option = choice.choice(result.criteria.options)
        return replace(result, option=option.name, score=option.points, fallback="random")

    def plan(self, item: Case, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """Plan every ballot in the first round, none later."""
        return self.replacement_ballots(item, votes) if votes else self.ballots(item)

    def ballots(self, case: Case) -> list[Ballot]:
        """Return all ballots of a case: those in the listed order first."""
        question = question_of(case.criteria)
        reversed_orders = (
            [question.reverse()]
            if self.check_positional_bias and isinstance(question, Choice)
            else []
        )
        return [
            self.ballot(case, model, ordered, sample)
            for ordered in (question, *reversed_orders)
            for model in self.panel.members or (type(self).__name__,)
            for sample in range(self.samples)
        ]

    def ballot(self, case: Case, model: str, question: Choice | Rating, sample: int) -> Ballot:
        """Return one ballot: this question, this model, this sample."""
        return Ballot(
            case.criteria, case.instance, question, "direct", model, self.language, sample=sample
        )

    def pool(self, item: Case, votes: Sequence[Vote]) -> DirectInstanceResult:
        """Return the majority. With ``check_positional_bias`` it is that of the listed order, with
        the agreement over both orders and the bias.
        """
        if not self.check_positional_bias:
            result, replaced = self._pool_votes(item, votes), self.replaced_by(votes)
            return replace(result, replaced=replaced) if replaced else result
        forward = [vote for vote in votes if vote.order is None]
        result = self._pool_votes(item, forward)
        backward = [vote for vote in votes if vote.order is not None]
        bias = self._bias(item, result, forward, backward)
        return replace(
            _over_both_orders(result, item.criteria, votes),
            positional_bias=bias,
            replaced=self.replaced_by(votes),
            notes=self.notes(item, votes),
        )

    def _pool_votes(self, case: Case, votes: Sequence[Vote]) -> DirectInstanceResult:
        options = [vote.verdict.option for vote in votes if vote.verdict]
        case = (
            replace(case, criteria=_with_integers(case.criteria, options))
            if case.criteria.any_integer
            else case
        )
        winner = majority(options, case.criteria)
        scores = [
            (vote.verdict, score_of(vote.verdict, case.criteria)) for vote in votes if vote.verdict
        ]
        agreeing = [
            (verdict, score)
            for verdict, score in scores
            if winner and verdict.option == winner.option
        ]
        mean = mean_of([score for _, score in scores])
        advice = [verdict.feedback for verdict, _ in agreeing if verdict.feedback is not None]
        return DirectInstanceResult(
            instance=case.instance,
            criteria=case.criteria,
            status=status_of(votes, winner is not None),
            votes=tuple(votes),
            option=winner.option if winner else None,
            score=mean
            if len(agreeing) == len(scores)
            else mean_of([score for _, score in agreeing]),
            mean_score=mean,
            explanation=next((verdict.explanation for verdict, _ in agreeing), None),
            feedback=self._feedback(case, winner.option, advice) if winner and advice else None,
            agreement=winner.agreement if winner else None,
            tie=winner.tie if winner else False,
            metadata=self.metadata(votes, winner.option if winner else None),
            notes=self.notes(case, votes),
        )

    def _bias(
        self,
        case: Case,
        result: DirectInstanceResult,
        forward: Sequence[Vote],
        backward: Sequence[Vote],
    ) -> PositionalBias:
        reverse_result = self._pool_votes(case, backward)
        differ = (
            None
            if None in (result.option, reverse_result.option)
            else result.option != reverse_result.option
        )
        return PositionalBias(
            differ, reverse_result, flip_rate(forward, backward), noise_rate(forward, backward)
        )

    def _feedback(self, case: Case, option: str, advice: Sequence[str]) -> str | None:
        """Return the first advice that is not empty, if any; an empty text if models were asked and
        chose the best option.
        """
        # Custom judges decide on their own whether they give feedback, so the best option keeps its
        # advice.
        if not self.panel:
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
        """Raise a SetupError if an item cannot have a score, such as one whose option lacks one."""
        multi.check_scores()

    def combine(
        self, instance: Instance, multi: MultiCriteria, results: Sequence[DirectInstanceResult]
    ) -> MultiCriteriaDirectInstanceResult:
        """Return the weighted sum of the scores."""
        return composite(instance, multi, results)


@dataclass(kw_only=True, eq=False)
class BaseDirectJudge(
    OwnSettings, OwnJudge[DirectInstanceResult, MultiCriteriaDirectInstanceResult], Direct
):
    """Base of custom judges of single texts.

    Write ``_run(instances, criteria)``, which returns a DirectInstanceResult or the name of an
    option for each case. This class repeats, reorders and pools.

    Example::

        class Short(BaseDirectJudge):
            def _run(self, instances, criteria):
                return ["Yes" if len(i.response) < 80 else "No" for i in instances]
    """


def _over_both_orders(
    result: DirectInstanceResult, criteria: Criteria, votes: Sequence[Vote]
) -> DirectInstanceResult:
    """Add the votes of both orders, their agreement and mean score to the result of the listed
    order.

    A result without a verdict stays without numbers.
    """
    if result.option is None:
        return replace(result, votes=tuple(votes))
    verdicts = [vote.verdict for vote in votes if vote.verdict]
    options = [verdict.option for verdict in verdicts]
    offered = _with_integers(criteria, options)
    agreement, mean = (
        options.count(result.option) / len(options),
        mean_of([score_of(verdict, offered) for verdict in verdicts]),
    )
    return replace(result, votes=tuple(votes), agreement=agreement, mean_score=mean)


def _with_integers(criteria: Criteria, answers: Sequence[str]) -> Criteria:
    """Replace the options of a criterion that accepts any integer with the integers answered,
    lowest first.

    Other criteria, and those without answers, are returned unchanged.
    """
    if not criteria.any_integer or not answers:
        return criteria
    return replace(
        criteria, options=[CriteriaOption(text) for text in sorted(set(answers), key=int)]
    )


ValidOutputs = Sequence[str] | tuple[int, int] | range | None
_MOST_INTEGERS = 1000
_PERSONA = "persona"
_A_TEXT = Choice(())
_WHO_JUDGES = Criteria(_PERSONA, "Who is best placed to judge?")


@BaseDirectJudge.register
@dataclass(frozen=True, kw_only=True)
class DirectJudge(ReplacementSettings, ModelSettings, Direct):
    """Asks models to choose one of the criteria's options.

    Parameters:
        generate_feedback: ask for advice on how to change the text so that it gets the best option.
        judge_description_prompt: the role that the prompt gives the judge.
        generate_synthetic_persona: have the model invent that role, once per criterion.
        mode: "generate": the model writes a verdict with its explanation; "likelihood": the options
            are compared by log-probability, and nothing is written. By default local models use
            "likelihood" and other models that write use "generate".
        early_stop: ask only for votes that can still change the option.
        on_generation_failure: EvalAssist's name for ``on_failure``.
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
            raise SetupError("a judge can have a description or a synthetic persona, not both")
        if self.early_stop and self.replacement is not None:
            raise SetupError(
                "early_stop skips votes, so a missing verdict may not be a failure: leave out "
                "early_stop or replacement"
            )
        check_mode(self.mode, self.panel)
        check_written(
            self.panel,
            generate_feedback=self.generate_feedback,
            judge_description_prompt=self.judge_description_prompt,
            generate_synthetic_persona=self.generate_synthetic_persona,
        )

    def check(self, item: Case) -> None:
        """Like the base class, but also raise a SetupError if a decision model cannot choose among
        the options.
        """
        super().check(item)
        if not self.panel.deciding or item.criteria.identity in self._decidable:
            return
        ballots = [ballot for ballot in self.ballots(item) if ballot.model in self.panel.deciding]
        check_decides(ballots, turned=self.check_positional_bias)
        self._decidable.add(item.criteria.identity)

    def ask(self, ballot: Ballot) -> Coroutine[object, object, Vote]:
        """Ask the model that the ballot names; with a synthetic persona, ask for the persona
        first.
        """
        if ballot.template == _PERSONA:
            return self._invent_persona(ballot)
        if self.generate_synthetic_persona and ballot.mode == "generate":
            return self._ask_in_persona(ballot)
        return super().ask(ballot)

    def plan(self, item: Case, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """Plan every ballot at once; with ``early_stop`` only those that can still change the
        option.

        ``early_stop`` has no effect if both orders are asked or any integer is accepted.
        """
        adaptive = (
            self.early_stop and not self.check_positional_bias and not item.criteria.any_integer
        )
        if not adaptive:
            return super().plan(item, votes)
        remaining = self.ballots(item)[len(votes) :]
        options = [vote.verdict.option for vote in votes if vote.verdict]
        return remaining[: samples_still_needed(options, len(remaining), item.criteria)]

    def ballot(self, case: Case, model: str, question: Choice | Rating, sample: int) -> Ballot:
        """Return the ballot for one question to one model."""
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
        """Return notes for readers of the result."""
        notes = notes_on(votes, self.temperatures, persona=self.generate_synthetic_persona)
        return (*notes, *replacement_notes(self.replaced_by(votes)))

    async def aevaluate_with_custom_prompt(
        self, judge_prompts: str | Sequence[str], valid_outputs: ValidOutputs = None
    ) -> list[DirectInstanceResult]:
        """Ask custom prompts exactly as they are written.

        ``valid_outputs``: options, ``(low, high)``, a range, or None for any integer.
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
        """Return the judged text, rewritten to follow the result's feedback.

        Raise a SetupError if there is no feedback, and a ModelError if the model does not write the
        text.
        """
        if not result.feedback:
            raise SetupError(
                "the result has no feedback to work with: judge with generate_feedback=True"
            )
        fitted_instance = self.case(self.instance_of(instance), result.criteria).instance
        *_, original = shown_fields(result.criteria, fitted_instance).values()
        advice = {"feedback": result.feedback, "explanation": result.explanation or ""}
        prompt = render_improvement(result.criteria, fitted_instance, advice, self.language)
        name, model = next(iter(self.panel.items()))
        text = original if isinstance(original, str) else "\n".join(original)
        vote = await ask_with(
            Ballot(result.criteria, fitted_instance, _A_TEXT, "improve", name, self.language),
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
        """Return the ballot that asks for a persona."""
        prompt = render_persona(criteria, self.language)
        # The prompt is the instance: criteria that differ only in name give the same ballot, and so
        # share one persona.
        messages = Instance({message.role: message.content for message in prompt.messages})
        return Ballot(
            _WHO_JUDGES,
            messages,
            _A_TEXT,
            _PERSONA,
            next(iter(self.panel)),
            self.language,
            seed=self.seed,
        )

    async def _ask_in_persona(self, ballot: Ballot) -> Vote:
        persona = await self.answer_once(self._persona_ballot(ballot.criteria))
        if persona.verdict is None:
            return Vote(
                ballot=ballot,
                outcome=persona.outcome,
                reason=Message("the persona could not be created: {reason}", reason=persona.reason),
            )
        return await super().ask(replace(ballot, persona=persona.verdict.option))

    async def _invent_persona(self, ballot: Ballot) -> Vote:
        """Ask for the persona, or reuse the one from an earlier call of this judge."""
        if ballot.id in self._personas:
            return replace(self._personas[ballot.id], usage=Usage(), latency=0.0)
        turns = ballot.instance.fields.items()
        prompt = Prompt(tuple(ChatMessage(cast("Role", role), str(text)) for role, text in turns))
        vote = await ask_with(ballot, self.panel[ballot.model], prompt, read_persona)
        if vote.valid:
            self._personas[ballot.id] = vote
        return vote


def _outputs(valid: ValidOutputs) -> Sequence[str]:
    """Return the options that may answer a custom prompt; raise a SetupError if there are none or
    too many.
    """
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
            "valid outputs must be options or a range of 1 to {most} integers; None accepts any "
            "integer",
            most=_MOST_INTEGERS,
        )
    return [str(output) for output in valid]
