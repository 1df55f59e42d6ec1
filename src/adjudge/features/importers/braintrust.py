"""Import experiment events of Braintrust.

Scores are on the root span, their reasons in its children of type "score".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from adjudge.core.reading.foreign_values import seconds_of
from adjudge.features.importers.format import Format
from adjudge.features.importers.record import ImportLog, RecordedRow, RecordedVote, by_model, rate
from adjudge.features.importers.source import EMPTY, ForeignFile, ForeignRecord, Head
from adjudge.features.importers.values import fields_of, number, parse_cell, with_response
from adjudge.messages import Message

_LISTS = ("events", "rows", "data", "objects")


def _matches(head: Head) -> bool:
    record = head.first(*_LISTS)
    spans = record.has("span_id") and record.has_any("root_span_id", "_xact_id")
    return spans or record.has("scores", "experiment_id")


def _read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    log.use({"input": "input", "output": "response", "expected": "expected", "scores": "votes"})
    reasons = dict(_reasons(file))
    for event in _events(file):
        if not _is_root(event):
            continue
        scores = event.nested("scores").raw
        if not scores:
            log.skip(Message("event without scores"))
        for name, value in scores.items():
            why = reasons.get((event.text("root_span_id"), name), EMPTY)
            yield _score_row(event, name, number(value), why)


def _events(file: ForeignFile) -> Iterator[ForeignRecord]:
    """Yield each event; if the file is a table, parse its cells."""
    for event in file.records(*((name,) for name in _LISTS)):
        table = file.head.form == "table"
        # A table holds objects as JSON in its cells.
        cells = {name: parse_cell(cell) for name, cell in event.raw.items()} if table else {}
        yield event.merge(cells)


def _reasons(file: ForeignFile) -> Iterator[tuple[tuple[str, str], ForeignRecord]]:
    for event in _events(file):
        about = event.nested("span_attributes")
        if about.value("type") == "score" and not _is_root(event):
            details = event.nested("output").nested("metadata").merge(event.nested("metadata").raw)
            key = event.text("root_span_id"), about.text("name")
            yield key, details.merge({"error": event.value("error")})


def _is_root(event: ForeignRecord) -> bool:
    alone = not event.value("span_parents")
    alone = alone and event.value("span_id") == event.value("root_span_id")
    return alone or event.text("is_root").casefold() == "true"


def _score_row(
    event: ForeignRecord, name: str, score: float | None, why: ForeignRecord
) -> RecordedRow:
    vote = RecordedVote(
        model=why.text("model"),
        explanation=why.text("rationale"),
        more=why.rest("rationale", "error"),
    )
    wrong = (
        why.value("error")
        or event.value("error")
        or Message("the score is null: it was not scored")
    )
    inputs = fields_of(event.nested("input").raw)
    if not isinstance(event.value("input"), Mapping):
        inputs = fields_of(event.keep("input"))
    return RecordedRow(
        judge=by_model(name, vote.model),
        question=rate(name),
        fields=with_response({**inputs, **fields_of(event.keep("expected"))}, event.text("output")),
        id=event.text("id") or None,
        votes=(vote.with_answer_or_failure(score, wrong),),
        more=event.rest("input", "output", "expected", "scores", "id", "error"),
        at=seconds_of(event.value("created")),
    )


BRAINTRUST = Format(
    "braintrust", Message("Braintrust experiment"), "braintrust 0.48.1", _matches, _read
)
