"""Learn from labels at which confidence each step of a cascade may be accepted, and what that
saves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, TypedDict

from adjudge.core.domain.frozen_mapping import some_of
from adjudge.core.domain.json_document import fill
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.judge_criterion import JudgeCriterion
from adjudge.core.domain.label import Label
from adjudge.core.engine.identity import step_identities
from adjudge.core.judges.learnt_settings import CascadeThresholds
from adjudge.core.ledger.records import records
from adjudge.core.reading.types import Number, key
from adjudge.errors import SetupError
from adjudge.messages import Message, join, plural
from adjudge.runs.folder import reading
from adjudge.stats.refusal import Refusal, RefusalShape
from adjudge.stats.selective import Stage, cascade_thresholds
from adjudge.stats.threshold import Threshold
from adjudge.trust.contestants import Contestants
from adjudge.trust.labelled_judges import LabelledJudge, labelled_judges
from adjudge.trust.learnt_weights import label_date
from adjudge.trust.rows import LabelledRow, Rows, by_row, independent_rows
from adjudge.trust.usable_labels import LabelSettings, LabelsUsed, nonzero

_SHARE = Number(above=0, below=1)


@dataclass(frozen=True, kw_only=True)
class CascadeSettings(LabelSettings):
    """Settings of thresholds. Of each group of rows that belong together, one row counts."""

    risk: float = key(
        _SHARE,
        "With --cascade and --probabilities: the greatest share of errors among accepted verdicts.",
        0.1,
    )
    delta: float = key(
        _SHARE, "With --cascade and --probabilities: the probability that the promise fails.", 0.05
    )
    """Each step has an equal part of it."""


class ThresholdShape(TypedDict):
    """The confidence from which on one step is accepted."""

    step: str
    identity: str
    confidence: float | None
    rows: int
    accepted: int
    errors: int
    limit: float | None
    reason: str


class ThresholdsShape(TypedDict):
    """The confidence from which on the steps of a cascade are accepted, by labels."""

    judge: str
    criteria: str
    risk: Annotated[float, "the greatest share of errors among accepted verdicts"]
    delta: Annotated[float, "how often that promise may fail"]
    labels: int
    date: str
    steps: Sequence[ThresholdShape]
    refusal: RefusalShape | None
    notes: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class CascadeReport(JudgeCriterion):
    """The thresholds of a cascade's steps for one criterion."""

    thresholds: CascadeThresholds
    notes: tuple[str, ...] = ()
    refusal: Refusal | None = None
    """Why the labels do not speak for any step."""

    @property
    def accepted(self) -> int:
        """The number of labelled rows that any step would decide."""
        return sum(step.accepted for step in self.thresholds.steps)

    @property
    def lines(self) -> Iterator[str]:
        thresholds = self.thresholds
        yield Message(
            "cascade {name}: at most {risk:.1%} of the accepted verdicts are wrong, except with "
            "probability {delta:g}; learned from {source}",
            name=self.name,
            risk=thresholds.risk,
            delta=thresholds.delta,
            source=thresholds.source,
        )
        for step in thresholds.steps:
            yield join(": ", (step.step, step_text(step)))
        if thresholds.labels:
            yield Message(
                "of {labels} labelled rows the steps decide {accepted}; the rest is left to "
                "'otherwise'",
                labels=thresholds.labels,
                accepted=self.accepted,
            )
        yield from self.notes

    def to_dict(self) -> JsonDict:
        learnt = self.thresholds
        return fill(
            ThresholdsShape,
            self,
            risk=learnt.risk,
            delta=learnt.delta,
            labels=learnt.labels,
            date=learnt.date,
            steps=learnt.steps,
        )


def step_text(threshold: Threshold) -> str:
    """State the confidence from which a step is accepted, or why it never is."""
    if threshold.confidence is None:
        return (
            threshold.reason
            if threshold.reason.startswith("never")
            else Message("never accept: {reason}", reason=threshold.reason)
        )
    values = some_of(threshold, "confidence", "accepted", "rows", "errors")
    if threshold.limit is None:
        return Message(
            "accept if the confidence is at least {confidence:.3f}: {accepted} of {rows} "
            "labelled rows, {errors} of them wrong",
            **values,
        )
    return Message(
        "accept if the confidence is at least {confidence:.3f}: {accepted} of {rows} labelled "
        "rows, {errors} of them wrong, so the error rate is at most {limit:.1%}",
        limit=threshold.limit,
        **values,
    )


_SETTINGS = CascadeSettings()


