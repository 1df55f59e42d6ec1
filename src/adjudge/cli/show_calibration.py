"""A calibration in a terminal."""

from __future__ import annotations

from collections.abc import Iterable

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from adjudge.cli.inputs import spoken
from adjudge.cli.show import clean, told
from adjudge.cli.terminal import open_console, plain_table
from adjudge.messages import render
from adjudge.results.counts import count_rows
from adjudge.results.russian import verbatim
from adjudge.results.trusted import trust_sentence
from adjudge.trust.agreement import AgreementReport
from adjudge.trust.calibration import Calibration
from adjudge.trust.cascades import CascadeReport
from adjudge.trust.panel_check import ConsensusReport, PanelReport
from adjudge.view.calibrated import (
    calibration_lines,
    limits_text,
    option_name,
    people_lines,
    value_text,
)


def show_calibration(one: Calibration, *, name_judge: bool = False) -> None:
    """The number first, then what stands behind it.

    ``name_judge``: where several answer the same question.
    """
    console = open_console(soft_wrap=True)
    if name_judge:
        console.print(Text(clean(one.judge), style="bold underline"))
    console.print(
        Text(
            clean(render(trust_sentence(one), spoken())),
            style="bold" if one.corrected else "bold yellow",
        )
    )
    console.print(_estimates(one))
    for line in calibration_lines(one):
        console.print(Text(told(line)))
    if one.agreement and one.agreement.count:
        _show_agreement(console, one.agreement)
    if one.panel:
        _show_panel(console, one.panel)
    console.print()


def show_cascades(found: Iterable[CascadeReport]) -> None:
    """Each cascade with its promise, its thresholds, and why there are none."""
    console = open_console(soft_wrap=True)
    for one in found:
        for number, line in enumerate(one.lines):
            console.print(Text(told(line), style="" if number else "bold"))
        if one.refusal:
            console.print(Text(told(one.refusal.text), style="bold yellow"))


def _estimates(one: Calibration) -> Table:
    table = plain_table(*map(told, ("estimate", "value", "interval", "stands on")))
    named = [
        ("corrected", one.corrected),
        ("uncorrected", one.naive),
        ("labels alone", one.labels_only),
    ]
    for name, found in [*named, *((each.method, each) for each in one.others)]:
        if found is not None:
            rows = count_rows(found.count)
            limits = Text(told(limits_text(found) if found.lower is not None else found.reason))
            table.add_row(
                told(name),
                told(value_text(found)),
                limits,
                told(rows if found is one.naive else f"labels of {rows}"),
            )
    for option, found in one.shares.items():
        labels = told(f"labels of {count_rows(found.count)}")
        table.add_row(
            Text(told(f"share of {option_name(option)}")),
            told(value_text(found)),
            told(limits_text(found)),
            labels,
        )
    return table


def _show_agreement(console: Console, found: AgreementReport) -> None:
    rows = (
        "drawn at random"
        if found.drawn
        else "that somebody chose: the figures are about those alone"
    )
    missing = f"; {found.left_out} without a verdict left out" if found.left_out else ""
    console.print(
        Text(
            told(f"agreement of judge and people on {count_rows(found.count)} {rows}{missing}"),
            style="bold",
        )
    )
    table = plain_table(*map(told, ("figure", "value", "interval", "rows")))
    for name, one in (
        *found.figures.items(),
        *((f"baseline {name}", one) for name, one in found.baselines.items()),
    ):
        limits = limits_text(one) if one.lower is not None else one.reason
        table.add_row(Text(told(name)), told(value_text(one)), Text(told(limits)), str(one.count))
    for option, scores in found.classes.items():
        for name, one in scores.items():
            figure = Text(told(f"{name} of {option_name(option)}"))
            table.add_row(
                figure, told(value_text(one)), Text(told(limits_text(one))), str(one.count)
            )
    console.print(table)
    for line in people_lines(found):
        console.print(Text(told(line)))


def _show_panel(console: Console, found: PanelReport) -> None:
    console.print(
        Text(
            told(f"panel of {len(found.members)} models on labels of {count_rows(found.labels)}"),
            style="bold",
        )
    )
    for name, share in found.members.items():
        console.print(
            Text(
                told(
                    f"{verbatim(name)}: {share:.1%} right; weight that the labels support "
                    f"{found.usable[name]:g}"
                )
            )
        )
    worth = (
        ""
        if found.alike.effective is None
        else f"; worth {found.alike.effective:.1f} independent members"
    )
    weighted = f"with these weights {found.weighted:.1%} on the same labels"
    console.print(Text(told(f"the panel: {found.panel:.1%} right{worth}; {weighted}")))
    if found.unseen is not None:
        console.print(
            Text(
                told(
                    "weights of four fifths of the labels, on the other fifth: "
                    f"{found.unseen:.1%} right"
                )
            )
        )
    if found.consensus:
        console.print(Text(told(_consensus_line(found.consensus))))
    for warning in found.warnings:
        click.secho(told(warning), fg="yellow", err=True)


def _consensus_line(found: ConsensusReport) -> str:
    if found.reason:
        return f"Dawid–Skene, which knows no labels: refused: {found.reason}"
    shares = ", ".join(
        f"{option_name(option)} {share:.1%}" for option, share in found.shares.items()
    )
    right = "" if found.accuracy is None else f"; {found.accuracy:.1%} right of the labelled ones"
    return f"Dawid–Skene, which knows no labels, on {count_rows(found.rows)}: {shares}{right}"
