"""Phoenix: experiments as JSON, JSONL or CSV, with their annotations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from adjudge.domain.criteria import CriteriaOption
from adjudge.importers.format import Format
from adjudge.importers.record import Asked, Left, Mark, Recorded, RecordedVote, by_model
from adjudge.importers.scores import Score, joined, subject_fields
from adjudge.importers.source import ForeignFile, Head
from adjudge.importers.values import (
    fields_of,
    first,
    listed,
    mapping,
    number,
    parsed,
    seconds,
    text,
    without,
)
from adjudge.messages import Message

_COLUMN = re.compile(
    r"annotation_(.+)_(label|score|explanation|metadata|annotator_kind|trace_id|error"
    r"|start_time|end_time)"
)
_NOTHING_SAID = Message("the annotation has neither a label nor a score")
_READ = ("input", "output", "reference_output", "annotations", "example_id")


_SPANS = ("span_id", "context.span_id", "trace_id", "document_id")


def _matches(head: Head) -> bool:
    if _lone(head):
        return True
    return "example_id" in head.record and (
        "annotations" in head.record or any(map(_COLUMN.fullmatch, head.record))
    )


def _lone(head: Head) -> bool:
    """Whether annotations lie beside what they are about: pages of ``/v1/…/span_annotations``,
    frames of annotations.
    """
    record = head.record or mapping(head.at("data"))
    return {"annotator_kind", "name"} <= record.keys() and any(name in record for name in _SPANS)


def _read(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    if _lone(file.head):
        left.use({"result": "votes and labels", "span_id": "rows", "explanation": "explanation"})
        left.note(
            Message(
                "the texts that were annotated are not in a file of annotations: rows are named "
                "by their span"
            )
        )
        yield from joined(lambda: map(_score, file.records(("data",))))
        return
    left.use(
        {
            "input": "fields",
            "output": "response",
            "reference_output": "reference",
            "annotations": "votes and labels",
        }
    )
    rated = _rated(file)
    for record in file.records():
        row = _of_table(record)
        for name, group in _by_name(row).items():
            yield _judged(row, name, group, rated)
        if not listed(row.get("annotations")):
            left.out(Message("example without annotations"))


def _score(record: Mapping[str, object]) -> Score:
    result = mapping(parsed(record.get("result"))) or record
    id, label, number_ = (
        text(first(record, *_SPANS)),
        text(result.get("label")),
        number(result.get("score")),
    )
    about = mapping(parsed(record.get("metadata")))
    row = Recorded(
        asked=Asked(text(record.get("name"))),
        fields=subject_fields("span", id),
        named_only=True,
        id=id,
        more=without(record, "result", "name", "label", "score", "explanation"),
        at=seconds(first(record, "created_at", "updated_at")),
    )
    value, why = label or number_, text(result.get("explanation"))
    if text(record.get("annotator_kind")).upper() == "HUMAN":
        who = text(first(about, "annotator") or first(record, "user_id")) or "human"
        return Score(row, value, Mark(answer="", annotator=who, note=why))
    models = first(about, "models", "model")
    model = text(models[0] if isinstance(models, list) and models else models)
    vote = RecordedVote(model=model, score=number_ if label else None, explanation=why or None)
    return Score(
        row, value, vote if value is not None else vote.failed(record.get("error") or _NOTHING_SAID)
    )


def _rated(file: ForeignFile) -> set[str]:
    """The annotations that are numbers alone; one that failed does not tell."""
    labelled, scored = set[str](), set[str]()
    for record in file.records():
        for one in map(mapping, listed(_of_table(record).get("annotations"))):
            name = text(one.get("name"))
            if text(one.get("label")):
                labelled.add(name)
            elif number(one.get("score")) is not None:
                scored.add(name)
    return scored - labelled


def _of_table(record: Mapping[str, object]) -> Mapping[str, object]:
    """A row of the CSV as the JSON has it."""
    if "annotations" in record:
        return record
    found: dict[str, dict[str, object]] = {}
    for column, value in record.items():
        if (match := _COLUMN.fullmatch(column)) and value not in (None, ""):
            found.setdefault(match[1], {"name": match[1]})[match[2]] = value
    rest = {name: value for name, value in record.items() if not _COLUMN.fullmatch(name)}
    return {
        **rest,
        **{
            name: parsed(rest.get(name))
            for name in ("input", "reference_output", "metadata", "output")
        },
        "annotations": list(found.values()),
    }


def _by_name(record: Mapping[str, object]) -> dict[str, list[Mapping[str, object]]]:
    found: dict[str, list[Mapping[str, object]]] = {}
    for one in map(mapping, listed(record.get("annotations"))):
        found.setdefault(text(one.get("name")) or "annotation", []).append(one)
    return found


def _judged(
    record: Mapping[str, object], name: str, group: list[Mapping[str, object]], rated: set[str]
) -> Recorded:
    people = [one for one in group if text(one.get("annotator_kind")).upper() == "HUMAN"]
    votes = tuple(_vote(one, name in rated) for one in group if one not in people)
    asked = Asked(name, kind="rating") if name in rated else Asked(name, options=_options(group))
    answers = [(one, _mark_of(one, group, name in rated)) for one in people]
    return Recorded(
        judge=by_model(name, votes[0].model if votes else ""),
        asked=asked,
        fields={
            **_fields("input", record.get("input")),
            **_fields("reference", _only(record.get("reference_output"))),
            "response": text(_only(record.get("output"))),
        },
        id=_name(record),
        votes=votes,
        marks=tuple(
            Mark(answer=answer, annotator="human", note=text(one.get("explanation")))
            for one, answer in answers
            if answer is not None
        ),
        more=without(record, *_READ),
        at=seconds(record.get("end_time")),
    )


def _vote(one: Mapping[str, object], rated: bool) -> RecordedVote:
    answer, error = _answer(one, rated), one.get("error")
    vote = RecordedVote(
        model="code" if text(one.get("annotator_kind")).upper() == "CODE" else "",
        explanation=text(one.get("explanation")) or None,
        more=without(one, "name", "label", "score", "explanation", "error"),
    )
    if error or answer is None:
        return vote.failed(error or _NOTHING_SAID)
    return vote.said(answer, None if rated else number(one.get("score")))


def _answer(one: Mapping[str, object], rated: bool) -> str | float | None:
    """A number without a label, where others have labels, is an answer of its own."""
    points = number(one.get("score"))
    return (
        points if rated else text(one.get("label")) or (None if points is None else f"{points:g}")
    )


def _mark_of(
    one: Mapping[str, object], group: list[Mapping[str, object]], rated: bool
) -> str | float | None:
    """A number alone, where the judge's labels have numbers: the label that has this one."""
    points, said = number(one.get("score")), _answer(one, rated)
    if rated or text(one.get("label")) or points is None:
        return said
    return next(
        (
            text(each["label"])
            for each in group
            if each.get("label") and number(each.get("score")) == points
        ),
        said,
    )


def _options(group: list[Mapping[str, object]]) -> tuple[CriteriaOption, ...]:
    found = {text(one["label"]): number(one.get("score")) for one in group if one.get("label")}
    return tuple(CriteriaOption(name, score=score) for name, score in found.items())


def _name(record: Mapping[str, object]) -> str:
    repetition = number(record.get("repetition_number"))
    name = text(record.get("example_id"))
    return f"{name} (repetition {repetition:g})" if repetition and repetition > 1 else name


def _only(value: object) -> object:
    """Of an object with one key, what that holds."""
    return next(iter(value.values())) if isinstance(value, Mapping) and len(value) == 1 else value


def _fields(name: str, value: object) -> dict[str, str | tuple[str, ...]]:
    return (
        fields_of(value)
        if isinstance(value, Mapping) and name == "input"
        else fields_of({name: value})
    )


PHOENIX = Format("phoenix", Message("Phoenix experiment"), "phoenix 9478f95", _matches, _read)
