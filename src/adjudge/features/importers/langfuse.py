"""Import scores of Langfuse, from batch exports (CSV, JSON, JSONL) or pages of ``GET
/api/public/v3/scores``.
"""

from __future__ import annotations

from collections.abc import Iterator

from adjudge.core.reading.foreign_values import seconds_of
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
from adjudge.features.importers.source import ForeignFile, ForeignRecord, Head
from adjudge.features.importers.values import Json, truth
from adjudge.messages import Message
from adjudge.runs.exporters.scores import langfuse_value

_TEXTS = ("TEXT", "CORRECTION")
_SUBJECTS = ("observation", "trace", "session", "experiment")
_NO_TEXTS = Message(
    "an export of scores does not contain the scored texts, so rows are named after the scored "
    "objects"
)


def _matches(head: Head) -> bool:
    record = head.first("data", "scores")
    inner = record.objects("scores") if record.has_any("input", "output") else []
    score = inner[0] if inner else record
    return score.has("name", "source", "value") and score.has_any("dataType", "data_type")


def _read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    log.use({"value": "votes and labels", "subject": "rows", "comment": "explanation"})
    if not file.head.first("data").has_any("input", "output"):
        log.note(_NO_TEXTS)

    def scores(log: ImportLog) -> Iterator[SubjectScore]:
        for record in file.records(("data",), ("scores",)):
            for score in _scores(record):
                yield from _score(score, log)

    yield from join_scores(scores, log)


def _scores(record: ForeignRecord) -> Iterator[ForeignRecord]:
    """Yield a trace's scores, each with the trace's texts; a score record yields itself."""
    inner = record.objects("scores")
    keys = {"traceId": "id", "input": "input", "output": "output"}
    trace = {name: record.value(key) for name, key in keys.items()}
    yield from (score.with_values({**trace, **score.raw}) for score in inner)
    if not inner and record.has("name", "source"):
        yield record


def _score(record: ForeignRecord, log: ImportLog) -> Iterator[SubjectScore]:
    kind, source = record.text("dataType", "data_type").upper(), record.text("source").upper()
    if kind in _TEXTS:
        log.skip(Message("score of type {kind}, which is a text", kind=kind))
        return
    (subject, id), name = _subject(record), record.text("name")
    why, value, metadata = (
        record.text("comment"),
        _value(record, kind),
        record.parsed("metadata").raw,
    )
    texts = {"input": record.value("input"), "response": record.value("output")}
    row = RecordedRow(
        question=RecordedQuestion(name),
        fields=subject_fields(subject, id, texts),
        named_only=not record.value("output"),
        id=id or None,
        more=record.rest("name", "value", "comment", "input", "output", "stringValue"),
        at=seconds_of(record.value("timestamp")),
    )
    if source == "ANNOTATION":
        author = record.text("authorUserId", "author_user_id") or "annotator"
        mark = Mark(answer="", annotator=author, note=why)
        yield SubjectScore(row, value, mark, Exported.of(metadata))
        return
    exported = Exported.of(metadata, is_same(value, langfuse_value(metadata)))
    vote = RecordedVote(model="" if source == "EVAL" else source.lower(), explanation=why)
    vote = (
        vote if value is not None else vote.with_failure(why or Message("the score has no value"))
    )
    yield SubjectScore(row, value, vote, exported)


def _subject(record: ForeignRecord) -> tuple[str, str]:
    """Return the kind and id of the scored object."""
    if subject := record.nested("subject"):
        return subject.text("kind") or "trace", subject.text("id")
    for kind in _SUBJECTS:
        if record.value(f"{kind}Id", f"{kind}_id"):
            return kind, record.text(f"{kind}Id", f"{kind}_id")
    return "score", record.text("id")


def _value(record: ForeignRecord, kind: str) -> Json:
    value, words = record.value("value"), record.value("stringValue", "string_value")
    if kind == "BOOLEAN":
        return truth(value if value not in (None, "") else words)
    if kind == "CATEGORICAL":
        category = words if words not in (None, "") else value
        return None if category in (None, "") else f"{category}"
    return record.number("value")


LANGFUSE = Format(
    "langfuse", Message("Langfuse scores"), "langfuse 6275144, scores v3", _matches, _read
)
