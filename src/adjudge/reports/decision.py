"""The one sentence on top of a report: what somebody who has to decide needs to know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from adjudge.reports.gate import GateResult
from adjudge.reports.report import Report, Section
from adjudge.reports.sentences import sentence
from adjudge.reports.trusted import trust_sentence
from adjudge.reports.words import Word, counted, is_word, number_text, word

if TYPE_CHECKING:
    from adjudge.reports.contests import ContestSummary
    from adjudge.reports.rag import RagSummary

_MOST_NAMED = 3
_STANDING: dict[str, Word] = {"failed": "not ready", "inconclusive": "undecided", "holds": "ready"}


def standing(report: Report) -> str | None:
    """The worst verdict of the gates; None without gates."""
    found = {gate.verdict for gate in report.gates}
    return next((verdict for verdict in _STANDING if verdict in found), None)


def decision(report: Report) -> str:
    """Ready or not where a gate says so, then the figures behind it."""
    language, verdict = report.language, standing(report)
    head = f"{word(_STANDING[verdict], language)}: " if verdict else ""
    told = [trust_sentence(one, language).rstrip(".") for one in report.calibrations[:_MOST_NAMED]]
    told += [
        text for one in _deciding_first(report)[:_MOST_NAMED] for text in _figures(one, report)
    ]
    unscored = sum(one.summary.unscored for one in report.sections)
    missing = [f"{unscored} {word('without a score', language)}"] if unscored else []
    skipped = (
        [f"{word('skipped rows', language)} {report.skipped.rows}"] if report.skipped.rows else []
    )
    said = f"{head}{'; '.join([*told, *missing, *skipped])}"
    return f"{said}." if said else ""


def _deciding_first(report: Report) -> list[Section]:
    """The sections; where not every gate holds, those with the gates that do not come first."""
    missed = {(gate.judge, gate.name) for gate in report.gates if gate.verdict != "holds"}
    return sorted(
        report.sections, key=lambda one: not missed & {(one.judge, name) for name in _gated(one)}
    )


def _gated(one: Section) -> Iterator[str]:
    """What gates call a section, and what is in it."""
    yield one.criteria
    if one.rag:
        yield from (each.dimension.name for each in one.rag.dimensions)
    if one.contests:
        yield from (system.name for system in one.contests.systems)


def _figures(one: Section, report: Report) -> Iterator[str]:
    language = report.language
    if one.rag:
        yield from _rag(one, one.rag, report)
    elif one.contests and one.contests.systems:
        yield from _win_rates(one.judge, one.contests, report)
    elif one.summary.mean is not None:
        mean = number_text(one.summary.mean, 2, language)
        yield (
            f"{one.criteria or one.judge}: {word('mean', language)} "
            f"{mean}{_against(one, report)}{_since(one, report)}"
        )
    elif one.summary.options:
        chosen = list(one.summary.options.items())[:_MOST_NAMED]
        yield (
            f"{one.criteria or one.judge}: "
            f"{', '.join(f'{option} {count}' for option, count in chosen)}"
        )


def _win_rates(judge: str, contests: ContestSummary, report: Report) -> Iterator[str]:
    """The systems that gates are about, and the best."""
    language = report.language
    bars = {
        gate.name: _missed(gate, language)
        for gate in report.gates
        if (gate.judge, gate.measure) == (judge, "win rate")
    }
    best = contests.systems[0]
    for one in sorted(contests.systems, key=lambda one: one.name not in bars):
        if one is best or one.name in bars:
            rate = number_text(one.winrate, 2, language)
            doubt = (
                "" if contests.leader or one is not best else f" ({word('cannot tell', language)})"
            )
            yield f"{one.name}: {word('win rate', language)} {rate}{bars.get(one.name, '')}{doubt}"
    if contests.order and contests.order.strong:
        yield sentence(
            "strong position bias", language, turned=contests.order.turned, rows=contests.order.rows
        )


def _since(one: Section, report: Report) -> str:
    """How the mean was in the run that this one is compared with."""
    first = next(
        (each for each in report.changes(one) if each.name == (one.criteria or one.judge)), None
    )
    if first is None:
        return ""
    before = number_text(first.before, 2, report.language)
    return f" ({word('before', report.language)} {before}, {report.setup.baseline.run})"


def _rag(one: Section, summary: RagSummary, report: Report) -> Iterator[str]:
    language, overall = report.language, summary.overall
    answers = counted(overall.attempted, "answer of all", language)
    for rule in summary.barring:
        if count := summary.rules[rule]:
            yield _told(
                word(rule, language) if is_word(rule) else rule,
                f"{count} {word('of', language)} {answers}",
                language,
            )
    worst = summary.worst
    if (
        worst
        and worst.counts[0]
        and worst.dimension.labels[0]
        and worst.dimension.labels[0] not in summary.barring
    ):
        yield (
            f"{_told(worst.dimension.labels[0], str(worst.counts[0]), language)} "
            f"({worst.dimension.title})"
        )
    for each in summary.dimensions:
        bar = next(
            (
                gate
                for gate in report.gates
                if gate.name == each.dimension.name and gate.verdict != "holds"
            ),
            None,
        )
        if bar and bar.value is not None:
            mean = number_text(bar.value, 2, language)
            yield f"{each.dimension.title}: {word('mean', language)} {mean}{_missed(bar, language)}"
    if overall.mean is not None:
        against = next(
            (_missed(gate, language) for gate in report.gates if gate.measure == "composite"), ""
        )
        yield (
            f"{word('composite', language)} "
            f"{number_text(overall.mean, 2, language)}{against}{_since(one, report)}"
        )


def _told(what: str, count: str, language: str) -> str:
    """ "3 harmful"; in Russian the number stands behind, where no word has to agree with it."""
    return f"{what}: {count}" if language == "ru" else f"{count} {what}"


def _against(one: Section, report: Report) -> str:
    own = (
        gate
        for gate in report.gates
        if (gate.judge, gate.name) == (one.judge, one.criteria) and gate.measure == "mean"
    )
    return next((_missed(gate, report.language) for gate in own), "")


def _missed(gate: GateResult, language: str) -> str:
    """The bar, and by how much it was missed."""
    bar, margin = (
        f", {word('bar', language)} {number_text(gate.bar, 2, language)}",
        gate.margin or 0.0,
    )
    missed = f"{word('missed by', language)} {number_text(-margin, 2, language)}"
    return bar if margin >= 0 else f"{bar}, {missed}" if language == "ru" else f"{bar} {missed}"
