"""Langfuse: scores as batch exports (CSV, JSON, JSONL) or pages of ``GET /api/public/v3/scores``
have them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from adjudge.importers.format import Format
from adjudge.importers.record import Asked, Left, Mark, Recorded, RecordedVote
from adjudge.importers.scores import Score, joined, subject_fields
from adjudge.importers.source import ForeignFile, Head
from adjudge.importers.values import first, listed, mapping, number, seconds, text, truth, without
from adjudge.messages import Message

_PATHS = (("data",), ("scores",))
_TEXTS = ("TEXT", "CORRECTION")
_SUBJECTS = ("observation", "trace", "session", "experiment")
_NO_SCORES = Message(
    "the texts that were scored are not in an export of scores: rows are named by what was scored"
)


def _matches(head: Head) -> bool:
    record = head.record or mapping(head.at("data")) or mapping(head.at("scores"))
    inner = listed(record.get("scores"))
    record = mapping(inner[0]) if inner and {"input", "output"} & record.keys() else record
    return {"name", "source", "value"} <= record.keys() and bool(
        {"dataType", "data_type"} & record.keys()
    )


def _read(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    left.use({"value": "votes and labels", "subject": "rows", "comment": "explanation"})
    if not ({"input", "output"} & (file.head.record or mapping(file.head.at("data"))).keys()):
        left.note(_NO_SCORES)
    counted = Left()

    def scores() -> Iterator[Score]:
        for record in file.records(*_PATHS):
            for one in _scores(record):
                found = _score(one, counted)
                if found is not None:
                    yield found

    yield from joined(scores)
    for what, count in counted.counts.items():
        left.out(what, count // 2)  # the scores are read twice


def _scores(record: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    """A score; or those of a trace, with its texts."""
    inner = [mapping(one) for one in listed(record.get("scores"))]
    texts = {name: record.get(name) for name in ("input", "output")}
    for one in inner:
        yield {"traceId": record.get("id"), **texts, **one}
    if not inner and "name" in record and "source" in record:
        yield record


def _score(record: Mapping[str, object], left: Left) -> Score | None:
    kind, source = (
        text(first(record, "dataType", "data_type")).upper(),
        text(record.get("source")).upper(),
    )
    if kind in _TEXTS:
        left.out(Message("score of type {kind}, which is a text", kind=kind))
        return None
    subject, name = _subject(record), text(record.get("name"))
    why, value = text(record.get("comment")), _value(record, kind)
    row = Recorded(
        asked=Asked(name),
        fields=subject_fields(
            *subject, {"input": record.get("input"), "response": record.get("output")}
        ),
        named_only=not record.get("output"),
        id=subject[1] or None,
        more=without(record, "name", "value", "comment", "input", "output", "stringValue"),
        at=seconds(record.get("timestamp")),
    )
    if source == "ANNOTATION":
        author = text(first(record, "authorUserId", "author_user_id")) or "annotator"
        return Score(row, value, Mark(answer="", annotator=author, note=why))
    vote = RecordedVote(model="" if source == "EVAL" else source.lower(), explanation=why or None)
    vote = vote if value is not None else vote.failed(why or Message("the score has no value"))
    return Score(row, value, vote)


def _subject(record: Mapping[str, object]) -> tuple[str, str]:
    found = mapping(record.get("subject"))
    if found:
        return text(found.get("kind")) or "trace", text(found.get("id"))
    for kind in _SUBJECTS:
        if value := first(record, f"{kind}Id", f"{kind}_id"):
            return kind, text(value)
    return "score", text(record.get("id"))


def _value(record: Mapping[str, object], kind: str) -> object:
    value, words = record.get("value"), first(record, "stringValue", "string_value")
    if kind == "BOOLEAN":
        return truth(value if value not in (None, "") else words)
    if kind == "CATEGORICAL":
        chosen = words if words not in (None, "") else value
        return None if chosen in (None, "") else f"{chosen}"
    return number(value)


LANGFUSE = Format(
    "langfuse", Message("Langfuse scores"), "langfuse 6275144, scores v3", _matches, _read
)
