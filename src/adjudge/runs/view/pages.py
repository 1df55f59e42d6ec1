"""A report as a Markdown page and as a single HTML page; the templates lie beside this file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import islice

import jinja2
from markupsafe import Markup

from adjudge.core.domain.instance import STEPS
from adjudge.core.domain.record import Fields, JudgmentRecord, PairwiseDetail
from adjudge.core.domain.verdict import TIE
from adjudge.features.agents.step_view import StepsOfReport
from adjudge.features.evidence.fragments import with_line_breaks
from adjudge.features.evidence.report import is_contradicted, is_unsupported
from adjudge.features.evidence.view import evidence_html, evidence_markdown, evidence_of
from adjudge.features.rag.dimensions import Dimension, Gate
from adjudge.features.rag.measure_numbers import (
    because,
    blamed,
    fragments_seen,
    has_idle_fragment,
    has_measures,
    judged_question,
    measure_names,
    measured,
    missed,
)
from adjudge.features.rag.measure_titles import measure_title, yes_or_no
from adjudge.features.rag.measures import chosen_measures, measure_name
from adjudge.features.rag.report import BINS
from adjudge.features.rag.report_row import explanation_of, rag_detail, rule_of, score_of
from adjudge.features.rag.rows import MAY_BE_ABSENT
from adjudge.messages import Message, abridge, capitalize, join, render, term
from adjudge.runs.results.contests import order_message
from adjudge.runs.results.counts import count_labels, count_rows, exclusion
from adjudge.runs.results.numbers import figure
from adjudge.runs.results.report import Report, Section, is_barred
from adjudge.runs.results.summary import Summary
from adjudge.runs.view.decision import decision
from adjudge.runs.view.markdown import quoted
from adjudge.runs.view.order_effect import order_html
from adjudge.runs.view.plots import distribution, histogram
from adjudge.runs.view.reasons import how_sure, reason_of
from adjudge.runs.view.slices import (
    score_slice_headings,
    score_slice_rows,
    slice_headings,
    slice_lines,
    slice_rows,
    slice_title,
)
from adjudge.runs.view.template import environment
from adjudge.runs.view.terms import STATUSES, field_title, parameter_title, rule_title
from adjudge.trust.report import titled, trust_sentence

_LONGEST_LINE = 200
_MOST_FOUND = 50_000
"""Judgments beside those listed that a page holds for its filters."""
_FIRST_FIELDS = ("user_input", "history", "contexts", "response")


def markdown_page(report: Report) -> str:
    """For code hosts and mail."""
    return (
        _environment(report.language, html=False)
        .get_template("report.md.jinja")
        .render(_values(report))
        .strip()
        + "\n"
    )


def html_parts(report: Report, judgments: Iterable[JudgmentRecord] | None) -> Iterator[str]:
    """One file with everything in it, piece by piece: nothing is loaded, nothing is sent.

    ``judgments``: all of them, so that filters and search find more than the worst.
    """
    listed = {(one.judge, one.row) for one in report.entries}
    rest = islice(
        (one for one in judgments or () if (one.judge, one.row) not in listed), _MOST_FOUND
    )
    values = {
        **_values(report),
        "rest": rest,
        "steps_of": StepsOfReport(report.language).draw,
        "more": judgments is not None and report.total > len(report.entries),
    }
    return (
        _environment(report.language, html=True).get_template("report.html.jinja").generate(values)
    )


def measures_html(one: JudgmentRecord, language: str) -> Markup:
    """What was measured of one row: for the local page."""
    page = _environment(language, html=True).get_template("measures.html.jinja")
    titles = {"title_of_measure": lambda section, name: _measure_title(section, name, language)}
    found = page.make_module(titles).of_row(one, None)  # type: ignore[attr-defined]
    return Markup(found)  # noqa: S704 - the template escapes


def _values(report: Report) -> dict[str, object]:
    sections = [one for one in report.sections if one.rag]
    places = {id(one): place for place, one in enumerate(report.sections, 1)}
    return {
        "report": report,
        "decision": decision(report),
        "standing": report.standing,
        "rag": sections[0].rag if len(sections) == len(report.sections) == 1 else None,
        "several": len({one.judge for one in report.sections}) > 1,
        "title_of": lambda one: one.judge if _only(one, report) else one.name,
        "title_of_measure": lambda section, name: _measure_title(section, name, report.language),
        "dimensions": report.dimensions_of,
        "reason_of": lambda one: reason_of(one, report),
        "barred": lambda one: is_barred(one, report.dimensions_of(one)),
        "section_of": report.section_of,
        "place_of": lambda section: places.get(id(section), 0),
        "badness": report.badness_of,
        "shade": lambda one: _shade(one, report),
        "fired": lambda one: _fired(one, report.dimensions_of(one)),
    }


def _only(one: Section, report: Report) -> bool:
    """Whether its judge has no other section."""
    return sum(other.judge == one.judge for other in report.sections) == 1


@cache
def _environment(language: str, *, html: bool) -> jinja2.Environment:
    made = environment(language, html=html)
    shown = evidence_html if html else evidence_markdown
    made.filters |= {
        "quoted": quoted,
        "lines": with_line_breaks,
    }
    made.globals |= {
        "because": because,
        "blamed": blamed,
        "composite": _composite,
        "contradicted": is_contradicted,
        "count_labels": count_labels,
        "count_rows": count_rows,
        "decided_by": lambda one: Message("decided by {step}", step=one.decided_by),
        "distribution": partial(distribution, language=language),
        "edges": [render(figure(place / BINS, 1), language) for place in range(BINS + 1)],
        "evidence": partial(shown, language=language),
        "evidence_of": evidence_of,
        "exclusion": exclusion,
        "explanation_of": explanation_of,
        "field_title": field_title,
        "fragments_seen": fragments_seen,
        "gate_rule": _gate_rule,
        "has_idle_fragment": has_idle_fragment,
        "has_measures": has_measures,
        "heading": lambda name: _heading(name, language),
        "histogram": histogram,
        "judged_question": judged_question,
        "kind_of": abridge,
        "mean_between": _mean_between,
        "measure_names": measure_names,
        "measure_title": measure_title,
        "measured": measured,
        "missed": missed,
        "option": lambda name: Message("tie") if name == TIE else name,
        "options": _options,
        "order_bias": order_message,
        "order_html": order_html,
        "parameter_title": parameter_title,
        "question": _question,
        "reads": _reads,
        "how_sure": how_sure,
        "rule_of": rule_of,
        "rule_title": rule_title,
        "scale_labels": _scale_labels,
        "score_of": score_of,
        "score_slice_headings": score_slice_headings,
        "score_slice_rows": score_slice_rows,
        "slice_headings": slice_headings,
        "slice_lines": slice_lines,
        "slice_rows": slice_rows,
        "slice_title": slice_title,
        "statuses": STATUSES,
        "texts": _texts,
        "titled": titled,
        "trust_sentence": trust_sentence,
        "unsupported": is_unsupported,
        "yes_or_no": yes_or_no,
    }
    return made


def _heading(name: str, language: str) -> str:
    """A field above its text; one of the user's own keeps its name."""
    title = field_title(name)
    return capitalize(title).render(language) if isinstance(title, Message) else title


