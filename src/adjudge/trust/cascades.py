"""From which confidence on each step of a cascade may be accepted, by people's labels; and what
that would save.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from adjudge.core.domain.frozen_mapping import some_of
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
from adjudge.stats.refusal import Refusal
from adjudge.stats.selective import Stage, cascade_thresholds
from adjudge.stats.threshold import Threshold
from adjudge.trust.contestants import Contestants
from adjudge.trust.labelled_judges import LabelledJudge, labelled_judges
from adjudge.trust.labels.store import LabelStore
from adjudge.trust.learnt_weights import label_date
from adjudge.trust.rows import LabelledRow, Rows, by_row, independent_rows
from adjudge.trust.usable_labels import LabelSettings, LabelsUsed, nonzero

_SHARE = Number(above=0, below=1)


@dataclass(frozen=True, kw_only=True)
class CascadeSettings(LabelSettings):
    """What may be asked of thresholds; of each group of rows that belong
    together one row counts.
    """

    risk: float = key(
        _SHARE,
        "With --cascade and --probabilities: the greatest share of errors among accepted verdicts.",
        0.1,
    )
    delta: float = key(
        _SHARE, "With --cascade and --probabilities: how often that promise may fail.", 0.05
    )
    """Each step has an equal part of it."""


@dataclass(frozen=True, kw_only=True)
class CascadeReport(JudgeCriterion):
    """What labels say of a cascade's steps under one criteria."""

    thresholds: CascadeThresholds
    notes: tuple[str, ...] = ()
    refusal: Refusal | None = None
    """Why the labels do not speak for any step."""

    @property
    def accepted(self) -> int:
        """Labelled rows that some step would decide."""
        return sum(one.accepted for one in self.thresholds.steps)

    @property
    def lines(self) -> Iterator[str]:
        found = self.thresholds
        yield Message(
            "cascade {name}: at most {risk:.1%} of the accepted verdicts are wrong, except with "
            "probability {delta:g}; learnt from {source}",
            name=self.name,
            risk=found.risk,
            delta=found.delta,
            source=found.source,
        )
        for one in found.steps:
            yield join(": ", (one.step, step_text(one)))
        if found.labels:
            yield Message(
                "of {labels} labelled rows the steps decide {accepted}; the rest is left to "
                "'otherwise'",
                labels=found.labels,
                accepted=self.accepted,
            )
        yield from self.notes

    def to_dict(self) -> JsonDict:
        return {
            **some_of(self, "judge", "criteria"),
            **some_of(self.thresholds, "risk", "delta", "labels", "date", "steps"),
            **some_of(self, "refusal", "notes"),
        }


def step_text(one: Threshold) -> str:
    """Say from which confidence on a step is accepted, or why it never is."""
    if one.confidence is None:
        return (
            one.reason
            if one.reason.startswith("never")
            else Message("never accept: {reason}", reason=one.reason)
        )
    known = some_of(one, "confidence", "accepted", "rows", "errors")
    if one.limit is None:
        return Message(
            "accept from a confidence of {confidence:.3f} on: {accepted} of {rows} labelled rows, "
            "{errors} of them wrong",
            **known,
        )
    return Message(
        "accept from a confidence of {confidence:.3f} on: {accepted} of {rows} labelled rows, "
        "{errors} of them wrong, so at most {limit:.1%} are",
        limit=one.limit,
        **known,
    )


_SETTINGS = CascadeSettings()


def calibrate_cascades(
    folder: str | Path,
    labels: Iterable[Label] | None = None,
    *,
    criteria: str | None = None,
    settings: CascadeSettings = _SETTINGS,
) -> list[CascadeReport]:
    """Thresholds for each cascade and each criterion of a run that has labels.

    The run must have asked every step about every row: one of a cascade without a calibration.
    ``labels``: instead of those in the run folder. ``criteria``: only these.
    """
    given = list(LabelStore(folder).of_each_copy() if labels is None else labels)
    return [
        _learnt(one, settings)
        for one in labelled_judges(folder, given, criteria)
        if _is_cascade(one)
    ]


