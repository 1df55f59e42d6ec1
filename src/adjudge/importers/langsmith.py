"""LangSmith: experiment results (``ExperimentResults.to_pandas()``) as CSV or JSON, and feedback
rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from adjudge.importers.format import Format
from adjudge.importers.record import Asked, Left, Mark, Recorded, RecordedVote
from adjudge.importers.scores import Answers, Score, joined, subject_fields
from adjudge.importers.source import ForeignFile, Head
from adjudge.importers.values import (
    answered,
    fields_of,
    first,
    is_missing,
    listed,
    mapping,
    parsed,
    seconds,
    text,
    without,
)
from adjudge.messages import Message

_FEEDBACK = "feedback."
_PEOPLE = ("app",)


def _matches(head: Head) -> bool:
    record = head.record or mapping(head.at("data"))
    if {"run_id", "key", "score"} <= record.keys() or {
        "run",
        "evaluation_results",
    } <= record.keys():
        return True
    return any(name.startswith(_FEEDBACK) for name in record) and any(
        name.startswith(("inputs.", "outputs.")) for name in record
    )


def _read(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    head = file.head
    record = head.record or mapping(head.at("data"))
    counted = Left()
    if "run_id" in record and "key" in record:
        left.use({"key": "criteria", "score": "votes and labels", "run_id": "rows"})
        left.note(
            Message(
                "the texts that were scored are not in feedback rows: rows are named by their run"
            )
        )
        yield from joined(
            lambda: (
                score
                for one in file.records(("data",), ("feedback",))
                for score in _feedback(one, counted)
            )
        )
    elif "evaluation_results" in record:
        left.use(
            {
                "run": "fields and response",
                "example": "reference",
                "evaluation_results": "votes and labels",
            }
        )
        yield from joined(
            lambda: (
                score
                for one in file.records(("data",), ("results",))
                for score in _evaluated(one, counted)
            )
        )
    else:
        yield from _experiment(file, left)
    for what, count in counted.counts.items():
        left.out(what, count // 2)  # the scores are read twice


def _experiment(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    left.use(
        {"inputs": "fields", "outputs": "response", "reference": "reference", "feedback": "votes"}
    )
    answers, keys = Answers(), dict[str, None]()
    for record in file.records():
        for name, value in record.items():
            if name.startswith(_FEEDBACK) and not is_missing(value):
                keys[name.removeprefix(_FEEDBACK)] = None
                answers.see(name.removeprefix(_FEEDBACK), value)
    for place, record in enumerate(file.records()):
        for key in keys:
            yield _judged(record, key, answers, place)


def _judged(record: Mapping[str, object], key: str, answers: Answers, place: int) -> Recorded:
    question, answer = answers.read(key, record.get(_FEEDBACK + key))
    vote = RecordedVote()
    if answer is None:
        vote = vote.failed(
            text(record.get("error")) or Message("no feedback is recorded for this row")
        )
    else:
        vote = vote.said(answer)
    outputs = _part(record, "outputs.")
    answer_text = text(next(iter(outputs.values()))) if len(outputs) == 1 else text(outputs or None)
    return Recorded(
        judge=key,
        asked=question,
        fields=answered({**fields_of(_part(record, "inputs.")), **_reference(record)}, answer_text),
        id=text(first(record, "example_id", "id")) or f"row {place + 1}",
        votes=(vote,),
        more={name: one for name, one in without(record).items() if "." not in name},
    )


def _reference(record: Mapping[str, object]) -> dict[str, str | tuple[str, ...]]:
    found = _part(record, "reference.")
    return fields_of(
        {"reference": next(iter(found.values())) if len(found) == 1 else found or None}
    )


def _part(record: Mapping[str, object], start: str) -> dict[str, object]:
    return {
        name.removeprefix(start): value
        for name, value in record.items()
        if name.startswith(start) and value not in (None, "")
    }


def _evaluated(record: Mapping[str, object], left: Left) -> Iterator[Score]:
    """A row of ``evaluate()``: a run, its example, and what evaluators said."""
    run, example = mapping(record.get("run")), mapping(record.get("example"))
    outputs, wanted = mapping(run.get("outputs")), mapping(example.get("outputs"))
    given = fields_of(mapping(run.get("inputs")) or mapping(example.get("inputs")))
    fields = answered(
        {**given, **fields_of({"reference": _one_or_all(wanted)})}, text(_one_or_all(outputs))
    )
    id = text(first(run, "id") or first(example, "id"))
    for one in map(mapping, listed(mapping(record.get("evaluation_results")).get("results"))):
        for found in _feedback({"run_id": id, **one}, left):
            by = found.by
            if found.value is None and isinstance(by, RecordedVote):
                by = by.failed(first(one, "comment", "error") or run.get("error"))
            yield Score(replace(found.row, fields=fields, named_only=False), found.value, by)


def _given(record: Mapping[str, object]) -> object:
    """The score, else the value; an empty cell is neither."""
    found = (record.get(name) for name in ("score", "value"))
    return next((one for one in found if not is_missing(one)), None)


def _one_or_all(found: Mapping[str, object]) -> object:
    return next(iter(found.values())) if len(found) == 1 else found or None


def _feedback(record: Mapping[str, object], left: Left) -> Iterator[Score]:
    """A correction is a person's, and stands beside the score that it corrects."""
    source, run, key = (
        mapping(parsed(record.get("feedback_source"))),
        text(record.get("run_id")),
        text(record.get("key")),
    )
    correction, value = parsed(record.get("correction") or None), _given(record)
    row = Recorded(
        asked=Asked(key),
        fields=subject_fields("run", run),
        named_only=True,
        id=run,
        more=without(record, "score", "value", "key", "comment", "run_id"),
        at=seconds(record.get("created_at")),
    )
    why = text(record.get("comment"))
    by_person = text(source.get("type") or record.get("feedback_source.type")) in _PEOPLE
    if not by_person:
        vote = RecordedVote(explanation=why or None)
        yield Score(
            row,
            value,
            vote
            if value is not None
            else RecordedVote().failed(why or Message("the feedback has no score")),
        )
    if by_person or correction is not None:
        fixed = (
            first(mapping(correction), "score", "value", key)
            if isinstance(correction, Mapping)
            else correction
        )
        if correction is not None and (
            fixed is None or (isinstance(fixed, str) and not isinstance(value, str))
        ):
            left.out(
                Message("correction that does not say which score is right")
            )  # it may be one of the answer
            fixed = None
            if not by_person:
                return
        author = text(first(source, "user_name", "user_id")) or "annotator"
        mark = Mark(answer="", annotator=author, judge_visible=correction is not None, note=why)
        yield Score(row, value if fixed is None else fixed, mark)


LANGSMITH = Format(
    "langsmith", Message("LangSmith results or feedback"), "langsmith 0.14.17", _matches, _read
)
