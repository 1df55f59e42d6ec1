"""The points of a row on its page: a checklist with quotes."""

from __future__ import annotations

from pathlib import Path

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.record import JudgmentRecord
from adjudge.features.rubrics.record import rubric_detail
from adjudge.features.rubrics.report import (
    answer_title,
    between,
    class_of,
    sign_of,
    worth_of,
)
from adjudge.features.rubrics.settings import RUBRIC_FIELDS
from adjudge.web.page import Page, RowContext, RowPart

_SHOWN = ("points", "lower", "upper", "failed_gates", "open_gates", "categories")


def _row_data(row: RowContext) -> JsonDict:
    detail = rubric_detail(row.record)
    return {"rubric": {name: row.data.get(name) for name in _SHOWN} if detail else None}


def _hidden_fields(record: JudgmentRecord) -> tuple[str, ...]:
    """Return the rubric's fields, which need not be shown next to the checklist."""
    return RUBRIC_FIELDS if rubric_detail(record) else ()


def _style() -> str:
    folder = Path(__file__).parent / "report_templates"
    return (folder / "style.css").read_text(encoding="utf-8")


PAGE = Page(
    name="rubrics",
    package="adjudge.features.rubrics",
    style=_style,
    row=RowPart(
        data=_row_data,
        findings="rubrics/checklist.html.jinja",
        functions={
            "detail": rubric_detail,
            "sign": sign_of,
            "side": class_of,
            "worth": worth_of,
            "answer": answer_title,
            "between": between,
        },
        apart=_SHOWN,
        hidden_fields=_hidden_fields,
    ),
)
