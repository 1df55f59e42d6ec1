"""The corrected number of a run as reports print it, or why there is none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from adjudge.core.domain.judge_criterion import of_system
from adjudge.core.ledger.file import holds_labels
from adjudge.messages import Message, capitalize
from adjudge.runs.counts import count_labels, count_rows
from adjudge.runs.numbers import figure, level_text

if TYPE_CHECKING:
    from adjudge.trust.calibration import Calibration


def trust_sentence(calibration: Calibration) -> Message:
    """Give the corrected number with its labels and the uncorrected number, or the reason why there
    is none.
    """
    return Message("{said}.", said=trust_clause(calibration))


def trust_clause(calibration: Calibration) -> Message:
    """Like ``trust_sentence``, but without the full stop, so that callers can continue it."""
    clause = _clause(calibration)
    if not calibration.added:
        return clause
    return Message(
        "{clause}; left out: {rows} added since the labels were drawn",
        clause=clause,
        rows=count_rows(calibration.added),
    )


def _clause(calibration: Calibration) -> Message:
    corrected, what, naive = (
        calibration.corrected,
        _number_title(calibration),
        figure(calibration.naive.value, 3),
    )
    labels = count_labels(calibration.count)
    if calibration.labels.model_made:
        labels = Message("{labels} made by a model", labels=labels)
    if calibration.refusal:
        uncorrected = (
            naive
            if calibration.naive.value is None
            else Message("{what} {value}", what=what, value=naive)
        )
        return Message(
            "{name}: no corrected number by {labels}; uncorrected {figure}. {why}",
            name=titled(calibration),
            labels=labels,
            figure=uncorrected,
            why=capitalize(calibration.refusal.text),
        )
    values = {
        "name": titled(calibration),
        "what": what,
        "labels": labels,
        "value": figure(corrected.value if corrected else None, 3),
        "lower": figure(corrected.lower if corrected else None, 3),
        "upper": figure(corrected.upper if corrected else None, 3),
        "level": Message(
            "{level}, exactly these {rows}",
            level=level_text(calibration.level),
            rows=count_rows(calibration.rows),
        )
        if calibration.these_rows
        else level_text(calibration.level),
        "naive": naive,
    }
    if corrected is None or corrected.value is None:
        return Message(
            "{name}: {what} {lower} to {upper} at {level}, corrected by {labels}; uncorrected "
            "{naive}",
            **values,
        )
    return Message(
        "{name}: {what} {value}, corrected by {labels} ({lower} to {upper} at {level}); "
        "uncorrected {naive}",
        **values,
    )


def titled(calibration: Calibration) -> str:
    """Return the criterion's name, plus the judge if several judges of the run use it."""
    name = of_system(calibration.criteria or calibration.judge, calibration.system)
    return (
        Message("{name} (judge {judge})", name=name, judge=calibration.judge)
        if calibration.one_of_several
        else name
    )


def _number_title(calibration: Calibration) -> Message:
    if calibration.measure.name == "score":
        return Message("mean score")
    if calibration.is_comparison:
        return Message("win rate of {name}", name=calibration.measure.name)
    return Message("share of {name}", name=calibration.measure.name)


def calibrations_of(folder: str | Path, by: str | None = None) -> tuple[Calibration, ...]:
    """Return a run folder's corrected numbers, split by a column if one is named; empty without
    labels.
    """
    # loading a calibration is slow; most runs have no labels

    if not holds_labels(folder):
        return ()
    from adjudge.trust.calibration import CalibrationSettings, calibrate_run

    return tuple(calibrate_run(folder, settings=CalibrationSettings(agreement=None, by=by)))
