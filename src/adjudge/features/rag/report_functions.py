"""Functions for the templates of RAG reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from adjudge.core.domain.record import JudgmentRecord
from adjudge.features.rag.dimensions import Dimension, Gate
from adjudge.features.rag.measure_numbers import (
    MeasuresSummary,
    because,
    blamed_side,
    find_missed,
    fragments_seen,
    has_idle_fragment,
    has_measures,
    judged_question,
    measure_names,
    measure_of,
)
from adjudge.features.rag.measure_titles import measure_title, yes_or_no
from adjudge.features.rag.measures import chosen_measures, measure_name
from adjudge.features.rag.record import rag_detail
from adjudge.features.rag.report_row import explanation_of, rule_of, score_of
from adjudge.messages import Message, join, render, term
from adjudge.runs.numbers import figure
from adjudge.runs.sections import Rank
from adjudge.runs.terms import field_title, rule_title

BINS = 10
"""Bars of the composite's histogram."""


def rank_of(record: JudgmentRecord, dimensions: Iterable[Dimension]) -> Rank:
    """Return a sort key, the worst answer first: answers capped by a gate, answers below the best
    composite, answers without one, then the rest.
    """
    lowest = (record.score or 0.0) if record.scored else record.bounds[0]
    if is_barred(record, dimensions):
        return 0, lowest
    if not record.scored:
        return 2, lowest
    return 1 if lowest < 1.0 else 3, lowest


def is_barred(record: JudgmentRecord, dimensions: Iterable[Dimension]) -> bool:
    """Return True if a gate that caps the composite fired."""
    fired = rule_of(record)
    return any(
        gate.rule == fired and gate.cap is not None
        for dimension in dimensions
        for gate in dimension.gates
    )


def fired_gate(record: JudgmentRecord, dimensions: Iterable[Dimension]) -> str | None:
    """Return the gate that made the composite, if one fired."""
    rule = rule_of(record)
    return (
        rule
        if rule in {gate.rule for dimension in dimensions for gate in dimension.gates}
        else None
    )


def title_of_measure(measures: MeasuresSummary | None, name: str, language: str) -> str:
    """Return the title of the figure that decided whom a row blames."""
    if measures is None:
        is_known = measure_name(name) is not None
        return chosen_measures([name], {}, language)[0].title if is_known else measure_title(name)
    summary = measures.named(name)
    return summary.measure.title if summary else measure_title(name)


def _gate_rule(gate: Gate) -> Message:
    """Describe the effect of a gate."""
    rule = term("quoted", "“{name}”", name=rule_title(gate.rule))
    if gate.cap is not None:
        return Message(
            "rule {rule}: score {score} → composite at most {cap:g}",
            rule=rule,
            score=gate.score,
            cap=float(gate.cap),
        )
    return Message(
        "rule {rule}: score {score} → weight becomes {weight:g}",
        rule=rule,
        score=gate.score,
        weight=float(gate.weight or 0.0),
    )


def _scale_labels(dimension: Dimension) -> list[str]:
    return [f"{score} {label}".strip() for score, label, _ in dimension.scale]


def _reads(dimension: Dimension) -> Message:
    if dimension.reads is None:
        return Message("everything else")
    return join(", ", map(field_title, dimension.reads))


def _composite(record: JudgmentRecord) -> Message:
    """Return the composite's value, or its bounds if it has none."""
    rag = rag_detail(record)
    ends = record.bounds if rag is None or rag.composite.value is None else (rag.composite.value,)
    return join("…", map(figure, ends))


def _edges(language: str) -> list[str]:
    """Return the numbers below the histogram, at the edges of its bars."""
    return [render(figure(place / BINS, 1), language) for place in range(BINS + 1)]


FUNCTIONS: Mapping[str, Callable[..., object]] = {
    "because": because,
    "blamed": blamed_side,
    "composite": _composite,
    "edges": _edges,
    "explanation_of": explanation_of,
    "fired": fired_gate,
    "fragments_seen": fragments_seen,
    "gate_rule": _gate_rule,
    "has_idle_fragment": has_idle_fragment,
    "has_measures": has_measures,
    "is_barred": is_barred,
    "judged_question": judged_question,
    "measure_names": measure_names,
    "measure_title": measure_title,
    "measured": measure_of,
    "missed": find_missed,
    "reads": _reads,
    "rule_of": rule_of,
    "rule_title": rule_title,
    "scale_labels": _scale_labels,
    "score_of": score_of,
    "title_of_measure": title_of_measure,
    "yes_or_no": yes_or_no,
}
