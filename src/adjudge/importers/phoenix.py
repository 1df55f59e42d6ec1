"""Phoenix: experiments as JSON, JSONL or CSV, with their annotations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from adjudge.domain.criteria import CriteriaOption
from adjudge.importers.format import Format
from adjudge.importers.record import Asked, Left, Mark, Recorded, RecordedVote, by_model
from adjudge.importers.source import ForeignFile, Head
from adjudge.importers.values import fields_of, listed, mapping, number, seconds, text, without

_COLUMN = re.compile(r"annotation_(.+)_(label|score|explanation|metadata|annotator_kind|trace_id|error|start_time|end_time)")
_READ = ("input", "output", "reference_output", "annotations", "example_id")


def _matches(head: Head) -> bool:
    return "example_id" in head.record and ("annotations" in head.record or any(map(_COLUMN.fullmatch, head.record)))


def _read(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    left.use({"input": "fields", "output": "response", "reference_output": "reference", "annotations": "votes and labels"})
    rated = _rated(file)
    for record in file.records():
        row = _of_table(record)
        for name, group in _by_name(row).items():
            yield _judged(row, name, group, rated)
        if not listed(row.get("annotations")):
            left.out("example without annotations")


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
        **{name: _parsed(rest.get(name)) for name in ("input", "reference_output", "metadata", "output")},
        "annotations": list(found.values()),
    }


def _parsed(value: object) -> object:
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _by_name(record: Mapping[str, object]) -> dict[str, list[Mapping[str, object]]]:
    found: dict[str, list[Mapping[str, object]]] = {}
    for one in map(mapping, listed(record.get("annotations"))):
        found.setdefault(text(one.get("name")) or "annotation", []).append(one)
    return found


def _judged(record: Mapping[str, object], name: str, group: list[Mapping[str, object]], rated: set[str]) -> Recorded:
    people = [one for one in group if text(one.get("annotator_kind")).upper() == "HUMAN"]
    votes = tuple(_vote(one, name in rated) for one in group if one not in people)
    asked = Asked(name, kind="rating") if name in rated else Asked(name, options=_options(group))
    answers = [(one, _answer(one, name in rated)) for one in people]
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
        return vote.failed(error or "the annotation has neither a label nor a score")
    return vote.said(answer, None if rated else number(one.get("score")))


def _answer(one: Mapping[str, object], rated: bool) -> str | float | None:
    return number(one.get("score")) if rated else text(one.get("label")) or None


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
    return fields_of(value) if isinstance(value, Mapping) and name == "input" else fields_of({name: value})


PHOENIX = Format("phoenix", "Phoenix experiment", "phoenix 9478f95", _matches, _read)
