"""How far a model's probabilities may be trusted, by people's labels: a temperature that corrects
them, and the confidence from which on its verdicts keep a promise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from adjudge.core.domain.frozen_mapping import plain, some_of
from adjudge.core.domain.json_types import JsonDict, object_in
from adjudge.core.domain.judge_criterion import JudgeCriterion
from adjudge.core.domain.label import Label
from adjudge.core.engine.identity import judge_identity
from adjudge.core.judges.aspect import aspect_criteria
from adjudge.core.judges.learnt_settings import CascadeThresholds, LearntTemperature
from adjudge.core.ledger.records import records
from adjudge.errors import SetupError
from adjudge.messages import Message, join, plural
from adjudge.runs.folder import reading
from adjudge.stats.refusal import Refusal
from adjudge.stats.selective import threshold
from adjudge.stats.temperature import Shares, Temperature, calibrate
from adjudge.stats.threshold import Threshold
from adjudge.trust.cascades import CascadeSettings, drawn_rows, step_text
from adjudge.trust.labelled_judges import LabelledJudge, labelled_judges
from adjudge.trust.labels.store import LabelStore
from adjudge.trust.learnt_weights import label_date
from adjudge.trust.rows import LabelledRow, Rows, by_row
from adjudge.trust.usable_labels import nonzero


@dataclass(frozen=True, kw_only=True)
class ProbabilityReport(JudgeCriterion):
    """What labels say of one model's probabilities under one criterion."""

    model: str
    temperature: Temperature
    threshold: Threshold
    identity: str
    """Of the judge: another model, prompt or criterion needs its own labels."""
    step_identity: str
    """Of the judge as the only step of a cascade."""
    date: str
    risk: float
    delta: float
    notes: tuple[str, ...] = ()
    refusal: Refusal | None = None

    @property
    def lines(self) -> Iterator[str]:
        """The report in sentences."""
        found = self.temperature
        yield Message(
            "probabilities {name}, of {model}: {count} labelled rows",
            name=self.name,
            model=self.model,
            count=found.rows,
        )
        if found.value is None or found.before is None or found.after is None:
            yield found.reason
        else:
            yield Message(
                "temperature {value:.2f}; expected calibration error on rows it was not fitted "
                "to: {before} before, {after} after",
                value=found.value,
                before=_interval(found.before.value, found.before.lower, found.before.upper),
                after=_interval(found.after.value, found.after.lower, found.after.upper),
            )
        yield Message(
            "promise: at most {risk:.1%} of the accepted verdicts are wrong, except with "
            "probability {delta:g}",
            risk=self.risk,
            delta=self.delta,
        )
        yield step_text(self.threshold)
        yield from self.notes

    @property
    def thresholds(self) -> CascadeThresholds:
        """The threshold as a cascade of this one step uses it."""
        return CascadeThresholds(
            criteria=self.criteria,
            risk=self.risk,
            delta=self.delta,
            labels=self.threshold.rows,
            date=self.date,
            steps=(replace(self.threshold, step=self.model, identity=self.step_identity),),
        )

    @property
    def learnt_temperature(self) -> LearntTemperature | None:
        """The temperature for a file, if there is one."""
        value = self.temperature.value
        if value is None:
            return None
        return LearntTemperature(
            criteria=self.criteria,
            labels=self.temperature.rows,
            date=self.date,
            model=self.model,
            temperature=value,
            identity=self.identity,
        )

    def to_dict(self) -> JsonDict:
        """This report as JSON-ready data."""
        return {
            **some_of(self, "judge", "criteria", "model", "identity", "risk", "delta"),
            "rows": self.temperature.rows,
            "temperature": self.temperature.value,
            **some_of(self.temperature, "before", "after", "reason"),
            **some_of(self, "threshold", "refusal", "notes"),
        }


def _interval(value: float | None, lower: float | None, upper: float | None) -> str:
    if value is None:
        return "–"
    if lower is None or upper is None:
        return f"{value:.3f}"
    return f"{value:.3f} ({lower:.3f}–{upper:.3f})"


def calibrate_probabilities(
    folder: str | Path,
    labels: Iterable[Label] | None = None,
    *,
    criteria: str | None = None,
    settings: CascadeSettings | None = None,
) -> list[ProbabilityReport]:
    """A report for each judge of one model and each criterion of a run that has labels."""
    wanted = settings or CascadeSettings()
    given = list(LabelStore(folder).of_each_copy() if labels is None else labels)
    judges = labelled_judges(folder, given, criteria)
    return [_report(judge, wanted) for judge in judges if _has_one_model(judge)]


def _has_one_model(judged: LabelledJudge) -> bool:
    """Return True if the verdict is that of one model, with options that labels name as it does."""
    configuration = judged.configuration
    if configuration.steps or judged.scale.scale.compares:
        return False
    return len(configuration.models) == 1


def _report(judged: LabelledJudge, settings: CascadeSettings) -> ProbabilityReport:
    used = judged.used(settings)
    (model,) = judged.configuration.models
    with reading(judged.folder) as ledger:
        rows = Rows(
            judged.scale.scale,
            by_row(used.labels),
            settings.cluster,
            read_votes=lambda record: record.votes or (),
        )
        for record in records(ledger, judge=judged.judge, votes=True):
            rows.add(record)
    kept, notes = drawn_rows(rows)
    stated = [pair for row in kept if (pair := _stated(row)) is not None]
    without = len(kept) - len(stated)
    if kept and not stated:
        raise SetupError(
            "{model} gave no probabilities for {name!r}: they come from decision models and from "
            "mode: likelihood",
            model=model,
            name=judged.scale.name,
        )
    found = threshold(
        [max(shares.values()) for shares, _ in stated],
        [_choice(shares) == label for shares, label in stated],
        risk=settings.risk,
        doubt=settings.delta,
    )
    return ProbabilityReport(
        judge=judged.judge,
        criteria=judged.scale.name,
        model=model,
        temperature=calibrate(stated),
        threshold=found,
        identity=judged.lock,
        step_identity=_step_identity(judged),
        date=label_date(used.labels) if used.labels else "",
        risk=settings.risk,
        delta=settings.delta,
        notes=(
            *used.notes,
            *notes,
            *nonzero(
                plural(
                    "{count} labelled row has no probabilities, or a label that is not an option",
                    "{count} labelled rows have no probabilities, or a label that is not an option",
                    without,
                )
            ),
        ),
        refusal=used.refusal or _refusal(found),
    )


def _step_identity(judged: LabelledJudge) -> str:
    """The identity of the judge as a step, where an aspect's criterion is listed, too."""
    configuration, name = judged.configuration, judged.scale.name
    definition = configuration.settings.get("definition")
    if not configuration.criteria and isinstance(definition, str):
        own = plain(aspect_criteria(name, definition))
        configuration = replace(configuration, criteria=(object_in(own),))
    return judge_identity(configuration, name)


def _refusal(found: Threshold) -> Refusal | None:
    if found.confidence is not None:
        return None
    return Refusal("never_accept", join(": ", (Message("no threshold"), found.reason)))


def _choice(shares: Shares) -> str:
    return max(shares, key=lambda name: shares[name])


def _stated(row: LabelledRow) -> tuple[Shares, str] | None:
    """The mean probabilities of the row's votes, and what people say."""
    shares: Sequence[Shares] = [vote.distribution for vote in row.votes if vote.distribution]
    if not shares or row.verdict is None or not isinstance(row.truth, str):
        return None
    mean = {name: sum(one.get(name, 0.0) for one in shares) / len(shares) for name in shares[0]}
    return (mean, row.truth) if row.truth in mean else None
