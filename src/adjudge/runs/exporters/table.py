"""Judgments as rows of a file: one row per judgment, and CSV that is safe to
open in a spreadsheet.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from adjudge.core.data.cells import cell
from adjudge.core.domain.json_types import JsonDict, JsonObject
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.reading.objects import ObjectFile
from adjudge.errors import SetupError
from adjudge.features.rag.report_row import explanation_of, rag_detail, score_of
from adjudge.messages import reason_of
from adjudge.runs.exporters.files import STDOUT, text_file

if TYPE_CHECKING:
    from _csv import Writer as CsvWriter

    from adjudge.features.rag.dimensions import Dimension

_IN_COLUMNS_OF_THEIR_OWN = ("composite", "scores", "normalized", "explanations", "agreements")
"""What a RAG result holds for every dimension."""
_MEASURED = ("measures", "parts", "blame", "votes_on_measures")
"""What it holds of its measures."""


def check_writable(path: Path | ObjectFile | None) -> None:
    """Before anything is paid for, not after."""
    if path is None or path == STDOUT:
        return
    try:
        if isinstance(path, ObjectFile):
            path.check()
            return
        folder = path.absolute().parent
        if path.is_dir() or not folder.is_dir():
            raise SetupError(
                "{path} cannot be written: it is a folder, or its folder does not exist", path=path
            )
        if not os.access(path if path.exists() else folder, os.W_OK):
            raise SetupError(
                "{path} cannot be written: it is read-only, or its folder is", path=path
            )
    except OSError as error:
        raise SetupError(
            "{path} cannot be written: {reason}", path=path, reason=reason_of(error)
        ) from error


def write_judgments(
    path: Path, judgments: Iterable[JudgmentRecord], dimensions: Mapping[str, Sequence[Dimension]]
) -> None:
    """A .csv file, or JSONL under any other name. ``dimensions``: of the judges of RAG answers."""
    if path.suffix.lower() == ".csv":
        write_rows(path, (flat(one, dimensions.get(one.judge, ())) for one in judgments))
    else:
        write_rows(path, (one.to_dict() for one in judgments))


def flat(one: JudgmentRecord, dimensions: Sequence[Dimension] = ()) -> JsonDict:
    """One level: the columns of the input by their names, the result beside them."""
    own: JsonDict = {"judge": one.judge, "row": one.row, "id": one.id}
    rag = rag_detail(one)
    scored, measures = bool(dimensions or rag), (rag.measures if rag else None) or {}
    apart = (*(_IN_COLUMNS_OF_THEIR_OWN if scored else ()), *(_MEASURED if measures else ()))
    own |= {name: value for name, value in one.outcome().items() if name not in apart}
    own |= _scores(one, dimensions) if scored else {}
    own |= _measures(one, measures) if measures else {}
    own |= _evidence(own.pop("evidence")) if isinstance(own.get("evidence"), Mapping) else {}
    given = {
        **one.input,
        **{name: value for name, value in one.fields.items() if not _stands_in(value, one.input)},
    }
    return {
        _free(name, own, given): value
        for name, value in given.items()
        if own.get(name, own) != value
    } | own


def _evidence(found: object) -> JsonDict:
    """The counts of sentences, and the sentences themselves as JSON."""
    held: JsonObject = found if isinstance(found, Mapping) else {}
    counts = {
        f"evidence_{name}": held.get(name)
        for name in ("claims", "supported", "contradicted", "not_found", "unanswered")
    }
    return {**counts, "evidence_sentences": json.dumps(held.get("sentences"), ensure_ascii=False)}


def _free(name: str, own: Collection[str], given: Collection[str]) -> str:
    """What a column of the input is called beside ours and its own kind."""
    free = name
    while free in own or (free != name and free in given):
        free = f"input_{free}"
    return free


def _scores(one: JudgmentRecord, dimensions: Sequence[Dimension]) -> JsonDict:
    """Each dimension's score and its explanation, and the composite with its bounds. A run that was
    imported does not say what its dimensions were: there the judgment does.
    """
    own: JsonDict = {}
    rag, known = rag_detail(one), {each.name: each for each in dimensions}
    for name in known or (rag.scores if rag else ()):
        score, kept = score_of(one, name), rag.normalized.get(name) if rag else None
        own[f"{name}_score"] = score
        own[f"{name}_normalized"] = (
            None if score is None else known[name].normalized(score) if name in known else kept
        )
        own[f"{name}_explanation"] = explanation_of(one, name) or None
    made = rag.composite if rag else None
    own["composite"] = made.value if made else None
    own["composite_lower"] = made.lower if made else None
    own["composite_upper"] = made.upper if made else None
    return {**own, "rule": made.rule if made else None}


def _measures(one: JudgmentRecord, names: Iterable[str]) -> JsonDict:
    """Each measure, why it has no number where it has none, and whom the row blames."""
    from adjudge.features.rag.measure_numbers import (  # not loaded where only models judge
        blamed,
        measured,
    )

    own: JsonDict = {}
    for name in names:
        own[name], reason = measured(one, name)
        own[f"{name}_reason"] = reason or None
    return {**own, "blame": blamed(one)}


def _stands_in(value: object, row: JsonObject) -> bool:
    """Whether a field's text, or each of its texts, is in a column of the row."""
    if isinstance(value, str):
        return value in row.values()
    texts = list(value) if isinstance(value, list | tuple) else [value]
    return bool(row) and (texts in row.values() or all(text in row.values() for text in texts))


def write_rows(path: Path, rows: Iterable[JsonObject]) -> None:
    """A .csv file, or JSONL under any other name.

    Rows pass one by one.
    """
    if path.suffix.lower() != ".csv":
        with text_file(path) as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        return
    with text_file(path, "utf-8-sig") as file:
        write_csv(file, rows)


def write_csv(
    file: TextIO, rows: Iterable[JsonObject], delimiter: str = ",", line_end: str = "\r\n"
) -> int:
    """Write all rows with the columns of all of them, and return how many there are.

    Rows wait in a temporary file until all columns are known: reading a run again would take far
    longer.
    """
    columns: dict[str, None] = {}
    count = first_width = 0
    writer = csv.writer(file, delimiter=delimiter, lineterminator=line_end)
    with tempfile.TemporaryFile(
        "w+", encoding="utf-8", errors="surrogatepass", newline=""
    ) as waiting:
        rest = csv.writer(waiting, delimiter=delimiter, lineterminator=line_end)
        for row in rows:
            if not row.keys() <= columns.keys():
                columns |= dict.fromkeys(row)
            rest.writerow([cell(row.get(name)) for name in columns])
            first_width = first_width or len(columns)
            count += 1
        waiting.seek(0)
        writer.writerow([cell(name) for name in columns])
        if len(columns) == first_width:
            shutil.copyfileobj(waiting, file)
        else:
            _copy_filled(csv.reader(waiting, delimiter=delimiter), writer, len(columns))
    return count


def _copy_filled(rows: Iterator[list[str]], writer: CsvWriter, width: int) -> None:
    """Copy rows, the short ones with empty cells for the columns that came later."""
    before = csv.field_size_limit(sys.maxsize)  # of the process; cells may be of any length
    try:
        for cells in rows:
            writer.writerow(cells + [cell(None)] * (width - len(cells)))
    finally:
        csv.field_size_limit(before)
