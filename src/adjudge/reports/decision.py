"""The one sentence on top of a report: what somebody who has to decide needs to know."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from adjudge.reports.gate import GateResult
from adjudge.reports.report import Report, Section
from adjudge.reports.words import Word, counted, is_word, word

if TYPE_CHECKING:
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
    told = [text for one in report.sections[:_MOST_NAMED] for text in _figures(one, report)]
    unscored = sum(one.summary.unscored for one in report.sections)
    missing = [f"{unscored} {word('without a score', language)}"] if unscored else []
    skipped = [f"{word('skipped rows', language)} {report.skipped.rows}"] if report.skipped.rows else []
    said = f"{head}{'; '.join([*told, *missing, *skipped])}"
    return f"{said}." if said else ""


def _figures(one: Section, report: Report) -> Iterator[str]:
    language = report.language
    if one.rag:
        yield from _rag(one.rag, report)
    elif one.contests and one.contests.systems:
        best = one.contests.systems[0]
        rate = "–" if best.winrate is None else f"{best.winrate:.0%}"
        doubt = "" if one.contests.leader else f" ({word('cannot tell', language)})"
        yield f"{best.name}: {word('win rate', language)} {rate}{doubt}"
    elif one.summary.mean is not None:
        yield f"{one.criteria or one.judge}: {word('mean', language)} {one.summary.mean:.2f}{_against(one, report)}"
    elif one.summary.options:
        chosen = list(one.summary.options.items())[:_MOST_NAMED]
        yield f"{one.criteria or one.judge}: {', '.join(f'{option} {count}' for option, count in chosen)}"


def _rag(summary: RagSummary, report: Report) -> Iterator[str]:
    language, overall = report.language, summary.overall
    answers = counted(overall.attempted, "answer of all", language)
    for rule in summary.barring:
        if count := summary.rules[rule]:
            yield f"{count} {word('of', language)} {answers} {word(rule, language) if is_word(rule) else rule}"
    worst = summary.worst
    if worst and worst.counts[0] and worst.dimension.labels[0] and worst.dimension.labels[0] not in summary.barring:
        yield f"{worst.counts[0]} {worst.dimension.labels[0]} ({worst.dimension.title})"
    if overall.mean is not None:
        bar = next((_missed(gate, language) for gate in report.gates if gate.measure == "composite"), "")
        yield f"{word('composite', language)} {overall.mean:.2f}{bar}"


def _against(one: Section, report: Report) -> str:
    own = (gate for gate in report.gates if (gate.judge, gate.name) == (one.judge, one.criteria) and gate.measure == "mean")
    return next((_missed(gate, report.language) for gate in own), "")


def _missed(gate: GateResult, language: str) -> str:
    """The bar, and by how much it was missed."""
    bar, margin = f", {word('bar', language)} {gate.bar:.2f}", gate.margin or 0.0
    return bar if margin >= 0 else f"{bar} {word('missed by', language)} {-margin:.2f}"
