"""Braintrust: experiment events. Scores sit on the root span, their reasons in its children of type
"score".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from adjudge.importers.format import Format
from adjudge.importers.record import Asked, Left, Recorded, RecordedVote, by_model
from adjudge.importers.source import ForeignFile, Head
from adjudge.importers.values import (
    answered,
    fields_of,
    mapping,
    number,
    parsed,
    seconds,
    text,
    without,
)
from adjudge.messages import Message

_PATHS = (("events",), ("rows",), ("data",), ("objects",))
_READ = ("input", "output", "expected", "scores", "id", "error")


def _matches(head: Head) -> bool:
    record = head.record or next((one for path in _PATHS if (one := mapping(head.at(*path)))), {})
    return ("span_id" in record and ("root_span_id" in record or "_xact_id" in record)) or {
        "scores",
        "experiment_id",
    } <= record.keys()


def _read(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    left.use({"input": "input", "output": "response", "expected": "expected", "scores": "votes"})
    reasons = dict(_reasons(file))
    for event in _events(file):
        if not _is_root(event):
            continue
        scores = mapping(event.get("scores"))
        if not scores:
            left.out(Message("event without scores"))
        for name, value in scores.items():
            yield _judged(
                event, name, number(value), reasons.get((text(event.get("root_span_id")), name), {})
            )


def _events(file: ForeignFile) -> Iterator[Mapping[str, object]]:
    """A table holds objects as JSON."""
    for event in file.records(*_PATHS):
        yield (
            {name: parsed(value) for name, value in event.items()}
            if file.head.form == "table"
            else event
        )


def _reasons(file: ForeignFile) -> Iterator[tuple[tuple[str, str], Mapping[str, object]]]:
    for event in _events(file):
        about = mapping(event.get("span_attributes"))
        if about.get("type") == "score" and not _is_root(event):
            output = mapping(event.get("output"))
            details = {
                **mapping(output.get("metadata")),
                **mapping(event.get("metadata")),
                "error": event.get("error"),
            }
            yield (text(event.get("root_span_id")), text(about.get("name"))), details


def _is_root(event: Mapping[str, object]) -> bool:
    is_root = text(event.get("is_root")).casefold() == "true"
    return is_root or (
        not event.get("span_parents") and event.get("span_id") == event.get("root_span_id")
    )


def _judged(
    event: Mapping[str, object], name: str, score: float | None, why: Mapping[str, object]
) -> Recorded:
    vote = RecordedVote(
        model=text(why.get("model")),
        explanation=text(why.get("rationale")) or None,
        more=without(why, "rationale", "error"),
    )
    reason = (
        why.get("error") or event.get("error") or Message("the score is null: it was not scored")
    )
    vote = vote.failed(reason) if score is None else vote.said(score)
    given = event.get("input")
    return Recorded(
        judge=by_model(name, vote.model),
        asked=Asked(name, kind="rating"),
        fields=answered(
            {
                **fields_of(given if isinstance(given, Mapping) else {"input": given}),
                **fields_of({"expected": event.get("expected")}),
            },
            text(event.get("output")),
        ),
        id=text(event.get("id")) or None,
        votes=(vote,),
        more=without(event, *_READ),
        at=seconds(event.get("created")),
    )


BRAINTRUST = Format(
    "braintrust", Message("Braintrust experiment"), "braintrust 0.48.1", _matches, _read
)
