"""The one sentence on top of a report: what somebody who has to decide needs to know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from adjudge.messages import Message, join, plural
from adjudge.runs.counts import count_judgments
from adjudge.runs.numbers import figure
from adjudge.runs.results.gate import GateResult
from adjudge.runs.results.report import Report, Section
from adjudge.trust.report import trust_clause

if TYPE_CHECKING:
    from adjudge.runs.results.contests import ContestSummary
    from adjudge.trust.calibration import Calibration

_MOST_NAMED = 3
_STANDING = {
    "failed": Message("Not ready"),
    "inconclusive": Message("Undecided"),
    "holds": Message("Ready"),
}


def decision(report: Report) -> str:
    """Ready or not where a gate says so, then the figures behind it."""
    verdict = report.standing
    sections = _deciding_sections(report)
    corrected = list(report.calibrations)
    if len(sections) < len(report.sections):  # a criterion whose gate passed is not named
        corrected = [one for one in corrected if any(_corrects(one, each) for each in sections)]
    parts = [trust_clause(one) for one in corrected[:_MOST_NAMED]]
    parts += [text for one in sections[:_MOST_NAMED] for text in _figures(one, report)]
    if verdict and (more := len(sections) - _MOST_NAMED) > 0:
        parts.append(plural("{count} more criterion", "{count} more criteria", more))
    if unscored := sum(one.summary.unscored for one in report.sections):
        parts.append(Message("{number} without a score", number=unscored))
    if report.decided_nothing or (verdict and not report.sections):
        parts.append(Message("no row was judged"))
    if report.skipped.rows:
        parts.append(Message("skipped rows {number}", number=report.skipped.rows))
    said = join("; ", parts)
    if report.is_unfinished:
        so_far = Message(
            "not finished, {judgments} so far", judgments=count_judgments(report.judged)
        )
        said = join("; ", (so_far, said)) if said else so_far
        verdict = "inconclusive"
    if verdict:
        said = Message("{standing}: {said}", standing=_STANDING[verdict], said=said)
    return Message("{said}.", said=said) if said else ""


def _deciding_sections(report: Report) -> list[Section]:
    """The sections whose gates have the verdict of the whole report. If no section has such a gate,
    or without gates, all sections, those with a gate first.
    """
    deciding = [gate for gate in report.gates if gate.verdict == report.standing]
    named = [one for one in report.sections if any(is_about(gate, one) for gate in deciding)]
    if named and report.standing != "holds":
        return named
    return [*named, *(one for one in report.sections if one not in named)]


def is_about(gate: GateResult, one: Section) -> bool:
    """Return True if a gate is one of a section's. A win rate is in the section of its contests,
    and a comparison of two runs with one system each names no system.
    """
    is_unnamed = gate.measure == "difference" and not gate.system
    of_it = gate.of_wins or is_unnamed or gate.system == one.system
    return of_it and gate.judge == one.judge and gate.name in _gated(one)


def _corrects(one: Calibration, section: Section) -> bool:
    """Return True if a corrected number is one of a section's."""
    is_of_system = one.system in ("", section.system)
    return is_of_system and one.judge == section.judge and one.criteria in _gated(section)


def _gated(one: Section) -> Iterator[str]:
    """What gates call a section, and what is in it."""
    yield one.criteria
    for part in one.parts.values():
        yield from part.gated()
    if one.contests:
        yield from (system.name for system in one.contests.systems)


def _figures(one: Section, report: Report) -> Iterator[Message]:
    if not one.summary.attempted:
        if not report.decided_nothing:  # which is said once, of all of them
            yield Message("{name}: no row was judged", name=one.title)
    elif one.lead:
        yield from one.lead.headline(one, report)
    elif one.contests and one.contests.systems:
        yield from _win_rates(one, one.contests, report)
    elif one.summary.mean is not None:
        yield Message(
            "{name}: mean {mean}{bar}{before}",
            name=one.title,
            mean=figure(one.summary.mean),
            bar=_against(one, report),
            before=earlier_text(one, report),
        )
    elif one.summary.options:
        chosen = list(one.summary.options.items())[:_MOST_NAMED]
        options = ", ".join(f"{option} {count}" for option, count in chosen)
        yield Message("{name}: {options}", name=one.title, options=options)


def _win_rates(section: Section, contests: ContestSummary, report: Report) -> Iterator[Message]:
    """The systems that gates are about, and the best."""
    of = (report.contest_title(section),) if report.several_contests else ()
    bars = {
        gate.name: bar_text(gate)
        for gate in report.gates
        if (gate.judge, gate.measure) == (section.judge, "win rate")
    }
    best = contests.systems[0]
    for one in sorted(contests.systems, key=lambda one: one.name not in bars):
        if one is best or one.name in bars:
            doubt = (
                ""
                if contests.leader or one is not best
                else Message(" (too close to call on these rows)")
            )
            yield Message(
                "{name}: win rate {rate}{bar}{doubt}",
                name=join(": ", (*of, one.name)),
                rate=figure(one.winrate),
                bar=bars.get(one.name, ""),
                doubt=doubt,
            )
    if contests.one_order:
        yield plural(
            "but {rows} of {count} row stands on one order",
            "but {rows} of {count} rows stand on one order",
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


def earlier_text(one: Section, report: Report) -> str:
    """How the mean was in the run that this one is compared with."""
    first = next((each for each in report.changes(one) if each.name == one.title), None)
    if first is None:
        return ""
    run = report.setup.baseline.run
    return Message(" (before {before}, {run})", before=figure(first.before), run=run)


def _against(one: Section, report: Report) -> str:
    own = (
        gate
        for gate in report.gates
        if gate.measure == "mean"
        and (gate.name, gate.system) == (one.criteria, one.system)
        and gate.judge == one.judge
    )
    return next((bar_text(gate) for gate in own), "")


def bar_text(gate: GateResult) -> Message:
    """The bar, and by how much a gate that failed missed it; an undecided gate missed nothing."""
    margin = gate.margin or 0.0
    if margin >= 0 or gate.verdict != "failed":
        return Message(", bar {bar}", bar=figure(gate.bar))
    return Message(", bar {bar} missed by {margin}", bar=figure(gate.bar), margin=figure(-margin))
