"""Import RewardBench 2 (and 1): prompts with right and wrong completions; with scores, the
completion with the best score is chosen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from adjudge.core.domain.verdict import TIE
from adjudge.features.importers.format import Format
from adjudge.features.importers.pairs import gold_marks
from adjudge.features.importers.record import (
    UNJUDGED,
    ImportLog,
    RecordedQuestion,
    RecordedRow,
    RecordedVote,
)
from adjudge.features.importers.source import ForeignFile, ForeignRecord, Head
from adjudge.features.importers.values import Json, number, text
from adjudge.messages import Message

_BEST = RecordedQuestion("best completion", "Which completion is the best?", "comparison")


def _matches(head: Head) -> bool:
    has_counts = head.record.has_any("subset", "num_correct", "total_completions")
    return has_counts and head.has("prompt", "chosen", "rejected")


def _read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    log.use(
        {
            "prompt": "prompt",
            "chosen": "response",
            "rejected": "response",
            "scores": "votes",
            "num_correct": "labels",
        }
    )
    log.note(
        Message(
            "the completions were reordered, so that their order does not reveal the correct one"
        )
    )
    for record in file.records():
        yield _row(record, log)


def _row(record: ForeignRecord, log: ImportLog) -> RecordedRow:
    good, bad = _completions(record["chosen"]), _completions(record["rejected"])
    id, model = record.name("id"), record.text("model") or "reward model"
    # By a hash, so that the order is stable and does not show which one is right.
    order = sorted(
        range(len(good) + len(bad)),
        key=lambda place: hashlib.sha256(f"{id}\0{place}".encode()).digest(),
    )
    if len(good) != 1:
        log.skip(
            Message("label of a prompt with several correct completions, none of which is the best")
        )
    scores = record.values("scores")
    return RecordedRow(
        judge=model if scores else UNJUDGED,
        question=_BEST,
        fields={
            "prompt": _prompt(record),
            "response": tuple((*good, *bad)[place] for place in order),
        },
        id=id,
        votes=(_vote(scores, model, order),) if scores else (),
        marks=gold_marks(order.index(0)) if len(good) == 1 else (),
        more=record.rest("prompt", "chosen", "rejected", "scores", "id"),
    )


def _completions(value: Json) -> list[str]:
    return [text(completion) for completion in value] if isinstance(value, list) else [text(value)]


def _prompt(record: ForeignRecord) -> str:
    if not isinstance(record["prompt"], list):
        return record.text("prompt")
    return "\n".join(message.text("content") for message in record.objects("prompt") if message)


def _vote(scores: Sequence[Json], model: str, order: list[int]) -> RecordedVote:
    """Return a vote for the completion with the highest score, or a tie.

    The vote is failed if a completion has no score.
    """
    # The first scores are those of the right completions.
    flat = [
        completion_score[0]
        if isinstance(completion_score, list) and completion_score
        else completion_score
        for completion_score in scores
    ]
    numbers = [
        points for completion_score in flat if (points := number(completion_score)) is not None
    ]
    if len(numbers) != len(order):
        return RecordedVote(model=model).with_failure(Message("a completion has no score"))
    best = [place for place, score in enumerate(numbers) if score == max(numbers)]
    answer = order.index(best[0]) if len(best) == 1 else TIE
    ordered_scores = [numbers[place] for place in order]
    return RecordedVote(answer=answer, model=model, more={"scores": ordered_scores})


REWARDBENCH = Format("rewardbench", "RewardBench", "allenai/reward-bench 2", _matches, _read)
