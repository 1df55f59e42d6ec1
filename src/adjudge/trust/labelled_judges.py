"""The judges of a run that people's labels say something of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.domain.label import Label
from adjudge.core.engine.identity import judge_identity
from adjudge.core.ledger.file import read_judges, read_meta
from adjudge.messages import Message, plural
from adjudge.runs.folder import reading
from adjudge.runs.judge_changes import changed_at
from adjudge.trust.labels.scales import JudgedScale, label_scales
from adjudge.trust.usable_labels import LabelSettings, LabelsUsed, labels_used, nonzero

_NOTHING: Mapping[str, float] = MappingProxyType({})


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
        found = labels_used(
            self.labels,
            self.lock,
            model_made=settings.labels_are_model_made,
            since=found_changed(self.folder, self.configuration, settings.changes),
            older=settings.labels_before_change,
        )
        found, learned = self._without_learned_rows(found)
        return replace(
            found, notes=(*found.notes, *learned, *self._of_an_earlier_run(found.labels))
        )

    def _without_learned_rows(self, used: LabelsUsed) -> tuple[LabelsUsed, list[Message]]:
        """Leave out labels that the judge learned from: it would measure itself."""
        learned = self.configuration.learned_rows
        length = max(map(len, learned), default=0)
        rows = {one.row for one in used.labels if length and one.row[:length] in learned}
        count = sum(one.row in rows for one in used.labels)
        return used.without(rows), nonzero(
            plural(
                "{count} label is of a row that the judge learned from, and does not count",
                "{count} labels are of rows that the judge learned from, and do not count",
                count,
            )
        )

    def _of_an_earlier_run(self, labels: Sequence[Label]) -> list[Message]:
        """A judge need not say the same twice, and rows were drawn by what it said then."""
        with reading(self.folder) as ledger:
            began = read_meta(ledger).get("started")
        count = sum(
            one.design in ("random_within_verdict", "random_weighted")
            and one.drawn_at is not None
            and isinstance(began, int | float)
            and one.drawn_at < began
            for one in labels
        )
        return nonzero(
            plural(
                "{count} label is of a row that was drawn by the verdicts of an earlier run: it is "
                "a random one as far as this run says the same",
                "{count} labels are of rows that were drawn by the verdicts of an earlier run: "
                "they are a random sample as far as this run says the same",
                count,
            )
        )


def found_changed(
    folder: str | Path, configuration: JudgeConfiguration, told: Mapping[str, float] = _NOTHING
) -> float | None:
    """When a judge of a run was last found changed, as its runs or ``told`` say."""
    identity = judge_identity(configuration)
    found = (changed_at(folder, identity), told.get(identity))
    return max((one for one in found if one is not None), default=None)


def configurations(folder: str | Path) -> dict[str, JudgeConfiguration]:
    """Judge → how it was set, as the run's ledger has it."""
    with reading(folder) as ledger:
        return read_judges(ledger)


def labelled_judges(
    folder: str | Path, labels: Sequence[Label], criteria: str | None
) -> Iterator[LabelledJudge]:
    """Each judge under each criterion that has labels; ``criteria``: only under these."""
    known = configurations(folder)
    for scale in label_scales(folder):
        own = [one for one in labels if one.criteria == scale.name]
        for judge in scale.judges if own and criteria in (None, scale.name) else ():
            yield LabelledJudge(folder, judge, known[judge], scale, own)
