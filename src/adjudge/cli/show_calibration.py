"""A calibration in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from adjudge.cli.inputs import spoken
from adjudge.cli.show import clean, told
from adjudge.reports.trusted import trust_sentence
from adjudge.reports.words import counted, word
from adjudge.stats.estimate import Estimate
from adjudge.stats.refusal import Needed
from adjudge.trust.agreement import CROWD, AgreementReport, Pair
from adjudge.trust.both_orders import OrderAgreement
from adjudge.trust.calibration import Calibration
from adjudge.trust.cascades import CascadeReport
from adjudge.trust.panel_check import PanelReport


def show_calibration(one: Calibration, *, name_judge: bool = False) -> None:
    """The number first, then what stands behind it. ``name_judge``: where several answer the same question."""
    console = Console(highlight=False, soft_wrap=True)
    if name_judge:
        console.print(Text(clean(one.judge), style="bold underline"))
    console.print(Text(clean(trust_sentence(one, spoken())), style="bold" if one.corrected else "bold yellow"))
    console.print(_estimates(one))
    for line in _lines(one):
        console.print(Text(told(line)))
    if one.agreement and one.agreement.count:
        _show_agreement(console, one.agreement)
    if one.panel:
        _show_panel(console, one.panel)
    console.print()


def show_cascades(found: Iterable[CascadeReport]) -> None:
    """Each cascade with its promise, its thresholds, and why there are none."""
    console = Console(highlight=False, soft_wrap=True)
    for one in found:
        for number, line in enumerate(one.lines):
            console.print(Text(clean(line), style="" if number else "bold"))
        if one.refusal:
            console.print(Text(clean(one.refusal.text), style="bold yellow"))


def _value(one: Estimate | None) -> str:
    return "–" if one is None or one.value is None else told(f"{one.value:.3f}")


def _limits(one: Estimate | None) -> str:
    return "–" if one is None or one.lower is None or one.upper is None else f"between {one.lower:.3f} and {one.upper:.3f}"


def _estimates(one: Calibration) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("estimate", "value", "interval", "stands on"):
        table.add_column(told(heading))
    named = [("corrected", one.corrected), ("uncorrected", one.naive), ("labels alone", one.labels_only)]
    for name, found in [*named, *((each.method, each) for each in one.others)]:
        if found is not None:
            rows = counted(found.count, "row")
            limits = Text(told(_limits(found) if found.lower is not None else found.reason))
            table.add_row(told(name), _value(found), limits, told(rows if found is one.naive else f"labels of {rows}"))
    for option, found in one.shares.items():
        rows = told(f"labels of {counted(found.count, 'row')}")
        table.add_row(Text(told(f"share of {option}")), _value(found), told(_limits(found)), rows)
    return table


def _lines(one: Calibration) -> Iterator[str]:
    yield "labelled rows: " + ", ".join(
        f"{name} {number} {word('of', spoken())} {one.rows_by_verdict.get(name, 0)}" for name, number in _verdicts(one)
    )
    for truth, row in one.confusion.table.items():
        yield f"people say {truth}: the judge says " + ", ".join(f"{said} {number}" for said, number in row.items())
    for name, share in (("sensitivity", one.confusion.sensitivity), ("specificity", one.confusion.specificity)):
        if share is not None:
            limits = _limits(share) if share.lower is not None else share.reason
            yield f"{name} {_value(share)}, {limits} ({counted(share.count, 'label')})"
    yield _needed(one.needed, one.measure.range)
    yield f"judge identity {one.lock or 'not known'}"
    yield from one.notes


def _verdicts(one: Calibration) -> list[tuple[str, int]]:
    return [(name, one.labels_by_verdict.get(name, 0)) for name in one.rows_by_verdict]


def _needed(needed: Needed, scale: tuple[float, float]) -> str:
    of = "" if scale == (0, 1) else " of the scale"
    width = f"an interval {needed.target_width:g}{of} wide"
    if needed.labels is None:
        return f"{width}: {needed.reason}"
    if not needed.more:
        return f"{width}: the labels are enough"
    among = ", ".join(f"{number} among {verdict}" for verdict, number in needed.by_verdict.items())
    saved = f"; without the judge it would take {needed.labels_alone}" if needed.labels_alone else ""
    return f"{width} needs {counted(needed.labels, 'label')}, {needed.more} more{f' ({among})' if among else ''}{saved}"


def _show_agreement(console: Console, found: AgreementReport) -> None:
    rows = "drawn at random" if found.drawn else "that somebody chose: the figures are about those alone"
    missing = f"; {found.left_out} without a verdict left out" if found.left_out else ""
    console.print(Text(told(f"agreement of judge and people on {counted(found.count, 'row')} {rows}{missing}"), style="bold"))
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("figure", "value", "interval", "rows"):
        table.add_column(told(heading))
    for name, one in (*found.figures.items(), *((f"baseline {name}", one) for name, one in found.baselines.items())):
        limits = _limits(one) if one.lower is not None else one.reason
        table.add_row(Text(told(name)), _value(one), Text(told(limits)), str(one.count))
    for option, scores in found.classes.items():
        for name, one in scores.items():
            table.add_row(Text(told(f"{name} of {option}")), _value(one), Text(told(_limits(one))), str(one.count))
    console.print(table)
    for line in _people(found):
        console.print(Text(told(line)))


def _people(found: AgreementReport) -> Iterator[str]:
    for name, pair in found.groups.items():
        yield f"group {name or '(empty)'}: {_pair(pair)}"
    for name, orders in found.orders.items():
        yield _both_orders(name, orders)
    for name, pair in islice(found.annotators.items(), CROWD):
        yield f"judge and {name}: {_pair(pair)}"
    if len(found.annotators) > CROWD:
        yield f"… and {len(found.annotators) - CROWD} more annotators: --json has them"
    for (one, other), pair in found.people.items():
        yield f"{one} and {other}: {_pair(pair)}"
    if found.people_alpha.value is not None:
        yield f"people among themselves: Krippendorff's alpha {found.people_alpha.value:.3f}"
    test = found.alt_test
    if test is None:
        return
    if test.winning_rate is None or test.advantage is None:
        yield f"alternative annotator test: {test.reason}"
        return
    near = ", ".join(f"{rate:.2f} at {epsilon:g}" for epsilon, rate in (test.nearby or {}).items())
    may = "may replace a person" if test.passed else "may not replace a person"
    yield (
        f"alternative annotator test: the judge {may} (winning rate {test.winning_rate:.2f} at epsilon {test.epsilon:g}; {near}; "
        f"advantage {test.advantage:.2f})"
    )


def _both_orders(group: str, found: OrderAgreement) -> str:
    first, other = found.right
    about = f"both orders{f', group {group}' if group else ''}"
    right = f"{found.accuracy:.1%} of votes right ({first:.1%} and {other:.1%})"
    return f"{about}: {right}, {found.alike:.1%} of rows say the same in both ({counted(found.count, 'row')})"


def _pair(pair: Pair) -> str:
    kappa = pair.kappa.reason if pair.kappa.value is None else f"kappa {pair.kappa.value:.3f}"
    share = "" if pair.accuracy.value is None else f"{pair.accuracy.value:.1%} alike, "
    return f"{share}{kappa} ({counted(pair.count, 'row')})"


def _show_panel(console: Console, found: PanelReport) -> None:
    console.print(Text(told(f"panel of {len(found.members)} models on labels of {counted(found.labels, 'row')}"), style="bold"))
    for name, share in found.members.items():
        console.print(Text(told(f"{name}: {share:.1%} right; weight that the labels support {found.usable[name]:g}")))
    worth = "" if found.alike.effective is None else f"; worth {found.alike.effective:.1f} independent members"
    weighted = f"with these weights {found.weighted:.1%} on the same labels"
    console.print(Text(told(f"the panel: {found.panel:.1%} right{worth}; {weighted}")))
    for warning in found.warnings:
        click.secho(told(warning), fg="yellow", err=True)
