"""Responses compared with each other."""

from __future__ import annotations

from dataclasses import dataclass, replace

from adjudge.domain.ballot import Ballot, Mode
from adjudge.domain.criteria import Criteria
from adjudge.domain.message import Prompt
from adjudge.domain.question import Comparison
from adjudge.domain.results import PairwiseInstanceResult
from adjudge.domain.verdict import TIE
from adjudge.domain.vote import Vote
from adjudge.engine.ask import ask, prompt_for
from adjudge.judges.base_pairwise import BasePairwiseJudge
from adjudge.judges.case import Case
from adjudge.judges.planned import check_mode, seed_for, temperature_for
from adjudge.judges.served import Served


@dataclass(kw_only=True, eq=False)
class PairwiseJudge(Served[PairwiseInstanceResult], BasePairwiseJudge):
    """Asks models which of two or more responses is better.

    Parameters:
        judge_description_prompt: who the judge is told to be.
        mode: "generate": the model writes a verdict with its explanation; "likelihood": the options are compared by their
            log-probability, nothing is written. By default local models do the latter, all others the former.
    """

    judge_description_prompt: str | None = None
    mode: Mode | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_mode(self.mode, self._panel)

    async def ask(self, ballot: Ballot) -> Vote:
        """Ask the model that the ballot names."""
        return await ask(ballot, self._panel[ballot.model], self.max_repairs)

    def ballot(self, case: Case, model: str, question: Comparison, sample: int) -> Ballot:
        """One question to one model."""
        asked = self._panel[model]
        return Ballot(
            criteria=self._offered_only(case.criteria),
            instance=case.instance,
            question=question,
            template="pairwise",
            model=model,
            language=self.language,
            mode=self.mode or asked.mode,
            persona=self.judge_description_prompt,
            sample=sample,
            temperature=temperature_for(asked, self.temperature, self.samples),
            seed=seed_for(asked, self.seed, sample),
        )

    def prompt(self, ballot: Ballot) -> Prompt:
        """What the model is shown."""
        return prompt_for(ballot)

    def _offered_only(self, criteria: Criteria) -> Criteria:
        """Without examples of a tie where there is none."""
        shown = [example for example in criteria.examples if self.tie_enabled or example.option != TIE]
        return replace(criteria, examples=shown) if len(shown) < len(criteria.examples) else criteria
