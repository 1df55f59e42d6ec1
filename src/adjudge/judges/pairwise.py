"""Responses compared with each other."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from adjudge.domain.ballot import Ballot, Mode
from adjudge.domain.criteria import Criteria
from adjudge.domain.question import Comparison
from adjudge.domain.verdict import TIE
from adjudge.judges.base_pairwise import BasePairwiseJudge, ContestSettings, Pairwise
from adjudge.judges.case import Case
from adjudge.judges.settings import ModelSettings, OnFailure, check_mode, failure_by_either_name, seed_for


@BasePairwiseJudge.register
@dataclass(frozen=True, kw_only=True)
class PairwiseJudge(ContestSettings, ModelSettings, Pairwise):
    """Asks models which of two or more responses is better.

    Parameters:
        judge_description_prompt: who the judge is told to be.
        mode: "generate": the model writes a verdict with its explanation; "likelihood": the options are compared by their
            log-probability, nothing is written. By default local models do the latter, all others the former.
        on_generation_failure: EvalAssist's name of ``on_failure``.
    """

    judge_description_prompt: str | None = None
    mode: Mode | None = None
    on_generation_failure: OnFailure | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "on_failure", failure_by_either_name(self.on_failure, self.on_generation_failure))
        object.__setattr__(self, "on_generation_failure", None)  # said once, so that copies with another on_failure can be made
        super().__post_init__()
        check_mode(self.mode, self.panel)

    def ballot(self, case: Case, model: str, question: Comparison, sample: int) -> Ballot:
        """One question to one model."""
        asked = self.panel[model]
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
            temperature=self.temperatures[model],
            seed=seed_for(asked, self.seed, sample),
        )

    def _offered_only(self, criteria: Criteria) -> Criteria:
        """Without examples of a tie where there is none."""
        shown = [example for example in criteria.examples if self.tie_enabled or example.option != TIE]
        return replace(criteria, examples=shown) if len(shown) < len(criteria.examples) else criteria
