"""A report as a Markdown page and as a single HTML page; the templates lie beside this file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import islice

import jinja2

from adjudge.core.data.cells import with_line_breaks
from adjudge.core.domain.instance import STEPS
from adjudge.core.domain.record import Detail, Fields, JudgmentRecord
from adjudge.core.domain.verdict import TIE
from adjudge.messages import Message, abridge, capitalize
from adjudge.runs.counts import count_labels, count_rows, exclusion
from adjudge.runs.numbers import figure
from adjudge.runs.results.contests import order_message
from adjudge.runs.results.report import Report, Section
from adjudge.runs.results.summary import Summary
from adjudge.runs.sections import SectionPart
from adjudge.runs.terms import STATUSES, field_title, parameter_title
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
from adjudge.trust.report import titled, trust_sentence

_LONGEST_LINE = 200
_MOST_FOUND = 50_000
"""Judgments beside those listed that a page holds for its filters."""
_FIRST_FIELDS = ("user_input", "history", "contexts", "response")
_MAY_BE_ABSENT = ("history", "contexts")
"""Fields that are not shown if they are empty."""


def markdown_page(report: Report) -> str:
    """For code hosts and mail."""
    return (
        _environment(report.language, html=False)
        .get_template("report.md.jinja")
        .render(_values(report, "md"))
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
        **_values(report, "html"),
        "rest": rest,
        "more": judgments is not None and report.total > len(report.entries),
    }
    return (
        _environment(report.language, html=True).get_template("report.html.jinja").generate(values)
    )


def _values(report: Report, ending: str) -> dict[str, object]:
    (sole,) = report.sections if len(report.sections) == 1 else (None,)
    places = {id(one): place for place, one in enumerate(report.sections, 1)}
    parts = {name: part for one in report.sections for name, part in one.parts.items()}
    styles = [part.templates.get(f"style.{ending}") for part in parts.values()]
    return {
        "report": report,
        "decision": decision(report),
        "standing": report.standing,
        "lead": sole.lead if sole else None,
        "several": len({one.judge for one in report.sections}) > 1,
        "title_of": lambda one: one.judge if _only(one, report) else one.name,
        "reason_of": lambda one: reason_of(one, report),
        "section_of": report.section_of,
        "place_of": lambda section: places.get(id(section), 0),
        "badness": report.badness_of,
        "shade": lambda one: _shade(one, report),
        "parts_of": report.parts_of,
        "parts_at": lambda place: _parts_at(f"{place}.{ending}", report),
        "owner_of": lambda one: _owner_of(one, report),
        "explains": lambda one: any(part.explains(one) for part in report.parts_of(one)),
        "shown_texts": lambda one: _shown_texts(one, report),
        "plain_entries": [one for one in report.entries if not _owner_of(one, report)],
        "shared": {name: part.page_state(report.language) for name, part in parts.items()},
        "styles": [name for name in styles if name],
    }


def _parts_at(place: str, report: Report) -> list[tuple[Section, SectionPart, str]]:
    """The parts that have a template for a place, each with its section."""
    return [
        (section, part, part.templates[place])
        for section in report.sections
        for part in section.parts.values()
        if place in part.templates
    ]


def _owner_of(one: JudgmentRecord, report: Report) -> SectionPart | None:
    """The part that shows a row itself."""
    return next((part for part in report.parts_of(one) if part.owns(one)), None)


def _only(one: Section, report: Report) -> bool:
    """Whether its judge has no other section."""
    return sum(other.judge == one.judge for other in report.sections) == 1


@cache
def _environment(language: str, *, html: bool) -> jinja2.Environment:
    made = environment(language, html=html)
    made.filters |= {
        "quoted": quoted,
        "lines": with_line_breaks,
    }
    made.globals |= {
        "count_labels": count_labels,
        "count_rows": count_rows,
        "decided_by": lambda one: Message("decided by {step}", step=one.decided_by),
        "distribution": partial(distribution, language=language),
        "exclusion": exclusion,
        "field_title": field_title,
        "heading": lambda name: _heading(name, language),
        "histogram": histogram,
        "kind_of": abridge,
        "mean_between": _mean_between,
        "option": lambda name: Message("tie") if name == TIE else name,
        "options": _options,
        "order_bias": order_message,
        "order_html": order_html,
        "parameter_title": parameter_title,
        "question": _question,
        "how_sure": how_sure,
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
    }
    return made


def _heading(name: str, language: str) -> str:
    """A field above its text; one of the user's own keeps its name."""
    title = field_title(name)
    return capitalize(title).render(language) if isinstance(title, Message) else title


def _mean_between(overall: Summary) -> Message:
    low, high = figure(overall.lower), figure(overall.upper)
    return Message("mean between {low} and {high}", low=low, high=high)


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
    if one.detail.is_comparison:
        found = [
            pair
            for name, texts in found
            for pair in _by_system(one.detail, name, texts, fields[name])
        ]
    return [
        (name, texts)
        for name, texts in found
        if name not in _MAY_BE_ABSENT or "".join(texts).strip()
    ]


def _shown_texts(one: JudgmentRecord, report: Report) -> list[tuple[str, list[str]]]:
    """The texts without those that a part of the section shows."""
    hidden = {name for part in report.parts_of(one) for name in part.hidden_fields(one)}
    return [(name, texts) for name, texts in _texts(one) if name not in hidden]


def _by_system(
    compared: Detail, name: str, texts: list[str], given: str | Sequence[str]
) -> list[tuple[str, list[str]]]:
    """Compared responses under the names of their systems."""
    if len(texts) != len(compared.system_results) or isinstance(given, str):
        return [(name, texts)]
    return [(system, [text]) for system, text in zip(compared.system_names, texts, strict=True)]


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


def _question(one: JudgmentRecord) -> str:
    """What the row is about, in a line."""
    said = (
        one.fields.get("user_input")
        or one.fields.get("response")
        or next(iter(one.fields.values()), "")
    )
    line = " ".join(with_line_breaks(said if isinstance(said, str) else " ".join(said)).split())
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + "…"
