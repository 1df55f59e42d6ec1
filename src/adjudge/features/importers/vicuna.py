"""Vicuna reviews: a reply that begins with two scores. The reply counts; a recorded score that
contradicts it is said.
"""

from __future__ import annotations

from collections.abc import Iterator

from adjudge.core.verdicts.styles import better_rated, two_ratings
from adjudge.features.importers.format import Format
from adjudge.features.importers.pairs import BETTER, gold
from adjudge.features.importers.record import ImportLog, RecordedRow, RecordedVote
from adjudge.features.importers.source import ForeignFile, ForeignRecord
from adjudge.features.importers.values import number
from adjudge.messages import Message

_READ = (
    "text",
    "judge_raw",
    "score",
    "judge_scores",
    "instruction",
    "response_1",
    "response_2",
    "human_label",
    "judge",
    "reviewer_id",
)


def _read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    log.use({"text": "votes", "judge_raw": "votes", "human_label": "labels"})
    for record in file.records():
        id, label = record.text("id", "review_id"), record.value("human_label")
        judge = record.text("judge", "reviewer_id") or record.nested("metadata").text("model")
        judge = judge or "reviewer"
        asked = record.text("instruction") or f"question {record.value('question_id')}"
        answers = tuple(record.text(f"response_{one}") or f"{id}, answer {one}" for one in (1, 2))
        yield RecordedRow(
            judge=judge,
            question=BETTER,
            fields={"instruction": asked, "response": answers},
            id=id,
            systems=tuple(record.text(f"model_{one}") or f"answer {one}" for one in (1, 2)),
            votes=(_vote(record, judge, log),),
            marks=() if label is None else gold(label, "annotator"),
            more=record.rest(*_READ),
        )


def _vote(record: ForeignRecord, judge: str, log: ImportLog) -> RecordedVote:
    reply = record.text("judge_raw", "text")
    kept = [number(one) for one in record.values("judge_scores", "score")]
    known = tuple(one for one in kept if one is not None and one >= 0)
    found: tuple[float, ...] | None = two_ratings(reply) if reply else None
    if len(known) == 2 and found not in (None, known):
        log.note(
            Message(
                "some recorded scores contradict the reply that they were read from: the reply "
                "counts"
            )
        )
        log.skip(Message("recorded score that contradicts its reply"))
    found = known if found is None and len(known) == 2 else found
    vote = RecordedVote(model=judge, text=reply)
    if found is None:
        unread = Message("the first line of the reply is not two numbers")
        return vote.failed(unread, unreadable=True)
    first, second = found
    answer = better_rated((first, second))
    return RecordedVote(answer=answer, model=judge, text=reply, more={"scores": [first, second]})


VICUNA = Format(
    "vicuna",
    Message("Vicuna reviews"),
    "lm-sys/FastChat v0.1",
    lambda head: (
        head.has("judge_raw", "judge_scores") or head.has("review_id", "question_id", "text")
    ),
    _read,
)
