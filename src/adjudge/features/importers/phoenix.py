"""Phoenix: experiments as JSON, JSONL or CSV, with their annotations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from adjudge.core.domain.criteria import CriteriaOption
from adjudge.core.reading.foreign_values import seconds_of
from adjudge.features.importers.format import Format
from adjudge.features.importers.record import (
    ImportLog,
    Mark,
    RecordedAnswer,
    RecordedQuestion,
    RecordedRow,
    RecordedVote,
    by_model,
    exported_question,
    exported_system,
    question_for,
    rate,
)
from adjudge.features.importers.scores import SubjectScore, join_scores, subject_fields
from adjudge.features.importers.source import ForeignFile, ForeignRecord, Head
from adjudge.features.importers.values import Json, fields_of, only_value, parse_cell, text
from adjudge.messages import Message

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
    """Whether annotations lie beside what they are about: pages of ``/v1/…/span_annotations``,
    frames of annotations.
    """
    record = head.first("data")
    return record.has("annotator_kind", "name") and record.has_any(*_SPANS)


def _read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    if _is_separate(file.head):
        log.use({"result": "votes and labels", "span_id": "rows", "explanation": "explanation"})
        log.note(
            Message(
                "the texts that were annotated are not in a file of annotations: rows are named "
                "by their span"
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
    rated = _rated(file)
    for record in map(_with_annotations, file.records()):
        groups: dict[str, list[ForeignRecord]] = {}
        for one in record.objects("annotations"):
            groups.setdefault(one.text("name") or "annotation", []).append(one)
        for name, group in groups.items():
            yield _judged(record, name, group, name in rated)
        if not groups:
            log.skip(Message("example without annotations"))


def _is_human(annotation: ForeignRecord) -> bool:
    return annotation.text("annotator_kind").upper() == "HUMAN"


def _score(record: ForeignRecord) -> SubjectScore:
    result, about = record.parsed("result") or record, record.parsed("metadata")
    id, label, points = record.text(*_SPANS), result.text("label"), result.number("score")
    name = record.text("name")
    known = exported_question(name, about.raw) or RecordedQuestion(
        name, options=_contrary(label, points)
    )
    row = RecordedRow(
        question=known,
        fields=subject_fields("span", id),
        named_only=True,
        id=id,
        more={
            **record.rest("result", "name", "label", "score", "explanation"),
            **exported_system(about.raw),
        },
        at=seconds_of(record.value("created_at", "updated_at")),
    )
    value, why = label or points, result.text("explanation")
    if _is_human(record):
        who = text(about.value("annotator") or record.value("user_id")) or "human"
        return SubjectScore(row, value, Mark(answer="", annotator=who, note=why))
    every = about.values("models", "model")
    model = text(every[0]) if every else about.text("models", "model")
    vote = RecordedVote(model=model, score=points if label else None, explanation=why)
    if value is None:
        vote = vote.failed(record.value("error") or _NOTHING_SAID)
    return SubjectScore(row, value, vote)


def _contrary(label: str, points: float | None) -> tuple[CriteriaOption, ...]:
    """A label such as No with the score that the file gives it, if the word alone would say the
    contrary.
    """
    options = {one.name.casefold(): one for one in question_for("", label)[0].options}
    usual = options.get(label.strip().casefold())
    if usual is None or usual.score is None or points is None:
        return ()
    is_contrary = (points - 0.5) * (usual.score - 0.5) < 0
    return (CriteriaOption(label, score=points),) if is_contrary else ()


def _rated(file: ForeignFile) -> set[str]:
    """The annotations that are numbers alone; one that failed does not tell."""
    labelled, scored = set[str](), set[str]()
    for record in map(_with_annotations, file.records()):
        for one in record.objects("annotations"):
            if one.text("label"):
                labelled.add(one.text("name"))
            elif one.number("score") is not None:
                scored.add(one.text("name"))
    return scored - labelled


def _with_annotations(record: ForeignRecord) -> ForeignRecord:
    """A row of the CSV as the JSON has it."""
    if "annotations" in record:
        return record
    found: dict[str, dict[str, Json]] = {}
    rest: dict[str, Json] = {}
    for column, value in record.raw.items():
        match = _COLUMN.fullmatch(column)
        if match is None:
            rest[column] = value
        elif value not in (None, ""):
            found.setdefault(match[1], {"name": match[1]})[match[2]] = value
    written = {name: parse_cell(rest.get(name)) for name in _IN_WRITING}
    return ForeignRecord({**rest, **written, "annotations": list(found.values())})


def _judged(
    record: ForeignRecord, name: str, group: Sequence[ForeignRecord], rated: bool
) -> RecordedRow:
    votes = tuple(_vote(one, rated) for one in group if not _is_human(one))
    people = [(one, _mark_of(one, group, rated)) for one in group if _is_human(one)]
    given = record.value("input")
    reference = only_value(record.value("reference_output"))
    return RecordedRow(
        judge=by_model(name, votes[0].model if votes else ""),
        question=rate(name) if rated else RecordedQuestion(name, options=_options(group)),
        fields={
            **fields_of(given if isinstance(given, Mapping) else {"input": given}),
            **fields_of({"reference": reference}),
            "response": text(only_value(record.value("output"))),
        },
        id=_name(record),
        votes=votes,
        marks=tuple(
            Mark(answer=answer, annotator="human", note=one.text("explanation"))
            for one, answer in people
            if answer is not None
        ),
        more=record.rest(*_READ),
        at=seconds_of(record.value("end_time")),
    )


def _vote(one: ForeignRecord, rated: bool) -> RecordedVote:
    answer, error = _answer(one, rated), one.value("error")
    vote = RecordedVote(
        model="code" if one.text("annotator_kind").upper() == "CODE" else "",
        explanation=one.text("explanation"),
        more=one.rest("name", "label", "score", "explanation", "error"),
    )
    if error or answer is None:
        return vote.failed(error or _NOTHING_SAID)
    return vote.said(answer, None if rated else one.number("score"))


def _answer(one: ForeignRecord, rated: bool) -> RecordedAnswer | None:
    """A number without a label, where others have labels, is an answer of its own."""
    points = one.number("score")
    return points if rated else one.text("label") or (None if points is None else f"{points:g}")


def _mark_of(
    one: ForeignRecord, group: Sequence[ForeignRecord], rated: bool
) -> RecordedAnswer | None:
    """A number alone, where the judge's labels have numbers: the label that has this one."""
    points, said = one.number("score"), _answer(one, rated)
    if rated or one.text("label") or points is None:
        return said
    labelled = (each for each in group if each.value("label"))
    same = (each.text("label") for each in labelled if each.number("score") == points)
    return next(same, said)


def _options(group: Sequence[ForeignRecord]) -> tuple[CriteriaOption, ...]:
    found = {one.text("label"): one.number("score") for one in group if one.value("label")}
    return tuple(CriteriaOption(name, score=score) for name, score in found.items())


def _name(record: ForeignRecord) -> str:
    repetition, name = record.number("repetition_number"), record.text("example_id")
    return f"{name} (repetition {repetition:g})" if repetition and repetition > 1 else name


PHOENIX = Format("phoenix", Message("Phoenix experiment"), "phoenix 9478f95", _matches, _read)
