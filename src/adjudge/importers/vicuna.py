"""Vicuna reviews: a reply that begins with two scores. The reply counts; a recorded score that
contradicts it is said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from adjudge.domain.vote import Outcome
from adjudge.importers.format import Format
from adjudge.importers.pairs import BETTER, gold
from adjudge.importers.record import Left, Recorded, RecordedVote
from adjudge.importers.source import ForeignFile, Head
from adjudge.importers.values import first, listed, mapping, number, text, without
from adjudge.messages import Message
from adjudge.verdicts.styles import better_rated, two_ratings

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


def _matches(head: Head) -> bool:
    return head.has("judge_raw", "judge_scores") or (
        head.has("review_id", "question_id") and "text" in head.record
    )


def _read(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    left.use({"text": "votes", "judge_raw": "votes", "human_label": "labels"})
    for record in file.records():
        id = text(first(record, "id", "review_id"))
        judge = (
            text(first(record, "judge", "reviewer_id"))
            or text(mapping(record.get("metadata")).get("model"))
            or "reviewer"
        )
        answers = tuple(
            text(record.get(f"response_{one}")) or f"{id}, answer {one}" for one in (1, 2)
        )
        yield Recorded(
            judge=judge,
            asked=BETTER,
            fields={
                "instruction": text(record.get("instruction"))
                or f"question {record.get('question_id')}",
                "response": answers,
            },
            id=id,
            systems=tuple(text(record.get(f"model_{one}")) or f"answer {one}" for one in (1, 2)),
            votes=(_vote(record, judge, left),),
            marks=gold(record.get("human_label"), "annotator")
            if record.get("human_label") is not None
            else (),
            more=without(record, *_READ),
        )


def _vote(record: Mapping[str, object], judge: str, left: Left) -> RecordedVote:
    reply = text(first(record, "judge_raw", "text"))
    kept = [number(one) for one in listed(first(record, "judge_scores", "score"))]
    found = two_ratings(reply) if reply else None
    known = [one for one in kept if one is not None and one >= 0]
    if found is None and len(known) == 2:
        found = (known[0], known[1])
    elif found is not None and len(known) == 2 and tuple(known) != found:
        left.note(
            Message(
                "some recorded scores contradict the reply that they were read from: the reply "
                "counts"
            )
        )
        left.out(Message("recorded score that contradicts its reply"))
    if found is None:
        return RecordedVote(model=judge, text=reply or None).failed(
            Message("the first line of the reply is not two numbers"), Outcome.UNREADABLE
        )
    return RecordedVote(
        answer=better_rated(found), model=judge, text=reply or None, more={"scores": list(found)}
    )


VICUNA = Format("vicuna", Message("Vicuna reviews"), "lm-sys/FastChat v0.1", _matches, _read)
