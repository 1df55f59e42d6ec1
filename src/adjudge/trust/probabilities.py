"""Calibrate a model's probabilities by labels: a temperature, and the confidence at which verdicts
may be accepted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, TypedDict

from adjudge.core.domain.frozen_mapping import plain
from adjudge.core.domain.json_document import fill
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
from adjudge.runs.numbers import figure
from adjudge.stats.estimate import FigureShape
from adjudge.stats.refusal import Refusal, RefusalShape
from adjudge.stats.selective import threshold
from adjudge.stats.temperature import Shares, Temperature, calibrate
from adjudge.stats.threshold import Threshold
from adjudge.trust.cascades import CascadeSettings, ThresholdShape, drawn_rows, step_text
from adjudge.trust.labelled_judges import LabelledJudge, labelled_judges
from adjudge.trust.learnt_weights import label_date
from adjudge.trust.rows import LabelledRow, Rows, by_row
from adjudge.trust.usable_labels import nonzero


class ProbabilityShape(TypedDict):
    """The trust in the probabilities of one model, by labels."""

    judge: str
    criteria: str
    model: str
    identity: Annotated[str, "of the judge: another one needs its own labels"]
    risk: Annotated[float, "the greatest share of errors among accepted verdicts"]
    delta: Annotated[float, "how often that promise may fail"]
    rows: int
    temperature: float | None
    before: Annotated[FigureShape | None, "calibration error on rows not used for fitting"]
    after: Annotated[FigureShape | None, "the same at the temperature"]
    reason: Annotated[str, "why there is no temperature"]
    threshold: ThresholdShape
    refusal: RefusalShape | None
    notes: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class ProbabilityReport(JudgeCriterion):
    """The temperature and threshold for one model's probabilities on one criterion."""

    model: str
    temperature: Temperature
    threshold: Threshold
    identity: str
    """Identity of the judge. Another model, prompt or criterion needs its own labels."""
    step_identity: str
    """Identity of the judge as the only step of a cascade."""
    date: str
    risk: float
    delta: float
    notes: tuple[str, ...] = ()
    refusal: Refusal | None = None

    @property
    def lines(self) -> Iterator[str]:
        """The report in sentences."""
        temperature = self.temperature
        yield Message(
            "probabilities {name}, of {model}: {count} labelled rows",
            name=self.name,
            model=self.model,
            count=temperature.rows,
        )
        if temperature.value is None or temperature.before is None or temperature.after is None:
            yield temperature.reason
        else:
            yield Message(
                "temperature {value:.2f}; expected calibration error on rows it was not fitted "
                "to: {before} before, {after} after",
                value=temperature.value,
                before=_interval(
                    temperature.before.value, temperature.before.lower, temperature.before.upper
                ),
                after=_interval(
                    temperature.after.value, temperature.after.lower, temperature.after.upper
                ),
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
        """The thresholds of a cascade with this model as its only step."""
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
        """The temperature to store in a file; None if none was fitted."""
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
            step_identity=self.step_identity,
        )

    def to_dict(self) -> JsonDict:
        """Return this report as JSON-ready data."""
        fitted = self.temperature
        return fill(
            ProbabilityShape,
            self,
            rows=fitted.rows,
            temperature=fitted.value,
            before=fitted.before,
            after=fitted.after,
            reason=fitted.reason,
        )


def _interval(value: float | None, lower: float | None, upper: float | None) -> str:
    if value is None:
        return "–"
    if lower is None or upper is None:
        return figure(value, 3)
    return Message("{value:.3f} ({lower:.3f}–{upper:.3f})", value=value, lower=lower, upper=upper)


def calibrate_probabilities(
    folder: str | Path,
    labels: Iterable[Label] | None = None,
    *,
    criteria: str | None = None,
    settings: CascadeSettings | None = None,
) -> list[ProbabilityReport]:
    """Return a report for each single-model judge and each of its criteria that has labels.

    ``labels``: used instead of those in the run folder. ``criteria``: only this one.
    """
    cascade_settings = settings or CascadeSettings()
    judges = labelled_judges(folder, labels, criteria)
    return [_report(judge, cascade_settings) for judge in judges if _has_one_model(judge)]


def _has_one_model(judge: LabelledJudge) -> bool:
    """Return True if one model gives the verdict, choosing among the options that labels use."""
    configuration = judge.configuration
    if configuration.steps or judge.scale.scale.compares:
        return False
    return len(configuration.models) == 1


def _report(judge: LabelledJudge, settings: CascadeSettings) -> ProbabilityReport:
    used = judge.used(settings)
    # _has_one_model holds here
    (model,) = judge.configuration.models
    with reading(judge.folder) as ledger:
        rows = Rows(
            judge.scale.scale,
            by_row(used.labels),
            settings.cluster,
            read_votes=lambda record: record.votes or (),
        )
        for record in records(ledger, judge=judge.judge, votes=True):
            rows.add(record)
    drawn, notes = drawn_rows(rows)
    pairs = [(row, pair) for row in drawn if (pair := _mean_probabilities(row)) is not None]
    stated = [pair for _, pair in pairs]
    without = len(drawn) - len(stated)
    if drawn and not stated:
        raise SetupError(
            "{model} gave no probabilities for {name!r}: they come from decision models and from "
            "mode: likelihood",
            model=model,
            name=judge.scale.name,
        )
    # the confidence by which a cascade accepts: the probability of the verdict, not the greatest
    accepted_from = threshold(
        [shares.get(row.verdict or "", 0.0) for row, (shares, _) in pairs],
        [row.verdict == label for row, (_, label) in pairs],
        risk=settings.risk,
        doubt=settings.delta,
    )
    refusal = (
        Refusal("never_accept", join(": ", (Message("no threshold"), accepted_from.reason)))
        if accepted_from.confidence is None
        else None
    )
    return ProbabilityReport(
        judge=judge.judge,
        criteria=judge.scale.name,
        model=model,
        temperature=calibrate(stated),
        threshold=accepted_from,
        identity=judge.lock,
        step_identity=_step_identity(judge),
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
        refusal=used.refusal or refusal,
    )


def _step_identity(judge: LabelledJudge) -> str:
    """Return the judge's identity as a cascade step."""
    configuration, name = judge.configuration, judge.scale.name
    definition = configuration.settings.get("definition")
    # A step lists the criterion of an aspect, too; the judge alone does not.
    if not configuration.criteria and isinstance(definition, str):
        aspect = plain(aspect_criteria(name, definition))
        configuration = replace(configuration, criteria=(object_in(aspect),))
    return judge_identity(configuration, name)


def _mean_probabilities(row: LabelledRow) -> tuple[Shares, str] | None:
    """Return the mean probabilities over the row's votes with a verdict, and the label; None if
    either is missing, or if such a vote has none.
    """
    valid = [vote for vote in row.votes if vote.option is not None]
    shares: Sequence[Shares] = [vote.distribution for vote in valid if vote.distribution]
    is_whole = bool(shares) and len(shares) == len(valid)
    if not is_whole or row.verdict is None or not isinstance(row.truth, str):
        return None
    mean = {
        name: sum(vote_shares.get(name, 0.0) for vote_shares in shares) / len(shares)
        for name in shares[0]
    }
    return (mean, row.truth) if row.truth in mean else None
