"""Measures of a trajectory: what is planned, and what rules and votes come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from adjudge.core.domain.check_result import FAIL, PASS
from adjudge.core.domain.results import Status
from adjudge.core.domain.vote import Ballot, Vote
from adjudge.core.judges.settings import ModelPanel
from adjudge.features.agents.item import AgentItem
from adjudge.features.agents.measures import BLAME, CHECKLIST, JUDGED, REPORTED, measure_criteria
from adjudge.features.agents.model_measures import (
    POINTS,
    BlameQuestioning,
    ChecklistQuestioning,
    CriteriaQuestioning,
    MakeBallots,
    Questioning,
    ReportedQuestioning,
)
from adjudge.features.agents.record import MeasuredPart
from adjudge.features.agents.result import MeasureResult
from adjudge.features.agents.rules import RULES, measure
from adjudge.features.agents.settings import AgentSettings
from adjudge.features.agents.window import StepsBudget
from adjudge.features.evidence.judge import EvidenceJudge
from adjudge.messages import Message, join

_MOST_SAID = 5


@dataclass(frozen=True)
class Measuring:
    """All measures of an evaluation: rules, and questions that are asked of models."""

    settings: AgentSettings
    budget: StepsBudget
    ballots: MakeBallots

    @cached_property
    def questions(self) -> Mapping[str, Questioning]:
        """The measures that a model is asked about, by name."""
        names = [name for name in (*self.settings.measures, *self.settings.only) if name in JUDGED]
        return {name: self._question(name) for name in dict.fromkeys(names)}

    def _question(self, name: str) -> Questioning:
        common = (name, self.settings.language, self.budget, self.settings.votes, self.ballots)
        criteria = measure_criteria(name, self.settings.language, self.settings.kinds)
        if name == CHECKLIST:
            return ChecklistQuestioning(*common, derive=self.settings.derive)
        if name == REPORTED:
            return ReportedQuestioning(*common, judge=self._evidence, criteria=criteria)
        if name == BLAME:
            return BlameQuestioning(*common, kinds=self.settings.kinds, method=self.settings.blame)
        return CriteriaQuestioning(*common, criteria=criteria, policy=self.settings.policy_text)

    @cached_property
    def _evidence(self) -> EvidenceJudge:
        writes = all(
            (self.settings.mode or model.mode) == "generate"
            for model in ModelPanel.of(self.settings.model).values()
        )
        return EvidenceJudge(
            self.settings.model,
            method="joint" if writes else "each",
            votes=self.settings.votes,
            language=self.settings.language,
            temperature=self.settings.temperature,
            seed=self.settings.seed,
            mode=self.settings.mode,
            max_repairs=self.settings.max_repairs,
        )

    def plan(self, item: AgentItem, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """What the conditions need first, then the question itself."""
        for name, cast in self._votes_by_measure(item, votes).items():
            asked = self.questions.get(name)
            if asked is not None and asked.reason_against(item) is None:
                ballots = asked.plan(item, cast)
                if ballots:
                    return ballots
            if name != item.measure and self._refusal(item, votes) is not None:
                return []
        return []

    def plan_all(self, item: AgentItem) -> Sequence[Ballot]:
        """All that may be asked, and what is too long to be."""
        return [
            ballot
            for name in self._needed(item)
            if (asked := self.questions.get(name)) and asked.reason_against(item) is None
            for ballot in asked.plan_all(item)
        ]

    def _needed(self, item: AgentItem) -> list[str]:
        """The measures behind an item, its own last."""
        return [*(one.measure for one in self.settings.conditions), item.measure]

    def _votes_by_measure(
        self, item: AgentItem, votes: Sequence[Vote]
    ) -> Mapping[str, Sequence[Vote]]:
        """The votes of each measure that is needed, in the order they are asked."""
        needed = self._needed(item)
        if len(needed) == 1:
            return {item.measure: votes}
        return {
            name: [vote for vote in votes if _measure_of(vote) == name]
            for name in dict.fromkeys(needed)
        }

    def _refusal(self, item: AgentItem, votes: Sequence[Vote]) -> Message | None:
        """Which condition does not hold; None where all do that can be told so far."""
        cast = self._votes_by_measure(item, votes)
        for one in self.settings.conditions:
            found = self._measured(replace(item, measure=one.measure), cast.get(one.measure, ()))
            if not one.holds(found):
                said = found.option or (found.reason if found.score is None else f"{found.score:g}")
                return Message(
                    "not judged: {measure} is {said}", measure=one.measure, said=said or "–"
                )
        return None

    def pool(self, item: AgentItem, votes: Sequence[Vote]) -> MeasureResult:
        """The number of a rule, or what the votes come to."""
        refusal = self._refusal(item, votes) if self.settings.conditions else None
        if refusal is not None:
            return self._skipped(item, refusal)
        return self._measured(item, self._votes_by_measure(item, votes)[item.measure])

    def _measured(self, item: AgentItem, votes: Sequence[Vote]) -> MeasureResult:
        if item.measure in RULES:
            return self._by_rule(item)
        asked = self.questions[item.measure]
        reason = asked.reason_against(item)
        return self._skipped(item, reason) if reason is not None else asked.pool(item, votes)

    def _by_rule(self, item: AgentItem) -> MeasureResult:
        found = measure(item.measure, item.trajectory, self.settings.expectations, item.columns)
        if found.value is None:
            reason = found.reason or Message("there is nothing to measure")
            skipped = self._skipped(item, reason)
            return replace(skipped, status=Status.ABSTAINED) if found.untold else skipped
        verdict = (PASS if found.value else FAIL) if isinstance(found.value, bool) else None
        parts = tuple(MeasuredPart(text=one.sentence, step=one.step) for one in found.parts)
        return MeasureResult(
            instance=item.light,
            criteria=measure_criteria(item.measure, self.settings.language),
            measure=item.measure,
            score=float(found.value),
            option=verdict,
            parts=parts,
            explanation=join("; ", [one.text for one in parts[:_MOST_SAID]]) if parts else None,
        )

    def _skipped(self, item: AgentItem, reason: Message) -> MeasureResult:
        return MeasureResult(
            instance=item.light,
            criteria=measure_criteria(item.measure, self.settings.language, self.settings.kinds),
            status=Status.SKIPPED,
            measure=item.measure,
            explanation=reason,
        )


def _measure_of(vote: Vote) -> str:
    """The measure that a vote belongs to."""
    name, template = vote.ballot.criteria.name, vote.ballot.template
    if template.startswith("evidence") or template == "claims":
        return REPORTED
    if template == POINTS:
        return CHECKLIST
    return BLAME if name.startswith("blame") else name
