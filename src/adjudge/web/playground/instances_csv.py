"""Instances of a CSV file, as the playground writes it: a column is a field, ``label`` what is
expected, ``response_1``, ``response_2``, … responses that are compared.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

from adjudge.data.cells import text_of
from adjudge.errors import SetupError
from adjudge.exporters.test_case_files import LABEL_COLUMN
from adjudge.web.playground.draft import Draft, TextsDraft

_DELIMITERS = ",;\t"


def instances_in(text: str, draft: Draft) -> list[TextsDraft]:
    """Those of a text with a column for what is judged; none where it has no such column."""
    lines = text.lstrip("\ufeff")
    delimiter = max(_DELIMITERS, key=lines.partition("\n")[0].count)
    try:
        table = list(csv.DictReader(io.StringIO(lines), delimiter=delimiter, restkey=""))
    except csv.Error as error:
        raise SetupError("the CSV file cannot be read: {reason}", reason=str(error)) from None
    columns = list(table[0]) if table else []
    judged = _judged(columns, draft)
    if not judged:
        return []
    others = [name for name in columns if name and name not in (*judged, "id", LABEL_COLUMN)]
    return [_instance(row, draft.judged, judged, others) for row in table]


def _judged(columns: list[str], draft: Draft) -> list[str]:
    """The columns of the judged field, one for each response that is compared."""
    if not draft.compares:
        return [draft.judged] if draft.judged in columns else []
    names = {f"{name}_{place}" for name in (draft.judged, "response") for place in range(1, 11)}
    found = [name for name in columns if name in names]
    return found if len(found) > 1 else []


def _instance(
    row: Mapping[str, str | None], field: str, judged: list[str], others: list[str]
) -> TextsDraft:
    def cell(name: str) -> str:
        return text_of(row.get(name) or "")

    texts = {name: (cell(name),) for name in others}
    return TextsDraft(
        answer=cell(LABEL_COLUMN).strip(),
        texts={**texts, field: tuple(map(cell, judged))},
        id=cell("id").strip(),
    )
