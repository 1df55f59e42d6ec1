"""Plain labelled records: a text or a pair, a ``label``, and what ``judges`` said, as many papers publish them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from adjudge.domain.criteria import CriteriaOption
from adjudge.importers.format import Format
from adjudge.importers.pairs import BETTER, gold, pair_vote
from adjudge.importers.record import (
    Asked,
    Left,
    Mark,
    Recorded,
    RecordedVote,
    asked_for,
    fields_of,
    first,
    listed,
    mapping,
    text,
    without,
)
from adjudge.importers.source import ForeignFile, Head

_PAIR = ("response_1", "response_2")
_RESPONSES = ("response", "agent_output", "answer", "output", "summary")
_CONTEXT = (
    "instruction",
    "question",
    "prompt",
    "input",
    "history",
    "context",
    "contexts",
    "reference_answer",
    "reference",
    "rubric",
    "trajectory",
)
_TWO = {frozenset(("correct", "wrong")): ("correct", "wrong")}
_NAME = "label"
_LABELS = (_NAME, "human_consistency")
_PREDICTED = "_pred"


def _matches(head: Head) -> bool:
    record = head.record
    judged = isinstance(record.get("judges"), Mapping) or head.has(*_PAIR) or any(name in record for name in _RESPONSES)
    return head.form in ("lines", "list") and judged and any(name in record for name in _LABELS)


def _read(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    left.use(label="labels", judges="votes")
    words = {text(first(one, *_LABELS)) for one in file.records()}
    for place, record in enumerate(file.records()):
        compares = all(name in record for name in _PAIR)
        asked, marks = (BETTER, gold(record.get(_NAME))) if compares else _direct(first(record, *_LABELS), words)
        judges = dict(_votes(record, compares, asked, left))
        for number, (judge, votes) in enumerate(judges.items()):
            yield _row(record, judge, asked, votes, marks if number == 0 else (), place)
        if not judges:
            yield _row(record, "rows", asked, (), marks, place)


def _direct(label: object, words: set[str]) -> tuple[Asked, tuple[Mark, ...]]:
    pair = _TWO.get(frozenset(words))
    if pair:
        asked, answer = (
            Asked(
                "verdict", "Is it right?", options=tuple(CriteriaOption(one, score=1.0 - place) for place, one in enumerate(pair))
            ),
            text(label),
        )
        return asked, (Mark(answer=answer, annotator="gold", kind="expert", design="random"),)
    question, value = asked_for("verdict", label, "What is to be said of the response?")
    return question, (Mark(answer=value, annotator="gold", kind="expert", design="random"),)


def _votes(
    record: Mapping[str, object], compares: bool, asked: Asked, left: Left
) -> Iterator[tuple[str, tuple[RecordedVote, ...]]]:
    predicted = {
        name: {"verdict": next(iter(mapping(one).values()), None)} for name, one in record.items() if name.endswith(_PREDICTED)
    }
    for name, said in {**mapping(record.get("judges")), **predicted}.items():
        parts = [mapping(one) for one in listed(said)] or [mapping(said) or {"verdict": said}]
        votes = [_vote(part, name, sample, compares, asked) for sample, part in enumerate(parts)]
        known = tuple(vote for vote in votes if vote is not None)
        if known:
            yield name, known
        else:
            left.out(f"judge {name!r}, whose records hold no verdict")


def _vote(part: Mapping[str, object], judge: str, sample: int, compares: bool, asked: Asked) -> RecordedVote | None:
    value = first(part, "verdict", "verdict_pass", "label", "option", "decision")
    vote = RecordedVote(
        model=judge,
        sample=sample,
        explanation=text(part.get("reason")) or None,
        text=text(part.get("raw")) or None,
        more=without(part, "verdict", "verdict_pass", "raw", "error", "reason"),
    )
    if part.get("error") or (value is None and "verdict_pass" in part):
        return vote.failed(part.get("error") or "no verdict is recorded")
    if compares:
        return pair_vote(value, model=judge, why=text(part.get("reason"))) if "verdict" in part else None
    if value is None:
        return None
    if isinstance(value, bool) and len(asked.options) == 2:
        answer: str | float = asked.options[0 if value else 1].name
    else:
        answer = asked_for("", value)[1] if asked.kind == "rating" else text(value)
    return vote.said(answer)


def _row(
    record: Mapping[str, object], judge: str, asked: Asked, votes: tuple[RecordedVote, ...], marks: tuple[Mark, ...], place: int
) -> Recorded:
    shown = fields_of({name: record.get(name) for name in _CONTEXT})
    response: str | tuple[str, ...] = text(first(record, *_RESPONSES))
    if asked.kind == "comparison":
        response = tuple(text(record[name]) for name in _PAIR)
    return Recorded(
        judge=judge,
        asked=asked,
        fields={**shown, "response": response},
        id=text(first(record, "id", "case_id")) or f"row {place + 1}",
        votes=votes,
        marks=marks,
        more=without(record, *_CONTEXT, *_PAIR, *_RESPONSES, "judges", "id", *_LABELS),
    )


RECORDS = Format("records", "labelled records", "rows with a label, and judges that said something of them", _matches, _read)
