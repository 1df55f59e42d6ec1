"""Instances of a CSV file, as the playground writes it: a column is a field, ``label`` what is
expected, ``response_1``, ``response_2``, … responses that are compared.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

from adjudge.core.data.cells import text_of
from adjudge.core.data.sources.delimited import DELIMITERS, delimited_rows, find_dialect
from adjudge.core.data.sources.row import BadRow, Cells, Origin, Row
from adjudge.core.data.sources.text import PeekableText
from adjudge.errors import SetupError
from adjudge.features.playground.case_files import LABEL_COLUMN
from adjudge.features.playground.draft import Draft, TextsDraft
from adjudge.messages import Message, join

BROUGHT = Message("what was brought in")
_JSON = ("{", "[")


def instances_in(text: str, draft: Draft) -> list[TextsDraft]:
    """Those of a text with a column for what is judged; none where it has no such column."""
    if text.lstrip("\ufeff \r\n").startswith(_JSON):
        return []
    peeked = PeekableText(io.StringIO(text, newline=""), Origin(BROUGHT, unit="line"), "utf-8")
    rows = list(delimited_rows(peeked))
    table = [one.cells for one in rows if isinstance(one, Row) and isinstance(one.cells, Mapping)]
    filled = [cells for cells in table if cells]
    columns = list(filled[0]) if filled else _header(peeked)
    judged = _judged(columns, draft)
    if not judged:
        return []
    if bad := next((row for row in rows if isinstance(row, BadRow)), None):
        raise SetupError(join(": ", (bad.where, bad.reason)))
    others = [name for name in columns if name not in (*judged, "id", LABEL_COLUMN)]
    return [_instance(cells, draft.judged, judged, others) for cells in filled]


def _header(text: PeekableText) -> list[str]:
    """The names of the columns where no row can be read."""
    lines = io.StringIO(text.head, newline="")
    return next(find_dialect(text.head, DELIMITERS, text).cells(lines, strict=False), [])


def _judged(columns: list[str], draft: Draft) -> list[str]:
    """The columns of the judged field, one for each response that is compared."""
    if not draft.compares:
        return [draft.judged] if draft.judged in columns else []
    names = {f"{name}_{place}" for name in (draft.judged, "response") for place in range(1, 11)}
    found = [name for name in columns if name in names]
    return found if len(found) > 1 else []


def _instance(row: Cells, field: str, judged: Sequence[str], others: Sequence[str]) -> TextsDraft:
    def cell(name: str) -> str:
        return text_of(str(row.get(name, "")))

    texts = {name: (cell(name),) for name in others}
    return TextsDraft(
        answer=cell(LABEL_COLUMN).strip(),
        texts={**texts, field: tuple(map(cell, judged))},
        id=cell("id").strip(),
    )
