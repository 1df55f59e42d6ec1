"""Ids of retrieved and relevant documents, as tools write them into a cell."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence

from adjudge.core.data.rendering import parse_nested
from adjudge.errors import WrongData

ID_ALIASES: Mapping[str, tuple[str, ...]] = {
    "retrieved_ids": (
        *(
            "retrieved_ids",
            "retrieved_context_ids",
            "retrieved_doc_ids",
            "retrieved_document_ids",
            "retrieved_docs",
            "retrieved",
        ),
        *("context_ids", "fragment_ids", "chunk_ids", "doc_ids", "document_ids", "Fragment IDs"),
        *("найденные id", "id найденных", "id фрагментов", "id документов"),
    ),
    "relevant_ids": (
        *(
            "relevant_ids",
            "reference_context_ids",
            "relevant_context_ids",
            "relevant_doc_ids",
            "relevant_document_ids",
        ),
        *(
            "relevant_docs",
            "relevant",
            "gold_ids",
            "gold_doc_ids",
            "ground_truth_ids",
            "expected_ids",
            "expected_doc_ids",
        ),
        *(
            "reference_ids",
            "qrels",
            "релевантные id",
            "id релевантных",
            "правильные id",
            "ожидаемые id",
        ),
    ),
}
"""Names of the two fields in other tools; searched only if a measure reads them."""
_SEPARATORS = re.compile(r"[\n\r\t;|,]+")
_WHOLE = re.compile(r"^(-?\d+)\.0$")
_IDS = (
    "id",
    "_id",
    "doc_id",
    "document_id",
    "chunk_id",
    "context_id",
    "fragment_id",
    "docid",
    "source",
)
_GRADES = ("grade", "relevance", "rel", "gain", "score", "label")
Cell = str | Sequence[str]


def id_list(value: Cell) -> list[str]:
    """Return ids in order, from a list, JSON, or a text with line breaks, tabs and ``; | ,``
    between them.

    A ValueError names an item that is not an id.
    """
    return [doc_id for doc_id, _ in _read_grades(value)]


def graded_ids(value: Cell) -> dict[str, float]:
    """Map ids to grades, 1 without a grade: ``{"d1": 3, "d2": 1}``, ``[{"id": "d1", "grade": 3}]``
    or plain ids.
    """
    return dict(_read_grades(value))


def _read_grades(value: Cell) -> Iterator[tuple[str, float]]:
    read = parse_nested(value.strip()) if isinstance(value, str) else value
    if isinstance(read, Mapping):
        yield from ((_name(name), _grade(grade, name)) for name, grade in read.items())
        return
    items = _SEPARATORS.split(read) if isinstance(read, str) else read
    for item in items if isinstance(items, Sequence) else ():
        yield from _item(item)


def _item(item: object) -> Iterator[tuple[str, float]]:
    read = parse_nested(item.strip()) if isinstance(item, str) else item
    if isinstance(read, Mapping):
        yield _document(read)
    elif isinstance(read, list):
        raise WrongData(
            "{item} is a nested list, not an id",
            item=json.dumps(read, ensure_ascii=False)[:100],
        )
    elif read is not None and str(read).strip():
        yield _name(read), 1.0


def _name(read: object) -> str:
    """Return an id as text; 7.0 becomes 7, because tables with gaps write integers so."""
    return _WHOLE.sub(r"\1", str(read).strip())


def _document(read: Mapping[str, object]) -> tuple[str, float]:
    name = next((read[key] for key in _IDS if read.get(key) not in (None, "")), None)
    if name is None:
        raise WrongData(
            "{item} has no id", item=json.dumps(read, ensure_ascii=False, default=str)[:100]
        )
    return _name(name), next((_grade(read[key], name) for key in _GRADES if key in read), 1.0)


def _grade(value: object, name: object) -> float:
    try:
        grade = float(value)  # type: ignore[arg-type]  # a TypeError is handled below
    except (TypeError, ValueError):
        # Reported below, like infinity.
        grade = math.nan
    if not math.isfinite(grade):
        raise WrongData("the grade of {name!r} is {value!r}, not a number", name=name, value=value)
    return grade
