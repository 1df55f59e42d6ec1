"""MLflow: assessments, with their traces or by themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from adjudge.importers.format import Format
from adjudge.importers.record import Asked, Left, Mark, Recorded, RecordedVote
from adjudge.importers.scores import Score, joined, subject_fields
from adjudge.importers.source import ForeignFile, Head
from adjudge.importers.values import first, listed, mapping, parsed, seconds, text, without
from adjudge.messages import Message

_PATHS = (("traces",), ("assessments",), ("data",))
_PEOPLE = "HUMAN"


def _matches(head: Head) -> bool:
    record = head.record or next((one for path in _PATHS if (one := mapping(head.at(*path)))), {})
    if "assessments" in record or "assessments" in mapping(record.get("info")):
        return True
    source = mapping(parsed(record.get("source")))
    return "source_type" in source and bool({"feedback", "expectation", "value"} & record.keys())


def _read(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    left.use(
        {
            "value": "votes and labels",
            "rationale": "explanation",
            "trace_id": "rows",
            "request": "input",
            "response": "response",
        }
    )
    names = {
        name
        for record in file.records(*_PATHS)
        for one, _ in _assessments(record)
        if (name := _name(one)) and not _is_gold(one)
    }

    def scores() -> Iterator[Score]:
        for record in file.records(*_PATHS):
            for one, trace in _assessments(record):
                if _name(one) in names:
                    yield _score(one, trace)

    gold = [
        _name(one)
        for record in file.records(*_PATHS)
        for one, _ in _assessments(record)
        if _is_gold(one)
    ]
    for name in gold:
        if name not in names:
            left.out(Message("expectation {name!r}, which no judge was asked about", name=name))
    yield from joined(scores)


def _assessments(
    record: Mapping[str, object],
) -> Iterator[tuple[Mapping[str, object], Mapping[str, object]]]:
    inner = listed(parsed(record.get("assessments"))) or listed(
        mapping(record.get("info")).get("assessments")
    )
    for one in inner:
        yield mapping(one), record
    if not inner and "source" in record:
        yield record, {}


def _of_root(data: Mapping[str, object], name: str) -> object:
    """Of the first span: the previews are cut short."""
    spans = [mapping(one) for one in listed(data.get("spans"))]
    root = next((one for one in spans if not first(one, "parent_span_id", "parent_id")), {})
    found = mapping(root.get("attributes")).get(
        "mlflow.spanInputs" if name == "request" else "mlflow.spanOutputs"
    )
    if not isinstance(found, str):
        return found
    try:
        return json.loads(found)
    except (ValueError, RecursionError):
        return found


def _name(one: Mapping[str, object]) -> str:
    return text(first(one, "assessment_name", "name"))


def _is_gold(one: Mapping[str, object]) -> bool:
    return "expectation" in one


def _score(one: Mapping[str, object], trace: Mapping[str, object]) -> Score:
    body = mapping(first(one, "feedback", "expectation")) or one
    source, info, error = (
        mapping(parsed(one.get("source"))),
        mapping(trace.get("info")),
        body.get("error"),
    )
    subject = text(
        first(one, "trace_id")
        or first(trace, "trace_id", "request_id")
        or first(info, "trace_id", "request_id")
    )
    data = mapping(trace.get("data"))
    request, response = (
        first(trace, name)
        or first(data, name)
        or _of_root(data, name)
        or first(info, f"{name}_preview")
        for name in ("request", "response")
    )
    value = body.get("value")
    row = Recorded(
        asked=Asked(_name(one)),
        fields=subject_fields("trace", subject, {"input": request, "response": response}),
        named_only=not response,
        id=subject or None,
        more=without(
            {
                "metadata": one.get("metadata"),
                "span_id": one.get("span_id"),
                "overrides": one.get("overrides"),
            }
        ),
        at=seconds(first(one, "create_time", "last_update_time")),
    )
    why = text(one.get("rationale"))
    if text(source.get("source_type")).upper() == _PEOPLE or _is_gold(one):
        who = text(source.get("source_id")) or ("gold" if _is_gold(one) else "annotator")
        mark = Mark(
            answer="",
            annotator=who,
            kind="expert" if _is_gold(one) else "human",
            judge_visible="overrides" in one,
            note=why,
        )
        return Score(row, value, mark)
    vote = RecordedVote(model=text(source.get("source_id")), explanation=why or None)
    if error or value is None:
        reason = text(first(mapping(error), "error_message", "error_code") or error) or Message(
            "the feedback has no value"
        )
        return Score(row, None, vote.failed(reason))
    return Score(row, value, vote)


MLFLOW = Format("mlflow", Message("MLflow assessments"), "mlflow 3", _matches, _read)