def calibrate_cascades(
    folder: str | Path,
    labels: Iterable[Label] | None = None,
    *,
    criteria: str | None = None,
    settings: CascadeSettings = _SETTINGS,
) -> list[CascadeReport]:
    """Learn thresholds for each cascade and criterion of a run that has labels.

    The run must have asked every step about every row, so its cascades must be uncalibrated.
    ``labels``: used instead of those in the run folder. ``criteria``: only this one.
    """
    return [
        _learn_thresholds(judge, settings)
        for judge in labelled_judges(folder, labels, criteria)
        if _is_cascade(judge)
    ]


def _is_cascade(judge: LabelledJudge) -> bool:
    """Return True for a cascade. Raises a SetupError if it did not ask every step about every
    row.
    """
    if not judge.configuration.steps:
        return False
    if any(
        judge.configuration.settings.get(name) is not None for name in ("calibration", "promised")
    ):
        raise SetupError(
            "the cascade {judge!r} of {folder} had thresholds, so not every step was asked about "
            "every row: take 'calibration' out of the eval file, run it into another folder and "
            "calibrate that",
            judge=judge.judge,
            folder=judge.folder,
        )
    return True


def _learn_thresholds(judge: LabelledJudge, settings: CascadeSettings) -> CascadeReport:
    used, criteria = judge.used(settings), judge.scale.name
    with reading(judge.folder) as ledger:
        contestants = Contestants.of_judge(ledger, judge.judge)
        rows = Rows(
            judge.scale.scale,
            by_row(used.labels),
            settings.cluster,
            contestants=contestants,
        )
        for record in records(ledger, judge=judge.judge):
            rows.add(record)
    drawn, notes = drawn_rows(rows)
    identities = step_identities(judge.configuration, criteria)
    stages = [_stage(drawn, step) for step in identities]
    learnt = cascade_thresholds(stages, risk=settings.risk, doubt=settings.delta)
    thresholds = CascadeThresholds(
        criteria=criteria,
        risk=settings.risk,
        delta=settings.delta,
        labels=len(drawn),
        date=label_date(used.labels),
        steps=tuple(
            replace(
                threshold,
                step=step,
                identity=identity,
                reason=_NO_CONFIDENCE
                if threshold.confidence is None and not threshold.rows
                else threshold.reason,
            )
            for (step, identity), threshold in zip(identities.items(), learnt, strict=True)
        ),
    )
    return CascadeReport(
        judge=judge.judge,
        criteria=criteria,
        thresholds=thresholds,
        notes=(*([_MODEL_MADE] if used.model_made else []), *used.notes, *notes),
        refusal=_refusal(used, thresholds),
    )


def drawn_rows(rows: Rows) -> tuple[list[LabelledRow], list[Message]]:
    """Return labelled rows drawn from the whole run, one per text and group, and notes on those
    left out.
    """
    labelled = rows.labelled
    drawn = [row for row in labelled if row.random]
    decided = [row for row in drawn if isinstance(row.truth, str)]
    # a promise about errors needs independent rows: one per text and per group
    independent = list(independent_rows(decided, rows.clusters))
    notes = nonzero(
        plural(
            "{count} labelled row was not drawn among all rows, and says nothing about a "
            "cascade's errors",
            "{count} labelled rows were not drawn among all rows, and say nothing about a "
            "cascade's errors",
            len(labelled) - len(drawn),
        ),
        plural(
            "{count} labelled row has annotators that are evenly split, and is left out",
            "{count} labelled rows have annotators that are evenly split, and are left out",
            len(drawn) - len(decided),
        ),
        plural(
            "{count} labelled row repeats a text or belongs to a group that is counted already",
            "{count} labelled rows repeat a text or belong to a group that is counted already",
            len(decided) - len(independent),
        ),
    )
    return independent, notes


def _stage(rows: Sequence[LabelledRow], step: str) -> Stage:
    step_records = [
        next((reply for reply in row.steps if reply.step == step), None) for row in rows
    ]
    right = [
        (None if record is None else record.verdict) == row.truth
        for record, row in zip(step_records, rows, strict=True)
    ]
    return Stage([None if record is None else record.confidence for record in step_records], right)


_NO_CONFIDENCE = Message(
    "no labelled row that earlier steps left has a known confidence: ask for log-probabilities "
    "(mode: likelihood), or for several votes at a temperature above 0"
)


_MODEL_MADE = Message(
    "the labels were made by a model, so the promise is about that model, not about people"
)


def _refusal(used: LabelsUsed, thresholds: CascadeThresholds) -> Refusal | None:
    if used.refusal:
        return used.refusal
    if any(step.confidence is not None for step in thresholds.steps):
        return None
    return Refusal(
        "never_accept",
        Message(
            "the labels support no step at a risk of {risk:.1%}: label more rows, or allow a "
            "higher risk",
            risk=thresholds.risk,
        ),
    )