def _is_cascade(one: LabelledJudge) -> bool:
    """Whether it is a cascade; one that did not ask every step is refused."""
    if not one.configuration.steps:
        return False
    if any(
        one.configuration.settings.get(name) is not None for name in ("calibration", "promised")
    ):
        raise SetupError(
            "the cascade {judge!r} of {folder} had thresholds, so that not every step was "
            "asked about every row: take 'calibration' out of the eval file, run it into "
            "another folder and calibrate that",
            judge=one.judge,
            folder=one.folder,
        )
    return True


def _learnt(judged: LabelledJudge, settings: CascadeSettings) -> CascadeReport:
    used, criteria = judged.used(settings), judged.scale.name
    with reading(judged.folder) as ledger:
        contestants = Contestants.of_judge(ledger, judged.judge)
        rows = Rows(
            judged.scale.scale,
            by_row(used.labels),
            settings.cluster,
            contestants=contestants,
        )
        for record in records(ledger, judge=judged.judge):
            rows.add(record)
    kept, notes = drawn_rows(rows)
    identities = step_identities(judged.configuration, criteria)
    stages = [_stage(kept, step) for step in identities]
    found = cascade_thresholds(stages, risk=settings.risk, doubt=settings.delta)
    thresholds = CascadeThresholds(
        criteria=criteria,
        risk=settings.risk,
        delta=settings.delta,
        labels=len(kept),
        date=label_date(used.labels),
        steps=tuple(
            _threshold(step, identity, one)
            for (step, identity), one in zip(identities.items(), found, strict=True)
        ),
    )
    return CascadeReport(
        judge=judged.judge,
        criteria=criteria,
        thresholds=thresholds,
        notes=(*_said(used), *notes),
        refusal=_refusal(used, thresholds),
    )


def drawn_rows(rows: Rows) -> tuple[list[LabelledRow], list[Message]]:
    """Rows that were drawn among all rows, each text and each group once; and what is said of the
    others.
    """
    labelled = rows.labelled
    drawn = [one for one in labelled if one.random]
    decided = [one for one in drawn if isinstance(one.truth, str)]
    kept = list(independent_rows(decided, rows.clusters))
    notes = nonzero(
        plural(
            "{count} labelled row was not drawn among all rows, and says nothing of a cascade's "
            "errors",
            "{count} labelled rows were not drawn among all rows, and say nothing of a cascade's "
            "errors",
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
            len(decided) - len(kept),
        ),
    )
    return kept, notes


def _stage(rows: Sequence[LabelledRow], step: str) -> Stage:
    said = [next((one for one in row.steps if one.step == step), None) for row in rows]
    right = [
        (None if one is None else one.verdict) == row.truth
        for one, row in zip(said, rows, strict=True)
    ]
    return Stage([None if one is None else one.confidence for one in said], right)


def _threshold(step: str, identity: str, found: Threshold) -> Threshold:
    nobody = found.confidence is None and found.rows == 0
    return replace(
        found, step=step, identity=identity, reason=_NO_CONFIDENCE if nobody else found.reason
    )


_NO_CONFIDENCE = Message(
    "of no labelled row that earlier steps left is it known how sure it is: ask for "
    "log-probabilities (mode: likelihood), or for several votes at a temperature above 0"
)


def _said(used: LabelsUsed) -> Iterator[str]:
    if used.model_made:
        yield Message(
            "the labels were made by a model: a promise about another model, not about people"
        )
    yield from used.notes


def _refusal(used: LabelsUsed, found: CascadeThresholds) -> Refusal | None:
    if used.refusal:
        return used.refusal
    if any(one.confidence is not None for one in found.steps):
        return None
    return Refusal(
        "never_accept",
        Message(
            "the labels speak for no step at a risk of {risk:.1%}: label more rows, or allow more",
            risk=found.risk,
        ),
    )
