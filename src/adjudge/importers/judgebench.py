"""JudgeBench: pairs, and outputs of judges in both orders, decisions mapped back already."""

from __future__ import annotations

from collections.abc import Iterator

from adjudge.importers.format import Format
from adjudge.importers.pairs import BETTER, gold, pair_vote
from adjudge.importers.record import UNJUDGED, Left, Recorded, RecordedVote
from adjudge.importers.source import ForeignFile, Head
from adjudge.importers.values import listed, mapping, text, without


def _matches(head: Head) -> bool:
    return head.has("pair_id", "response_A", "response_B", "label")


def _read(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    left.use(
        {"question": "question", "response_A": "response", "response_B": "response", "label": "labels", "judgments": "votes"}
    )
    for record in file.records():
        votes = tuple(
            _vote(one, place, text(record.get("judge_name"))) for place, one in enumerate(listed(record.get("judgments")))
        )
        name = text(record.get("judge_name"))
        model = votes[0].model if votes else ""
        yield Recorded(
            judge=(f"{name} ({model})" if name and model and model != name else name or model) if votes else UNJUDGED,
            asked=BETTER,
            fields={
                "question": text(record.get("question")),
                "response": (text(record["response_A"]), text(record["response_B"])),
            },
            id=text(record["pair_id"]),
            votes=votes,
            marks=gold(record["label"]),
            more=without(record, "question", "response_A", "response_B", "judgments", "label", "pair_id"),
        )


def _vote(one: object, place: int, judge: str) -> RecordedVote:
    found = mapping(one)
    said = mapping(found.get("judgment"))
    model = text(said.get("judge_model")) or judge
    if not found:
        return RecordedVote(model=model, swapped=place == 1).failed("the judgment is null")
    more = without({"prompt": said.get("prompt")})
    return pair_vote(found.get("decision"), model=model, swapped=place == 1, reply=said.get("response"), more=more)


JUDGEBENCH = Format("judgebench", "JudgeBench", "ScalerLab/JudgeBench", _matches, _read)
