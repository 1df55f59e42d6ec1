"""Additions to the page of a row: the sentences that were looked up."""

from __future__ import annotations

from adjudge.core.domain.json_types import JsonDict
from adjudge.features.evidence.marked_text import evidence_html, evidence_style
from adjudge.web.page import Page, RowContext, RowPart

_SHOWN = ("judge", "row", "fields", "evidence")


def _row_data(row: RowContext) -> JsonDict:
    values = {name: row.data.get(name) for name in _SHOWN}
    return {"evidence": values if row.data.get("evidence") else None}


PAGE = Page(
    name="evidence",
    package="adjudge.features.evidence",
    style=evidence_style,
    row=RowPart(
        data=_row_data,
        findings="evidence/evidence.html.jinja",
        functions={"evidence": evidence_html},
        apart=("evidence",),
    ),
)
