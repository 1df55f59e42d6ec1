"""A report as a Markdown page and as a single HTML page. The templates are next to this file."""

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
    """Render the report as Markdown, for code hosts and mail."""
    return (
        _environment(report.language, html=False)
        .get_template("report.md.jinja")
        .render(_values(report, "md"))
        .strip()
        + "\n"
    )


def html_parts(report: Report, judgments: Iterable[JudgmentRecord] | None) -> Iterator[str]:
    """Yield one self-contained HTML file in pieces; it loads and sends nothing.

    ``judgments``: all of them, so that filters and search also find rows that are not among the
    worst.
    """
    listed = {(record.judge, record.row) for record in report.entries}
    unlisted = islice(
        (record for record in judgments or () if (record.judge, record.row) not in listed),
        _MOST_FOUND,
    )
    values = {
        **_values(report, "html"),
        "rest": unlisted,
        "more": judgments is not None and report.total > len(report.entries),
    }
    return (
        _environment(report.language, html=True).get_template("report.html.jinja").generate(values)
    )


def _values(report: Report, ending: str) -> dict[str, object]:
    (sole,) = report.sections if len(report.sections) == 1 else (None,)
    places = {id(item): place for place, item in enumerate(report.sections, 1)}
    parts = {name: part for item in report.sections for name, part in item.parts.items()}
    styles = [part.templates.get(f"style.{ending}") for part in parts.values()]
    return {
        "report": report,
        "decision": decision(report),
        "standing": report.standing,
        "lead": sole.lead if sole else None,
        "several": len({item.judge for item in report.sections}) > 1,
        "title_of": lambda item: item.judge if _only(item, report) else item.name,
        "reason_of": lambda item: reason_of(item, report),
        "section_of": report.section_of,
        "place_of": lambda section: places.get(id(section), 0),
        "badness": report.badness_of,
        "shade": lambda item: _shade(item, report),
        "parts_of": report.parts_of,
        "parts_at": lambda place: _parts_at(f"{place}.{ending}", report),
        "owner_of": lambda item: _owner_of(item, report),
        "explains": lambda item: any(part.explains(item) for part in report.parts_of(item)),
        "shown_texts": lambda item: _shown_texts(item, report),
        "plain_entries": [item for item in report.entries if not _owner_of(item, report)],
        "shared": {name: part.page_state(report.language) for name, part in parts.items()},
        "styles": [name for name in styles if name],
    }


def _parts_at(place: str, report: Report) -> list[tuple[Section, SectionPart, str]]:
    """Return the parts with a template for this place, each with its section."""
    return [
        (section, part, part.templates[place])
        for section in report.sections
        for part in section.parts.values()
        if place in part.templates
    ]


def _owner_of(record: JudgmentRecord, report: Report) -> SectionPart | None:
    """Return the part that shows a row itself; None if there is none."""
    return next((part for part in report.parts_of(record) if part.owns(record)), None)


def _only(section: Section, report: Report) -> bool:
    """Return True if this is the only section of its judge."""
    return sum(other_section.judge == section.judge for other_section in report.sections) == 1


@cache
def _environment(language: str, *, html: bool) -> jinja2.Environment:
    templates = environment(language, html=html)
    templates.filters |= {
        "quoted": quoted,
        "lines": with_line_breaks,
    }
    templates.globals |= {
        "count_labels": count_labels,
        "count_rows": count_rows,
        "decided_by": lambda record: Message("decided by {step}", step=record.decided_by),
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
    return templates


def _heading(name: str, language: str) -> str:
    """Return a field name as a heading. User-defined fields keep their names."""
    title = field_title(name)
    return capitalize(title).render(language) if isinstance(title, Message) else title


def _mean_between(overall: Summary) -> Message:
    low, high = figure(overall.lower), figure(overall.upper)
    return Message("mean between {low} and {high}", low=low, high=high)


def without_steps(fields: Fields) -> Fields:
    """Return a row's fields; for trajectories, without those that the list of steps shows."""
    if STEPS not in fields and "trajectory" not in fields:
        return fields
    return {
        name: value
        for name, value in fields.items()
        if name not in (STEPS, "contexts", "tools", "trajectory")
    }


def _texts(record: JudgmentRecord) -> list[tuple[str, list[str]]]:
    """Return each field with its texts, common fields first. Empty optional fields are left out."""
    fields = without_steps(record.fields)
    order = [
        *(name for name in _FIRST_FIELDS if name in fields),
        *(name for name in fields if name not in _FIRST_FIELDS),
    ]
    texts_by_field = [
        (name, [value] if isinstance(value := fields[name], str) else list(value)) for name in order
    ]
    if record.detail.is_comparison:
        texts_by_field = [
            pair
            for name, texts in texts_by_field
            for pair in _by_system(record.detail, name, texts, fields[name])
        ]
    return [
        (name, texts)
        for name, texts in texts_by_field
        if name not in _MAY_BE_ABSENT or "".join(texts).strip()
    ]


def _shown_texts(record: JudgmentRecord, report: Report) -> list[tuple[str, list[str]]]:
    """Return the texts that no part of the section shows."""
    hidden = {name for part in report.parts_of(record) for name in part.hidden_fields(record)}
    return [(name, texts) for name, texts in _texts(record) if name not in hidden]


def _by_system(
    compared: Detail, name: str, texts: list[str], given: str | Sequence[str]
) -> list[tuple[str, list[str]]]:
    """Return compared responses under their systems' names; other fields unchanged."""
    if len(texts) != len(compared.system_results) or isinstance(given, str):
        return [(name, texts)]
    return [(system, [text]) for system, text in zip(compared.system_names, texts, strict=True)]


def _options(summary: Summary) -> list[tuple[str, int, float]]:
    """Return the chosen options with counts and shades from 0 to 1, worst first.

    Empty if an option has no score.
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


def _shade(record: JudgmentRecord, report: Report) -> float | None:
    """Return the shade of the chosen option in its criterion's bar; None if it has none."""
    section = report.section_of(record)
    shades = _options(section.summary) if section else ()
    return next((shade for option, _, shade in shades if option == record.verdict), None)


def _question(record: JudgmentRecord) -> str:
    """Summarize the row in one shortened line."""
    text = (
        record.fields.get("user_input")
        or record.fields.get("response")
        or next(iter(record.fields.values()), "")
    )
    line = " ".join(with_line_breaks(text if isinstance(text, str) else " ".join(text)).split())
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + "…"
