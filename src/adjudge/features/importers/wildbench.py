"""Import WildBench: scores from 1 to 10 of a model's answers, and comparisons with a reference
model.

Reads the files under ``eval_results`` and those that ``src/eval.py`` writes. Only the folder
``eval=MODEL`` names the judge.
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
    names_model = head.record.has_any("model_test", "generator", "model_A")
    return names_model and head.has("session_id", "parsed_result")


def _read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    log.use({"model_output": "response", "score": "votes", "winner": "votes"})
    folders = [part for part in file.path.absolute().parts if part.startswith(_JUDGE)]
    judge = folders[-1].removeprefix(_JUDGE) if folders else NOT_SAID
    for record in file.records():
        is_pair = record.has_any("model_A", "assignment")
        if not record.has_any("last_query", "history"):
            log.note(
                Message(
                    "the file does not contain the conversations, so rows are named by their ids"
                )
            )
        yield _pair(record, judge) if is_pair else _score_row(record, judge)


def _conversation(record: ForeignRecord) -> dict[str, str]:
    """Return the conversation, or its id if the file does not hold it."""
    texts = fields_of({name: record.value(name) for name in ("history", "last_query")})
    # Equal answers to different questions must stay different rows.
    return {name: str(value) for name, value in texts.items()} or {
        "conversation": record.text("session_id")
    }


def _vote(record: ForeignRecord, judge: str) -> RecordedVote:
    verdict = record.nested("parsed_result")
    parts = [verdict.text(name) for name in ("reason", "strengths", "weaknesses")]
    usage = usage_in(
        record.nested("meta_data").nested("usage"), "prompt_tokens", "completion_tokens"
    )
    text = record.text("result") or json.dumps(dict(verdict.raw), ensure_ascii=False)
    return RecordedVote(
        model=judge, explanation="\n".join(filter(None, parts)), text=text, usage=usage
    )


def _score_row(record: ForeignRecord, judge: str) -> RecordedRow:
    system = record.text("model_test", "generator")
    points = number(record.value("score"))
    if points is None:
        points = record.nested("parsed_result").number("score")
    readable = points if points is not None and 1 <= points <= 10 else None
    return RecordedRow(
        judge=judge,
        question=_SCORE,
        fields={**_conversation(record), "response": record.text("model_output")},
        id=f"{record.text('session_id')} {system}".strip(),
        votes=(
            _vote(record, judge).with_answer_or_failure(
                readable, NO_REPLY_VERDICT, unreadable=True
            ),
        ),
        more=record.rest(*_READ),
    )


def _pair(record: ForeignRecord, judge: str) -> RecordedRow:
    """Read a comparison as it was shown; which model is A was drawn at random."""
    names = record.nested("assignment")
    model_a = record.text("model_A") or names.text("A")
    model_b = record.text("model_B") or names.text("B")
    output_of = {
        record.text("generator"): record.text("model_output"),
        record.text("ref_generator"): record.text("ref_output"),
    }
    outputs = record.nested("model_outputs")
    places: dict[str, Selection] = {model_a: 0, model_b: 1, "tie": "tie"}
    winner_name, choice = record.text("winner"), record.nested("parsed_result").text("choice")
    answer = (
        _WINNERS.get(choice) if not winner_name or model_a == model_b else places.get(winner_name)
    )
    return RecordedRow(
        judge=judge,
        question=BETTER_ANSWER,
        fields={
            **_conversation(record),
            "response": tuple(
                outputs.text(name) or output_of.get(name, "") for name in (model_a, model_b)
            ),
        },
        id=f"{record.text('session_id')} {model_a} {model_b}",
        votes=(
            _vote(record, judge).with_answer_or_failure(answer, NO_REPLY_VERDICT, unreadable=True),
        ),
        systems=(model_a, model_b),
        more=record.rest(*_READ, "model_A", "model_B", "generator", "ref_generator"),
    )


WILDBENCH = Format("wildbench", "WildBench", "allenai/WildBench d6b8dca", _matches, _read)
