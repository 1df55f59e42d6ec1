"""The part of a report for rows with steps: the trajectory, and the explanation of a measure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from adjudge.core.domain.record import JudgmentRecord
from adjudge.features.agents.record import AgentDetail
from adjudge.features.agents.step_list import StepsOfReport
from adjudge.runs.sections import SectionPart, SectionTally

if TYPE_CHECKING:
    pass


class StepsPart(SectionPart):
    """The report section for rows with steps. It adds templates, but no numbers."""

    templates: ClassVar[Mapping[str, str]] = {
        "style.html": "adjudge.features.agents:steps.css",
        "row_texts.html": "adjudge.features.agents:row_texts.html.jinja",
    }

    def explains(self, record: JudgmentRecord) -> bool:
        return record.detail.kind == AgentDetail.kind

    def page_state(self, language: str) -> StepsOfReport:
        """Return a renderer of trajectories for one page, which stops when the page is full."""
        return StepsOfReport(language)


class StepsTally(SectionTally):
    """Adds no counts, since every judgment of a trajectory has its own score."""

    name: ClassVar[str] = "steps"

    def add(self, record: JudgmentRecord) -> None:
        """Do nothing."""

    def summary(self) -> StepsPart:
        return StepsPart()
