"""RewardBench 2 (and 1): prompts with right and wrong completions; where scores are there, the best
scored is chosen.
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
    known = head.record.has_any("subset", "num_correct", "total_completions")
    return known and head.has("prompt", "chosen", "rejected")


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
    log.note(Message("the completions are put in an order that does not tell which is right"))
    for record in file.records():
        yield _row(record, log)


def _row(record: ForeignRecord, log: ImportLog) -> RecordedRow:
    good, bad = _completions(record["chosen"]), _completions(record["rejected"])
    id, model = record.name("id"), record.text("model") or "reward model"
    order = sorted(
        range(len(good) + len(bad)),
        key=lambda one: hashlib.sha256(f"{id}\0{one}".encode()).digest(),
    )
    if len(good) != 1:
        log.skip(
            Message("label of a prompt with several right completions: no single one is the best")
        )
    scores = record.values("scores")
    return RecordedRow(
        judge=model if scores else UNJUDGED,
        question=_BEST,
        fields={
            "prompt": _prompt(record),
            "response": tuple((*good, *bad)[one] for one in order),
        },
        id=id,
        votes=(_vote(scores, model, order),) if scores else (),
        marks=gold_marks(order.index(0)) if len(good) == 1 else (),
        more=record.rest("prompt", "chosen", "rejected", "scores", "id"),
    )


def _completions(value: Json) -> list[str]:
    return [text(one) for one in value] if isinstance(value, list) else [text(value)]


def _prompt(record: ForeignRecord) -> str:
    if not isinstance(record["prompt"], list):
        return record.text("prompt")
    return "\n".join(one.text("content") for one in record.objects("prompt") if one)


def _vote(scores: Sequence[Json], model: str, order: list[int]) -> RecordedVote:
    """The first scores are of the right completions."""
    flat = [one[0] if isinstance(one, list) and one else one for one in scores]
    known = [points for one in flat if (points := number(one)) is not None]
    if len(known) != len(order):
        return RecordedVote(model=model).failed(Message("a completion has no score"))
    best = [one for one, score in enumerate(known) if score == max(known)]
    answer = order.index(best[0]) if len(best) == 1 else TIE
    kept = [known[one] for one in order]
    return RecordedVote(answer=answer, model=model, more={"scores": kept})


REWARDBENCH = Format("rewardbench", "RewardBench", "allenai/reward-bench 2", _matches, _read)
