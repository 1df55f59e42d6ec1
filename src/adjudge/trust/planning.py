"""Plan the rows, labels and dollars that a wanted precision or power takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypedDict

from adjudge.core.domain.frozen_mapping import some_of
from adjudge.core.domain.json_document import fill
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.gateway.prices import dollars
from adjudge.core.reading.types import Flag, Number, WholeNumber, key
from adjudge.errors import SetupError
from adjudge.messages import Message
from adjudge.runs.folder import RunInfo, run_info
from adjudge.stats.planning import (
    MOST,
    JudgeQuality,
    SampleSize,
    labels_for_width,
    rows_for_comparison,
    rows_for_gate,
)
from adjudge.trust.calibration import LEVEL, LEVEL_HELP, CalibrationSettings, calibrate_run


@dataclass(frozen=True, kw_only=True)
class PlanSettings:
    """Settings of a plan: the expected rate, and one of ``width``, ``difference``, ``bar``."""

    rate: float = key(Number(), "Expected rate.")
    width: float | None = key(
        Number(), "For one rate: the maximum width of its interval, such as 0.05.", None
    )
    difference: float | None = key(
        Number(), "For a comparison: how much better the other system is.", None
    )
    bar: float | None = key(Number(), "The bar of a gate, such as 0.9.", None)
    discordant: float | None = key(
        Number(least=0, most=1),
        "For a comparison: the share of rows that one system passes and the other fails.",
        None,
    )
    rows: int | None = key(
        WholeNumber(least=1),
        "Number of rows to judge; by default as many as in the run.",
        None,
    )
    power: float = key(
        Number(above=0.5, below=1),
        "Power: the share of runs that must be decided, such as 0.8.",
        0.8,
    )
    level: float = key(LEVEL, LEVEL_HELP, 0.95, option="--confidence")
    sequential: bool = key(Flag(), "Plan for a gate that is checked repeatedly.", False)
    seed: int = key(WholeNumber(), "Seed for the draws.", 0)


@dataclass(frozen=True, kw_only=True)
class PlannedJudge:
    """A judge that a plan uses, and what it costs."""

    quality: JudgeQuality
    rows: int
    usd_per_row: float | None = None
    labels: int = 0
    measured: JudgeQuality | None = None
    """Quality measured by the labels of a run, without the mistakes that ``quality`` adds."""


class MeasuredJudgeShape(TypedDict):
    """The share of right verdicts of a judge, by the labels of its run."""

    sensitivity: float
    specificity: float


class PlanShape(TypedDict):
    """The rows and labels that a precision or power needs."""

    what: Literal["rate", "comparison", "gate"]
    rate: float
    width: float | None
    difference: float | None
    bar: float | None
    power: float
    level: float
    sequential: bool
    seed: int
    rows: Annotated[int | None, "None where it is out of reach"]
    labels: int | None
    usd: float | None
    labels_alone: Annotated[int | None, "labels that it would take without the judge"]
    reached: Annotated[float, "the median width, or the share of draws that were decided"]
    error: Annotated[float, "its standard error"]
    sensitivity: float | None
    specificity: float | None
    measured: Annotated[
        MeasuredJudgeShape | None,
        "of the judge of a run: both by its labels, before the plan adds a mistake of each kind",
    ]
    sentences: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class SamplePlan:
    """The rows and labels needed."""

    what: str
    """rate, comparison or gate."""
    settings: PlanSettings
    size: SampleSize
    alone: SampleSize | None = None
    """The size needed without the judge, if there is one."""
    judge: PlannedJudge | None = None
    rows: int | None = None
    labels: int | None = None
    usd: float | None = None

    def sentences(self) -> list[Message]:
        """Describe the plan and its certainty."""
        return list(self._sentences())

    def _sentences(self) -> Iterator[Message]:
        yield self._needed_text() if self.size.count is not None else self._out_of_reach_text()
        if self.usd is not None:
            yield Message("The judge costs about {usd} for that.", usd=dollars(self.usd))
        if self.alone and self.alone.count is not None:
            yield Message("Without the judge it would take {count} labels.", count=self.alone.count)
        if self.judge:
            yield Message(
                "The judge is assumed to pass {sensitivity:.3f} of what people pass, and to fail "
                "{specificity:.3f} of what they fail.",
                **some_of(self.judge.quality, "sensitivity", "specificity"),
            )
        if self.judge and self.judge.measured:
            yield Message(
                "According to its labels these are {sensitivity:.3f} and {specificity:.3f}; one "
                "mistake of each kind is added, because a few labels may not show any.",
                **some_of(self.judge.measured, "sensitivity", "specificity"),
            )
        if self.size.count is not None:
            simulated = some_of(self.size, "reached", "error")
            yield (
                Message("Simulated: the median width is {reached:.3f} ± {error:.3f}.", **simulated)
                if self.what == "rate"
                else Message(
                    "Simulated: decided in {reached:.3f} ± {error:.3f} of draws.", **simulated
                )
            )

    def _needed_text(self) -> Message:
        settings, level = self.settings, f"{100 * self.settings.level:g}"
        if self.what == "rate":
            return Message(
                "{labels} labels, drawn at random among {rows} rows: the {level}% interval "
                "of a rate of {rate:g} is then {width:g} wide or less in half of all samples.",
                labels=self.labels,
                rows=self.rows,
                level=level,
                rate=settings.rate,
                width=settings.width,
            )
        if self.what == "gate":
            return Message(
                "{rows} rows: a gate at {bar:g} is then decided at {level}% in {power:g} of runs "
                "with a true rate of {rate:g}.",
                rows=self.rows,
                bar=settings.bar,
                level=level,
                power=settings.power,
                rate=settings.rate,
            )
        return Message(
            "{rows} rows, answered by both systems: rates of {rate:g} and {other:g} are then told "
            "apart at {level}% in {power:g} of comparisons.",
            rows=self.rows,
            rate=settings.rate,
            other=round(settings.rate + (settings.difference or 0.0), 9),
            level=level,
            power=settings.power,
        )

    def _out_of_reach_text(self) -> Message:
        if self.what == "rate":
            return Message(
                "A width of {width:g} is out of reach: with all {rows} rows labelled it would be "
                "{reached:.3f} (median of simulated samples).",
                width=self.settings.width,
                rows=self.size.most,
                reached=self.size.reached,
            )
        return Message(
            "Out of reach: with {rows} rows, only {reached:.3f} of draws are decided.",
            rows=self.size.most,
            reached=self.size.reached,
        )

    def to_dict(self) -> JsonDict:
        judge = self.judge
        measured = judge.measured if judge else None
        return fill(
            PlanShape,
            self.settings,
            what=self.what,
            rows=self.rows,
            labels=self.labels,
            usd=self.usd,
            labels_alone=self.alone.count if self.alone else None,
            reached=self.size.reached,
            error=self.size.error,
            sensitivity=judge.quality.sensitivity if judge else None,
            specificity=judge.quality.specificity if judge else None,
            measured=fill(MeasuredJudgeShape, measured) if measured else None,
            sentences=list(self.sentences()),
        )


def plan(settings: PlanSettings, judge: PlannedJudge | None = None) -> SamplePlan:
    """Plan by simulating the estimates that a report will show. Raises a SetupError for impossible
    settings.
    """
    aims = [settings.width, settings.difference, settings.bar]
    if sum(aim is not None for aim in aims) != 1:
        raise SetupError(
            "give exactly one goal: --width (one rate), --difference (a comparison) or --bar (a "
            "gate)"
        )
    _check(settings, judge)
    if settings.width is not None:
        return _rate_plan(settings, settings.width, judge)
    if settings.bar is not None:
        size = rows_for_gate(
            settings.rate,
            settings.bar,
            power=settings.power,
            sequential=settings.sequential,
            level=settings.level,
            seed=settings.seed,
        )
        return _rows_plan("gate", settings, size, judge, 1)
    size = rows_for_comparison(
        settings.rate,
        settings.difference or 0.0,
        discordant=settings.discordant,
        power=settings.power,
        level=settings.level,
        seed=settings.seed,
    )
    return _rows_plan("comparison", settings, size, judge, 2)


def _check(settings: PlanSettings, judge: PlannedJudge | None) -> None:
    rate, gap = settings.rate, settings.difference
    if not 0 < rate < 1:
        raise SetupError("rate must be between 0 and 1, not {rate:g}", rate=rate)
    if settings.width is not None and not 0 < settings.width < 1:
        raise SetupError("width must be between 0 and 1, not {width:g}", width=settings.width)
    if gap is not None and (gap == 0 or not 0 <= rate + gap <= 1):
        raise SetupError(
            "a rate of {rate:g} and a difference of {difference:g} make {other:g}: give a "
            "difference that is not 0 and leads to a rate between 0 and 1",
            rate=rate,
            difference=gap,
            other=rate + gap,
        )
    if settings.bar is not None and (settings.bar == rate or not 0 < settings.bar < 1):
        raise SetupError(
            "a gate at {bar:g} cannot be planned for a rate of {rate:g}: the bar must be between "
            "0 and 1 and differ from the rate",
            bar=settings.bar,
            rate=rate,
        )
    apart = settings.discordant
    if apart is not None and (gap is None or not abs(gap) <= apart <= 1):
        raise SetupError(
            "discordant, the share of rows on which two systems differ, needs a difference and "
            "must be at least as large, not {discordant:g}",
            discordant=apart,
        )
    if settings.sequential and settings.bar is None:
        raise SetupError(
            "sequential is only for a gate that is checked repeatedly: give a bar, or leave it out"
        )
    if settings.rows is not None and (judge is None or settings.width is None):
        raise SetupError(
            "rows needs a judge and a width: it is the number of rows that the judge judges"
        )


def _rate_plan(settings: PlanSettings, width: float, judge: PlannedJudge | None) -> SamplePlan:
    level, seed = settings.level, settings.seed
    alone = labels_for_width(settings.rate, width, level=level, seed=seed)
    if judge is None:
        return SamplePlan(
            what="rate", settings=settings, size=alone, rows=alone.count, labels=alone.count
        )
    rows = settings.rows or judge.rows
    size = labels_for_width(
        settings.rate, width, judge=judge.quality, rows=min(rows, MOST), level=level, seed=seed
    )
    usd = None if judge.usd_per_row is None else judge.usd_per_row * rows
    return SamplePlan(
        what="rate",
        settings=settings,
        size=size,
        alone=alone,
        judge=judge,
        rows=rows,
        labels=size.count,
        usd=usd,
    )


def _rows_plan(
    what: str, settings: PlanSettings, size: SampleSize, judge: PlannedJudge | None, times: int
) -> SamplePlan:
    """Return a plan in which every row is judged ``times`` times."""
    price = judge.usd_per_row if judge else None
    usd = None if price is None or size.count is None else price * size.count * times
    return SamplePlan(what=what, settings=settings, size=size, rows=size.count, usd=usd)


def planned_judge(folder: str | Path) -> PlannedJudge:
    """Return the judge of a run that has labels. Raises a SetupError unless there is exactly one.

    One wrong label of each kind is added, so that a judge without a mistake so far is not taken to
    be perfect.
    """
    calibrations = calibrate_run(folder, settings=CalibrationSettings(agreement=None))
    fit = [
        result
        for result in calibrations
        if result.confusion.sensitivity and result.confusion.specificity
    ]
    if len(fit) != 1:
        raise SetupError(
            "{folder} has {count} judges or systems with labels of pass and fail: a plan needs "
            "one (label rows with 'adjudge label', or give --sensitivity and --specificity)",
            folder=folder,
            count=len(fit),
        )
    shares = [
        share for share in (fit[0].confusion.sensitivity, fit[0].confusion.specificity) if share
    ]
    quality = JudgeQuality(
        *((share.value or 0.0) * share.count / (share.count + 1) for share in shares)
    )
    return PlannedJudge(
        quality=quality,
        measured=JudgeQuality(*(share.value or 0.0 for share in shares)),
        rows=fit[0].rows,
        usd_per_row=_usd_per_row(run_info(folder)),
        labels=fit[0].count,
    )


def _usd_per_row(info: RunInfo) -> float | None:
    """Return the cost per row; None with unknown prices or several judges, since costs are not
    stored per judge.
    """
    # replies reused from earlier runs are priced like new ones: votes / calls
    calls = sum(used.calls for used in info.usage.values())
    costs = [info.prices.cost(model, used) for model, used in info.usage.items()]
    known_costs = [cost for cost in costs if cost is not None]
    if len(info.judges) != 1 or len(known_costs) < len(costs) or not calls or not info.rows:
        return None
    return sum(known_costs) / info.rows * max(1.0, info.votes / calls)
