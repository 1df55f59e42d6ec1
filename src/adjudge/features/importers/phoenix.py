"""Import experiments of Phoenix as JSON, JSONL or CSV, with their annotations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from adjudge.core.domain.criteria import CriteriaOption
from adjudge.core.reading.foreign_values import seconds_of
from adjudge.features.importers.exported import Exported
from adjudge.features.importers.format import Format
from adjudge.features.importers.record import (
    ImportLog,
    Mark,
    RecordedAnswer,
    RecordedQuestion,
    RecordedRow,
    RecordedVote,
    by_model,
    question_for,
    rate,
)
from adjudge.features.importers.scores import SubjectScore, join_scores, subject_fields
from adjudge.features.importers.source import ForeignFile, ForeignRecord, Head
from adjudge.features.importers.values import Json, fields_of, only_value, parse_cell, text
from adjudge.messages import Message
from adjudge.runs.exporters.judgment_metadata import Outcome

_COLUMN = re.compile(
    r"annotation_(.+)_(label|score|explanation|metadata|annotator_kind|trace_id|error"
    r"|start_time|end_time)"
)
_NOTHING_SAID = Message("the annotation has neither a label nor a score")
_IN_WRITING = ("input", "reference_output", "metadata", "output")
_READ = ("input", "output", "reference_output", "annotations", "example_id")
_SPANS = ("span_id", "context.span_id", "trace_id", "document_id")


def _matches(head: Head) -> bool:
    noted = head.has("annotations") or any(map(_COLUMN.fullmatch, head.record))
    return _is_separate(head) or (head.has("example_id") and noted)


def _is_separate(head: Head) -> bool:
    """Return True if the file has annotations without the annotated texts.

    These are pages of ``/v1/…/span_annotations`` and frames of annotations.
    """
    record = head.first("data")
    return record.has("annotator_kind", "name") and record.has_any(*_SPANS)


def _read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    if _is_separate(file.head):
        log.use({"result": "votes and labels", "span_id": "rows", "explanation": "explanation"})
        log.note(
            Message(
                "a file of annotations does not contain the annotated texts, so rows are named "
                "after their spans"
            )
        )
        yield from join_scores(lambda _: map(_score, file.records(("data",))), log)
        return
    log.use(
        {
            "input": "fields",
            "output": "response",
            "reference_output": "reference",
            "annotations": "votes and labels",
        }
    )
    rated = _number_names(file)
    for record in map(_with_annotations, file.records()):
        groups: dict[str, list[ForeignRecord]] = {}
        for annotation in record.objects("annotations"):
            groups.setdefault(annotation.text("name") or "annotation", []).append(annotation)
        for name, group in groups.items():
            yield _group_row(record, name, group, name in rated)
        if not groups:
            log.skip(Message("example without annotations"))


def _is_human(annotation: ForeignRecord) -> bool:
    return annotation.text("annotator_kind").upper() == "HUMAN"


def _score(record: ForeignRecord) -> SubjectScore:
    result, about = record.parsed("result") or record, record.parsed("metadata")
    id, label, points = record.text(*_SPANS), result.text("label"), result.number("score")
    row = RecordedRow(
        question=RecordedQuestion(record.text("name"), options=_contrary(label, points)),
        fields=subject_fields("span", id),
        named_only=True,
        id=id,
        more=record.rest("result", "name", "label", "score", "explanation"),
        at=seconds_of(record.value("created_at", "updated_at")),
    )
    value, why = label or points, result.text("explanation")
    if _is_human(record):
        who = text(about.value("annotator") or record.value("user_id")) or "human"
        mark = Mark(answer="", annotator=who, note=why)
        return SubjectScore(row, value, mark, Exported.of(about.raw))
    every = about.values("models", "model")
    model = text(every[0]) if every else about.text("models", "model")
    vote = RecordedVote(model=model, score=points if label else None, explanation=why)
    if value is None:
        vote = vote.with_failure(record.value("error") or _NOTHING_SAID)
    outcome = Outcome.of(about.raw)
    is_unchanged = outcome is not None and (outcome.verdict or "", outcome.score) == (label, points)
    return SubjectScore(row, value, vote, Exported.of(about.raw, is_unchanged))


def _contrary(label: str, points: float | None) -> tuple[CriteriaOption, ...]:
    """Return the label as an option with the file's score if it usually means the opposite.

    Return nothing for any other label. Example: the label No with a score of 1.
    """
    options = {option.name.casefold(): option for option in question_for("", label)[0].options}
    usual = options.get(label.strip().casefold())
    if usual is None or usual.score is None or points is None:
        return ()
    is_contrary = (points - 0.5) * (usual.score - 0.5) < 0
    return (CriteriaOption(label, score=points),) if is_contrary else ()


def _number_names(file: ForeignFile) -> set[str]:
    """Return the names of annotations that have scores but never a label."""
    labelled, scored = set[str](), set[str]()
    for record in map(_with_annotations, file.records()):
        for annotation in record.objects("annotations"):
            # One that failed has neither a label nor a score, and shows nothing.
            if annotation.text("label"):
                labelled.add(annotation.text("name"))
            elif annotation.number("score") is not None:
                scored.add(annotation.text("name"))
    return scored - labelled


def _with_annotations(record: ForeignRecord) -> ForeignRecord:
    """Return a CSV row in the structure of the JSON; a JSON record is unchanged."""
    if "annotations" in record:
        return record
    annotations: dict[str, dict[str, Json]] = {}
    other_columns: dict[str, Json] = {}
    for column, value in record.raw.items():
        match = _COLUMN.fullmatch(column)
        if match is None:
            other_columns[column] = value
        elif value not in (None, ""):
            annotations.setdefault(match[1], {"name": match[1]})[match[2]] = value
    parsed_cells = {name: parse_cell(other_columns.get(name)) for name in _IN_WRITING}
    return ForeignRecord(
        {**other_columns, **parsed_cells, "annotations": list(annotations.values())}
    )


def _group_row(
    record: ForeignRecord, name: str, group: Sequence[ForeignRecord], rated: bool
) -> RecordedRow:
    votes = tuple(_vote(annotation, rated) for annotation in group if not _is_human(annotation))
    people = [
        (annotation, _mark_of(annotation, group, rated))
        for annotation in group
        if _is_human(annotation)
    ]
    inputs = record.value("input")
    reference = only_value(record.value("reference_output"))
    return RecordedRow(
        judge=by_model(name, votes[0].model if votes else ""),
        question=rate(name) if rated else RecordedQuestion(name, options=_options(group)),
        fields={
            **fields_of(inputs if isinstance(inputs, Mapping) else {"input": inputs}),
            **fields_of({"reference": reference}),
            "response": text(only_value(record.value("output"))),
        },
        id=_example_name(record),
        votes=votes,
        marks=tuple(
            Mark(answer=answer, annotator="human", note=annotation.text("explanation"))
            for annotation, answer in people
            if answer is not None
        ),
        more=record.rest(*_READ),
        at=seconds_of(record.value("end_time")),
    )


def _vote(annotation: ForeignRecord, rated: bool) -> RecordedVote:
    answer, error = _answer(annotation, rated), annotation.value("error")
    vote = RecordedVote(
        model="code" if annotation.text("annotator_kind").upper() == "CODE" else "",
        explanation=annotation.text("explanation"),
        more=annotation.rest("name", "label", "score", "explanation", "error"),
    )
    if error or answer is None:
        return vote.with_failure(error or _NOTHING_SAID)
    return vote.with_answer(answer, None if rated else annotation.number("score"))


def _answer(annotation: ForeignRecord, rated: bool) -> RecordedAnswer | None:
    """Return the label, else the number."""
    points = annotation.number("score")
    # If others have labels, a number without one is a separate option.
    return (
        points if rated else annotation.text("label") or (None if points is None else f"{points:g}")
    )


def _mark_of(
    annotation: ForeignRecord, group: Sequence[ForeignRecord], rated: bool
) -> RecordedAnswer | None:
    """Return a person's answer.

    A bare score is translated to the label that another annotation has with it.
    """
    points, answer = annotation.number("score"), _answer(annotation, rated)
    if rated or annotation.text("label") or points is None:
        return answer
    # A number alone means the label to which the judge gave the same number.
    labelled = (other for other in group if other.value("label"))
    same = (other.text("label") for other in labelled if other.number("score") == points)
    return next(same, answer)


def _options(group: Sequence[ForeignRecord]) -> tuple[CriteriaOption, ...]:
    scores = {
        annotation.text("label"): annotation.number("score")
        for annotation in group
        if annotation.value("label")
    }
    return tuple(CriteriaOption(name, score=score) for name, score in scores.items())


def _example_name(record: ForeignRecord) -> str:
    repetition, name = record.number("repetition_number"), record.text("example_id")
    return f"{name} (repetition {repetition:g})" if repetition and repetition > 1 else name


PHOENIX = Format("phoenix", Message("Phoenix experiment"), "phoenix 9478f95", _matches, _read)
