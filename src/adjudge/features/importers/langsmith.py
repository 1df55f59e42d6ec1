"""Import LangSmith: experiment results (``ExperimentResults.to_pandas()``) as CSV or JSON, and
feedback rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from adjudge.core.reading.foreign_values import seconds_of
from adjudge.features.importers.format import Format
from adjudge.features.importers.record import (
    ImportLog,
    Mark,
    RecordedQuestion,
    RecordedRow,
    RecordedVote,
)
from adjudge.features.importers.scores import SubjectScore, ValueKinds, join_scores, subject_fields
from adjudge.features.importers.source import ForeignFile, ForeignRecord, Head
from adjudge.features.importers.values import (
    Json,
    JsonObject,
    Texts,
    fields_of,
    is_missing,
    only_value,
    parse_cell,
    text,
    with_response,
)
from adjudge.messages import Message

_FEEDBACK = "feedback."
_PEOPLE = ("app",)


def _matches(head: Head) -> bool:
    record = head.first("data")
    if record.has("run_id", "key", "score") or record.has("run", "evaluation_results"):
        return True
    has_texts = any(name.startswith(("inputs.", "outputs.")) for name in record)
    return has_texts and any(name.startswith(_FEEDBACK) for name in record)


def _read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    record = file.head.first("data")
    if record.has("run_id", "key"):
        log.use({"key": "criteria", "score": "votes and labels", "run_id": "rows"})
        log.note(
            Message(
                "feedback rows do not contain the scored texts, so rows are named after their runs"
            )
        )
        yield from join_scores(partial(_scores, file, "feedback", _feedback), log)
    elif "evaluation_results" in record:
        log.use(
            {
                "run": "fields and response",
                "example": "reference",
                "evaluation_results": "votes and labels",
            }
        )
        yield from join_scores(partial(_scores, file, "results", _evaluation_scores), log)
    else:
        yield from _experiment(file, log)


def _scores(
    file: ForeignFile,
    key: str,
    read: Callable[[ForeignRecord, ImportLog], Iterator[SubjectScore]],
    log: ImportLog,
) -> Iterator[SubjectScore]:
    for record in file.records(("data",), (key,)):
        yield from read(record, log)


def _experiment(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    log.use(
        {"inputs": "fields", "outputs": "response", "reference": "reference", "feedback": "votes"}
    )
    values, keys = ValueKinds(), dict[str, None]()
    for record in file.records():
        for key, value in _part(record, _FEEDBACK).items():
            if not is_missing(value):
                keys[key] = None
                values.see(key, value)
    for record in file.records():
        for key in keys:
            yield _experiment_row(record, key, values)


def _experiment_row(record: ForeignRecord, key: str, values: ValueKinds) -> RecordedRow:
    question, answer = values.read(key, record.value(_FEEDBACK + key))
    wrong = record.text("error") or Message("no feedback is recorded for this row")
    inputs = fields_of(_part(record, "inputs."))
    return RecordedRow(
        judge=key,
        question=question,
        fields=_fields(inputs, _part(record, "reference."), _part(record, "outputs.")),
        id=record.name("example_id", "id"),
        votes=(RecordedVote().with_answer_or_failure(answer, wrong),),
        more={name: value for name, value in record.rest().items() if "." not in name},
    )


def _fields(inputs: Texts, reference: JsonObject, outputs: JsonObject) -> Texts:
    expected = fields_of({"reference": only_value(reference or None)})
    return with_response({**inputs, **expected}, text(only_value(outputs or None)))


def _part(record: ForeignRecord, start: str) -> dict[str, Json]:
    """Return the non-empty columns with this prefix, by the rest of their names."""
    return {
        name.removeprefix(start): value
        for name, value in record.raw.items()
        if name.startswith(start) and value not in (None, "")
    }


def _evaluation_scores(record: ForeignRecord, log: ImportLog) -> Iterator[SubjectScore]:
    """Yield the evaluators' scores from a row of ``evaluate()``.

    The row holds a run, its example and the feedback.
    """
    run, example = record.nested("run"), record.nested("example")
    inputs = fields_of((run.nested("inputs") or example.nested("inputs")).raw)
    fields = _fields(inputs, example.nested("outputs").raw, run.nested("outputs").raw)
    id = text(run.value("id") or example.value("id"))
    for feedback in record.nested("evaluation_results").objects("results"):
        for score in _feedback(feedback.with_values({"run_id": id, **feedback.raw}), log):
            by = score.by
            if score.value is None and isinstance(by, RecordedVote):
                by = by.with_failure(feedback.value("comment", "error") or run.value("error"))
            yield SubjectScore(replace(score.row, fields=fields, named_only=False), score.value, by)


def _feedback(record: ForeignRecord, log: ImportLog) -> Iterator[SubjectScore]:
    """Yield feedback as a score; a person's score or correction is a label."""
    source, run = record.parsed("feedback_source"), record.text("run_id")
    values = (record.value(name) for name in ("score", "value"))
    value, why = (
        next((value for value in values if not is_missing(value)), None),
        record.text("comment"),
    )
    row = RecordedRow(
        question=RecordedQuestion(record.text("key")),
        fields=subject_fields("run", run),
        named_only=True,
        id=run,
        more=record.rest("score", "value", "key", "comment", "run_id"),
        at=seconds_of(record.value("created_at")),
    )
    by_person = text(source.value("type") or record.value("feedback_source.type")) in _PEOPLE
    if not by_person:
        vote = RecordedVote(explanation=why)
        if value is None:
            vote = RecordedVote().with_failure(why or Message("the feedback has no score"))
        yield SubjectScore(row, value, vote)
    corrected = bool(record.value("correction"))
    fixed = _correction(record, value)
    if corrected and fixed is None:
        log.skip(Message("correction without the correct score"))  # it may be of the answer
    if by_person or fixed is not None:
        author = source.text("user_name", "user_id") or "annotator"
        mark = Mark(answer="", annotator=author, judge_visible=corrected, note=why)
        yield SubjectScore(row, value if fixed is None else fixed, mark)


def _correction(record: ForeignRecord, value: Json) -> Json:
    """Return the corrected score; None if something else was corrected, or nothing."""
    fixed = parse_cell(record.value("correction") or None)
    if isinstance(fixed, Mapping):
        fixed = record.parsed("correction").value("score", "value", record.text("key"))
    return None if isinstance(fixed, str) and not isinstance(value, str) else fixed


LANGSMITH = Format(
    "langsmith", Message("LangSmith results or feedback"), "langsmith 0.14.17", _matches, _read
)
