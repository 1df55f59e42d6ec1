"""Additions to the pages of rows: the dimensions of a RAG answer and its measures."""

from __future__ import annotations

from collections.abc import Collection

from markupsafe import Markup

from adjudge.core.domain.frozen_mapping import some_of
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.domain.record import JudgmentRecord
from adjudge.features.rag.dimensions import kept_dimensions
from adjudge.features.rag.record import rag_detail
from adjudge.features.rag.report_functions import FUNCTIONS
from adjudge.features.rag.report_row import explanation_of, rule_of, score_of
from adjudge.features.rag.rows import MAY_BE_ABSENT
from adjudge.messages import Message
from adjudge.runs.view.template import environment
from adjudge.web.page import ListPart, Page, RowContext, RowPart

_OF_MEASURES = ("judge", "row", "fields", "measures", "parts", "blame")


def _dimensions(configuration: JudgeConfiguration) -> list[JsonDict]:
    return [
        some_of(dimension, "name", "title", "maximum", "labels")
        for dimension in kept_dimensions(configuration.dimensions)
    ]


def _row_data(row: RowContext) -> JsonDict:
    """Return every dimension with its score and the reason, and the rule that made the
    composite.
    """
    if rag_detail(row.record) is None:
        return {"dimensions": [], "rule": None}
    dimensions: list[JsonDict] = []
    for dimension in kept_dimensions(row.configuration.dimensions):
        score = score_of(row.record, dimension.name)
        dimensions.append(
            {
                **some_of(dimension, "name", "title", "maximum"),
                "score": score,
                "label": dimension.labels[score]
                if score is not None and score < len(dimension.labels)
                else "",
                "worth": None if score is None else dimension.normalized(score),
                "why": explanation_of(row.record, dimension.name),
            }
        )
    return {"dimensions": dimensions, "rule": rule_of(row.record)}


def _empty_fields(record: JudgmentRecord) -> Collection[str]:
    """Return the optional fields that are empty in this row."""
    return [
        name for name in MAY_BE_ABSENT if name in record.fields and not any(record.fields[name])
    ]


def _judge_again(record: JudgmentRecord, file: str) -> str:
    if rag_detail(record) is None:
        return ""
    return Message(
        "to judge these RAG answers again, run 'adjudge rag --data {file}', which contains the "
        "rows",
        file=file,
    )


def _measures_html(record: JudgmentRecord, language: str) -> Markup:
    """Render the measures of one row."""
    template = environment(language, html=True).get_template(
        "adjudge.features.rag:measures.html.jinja"
    )
    macros = template.make_module()
    html = macros.of_row(record, None, FUNCTIONS)  # type: ignore[attr-defined]
    return Markup(html)  # noqa: S704 - the template escapes


def _measures_data(row: RowContext) -> JsonDict:
    values = {name: row.data.get(name) for name in _OF_MEASURES}
    return {"measures": values if row.data.get("measures") else None}


PAGE = Page(
    name="rag",
    package="adjudge.features.rag",
    row=RowPart(
        data=_row_data,
        findings="rag/dimensions.html.jinja",
        apart=("scores", "normalized", "explanations"),
        hidden_fields=_empty_fields,
        judge_again=_judge_again,
    ),
    rows=ListPart(dimensions=_dimensions),
)
MEASURES = Page(
    name="measures",
    row=RowPart(
        data=_measures_data,
        findings="rag/measures.html.jinja",
        functions={"measures": _measures_html},
        apart=("measures", "parts", "blame"),
    ),
)
