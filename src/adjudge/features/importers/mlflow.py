"""Import assessments of MLflow, with their traces or alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import cast

from adjudge.core.reading.foreign_values import parse_json, seconds_of
from adjudge.features.importers.exported import Exported, is_same
from adjudge.features.importers.format import Format
from adjudge.features.importers.record import (
    ImportLog,
    Mark,
    RecordedQuestion,
    RecordedRow,
    RecordedVote,
)
from adjudge.features.importers.scores import SubjectScore, join_scores, subject_fields
from adjudge.features.importers.source import EMPTY, ForeignFile, ForeignRecord, Head
from adjudge.features.importers.values import Json, parse_cell, text
from adjudge.messages import Message
from adjudge.runs.exporters.scores import mlflow_value

_LISTS = ("traces", "assessments", "data")
_PEOPLE = "HUMAN"
_SPAN_KEYS = {"request": "mlflow.spanInputs", "response": "mlflow.spanOutputs"}


def _matches(head: Head) -> bool:
    record = head.first(*_LISTS)
    if "assessments" in record or "assessments" in record.nested("info"):
        return True
    has_value = record.has_any("feedback", "expectation", "value")
    return has_value and "source_type" in record.parsed("source")


def _read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    log.use(
        {
            "value": "votes and labels",
            "rationale": "explanation",
            "trace_id": "rows",
            "request": "input",
            "response": "response",
        }
    )
    names = {
        _name(assessment)
        for assessment, _ in _assessments(file)
        if _name(assessment) and not _is_gold(assessment)
    }
    for assessment, _ in _assessments(file):
        if _is_gold(assessment) and _name(assessment) not in names:
            log.skip(
                Message("expectation {name!r}, which belongs to no judge", name=_name(assessment))
            )
    yield from join_scores(
        lambda _: (_score(*both) for both in _assessments(file) if _name(both[0]) in names), log
    )


def _assessments(file: ForeignFile) -> Iterator[tuple[ForeignRecord, ForeignRecord]]:
    """Yield each assessment with its trace, which is empty for a standalone assessment."""
    for record in file.records(*((name,) for name in _LISTS)):
        parsed_record = record.merge({"assessments": parse_cell(record.value("assessments"))})
        inner = parsed_record.objects("assessments") or record.nested("info").objects("assessments")
        for assessment in inner:
            yield assessment, record
        if not inner and "source" in record:
            yield record, EMPTY


def _of_root(data: ForeignRecord, key: str) -> Json:
    """Return the root span's attribute, parsed as JSON."""
    # The previews of the trace are cut off, the root span is not.
    spans = data.objects("spans")
    root = next((span for span in spans if not span.value("parent_span_id", "parent_id")), EMPTY)
    return cast(Json, parse_json(root.nested("attributes").value(key)))


def _name(assessment: ForeignRecord) -> str:
    return assessment.text("assessment_name", "name")


def _is_gold(assessment: ForeignRecord) -> bool:
    return "expectation" in assessment


def _texts(trace: ForeignRecord) -> dict[str, Json]:
    """Return the trace's input and output; previews are the last resort."""
    info, data = trace.nested("info"), trace.nested("data")
    request, response = (
        trace.value(name)
        or data.value(name)
        or _of_root(data, key)
        or info.value(f"{name}_preview")
        for name, key in _SPAN_KEYS.items()
    )
    return {"input": request, "response": response}


def _own_metadata(assessment: ForeignRecord) -> dict[str, Json]:
    """Return the metadata of a verdict that adjudge sent: MLflow has texts there, so it is JSON."""
    parts: dict[str, Json] = {}
    for name, part in assessment.nested("metadata").raw.items():
        with suppress(ValueError, RecursionError):
            parts[name] = json.loads(str(part))
    return parts


def _score(assessment: ForeignRecord, trace: ForeignRecord) -> SubjectScore:
    body = assessment.nested("feedback", "expectation") or assessment
    source, texts, why = assessment.parsed("source"), _texts(trace), assessment.text("rationale")
    subject = text(
        assessment.value("trace_id")
        or trace.value("trace_id", "request_id")
        or trace.nested("info").value("trace_id", "request_id")
    )
    row = RecordedRow(
        question=RecordedQuestion(_name(assessment)),
        fields=subject_fields("trace", subject, texts),
        named_only=not texts["response"],
        id=subject or None,
        more=assessment.keep("metadata", "span_id", "overrides"),
        at=seconds_of(assessment.value("create_time", "last_update_time")),
    )
    value, error, is_gold = body.value("value"), body.value("error"), _is_gold(assessment)
    if source.text("source_type").upper() == _PEOPLE or is_gold:
        mark = Mark(
            answer="",
            annotator=source.text("source_id") or ("gold" if is_gold else "annotator"),
            kind="expert" if is_gold else "human",
            judge_visible="overrides" in assessment,
            note=why,
        )
        return SubjectScore(row, value, mark)
    vote = RecordedVote(model=source.text("source_id"), explanation=why)
    if error or value is None:
        message = body.nested("error").value("error_message", "error_code") or error
        return SubjectScore(
            row, None, vote.with_failure(text(message) or Message("the feedback has no value"))
        )
    metadata = _own_metadata(assessment)
    exported = Exported.of(metadata, is_same(value, mlflow_value(metadata)))
    return SubjectScore(row, value, vote, exported)


MLFLOW = Format("mlflow", Message("MLflow assessments"), "mlflow 3", _matches, _read)
