"""JudgeBench: pairs, and outputs of judges in both orders. The second decision is by the labels as
shown: it is put back here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from adjudge.importers.format import Format
from adjudge.importers.pairs import BETTER, gold, pair_vote
from adjudge.importers.record import UNJUDGED, Left, Recorded, RecordedVote
from adjudge.importers.source import ForeignFile, Head
from adjudge.importers.values import listed, mapping, text, without
from adjudge.messages import Message

_TASK = re.compile("mmlu-pro|livebench-reasoning|livebench-math|livecodebench")


def _matches(head: Head) -> bool:
    return head.has("pair_id", "response_A", "response_B", "label")


def _read(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    left.use(
        {
            "question": "question",
            "response_A": "response",
            "response_B": "response",
            "label": "labels",
            "judgments": "votes",
        }
    )
    for record in file.records():
        votes = tuple(
            _vote(one, place, text(record.get("judge_name")))
            for place, one in enumerate(listed(record.get("judgments")))
        )
        name = text(record.get("judge_name"))
        model = votes[0].model if votes else ""
        yield Recorded(
            judge=(f"{name} ({model})" if name and model and model != name else name or model)
            if votes
            else UNJUDGED,
            asked=BETTER,
            fields={
                "question": text(record.get("question")),
                "response": (text(record["response_A"]), text(record["response_B"])),
            },
            id=text(record["pair_id"]),
            votes=votes,
            marks=gold(record["label"]),
            more={
                **_task(record),
                **without(
                    record, "question", "response_A", "response_B", "judgments", "label", "pair_id"
                ),
            },
        )


def _task(record: Mapping[str, object]) -> dict[str, object]:
    """The part of the data set that figures are published of: a source says the subject as well."""
    found = _TASK.match(text(record.get("source")))
    return {"task": found[0]} if found else {}


def _vote(one: object, place: int, judge: str) -> RecordedVote:
    found, swapped = mapping(one), place == 1
    said = mapping(found.get("judgment"))
    model = text(said.get("judge_model")) or judge
    if not found:
        return RecordedVote(model=model, swapped=swapped).failed(Message("the judgment is null"))
    more = without(said, "judge_model", "response")
    return pair_vote(
        found.get("decision"),
        model=model,
        swapped=swapped,
        relabelled=True,
        reply=said.get("response"),
        more=more,
    )


JUDGEBENCH = Format("judgebench", "JudgeBench", "ScalerLab/JudgeBench", _matches, _read)
