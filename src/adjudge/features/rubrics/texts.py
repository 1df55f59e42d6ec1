"""Sentences about comparisons and corrections, for the command line and the page."""

from __future__ import annotations

from collections.abc import Iterator

from adjudge.features.rubrics.comparison import PairedFigure, RubricComparison
from adjudge.features.rubrics.corrected import CorrectedRate, RubricCorrection
from adjudge.messages import Message, join, plural
from adjudge.runs.numbers import figure

_LONGEST_POINT = 60


def change_title(change: PairedFigure) -> str:
    """Return the name of a figure that is compared."""
    return _title(change.kind, change.name)


def rate_title(rate: CorrectedRate) -> str:
    """Return the name of a figure that is corrected."""
    return _title(rate.kind, rate.name)


def _title(kind: str, name: str) -> str:
    if kind == "all":
        return Message("all points")
    if kind == "score":
        return Message("mean score")
    if kind == "category":
        return Message("category {name}", name=name)
    if kind == "theme":
        return Message("theme {name}", name=name)
    shortened = name if len(name) <= _LONGEST_POINT else name[: _LONGEST_POINT - 1] + "…"
    if kind == "penalty":
        return Message("penalty avoided: {text}", text=shortened)
    return Message("point: {text}", text=shortened)


def corrected_text(rate: CorrectedRate) -> str:
    """Return a corrected figure with its interval, or why there is none."""
    if rate.lower is None or rate.upper is None:
        return rate.refusal or ""
    interval = Message("({lower:.3f} – {upper:.3f})", lower=rate.lower, upper=rate.upper)
    return interval if rate.value is None else join(" ", [figure(rate.value, 3), interval])


def comparison_notes(comparison: RubricComparison) -> list[Message]:
    """Return what a reader of a comparison must know."""
    notes = []
    if comparison.other_rubrics:
        notes.append(
            plural(
                "{count} row has a different rubric in the later run, so its scores measure "
                "different things",
                "{count} rows have different rubrics in the later run, so their scores measure "
                "different things",
                comparison.other_rubrics,
            )
        )
    if comparison.settings:
        notes.append(
            plural(
                "{count} setting differs; `adjudge runs diff` shows it",
                "{count} settings differ; `adjudge runs diff` shows them",
                comparison.settings,
            )
        )
    if comparison.alone:
        notes.append(
            Message("{count} judgments are in only one of the runs", count=comparison.alone)
        )
    return notes


def correction_notes(correction: RubricCorrection) -> list[Message]:
    """Return what a reader of corrected figures must know."""
    return [
        Message("This is valid if the labelled rows were drawn at random."),
        *unused_labels(correction.tied, correction.unmatched),
    ]


def unused_labels(tied: int, unmatched: int) -> Iterator[Message]:
    """Yield how many points have tied labels, and how many labels the run has no point for."""
    if tied:
        yield plural(
            "{count} point has tied labels and is left out",
            "{count} points have tied labels and are left out",
            tied,
        )
    if unmatched:
        yield plural(
            "{count} label is for a row or point that the run does not have",
            "{count} labels are for rows or points that the run does not have",
            unmatched,
        )
