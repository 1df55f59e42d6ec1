"""The judges of a run that people's labels say something of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from adjudge.domain.judge_configuration import JudgeConfiguration, judges_of
from adjudge.domain.label import Label
from adjudge.engine.identity import judge_identity
from adjudge.labels.scales import JudgedScale, label_scales
from adjudge.ledger.file import read_meta
from adjudge.runs.folder import reading
from adjudge.runs.judge_changes import changed_at
from adjudge.trust.labels_used import LabelSettings, LabelsUsed, labels_used


@dataclass(frozen=True)
class LabelledJudge:
    """A judge of a run under one criterion, and the labels of that."""

    folder: str | Path
    judge: str
    configuration: JudgeConfiguration
    scale: JudgedScale
    labels: Sequence[Label]

    @property
    def lock(self) -> str:
        """The judge's identity under this criteria."""
        return judge_identity(self.configuration, self.scale.name)

    def used(self, settings: LabelSettings) -> LabelsUsed:
        """The labels by what may be done with them."""
        return labels_used(
            self.labels,
            self.lock,
            model_made=settings.labels_are_model_made,
            since=self._changed_at(settings),
            older=settings.labels_before_change,
        )

    def _changed_at(self, settings: LabelSettings) -> float | None:
        identity = judge_identity(self.configuration)
        found = (changed_at(self.folder, identity), settings.changes.get(identity))
        return max((one for one in found if one is not None), default=None)


def configurations(folder: str | Path) -> dict[str, JudgeConfiguration]:
    """Judge → how it was set, as the run's ledger has it."""
    with reading(folder) as ledger:
        return judges_of(read_meta(ledger).get("configuration"))


def labelled_judges(
    folder: str | Path, labels: Sequence[Label], criteria: str | None
) -> Iterator[LabelledJudge]:
    """Each judge under each criterion that has labels; ``criteria``: only under these."""
    known = configurations(folder)
    for scale in label_scales(folder):
        own = [one for one in labels if one.criteria == scale.name]
        for judge in scale.judges if own and criteria in (None, scale.name) else ():
            yield LabelledJudge(folder, judge, known[judge], scale, own)
