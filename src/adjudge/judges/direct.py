"""Texts judged one by one by a criteria with options."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from adjudge.domain.ballot import Ballot, Mode
from adjudge.domain.criteria import ANY_INTEGER, Criteria, CriteriaOption
from adjudge.domain.instance import Instance
from adjudge.domain.message import Prompt, Request
from adjudge.domain.results import DirectInstanceResult
from adjudge.domain.vote import Outcome, Vote
from adjudge.engine.ask import ask, prompt_for
from adjudge.errors import BudgetSpent, ModelError, SetupError
from adjudge.gateway import home
from adjudge.judges.base import InstanceLike, check_mode, seed_for, temperature_for
from adjudge.judges.base_direct import BaseDirectJudge
from adjudge.judges.case import Case
from adjudge.judges.served import Served
from adjudge.pooling.majority import samples_still_needed
from adjudge.prompts.render import render_improvement, render_persona

ValidOutputs = Sequence[str] | tuple[int, int] | range | None
_MOST_INTEGERS = 1000


@dataclass(kw_only=True, eq=False)
class DirectJudge(Served[DirectInstanceResult], BaseDirectJudge):
    """Asks models to choose one of the criteria's options."""

    generate_feedback: bool = False
    """Ask for advice on how the text would get the best option."""
    judge_description_prompt: str | None = None
    """Who the judge is told to be."""
    generate_synthetic_persona: bool = False
    """Have the model invent that, once for each criteria."""
    mode: Mode | None = None
    early_stop: bool = False
    """Ask only as many votes as can still change the option."""
    _personas: dict[Prompt, asyncio.Task[str]] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.generate_synthetic_persona and self.judge_description_prompt:
            raise SetupError("a judge has a description or a synthetic persona, not both")
        check_mode(self.mode, self._panel)

    async def ask(self, ballot: Ballot) -> Vote:
        """Ask the model that the ballot names."""
        if self.generate_synthetic_persona and ballot.mode == "generate":
            try:
                ballot = replace(ballot, persona=await self._persona(ballot.criteria))
            except BudgetSpent:
                raise
            except ModelError as error:
                reason = f"the persona could not be made: {error}"
                return Vote(ballot=ballot, outcome=Outcome.MODEL_ERROR, reason=reason)
        return await ask(ballot, self._panel[ballot.model], self.max_repairs)

    def plan(self, item: Case, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """Every model as often as asked, in each order; with ``early_stop`` only what can still matter."""
        remaining = self.ballots(item)[len(votes) :]
        if not self.early_stop or self.check_positional_bias:
            return remaining
        said = [vote.verdict.option for vote in votes if vote.verdict]
        return remaining[: samples_still_needed(said, len(remaining), item.criteria)]

    def ballot(self, case: Case, model: str, order: tuple[int, ...] | None, sample: int) -> Ballot:
        """One question to one model."""
        asked = self._panel[model]
        return Ballot(
            criteria=case.criteria,
            instance=case.instance,
            template=case.template,
            model=model,
            language=self.language,
            mode=self.mode or asked.mode,
            order=order,
            feedback=self.generate_feedback,
            persona=self.judge_description_prompt,
            sample=sample,
            temperature=temperature_for(asked, self.temperature, self.samples),
            seed=seed_for(asked, self.seed, sample),
        )

    def prompt(self, ballot: Ballot) -> Prompt:
        """What the model is shown."""
        return prompt_for(ballot)

    def evaluate_with_custom_prompt(
        self, judge_prompts: Sequence[str], valid_outputs: ValidOutputs = None
    ) -> list[DirectInstanceResult]:
        """Ask prompts of your own, each as it stands. Valid outputs: options, ``(low, high)``, a range, or None: any integer."""
        return home.run(self.aevaluate_with_custom_prompt(judge_prompts, valid_outputs))

    async def aevaluate_with_custom_prompt(
        self, judge_prompts: Sequence[str], valid_outputs: ValidOutputs = None
    ) -> list[DirectInstanceResult]:
        """``evaluate_with_custom_prompt`` for async code."""
        options = [CriteriaOption(text) for text in _outputs(valid_outputs)]
        cases = [Case(Instance({"prompt": text}), Criteria("custom prompt", text, options), "custom") for text in judge_prompts]
        plain = replace(self, check_positional_bias=False, mode="generate", generate_synthetic_persona=False)
        return await plain.judge_items(cases)

    def improve(self, instance: InstanceLike, result: DirectInstanceResult) -> str:
        """The judged text, rewritten as the result's feedback says."""
        return home.run(self.aimprove(instance, result))

    async def aimprove(self, instance: InstanceLike, result: DirectInstanceResult) -> str:
        """``improve`` for async code."""
        if not result.feedback:
            raise SetupError("the result has no feedback to improve by: judge with generate_feedback=True")
        found = self.case(self.instance_of(instance), result.criteria).instance
        said = {"feedback": result.feedback, "explanation": result.explanation or ""}
        return await self._write(Request(render_improvement(result.criteria, found, said, self.language), temperature=0.0))

    async def _persona(self, criteria: Criteria) -> str:
        """Made once for all criteria that ask the same; one that could not be made is tried again."""
        prompt = render_persona(criteria, self.language)
        known = self._personas.get(prompt)
        if known is None or (known.done() and (known.cancelled() or known.exception())):
            request = Request(prompt, temperature=0.0, seed=self.seed)
            known = self._personas[prompt] = asyncio.create_task(self._write(request))
        return await asyncio.shield(known)

    async def _write(self, request: Request) -> str:
        """What the first model writes, as plain text."""
        reply = await next(iter(self._panel.values())).complete(request)
        return reply.text.strip()


def _outputs(valid: ValidOutputs) -> Sequence[str]:
    """What a custom prompt may be answered with, as options."""
    if valid is None:
        return [ANY_INTEGER]
    if isinstance(valid, tuple) and len(valid) == 2 and all(isinstance(bound, int) for bound in valid):
        valid = range(int(valid[0]), int(valid[1]) + 1)
    if isinstance(valid, str) or not 1 <= len(valid) <= _MOST_INTEGERS:
        raise SetupError(f"valid outputs are options, or a range of 1 to {_MOST_INTEGERS} integers; None accepts any integer")
    return [str(output) for output in valid]
