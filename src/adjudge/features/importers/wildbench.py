"""WildBench: scores from 1 to 10 of a model's answers, and comparisons with a reference model.

Both the files under ``eval_results`` and those that ``src/eval.py`` writes. The judge is named by
the folder ``eval=MODEL`` only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from adjudge.core.domain.verdict import Selection
from adjudge.features.importers.format import Format
from adjudge.features.importers.pairs import BETTER_ANSWER, NO_REPLY_VERDICT
from adjudge.features.importers.record import (
    NOT_SAID,
    ImportLog,
    RecordedQuestion,
    RecordedRow,
    RecordedVote,
)
from adjudge.features.importers.source import ForeignFile, ForeignRecord, Head, usage_in
from adjudge.features.importers.values import fields_of, number
from adjudge.messages import Message

_SCORE = RecordedQuestion(
    "score", "How good is the answer, from 1 to 10?", "rating", bounds=(1.0, 10.0)
)
_JUDGE = "eval="
_READ = (
    *("session_id", "parsed_result", "meta_data", "score", "model_output", "model_outputs"),
    *("winner", "history", "last_query", "prompt", "result", "error", "assignment", "ref_output"),
)
_WINNERS: Mapping[str, Selection] = {"A++": 0, "A+": 0, "A=B": "tie", "B+": 1, "B++": 1}


def _matches(head: Head) -> bool:
    told = head.record.has_any("model_test", "generator", "model_A")
    return told and head.has("session_id", "parsed_result")


def _read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    log.use({"model_output": "response", "score": "votes", "winner": "votes"})
    folders = [part for part in file.path.absolute().parts if part.startswith(_JUDGE)]
    judge = folders[-1].removeprefix(_JUDGE) if folders else NOT_SAID
    for record in file.records():
        is_pair = record.has_any("model_A", "assignment")
        if not record.has_any("last_query", "history"):
            log.note(Message("the conversations are not in the file: rows are named by their id"))
        yield _pair(record, judge) if is_pair else _scored(record, judge)


def _asked(record: ForeignRecord) -> dict[str, str]:
    """The conversation, or its id if the file has nothing else: equal answers to other questions
    must stay other rows.
    """
    asked = fields_of({name: record.value(name) for name in ("history", "last_query")})
    return {name: str(value) for name, value in asked.items()} or {
        "conversation": record.text("session_id")
    }


def _vote(record: ForeignRecord, judge: str) -> RecordedVote:
    said = record.nested("parsed_result")
    parts = [said.text(name) for name in ("reason", "strengths", "weaknesses")]
    usage = usage_in(
        record.nested("meta_data").nested("usage"), "prompt_tokens", "completion_tokens"
    )
    text = record.text("result") or json.dumps(dict(said.raw), ensure_ascii=False)
    return RecordedVote(
        model=judge, explanation="\n".join(filter(None, parts)), text=text, usage=usage
    )


def _scored(record: ForeignRecord, judge: str) -> RecordedRow:
    system = record.text("model_test", "generator")
    points = number(record.value("score"))
    if points is None:
        points = record.nested("parsed_result").number("score")
    readable = points if points is not None and 1 <= points <= 10 else None
    return RecordedRow(
        judge=judge,
        question=_SCORE,
        fields={**_asked(record), "response": record.text("model_output")},
        id=f"{record.text('session_id')} {system}".strip(),
        votes=(_vote(record, judge).said_or_failed(readable, NO_REPLY_VERDICT, unreadable=True),),
        more=record.rest(*_READ),
    )


def _pair(record: ForeignRecord, judge: str) -> RecordedRow:
    """A comparison as it was shown: which model is A was drawn at random."""
    names = record.nested("assignment")
    first = record.text("model_A") or names.text("A")
    second = record.text("model_B") or names.text("B")
    own = {
        record.text("generator"): record.text("model_output"),
        record.text("ref_generator"): record.text("ref_output"),
    }
    outputs = record.nested("model_outputs")
    named: dict[str, Selection] = {first: 0, second: 1, "tie": "tie"}
    said, choice = record.text("winner"), record.nested("parsed_result").text("choice")
    chosen = _WINNERS.get(choice) if not said or first == second else named.get(said)
    return RecordedRow(
        judge=judge,
        question=BETTER_ANSWER,
        fields={
            **_asked(record),
            "response": tuple(outputs.text(name) or own.get(name, "") for name in (first, second)),
        },
        id=f"{record.text('session_id')} {first} {second}",
        votes=(_vote(record, judge).said_or_failed(chosen, NO_REPLY_VERDICT, unreadable=True),),
        systems=(first, second),
        more=record.rest(*_READ, "model_A", "model_B", "generator", "ref_generator"),
    )


WILDBENCH = Format("wildbench", "WildBench", "allenai/WildBench d6b8dca", _matches, _read)
