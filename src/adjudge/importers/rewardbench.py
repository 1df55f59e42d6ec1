"""RewardBench 2 (and 1): prompts with right and wrong completions; where scores are there, the best
scored is chosen.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

from adjudge.domain.verdict import TIE
from adjudge.importers.format import Format
from adjudge.importers.record import UNJUDGED, Asked, Left, Mark, Recorded, RecordedVote
from adjudge.importers.source import ForeignFile, Head
from adjudge.importers.values import listed, number, text, without
from adjudge.messages import Message

_ASKED = Asked("best completion", "Which completion is the best?", "comparison")


def _matches(head: Head) -> bool:
    return head.has("prompt", "chosen", "rejected") and bool(
        {"subset", "num_correct", "total_completions"} & head.record.keys()
    )


def _read(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    left.use(
        {
            "prompt": "prompt",
            "chosen": "response",
            "rejected": "response",
            "scores": "votes",
            "num_correct": "labels",
        }
    )
    left.note(Message("the completions are put in an order that does not tell which is right"))
    for place, record in enumerate(file.records()):
        yield _row(record, place, left)


def _row(record: Mapping[str, object], place: int, left: Left) -> Recorded:
    good, bad = _completions(record["chosen"]), _completions(record["rejected"])
    id = text(record.get("id")) or f"row {place + 1}"
    order = sorted(
        range(len(good) + len(bad)),
        key=lambda one: hashlib.sha256(f"{id}\0{one}".encode()).digest(),
    )
    marks: tuple[Mark, ...] = ()
    if len(good) == 1:
        marks = (Mark(answer=order.index(0), annotator="gold", kind="expert", design="random"),)
    else:
        left.out(
            Message("label of a prompt with several right completions: no single one is the best")
        )
    votes = _votes(record, order)
    return Recorded(
        judge=(text(record.get("model")) or "reward model") if votes else UNJUDGED,
        asked=_ASKED,
        fields={
            "prompt": _prompt(record["prompt"]),
            "response": tuple((*good, *bad)[one] for one in order),
        },
        id=id,
        votes=votes,
        marks=marks,
        more=without(record, "prompt", "chosen", "rejected", "scores", "id"),
    )


def _completions(value: object) -> list[str]:
    return [text(one) for one in value] if isinstance(value, list) else [text(value)]


def _prompt(value: object) -> str:
    return (
        "\n".join(text(one.get("content")) for one in value if isinstance(one, Mapping))
        if isinstance(value, list)
        else text(value)
    )


def _votes(record: Mapping[str, object], order: list[int]) -> tuple[RecordedVote, ...]:
    """The first scores are of the right completions."""
    given = listed(record.get("scores"))
    if not given:
        return ()
    flat = [one[0] if isinstance(one, list) and one else one for one in given]
    scores = [number(one) for one in flat]
    known = [one for one in scores if one is not None]
    model = text(record.get("model")) or "reward model"
    if len(known) != len(order):
        return (RecordedVote(model=model).failed(Message("a completion has no score")),)
    best = [one for one, score in enumerate(known) if score == max(known)]
    answer = order.index(best[0]) if len(best) == 1 else TIE
    return (
        RecordedVote(answer=answer, model=model, more={"scores": [known[one] for one in order]}),
    )


REWARDBENCH = Format("rewardbench", "RewardBench", "allenai/reward-bench 2", _matches, _read)
