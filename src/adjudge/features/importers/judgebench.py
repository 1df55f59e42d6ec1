"""JudgeBench: pairs, and outputs of judges in both orders. The second decision is by the labels as
shown: it is put back here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from adjudge.features.importers.format import Format
from adjudge.features.importers.pairs import BETTER, gold, pair_vote
from adjudge.features.importers.record import UNJUDGED, ImportLog, RecordedRow, RecordedVote
from adjudge.features.importers.source import ForeignFile, ForeignRecord
from adjudge.messages import Message

_TASK = re.compile("mmlu-pro|livebench-reasoning|livebench-math|livecodebench")
"""The parts of the data set that figures are published of: a source says the subject as well."""


def _read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    log.use(
        {
            "question": "question",
            "response_A": "response",
            "response_B": "response",
            "label": "labels",
            "judgments": "votes",
        }
    )
    for record in file.records():
        name, judgments = record.text("judge_name"), record.objects("judgments")
        votes = tuple(_vote(one, place == 1, name) for place, one in enumerate(judgments))
        model = votes[0].model if votes else ""
        judge = f"{name} ({model})" if name and model and model != name else name or model
        task = _TASK.match(record.text("source"))
        *responses, id = record.texts("response_A", "response_B", "pair_id")
        rest = record.rest("question", "response_A", "response_B", "judgments", "label", "pair_id")
        yield RecordedRow(
            judge=judge if votes else UNJUDGED,
            question=BETTER,
            fields={"question": record.text("question"), "response": tuple(responses)},
            id=id,
            votes=votes,
            marks=gold(record["label"]),
            more={**({"task": task[0]} if task else {}), **rest},
        )


def _vote(found: ForeignRecord, swapped: bool, judge: str) -> RecordedVote:
    said = found.nested("judgment")
    vote = RecordedVote(
        model=said.text("judge_model") or judge,
        swapped=swapped,
        text=said.text("response"),
        more=said.rest("judge_model", "response"),
    )
    if not found:
        return vote.failed(Message("the judgment is null"))
    return pair_vote(found.value("decision"), vote, relabelled=True)


JUDGEBENCH = Format(
    "judgebench",
    "JudgeBench",
    "ScalerLab/JudgeBench",
    lambda head: head.has("pair_id", "response_A", "response_B", "label"),
    _read,
)
