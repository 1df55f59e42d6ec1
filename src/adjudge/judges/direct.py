"""Texts judged one by one by a criteria with options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from adjudge.aio.edges import sync_edge
from adjudge.domain.ballot import Ballot, Mode
from adjudge.domain.criteria import ANY_INTEGER, Criteria, CriteriaOption
from adjudge.domain.instance import Instance
from adjudge.domain.message import Message, Prompt, Usage
from adjudge.domain.question import Choice, Rating
from adjudge.domain.results import DirectInstanceResult
from adjudge.domain.vote import Outcome, Vote
from adjudge.engine.ask import ask_as
from adjudge.errors import ModelError, Refused, SetupError
from adjudge.judges.base_direct import BaseDirectJudge, Direct
from adjudge.judges.case import Case
from adjudge.judges.judge import InstanceLike
from adjudge.judges.notes import notes_on
from adjudge.judges.settings import ModelSettings, OnFailure, check_mode, failure_by_either_name, seed_for
from adjudge.pooling.majority import samples_still_needed
from adjudge.prompts.render import render_improvement, render_persona, shown_fields
from adjudge.verdicts.text import read_persona, read_text

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
        mode: "generate": the model writes a verdict with its explanation; "likelihood": the options are compared by their
            log-probability, nothing is written. By default local models do the latter, all others the former.
        early_stop: ask only as many votes as can still change the option.
        on_generation_failure: EvalAssist's name of ``on_failure``.
    """

    generate_feedback: bool = False
    judge_description_prompt: str | None = None
    generate_synthetic_persona: bool = False
    mode: Mode | None = None
    early_stop: bool = False
    on_generation_failure: OnFailure | None = field(default=None, repr=False)
    _personas: dict[str, Vote] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "on_failure", failure_by_either_name(self.on_failure, self.on_generation_failure))
        object.__setattr__(self, "on_generation_failure", None)  # said once, so that copies with another on_failure can be made
        super().__post_init__()
        if self.generate_synthetic_persona and self.judge_description_prompt:
            raise SetupError("a judge has a description or a synthetic persona, not both")
        check_mode(self.mode, self.panel)

    async def ask(self, ballot: Ballot) -> Vote:
        """Ask the model that the ballot names; where there is to be a persona, that first."""
        if ballot.template == _PERSONA:
            return await self._ask_persona(ballot)
        if self.generate_synthetic_persona and ballot.mode == "generate":
            made = await self.ask_shared(self._persona_ballot(ballot.criteria))
            if made.verdict is None:
                return Vote(ballot=ballot, outcome=made.outcome, reason=f"the persona could not be made: {made.reason}")
            ballot = replace(ballot, persona=made.verdict.option)
        return await super().ask(ballot)

    def plan(self, item: Case, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """Every model as often as asked, in each order; with ``early_stop`` only what can still matter."""
        remaining = self.ballots(item)[len(votes) :]
        if not self.early_stop or self.check_positional_bias or item.criteria.any_integer:
            return remaining
        said = [vote.verdict.option for vote in votes if vote.verdict]
        return remaining[: samples_still_needed(said, len(remaining), item.criteria)]

    def ballot(self, case: Case, model: str, question: Choice | Rating, sample: int) -> Ballot:
        """One question to one model."""
        asked = self.panel[model]
        return Ballot(
            criteria=case.criteria,
            instance=case.instance,
            question=question,
            template=case.template,
            model=model,
            language=self.language,
            mode=self.mode or asked.mode if question.labels else "generate",
            feedback=self.generate_feedback,
            persona=self.judge_description_prompt,
            sample=sample,
            temperature=self.temperatures[model],
            seed=seed_for(asked, self.seed, sample),
        )

    def notes(self, item: Case, votes: Sequence[Vote]) -> tuple[str, ...]:  # noqa: ARG002 - as the base class has it
        """What a reader of the result must know."""
        return notes_on(votes, self.language, self.temperatures, persona=self.generate_synthetic_persona)

    async def aevaluate_with_custom_prompt(
        self, judge_prompts: str | Sequence[str], valid_outputs: ValidOutputs = None
    ) -> list[DirectInstanceResult]:
        """Ask prompts of your own, each as it stands. Valid outputs: options, ``(low, high)``, a range, or None: any integer."""
        options = [CriteriaOption(text) for text in _outputs(valid_outputs)]
        prompts = [judge_prompts] if isinstance(judge_prompts, str) else judge_prompts
        cases = [Case(Instance({"prompt": text}), Criteria("custom prompt", text, options), "custom") for text in prompts]
        plain = replace(self, check_positional_bias=False, mode="generate", generate_synthetic_persona=False)
        return await plain.judge_items(cases)

    evaluate_with_custom_prompt = sync_edge(aevaluate_with_custom_prompt)

    async def aimprove(self, instance: InstanceLike, result: DirectInstanceResult) -> str:
        """The judged text, rewritten as the result's feedback says."""
        if not result.feedback:
            raise SetupError("the result has no feedback to improve by: judge with generate_feedback=True")
        found = self.case(self.instance_of(instance), result.criteria).instance
        *_, original = shown_fields(result.criteria, found).values()
        said = {"feedback": result.feedback, "explanation": result.explanation or ""}
        prompt = render_improvement(result.criteria, found, said, self.language)
        name, model = next(iter(self.panel.items()))
        text = original if isinstance(original, str) else "\n".join(original)
        vote = await ask_as(
            Ballot(result.criteria, found, _A_TEXT, "improve", name, self.language),
            model,
            prompt,
            lambda reply: read_text(reply, text),
        )
        if vote.verdict is None:
            raise (Refused if vote.outcome is Outcome.REFUSED else ModelError)(f"the text could not be improved: {vote.reason}")
        return vote.verdict.option

    improve = sync_edge(aimprove)

    def _persona_ballot(self, criteria: Criteria) -> Ballot:
        """It is what it asks: criteria that differ in their names alone have one persona."""
        prompt = render_persona(criteria, self.language)
        asked = Instance({message.role: message.content for message in prompt.messages})
        return Ballot(_WHO_JUDGES, asked, _A_TEXT, _PERSONA, next(iter(self.panel)), self.language, seed=self.seed)

    async def _ask_persona(self, ballot: Ballot) -> Vote:
        """One that was made for an earlier call of this judge is used again."""
        if ballot.id in self._personas:
            return replace(self._personas[ballot.id], usage=Usage(), latency=0.0)
        prompt = Prompt(tuple(Message(role, str(text)) for role, text in ballot.instance.fields.items()))  # type: ignore[arg-type]
        vote = await ask_as(ballot, self.panel[ballot.model], prompt, read_persona)
        if vote.valid:
            self._personas[ballot.id] = vote
        return vote


def _outputs(valid: ValidOutputs) -> Sequence[str]:
    """What a custom prompt may be answered with, as options."""
    if valid is None:
        return [ANY_INTEGER]
    if isinstance(valid, tuple) and len(valid) == 2 and all(isinstance(bound, int) for bound in valid):
        valid = range(int(valid[0]), int(valid[1]) + 1)
    if isinstance(valid, str) or not 1 <= len(valid) <= _MOST_INTEGERS:
        raise SetupError(f"valid outputs are options, or a range of 1 to {_MOST_INTEGERS} integers; None accepts any integer")
    return [str(output) for output in valid]
