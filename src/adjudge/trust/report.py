"""The corrected number of a run as reports print it: in the headline, with its labels; or why there
is none.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from adjudge.core.domain.judge_criterion import of_system
from adjudge.messages import Message, capitalize
from adjudge.runs.counts import count_labels, count_rows
from adjudge.runs.numbers import figure, level_text

if TYPE_CHECKING:
    from adjudge.trust.calibration import Calibration


def trust_sentence(one: Calibration) -> Message:
    """The corrected number with its labels and the uncorrected one beside it; or the refusal in its
    place.
    """
    return Message("{said}.", said=trust_clause(one))


def trust_clause(one: Calibration) -> Message:
    """Like trust_sentence, but without its full stop, for a sentence that says more."""
    clause = _clause(one)
    if not one.added:
        return clause
    return Message(
        "{clause}; left out: {rows} added since the labels were drawn",
        clause=clause,
        rows=count_rows(one.added),
    )


def _clause(one: Calibration) -> Message:
    found, what, naive = one.corrected, _what(one), figure(one.naive.value, 3)
    labels = count_labels(one.count)
    if one.labels.model_made:
        labels = Message("{labels} that a model made", labels=labels)
    if one.refusal:
        shown = (
            naive if one.naive.value is None else Message("{what} {value}", what=what, value=naive)
        )
        return Message(
            "{name}: no corrected number by {labels}; uncorrected {figure}. {why}",
            name=titled(one),
            labels=labels,
            figure=shown,
            why=capitalize(one.refusal.text),
        )
    values = {
        "name": titled(one),
        "what": what,
        "labels": labels,
        "value": figure(found.value if found else None, 3),
        "lower": figure(found.lower if found else None, 3),
        "upper": figure(found.upper if found else None, 3),
        "level": Message(
            "{level}, exactly these {rows}", level=level_text(one.level), rows=count_rows(one.rows)
        )
        if one.these_rows
        else level_text(one.level),
        "naive": naive,
    }
    if found is None or found.value is None:
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


def titled(one: Calibration) -> str:
    """The criteria, and which judge where several of the run judge by it."""
    name = of_system(one.criteria or one.judge, one.system)
    return (
        Message("{name} (judge {judge})", name=name, judge=one.judge)
        if one.one_of_several
        else name
    )


def _what(one: Calibration) -> Message:
    if one.measure.name == "score":
        return Message("mean score")
    if one.is_comparison:
        return Message("win rate of {name}", name=one.measure.name)
    return Message("share of {name}", name=one.measure.name)


def calibrations_of(folder: str | Path, by: str | None = None) -> tuple[Calibration, ...]:
    """The numbers of a run folder that holds labels, apart for the slices of a column; nothing
    where it holds none, and nothing more is loaded for that.
    """
    from adjudge.core.ledger.file import holds_labels

    if not holds_labels(folder):
        return ()
    from adjudge.trust.calibration import CalibrationSettings, calibrate_run

    return tuple(calibrate_run(folder, settings=CalibrationSettings(agreement=None, by=by)))
