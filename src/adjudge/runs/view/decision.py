"""The sentence on top of a report, with everything that a decision needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from adjudge.messages import Message, join, plural
from adjudge.runs.counts import count_judgments, count_unread
from adjudge.runs.numbers import figure
from adjudge.runs.results.gate import GateResult
from adjudge.runs.results.report import Report, Section
from adjudge.trust.report import trust_clause

if TYPE_CHECKING:
    from adjudge.runs.results.contests import ContestSummary
    from adjudge.trust.calibration import Calibration

_MOST_NAMED = 3
_LEAST_SHOWN = 0.005
"""The smallest number that two decimals do not round to 0."""
_STANDING = {
    "failed": Message("Not ready"),
    "inconclusive": Message("Undecided"),
    "holds": Message("Ready"),
}


def decision(report: Report) -> str:
    """Return "Ready" or "Not ready" if a gate decides, followed by the figures behind it."""
    verdict = report.standing
    sections = _deciding_sections(report)
    corrected = list(report.calibrations)
    if len(sections) < len(report.sections):  # a criterion whose gate passed is not named
        corrected = [
            item for item in corrected if any(_corrects(item, section) for section in sections)
        ]
    parts = [trust_clause(item) for item in corrected[:_MOST_NAMED]]
    parts += [text for item in sections[:_MOST_NAMED] for text in _figures(item, report)]
    if verdict and (more := len(sections) - _MOST_NAMED) > 0:
        parts.append(plural("{count} more criterion", "{count} more criteria", more))
    if unscored := sum(item.summary.unscored for item in report.sections):
        parts.append(Message("{number} without a score", number=unscored))
    if report.decided_nothing or (verdict and not report.sections):
        parts.append(Message("no row was judged"))
    if report.skipped.rows:
        parts.append(count_unread(report.skipped.rows))
    sentence = join("; ", parts)
    if report.is_unfinished:
        so_far = Message(
            "not finished, {judgments} so far", judgments=count_judgments(report.judged)
        )
        sentence = join("; ", (so_far, sentence)) if sentence else so_far
        verdict = "inconclusive"
    if verdict:
        sentence = Message("{standing}: {said}", standing=_STANDING[verdict], said=sentence)
    return Message("{said}.", said=sentence) if sentence else ""


def _deciding_sections(report: Report) -> list[Section]:
    """Return the sections that decide the verdict of the report.

    Unless a gate failed or is undecided, return all sections, those with deciding gates first.
    """
    deciding = [gate for gate in report.gates if gate.verdict == report.standing]
    gated_sections = [
        section for section in report.sections if any(is_about(gate, section) for gate in deciding)
    ]
    if gated_sections and report.standing != "holds":
        return gated_sections
    return [
        *gated_sections,
        *(section for section in report.sections if section not in gated_sections),
    ]


def is_about(gate: GateResult, section: Section) -> bool:
    """Return True if a gate belongs to a section.

    A win rate belongs to the section of its contests. A comparison of two runs with one system each
    names no system.
    """
    is_unnamed = gate.measure == "difference" and not gate.system
    of_it = gate.of_wins or is_unnamed or gate.system == section.system
    return of_it and gate.judge == section.judge and gate.name in _gate_names(section)


def _corrects(calibration: Calibration, section: Section) -> bool:
    """Return True if a calibration belongs to a section."""
    is_of_system = calibration.system in ("", section.system)
    return (
        is_of_system
        and calibration.judge == section.judge
        and calibration.criteria in _gate_names(section)
    )


def _gate_names(section: Section) -> Iterator[str]:
    """Yield the names under which gates refer to a section and its parts."""
    yield section.criteria
    for part in section.parts.values():
        yield from part.gated()
    if section.contests:
        yield from (system.name for system in section.contests.systems)


def _title(section: Section, report: Report) -> str:
    """Return the section's title, with the judge if another section has the same one."""
    titles = [other.title for other in report.sections]
    return section.title if titles.count(section.title) < 2 else section.name


def _figures(section: Section, report: Report) -> Iterator[Message]:
    if not section.summary.attempted:
        if not report.decided_nothing:  # which is said once, of all of them
            yield Message("{name}: no row was judged", name=_title(section, report))
    elif section.lead:
        yield from section.lead.headline(section, report)
    elif section.contests and section.contests.systems:
        yield from _win_rates(section, section.contests, report)
    elif section.summary.mean is not None or section.summary.between:
        yield Message(
            "{name}: mean {mean}{bar}{before}",
            name=_title(section, report),
            mean=section.summary.mean_text(),
            bar=_against(section, report),
            before=earlier_text(section, report),
        )
    elif section.summary.options:
        frequent_options = list(section.summary.options.items())[:_MOST_NAMED]
        options = ", ".join(f"{option} {count}" for option, count in frequent_options)
        yield Message("{name}: {options}", name=_title(section, report), options=options)


def _win_rates(section: Section, contests: ContestSummary, report: Report) -> Iterator[Message]:
    """Yield the win rates of the gated systems and of the best one, and doubts about them."""
    of = (report.contest_title(section),) if report.several_contests else ()
    bars = {
        gate.name: bar_text(gate)
        for gate in report.gates
        if (gate.judge, gate.measure) == (section.judge, "win rate")
    }
    best = contests.systems[0]
    for system in sorted(contests.systems, key=lambda system: system.name not in bars):
        if system is best or system.name in bars:
            doubt = (
                ""
                if contests.leader or system is not best
                else Message(" (too close to call on these rows)")
            )
            yield Message(
                "{name}: win rate {rate}{bar}{doubt}",
                name=join(": ", (*of, system.name)),
                rate=figure(system.winrate),
                bar=bars.get(system.name, ""),
                doubt=doubt,
            )
    if contests.one_order:
        yield plural(
            "but {rows} of {count} row was judged in one order only",
            "but {rows} of {count} rows were judged in one order only",
            contests.compared,
            rows=contests.one_order,
        )
    if contests.order and contests.order.strong:
        yield plural(
            "but position bias: the winner flips with the order in {turned} of {count} row",
            "but position bias: the winner flips with the order in {turned} of {count} rows",
            contests.order.rows,
            turned=contests.order.turned,
        )


def earlier_text(section: Section, report: Report) -> str:
    """Return the mean in the baseline run; empty without one."""
    change_of_mean = next(
        (change for change in report.changes(section) if change.name == section.title), None
    )
    if change_of_mean is None:
        return ""
    run = report.setup.baseline.run
    return Message(" (before {before}, {run})", before=figure(change_of_mean.before), run=run)


def _against(section: Section, report: Report) -> str:
    gates = (
        gate
        for gate in report.gates
        if gate.measure == "mean"
        and (gate.name, gate.system) == (section.criteria, section.system)
        and gate.judge == section.judge
    )
    return next((bar_text(gate) for gate in gates), "")


def bar_text(gate: GateResult) -> Message:
    """Return the bar, and the margin by which a failed gate missed it."""
    margin = gate.margin or 0.0
    if margin >= 0 or gate.verdict != "failed" or gate.between is not None:
        return Message(", bar {bar}", bar=figure(gate.bar))
    digits = 2 if -margin >= _LEAST_SHOWN else gate.decimals
    bar, missed_by = figure(gate.bar, digits), figure(-margin, digits)
    return Message(", bar {bar} missed by {margin}", bar=bar, margin=missed_by)
