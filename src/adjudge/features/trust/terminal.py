"""A calibration in a terminal."""

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


def show_calibration(one: Calibration, screen: Screen, *, name_judge: bool = False) -> None:
    """The number first, then what stands behind it.

    ``name_judge``: where several answer the same question.
    """
    if name_judge:
        screen.say(one.judge, "bold underline")
    screen.say(trust_sentence(one), "bold" if one.corrected else "bold yellow")
    headings = (Message("estimate"), Message("value"), Message("interval"), Message("based on"))
    rows = (
        (name, value_text(found), limits_text(found), basis_of(one, found))
        for name, found in estimates_of(one)
    )
    screen.show(screen.table(headings, rows))
    if one.confusion.table:
        screen.show(screen.table(*confusion_table(one)))
    for line in calibration_lines(one):
        screen.say(line)
    if one.slices:
        screen.say(slice_title(one.slices), "bold")
        screen.show(screen.table(slice_headings(one.slices), slice_rows(one.slices)))
        for line in slice_lines(one.slices):
            screen.say(line)
    if one.agreement and one.agreement.count:
        _show_agreement(one.agreement, screen)
    if one.panel:
        screen.say(panel_title(one.panel), "bold")
        for line in panel_lines(one.panel):
            screen.say(line)
    screen.show("")


def show_cascades(found: Iterable[CascadeReport | ProbabilityReport], screen: Screen) -> None:
    """Each cascade, or each model's probabilities, with its promise, its thresholds, and why there
    are none.
    """
    for one in found:
        for number, line in enumerate(one.lines):
            screen.say(line, "" if number else "bold")
        if one.refusal:
            screen.say(one.refusal.text, "bold yellow")


def _show_agreement(found: AgreementReport, screen: Screen) -> None:
    screen.say(agreement_title(found), "bold")
    headings = (Message("figure"), Message("value"), Message("interval"), Message("rows"))
    rows = (
        (name, value_text(one), limits_text(one), one.count)
        for name, one in agreement_figures(found)
    )
    screen.show(screen.table(headings, rows))
    for line in people_lines(found):
        screen.say(line)
