"""Print calibrations in a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from adjudge.messages import Message
from adjudge.runs.view.slices import slice_headings, slice_lines, slice_rows, slice_title
from adjudge.runs.view.terminal import Screen
from adjudge.trust.agreement import AgreementReport
from adjudge.trust.calibration import Calibration
from adjudge.trust.calibration_words import (
    agreement_figures,
    agreement_title,
    basis_of,
    calibration_lines,
    confusion_table,
    estimates_of,
    limits_text,
    panel_lines,
    panel_title,
    people_lines,
    value_text,
)
from adjudge.trust.cascades import CascadeReport
from adjudge.trust.probabilities import ProbabilityReport
from adjudge.trust.report import trust_sentence


def show_calibration(calibration: Calibration, screen: Screen, *, name_judge: bool = False) -> None:
    """Print the corrected number first, then the estimates behind it.

    ``name_judge`` also prints the judge's name, for several judges of the same question.
    """
    if name_judge:
        screen.say(calibration.judge, "bold underline")
    screen.say(trust_sentence(calibration), "bold" if calibration.corrected else "bold yellow")
    headings = (Message("estimate"), Message("value"), Message("interval"), Message("based on"))
    rows = (
        (name, value_text(estimate), limits_text(estimate), basis_of(calibration, estimate))
        for name, estimate in estimates_of(calibration)
    )
    screen.show(screen.table(headings, rows))
    if calibration.confusion.table:
        screen.show(screen.table(*confusion_table(calibration)))
    for line in calibration_lines(calibration):
        screen.say(line)
    if calibration.slices:
        screen.say(slice_title(calibration.slices), "bold")
        screen.show(
            screen.table(slice_headings(calibration.slices), slice_rows(calibration.slices))
        )
        for line in slice_lines(calibration.slices):
            screen.say(line)
    if calibration.agreement and calibration.agreement.count:
        _show_agreement(calibration.agreement, screen)
    if calibration.panel:
        screen.say(panel_title(calibration.panel), "bold")
        for line in panel_lines(calibration.panel):
            screen.say(line)
    screen.show("")


def show_cascades(found: Iterable[CascadeReport | ProbabilityReport], screen: Screen) -> None:
    """Print each cascade, or each model's probabilities: promise, thresholds, or why there are
    none.
    """
    for report in found:
        for number, line in enumerate(report.lines):
            screen.say(line, "" if number else "bold")
        if report.refusal:
            screen.say(report.refusal.text, "bold yellow")


def _show_agreement(agreement: AgreementReport, screen: Screen) -> None:
    screen.say(agreement_title(agreement), "bold")
    headings = (Message("figure"), Message("value"), Message("interval"), Message("rows"))
    rows = (
        (name, value_text(estimate), limits_text(estimate), estimate.count)
        for name, estimate in agreement_figures(agreement)
    )
    screen.show(screen.table(headings, rows))
    for line in people_lines(agreement):
        screen.say(line)
