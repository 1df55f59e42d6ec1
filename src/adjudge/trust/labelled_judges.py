"""Judges of a run that have labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from adjudge.trust.labels.scales import JudgedScale, label_scales, opposed_scales
from adjudge.trust.labels.store import LabelStore, counting_labels
from adjudge.trust.usable_labels import LabelSettings, LabelsUsed, nonzero, sort_labels

_NOTHING: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True)
class LabelledJudge:
    """A judge of a run and one of its criteria, with that criterion's labels."""

    folder: str | Path
    judge: str
    configuration: JudgeConfiguration
    scale: JudgedScale
    labels: Sequence[Label]
    notes: Sequence[Message] = ()
    """The number of labels that were given for it and do not count, if any."""

    @property
    def lock(self) -> str:
        """The judge's identity for this criterion."""
        return judge_identity(self.configuration, self.scale.name)

    def used(self, settings: LabelSettings) -> LabelsUsed:
        """Sort the labels by how they may be used."""
        sorted_labels = sort_labels(
            self.labels,
            self.lock,
            model_made=settings.labels_are_model_made,
            since=latest_change(self.folder, self.configuration, settings.changes),
            older=settings.labels_before_change,
        )
        sorted_labels, learned = self._without_learned_rows(sorted_labels)
        return replace(
            sorted_labels,
            notes=(
                *sorted_labels.notes,
                *self.notes,
                *learned,
                *self._of_an_earlier_run(sorted_labels.labels),
            ),
        )

    def _without_learned_rows(self, used: LabelsUsed) -> tuple[LabelsUsed, list[Message]]:
        """Leave out labels that the judge learned from, which would make it measure itself."""
        learned = self.configuration.learned_rows
        rows = {label.row for label in used.labels if label.row in learned}
        count = sum(label.row in rows for label in used.labels)
        return used.without(rows), learned_labels_note(count)

    def _of_an_earlier_run(self, labels: Sequence[Label]) -> list[Message]:
        """Warn about labels drawn using an earlier run's verdicts, which may have been
        different.
        """
        with reading(self.folder) as ledger:
            began = read_meta(ledger).get("started")
        count = sum(
            label.design in ("random_within_verdict", "random_weighted")
            and label.drawn_at is not None
            and isinstance(began, int | float)
            and label.drawn_at < began
            for label in labels
        )
        return nonzero(
            plural(
                "{count} label is for a row that was drawn by the verdicts of an earlier run: it "
                "is random only as far as this run has the same verdicts",
                "{count} labels are for rows that were drawn by the verdicts of an earlier run: "
                "they are a random sample only as far as this run has the same verdicts",
                count,
            )
        )


def learned_labels_note(count: int) -> list[Message]:
    """Say how many labels do not count because the judge learned from their rows."""
    return nonzero(
        plural(
            "{count} label does not count, because the judge learned from its row",
            "{count} labels do not count, because the judge learned from their rows",
            count,
        )
    )


def replaced_labels_note(given: Sequence[Label], counting: Sequence[Label]) -> list[Message]:
    """Say how many of the given labels do not count because their annotator replaced them."""
    done = [sum(label.is_done for label in labels) for labels in (given, counting)]
    return nonzero(
        plural(
            "{count} label does not count, because its annotator labelled the row again later",
            "{count} labels do not count, because their annotator labelled the row again later",
            done[0] - done[1],
        )
    )


def latest_change(
    folder: str | Path,
    configuration: JudgeConfiguration,
    stated_changes: Mapping[str, float] = _NOTHING,
) -> float | None:
    """Return when a judge was last found changed, from its runs or ``stated_changes``; None if
    never.
    """
    identity = judge_identity(configuration)
    moments = (changed_at(folder, identity), stated_changes.get(identity))
    return max((moment for moment in moments if moment is not None), default=None)


def configurations(folder: str | Path) -> dict[str, JudgeConfiguration]:
    """Return each judge's configuration as stored in the run's ledger."""
    with reading(folder) as ledger:
        return read_judges(ledger)


def labelled_judges(
    folder: str | Path, labels: Iterable[Label] | None, criteria: str | None
) -> Iterator[LabelledJudge]:
    """Yield each judge with each of its criteria that has labels. ``criteria``: only this one.

    ``labels``: used instead of those in the run folder. An annotator's latest one for a row counts;
    of several with the same time, the one given last.
    """
    given = None if labels is None else list(labels)
    counting = list(LabelStore(folder).of_each_copy() if given is None else counting_labels(given))
    judges, scales = configurations(folder), label_scales(folder)
    unclear = {scale.name for pair in opposed_scales(scales) for scale in pair}
    for scale in scales:
        if scale.name in unclear:
            continue
        criterion_labels = [label for label in counting if label.criteria == scale.name]
        criterion_given = [label for label in given or () if label.criteria == scale.name]
        notes = replaced_labels_note(criterion_given, criterion_labels) if given else ()
        for judge in scale.judges if criterion_labels and criteria in (None, scale.name) else ():
            yield LabelledJudge(folder, judge, judges[judge], scale, criterion_labels, notes)