def _mean_between(overall: Summary) -> Message:
    low, high = figure(overall.lower), figure(overall.upper)
    return Message("mean between {low} and {high}", low=low, high=high)


def _gate_rule(gate: Gate) -> Message:
    """What a gate of the composite does."""
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


def _measure_title(section: Section | None, name: str, language: str) -> str:
    """What a figure is called that a row is blamed by: a measure, by its section of a report if it
    has one, or something else.
    """
    if section is None:
        known = measure_name(name) is not None
        return chosen_measures([name], {}, language)[0].title if known else measure_title(name)
    own = section.rag.measures.named(name) if section.rag and section.rag.measures else None
    return own.measure.title if own else measure_title(name)


def _fired(one: JudgmentRecord, dimensions: Iterable[Dimension]) -> str | None:
    """The gate of the composite that fired, if one did."""
    rule = rule_of(one)
    return rule if rule in {gate.rule for each in dimensions for gate in each.gates} else None


def without_steps(fields: Fields) -> Fields:
    """The fields of a row; of a trajectory, without those that its list of steps shows."""
    if STEPS not in fields and "trajectory" not in fields:
        return fields
    return {
        name: value
        for name, value in fields.items()
        if name not in (STEPS, "contexts", "tools", "trajectory")
    }


def _texts(one: JudgmentRecord) -> list[tuple[str, list[str]]]:
    """(field, its texts): those that most rows have first, then further ones."""
    fields = without_steps(one.fields)
    order = [
        *(name for name in _FIRST_FIELDS if name in fields),
        *(name for name in fields if name not in _FIRST_FIELDS),
    ]
    found = [
        (name, [value] if isinstance(value := fields[name], str) else list(value)) for name in order
    ]
    if isinstance(one.detail, PairwiseDetail):
        found = [
            pair
            for name, texts in found
            for pair in _by_system(one.detail, name, texts, fields[name])
        ]
    return [
        (name, texts)
        for name, texts in found
        if name not in MAY_BE_ABSENT or "".join(texts).strip()
    ]


def _by_system(
    compared: PairwiseDetail, name: str, texts: list[str], given: str | Sequence[str]
) -> list[tuple[str, list[str]]]:
    """Compared responses under the names of their systems."""
    if len(texts) != len(compared.per_system_results) or isinstance(given, str):
        return [(name, texts)]
    return [(system, [text]) for system, text in zip(compared.system_names, texts, strict=True)]


def _scale_labels(dimension: Dimension) -> list[str]:
    return [f"{score} {label}".strip() for score, label, _ in dimension.scale]


def _options(summary: Summary) -> list[tuple[str, int, float]]:
    """(option, how often, how good from 0 to 1) of what was chosen, the worst first; none where an
    option has no score.
    """
    scores = {option: score for option, score in summary.option_scores.items() if score is not None}
    if len(scores) < len(summary.options):
        return []
    least, most = min([0.0, *scores.values()]), max([1.0, *scores.values()])
    shades = {option: (score - least) / (most - least) for option, score in scores.items()}
    return [
        (option, summary.options[option], shades[option])
        for option in sorted(shades, key=lambda name: shades[name])
    ]


def _shade(one: JudgmentRecord, report: Report) -> float | None:
    """How good the chosen option is, as the bar of its criteria shows it."""
    section = report.section_of(one)
    shades = _options(section.summary) if section else ()
    return next((shade for option, _, shade in shades if option == one.verdict), None)


def _reads(dimension: Dimension) -> Message:
    if dimension.reads is None:
        return Message("everything else")
    return join(", ", map(field_title, dimension.reads))


def _composite(one: JudgmentRecord) -> Message:
    """Its value, or between what it lies."""
    rag = rag_detail(one)
    known = one.bounds if rag is None or rag.composite.value is None else (rag.composite.value,)
    return join("…", map(figure, known))


def _question(one: JudgmentRecord) -> str:
    """What the row is about, in a line."""
    said = (
        one.fields.get("user_input")
        or one.fields.get("response")
        or next(iter(one.fields.values()), "")
    )
    line = " ".join(with_line_breaks(said if isinstance(said, str) else " ".join(said)).split())
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + "…"
