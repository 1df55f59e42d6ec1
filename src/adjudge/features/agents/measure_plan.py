"""Plan the measures of a trajectory, and pool rules and votes into results."""

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
    """All measures of an evaluation: rules, and questions to models."""

    settings: AgentSettings
    budget: StepsBudget
    ballots: MakeBallots

    @cached_property
    def questions(self) -> Mapping[str, Questioning]:
        """The measures that need a model, by name."""
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
        """Return the next ballots: first those for the conditions, then those for the measure
        itself.
        """
        for name, cast in self._votes_by_measure(item, votes).items():
            question = self.questions.get(name)
            if question is not None and question.reason_against(item) is None:
                ballots = question.plan(item, cast)
                if ballots:
                    return ballots
            if name != item.measure and self._refusal(item, votes) is not None:
                return []
        return []

    def plan_all(self, item: AgentItem) -> Sequence[Ballot]:
        """Return all ballots that may be cast, including those that are too long."""
        return [
            ballot
            for name in self._measures_behind(item)
            if (question := self.questions.get(name)) and question.reason_against(item) is None
            for ballot in question.plan_all(item)
        ]

    def _measures_behind(self, item: AgentItem) -> list[str]:
        """Return the measures that an item depends on, its own last."""
        return [*(condition.measure for condition in self.settings.conditions), item.measure]

    def _votes_by_measure(
        self, item: AgentItem, votes: Sequence[Vote]
    ) -> Mapping[str, Sequence[Vote]]:
        """Group the votes by measure: conditions first, then the item's own measure."""
        names = self._measures_behind(item)
        if len(names) == 1:
            return {item.measure: votes}
        return {
            name: [vote for vote in votes if _measure_of(vote) == name]
            for name in dict.fromkeys(names)
        }

    def _refusal(self, item: AgentItem, votes: Sequence[Vote]) -> Message | None:
        """Describe the first condition that does not hold; None if all hold."""
        cast = self._votes_by_measure(item, votes)
        for condition in self.settings.conditions:
            result = self._result(
                replace(item, measure=condition.measure), cast.get(condition.measure, ())
            )
            if not condition.holds(result):
                answer = result.option or (
                    result.reason if result.score is None else f"{result.score:g}"
                )
                return Message(
                    "not judged: {measure} is {said}", measure=condition.measure, said=answer or "–"
                )
        return None

    def pool(self, item: AgentItem, votes: Sequence[Vote]) -> MeasureResult:
        """Apply the rule or pool the votes; skip the item if a condition does not hold."""
        refusal = self._refusal(item, votes) if self.settings.conditions else None
        if refusal is not None:
            return self._skipped_result(item, refusal)
        return self._result(item, self._votes_by_measure(item, votes)[item.measure])

    def _result(self, item: AgentItem, votes: Sequence[Vote]) -> MeasureResult:
        if item.measure in RULES:
            return self._by_rule(item)
        question = self.questions[item.measure]
        reason = question.reason_against(item)
        return (
            self._skipped_result(item, reason) if reason is not None else question.pool(item, votes)
        )

    def _by_rule(self, item: AgentItem) -> MeasureResult:
        measurement = measure(
            item.measure, item.trajectory, self.settings.expectations, item.columns
        )
        if measurement.value is None:
            reason = measurement.reason or Message("there is nothing to measure")
            skipped = self._skipped_result(item, reason)
            return replace(skipped, status=Status.ABSTAINED) if measurement.untold else skipped
        verdict = (
            (PASS if measurement.value else FAIL) if isinstance(measurement.value, bool) else None
        )
        parts = tuple(
            MeasuredPart(text=part.sentence, step=part.step) for part in measurement.parts
        )
        return MeasureResult(
            instance=item.light,
            criteria=measure_criteria(item.measure, self.settings.language),
            measure=item.measure,
            score=float(measurement.value),
            option=verdict,
            parts=parts,
            explanation=join("; ", [said.text for said in parts[:_MOST_SAID]]) if parts else None,
        )

    def _skipped_result(self, item: AgentItem, reason: Message) -> MeasureResult:
        return MeasureResult(
            instance=item.light,
            criteria=measure_criteria(item.measure, self.settings.language, self.settings.kinds),
            status=Status.SKIPPED,
            measure=item.measure,
            explanation=reason,
        )


def _measure_of(vote: Vote) -> str:
    """Return the measure that a vote belongs to."""
    name, template = vote.ballot.criteria.name, vote.ballot.template
    if template.startswith("evidence") or template == "claims":
        return REPORTED
    if template == POINTS:
        return CHECKLIST
    return BLAME if name.startswith("blame") else name
