"""LLMBar: ``dataset.json``, and ``evaluators/JUDGE/STRATEGY/result.json`` with both orders,
verdicts mapped back already.

The results of a row are what the judge wrote one after the other: metrics, a reference, of the
strategy Swap a first verdict in both orders, which it is shown where they disagree. The last of
them is its verdict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from adjudge.features.importers.format import Format
from adjudge.features.importers.pairs import BETTER, gold, pair_vote
from adjudge.features.importers.record import (
    NAMED_BY_ID,
    UNJUDGED,
    ImportLog,
    RecordedRow,
    RecordedVote,
)
from adjudge.features.importers.source import EMPTY, ForeignFile, ForeignRecord
from adjudge.features.importers.values import Json, text

_ORDERS = ("swap = False", "swap = True")
_SUBSET = re.compile(r"(?:^|[-_/ ])(Natural|Neighbor|GPTInst|GPTOut|Manual)(?=$|[-_/ ])")
"""The parts of the data set, as ids and folders name them."""
_FLAT = ("raw_swap_False", "winner_swap_False", "raw_swap_True", "winner_swap_True")
_PAIR = ("input", "output_1", "output_2")


def _read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    log.use(
        {
            "input": "instruction",
            "output_1": "response",
            "output_2": "response",
            "label": "labels",
            "results": "votes",
        }
    )
    judge = "/".join(file.path.parts[-3:-1]) if file.path.name == "result.json" else "judge"
    for record in file.records():
        if "winner_swap_False" in record:
            log.note(NAMED_BY_ID)
            yield _flat(record)
        else:
            yield _row(record, judge, file.path.as_posix())


def _subset(name: str) -> dict[str, Json]:
    found = _SUBSET.search(name)
    return {"subset": found[1]} if found else {}


def _row(record: ForeignRecord, judge: str, file: str) -> RecordedRow:
    *drafts, final = record.objects("results") or [EMPTY]
    draft = record.values("results")[-2] if drafts else None
    votes = tuple(_votes(final, judge, draft))
    instruction, *outputs = record.texts(*_PAIR)
    return RecordedRow(
        judge=judge if votes else UNJUDGED,
        question=BETTER,
        fields={"instruction": instruction, "response": tuple(outputs)},
        id=record.name("id"),
        votes=votes,
        marks=gold(record.value("label")),
        more={**_subset(file), **record.rest(*_PAIR, "label", "results")},
    )


def _votes(final: ForeignRecord, judge: str, draft: Json) -> Iterator[RecordedVote]:
    for name in _ORDERS:
        if name in final:
            one = final.nested(name)
            reply = next(iter(one.values("completion")), None)  # behind it stands why it ended
            vote = RecordedVote(
                model=judge,
                swapped=name == _ORDERS[1],
                text=text(reply),
                more=ForeignRecord({"draft": draft, "prompt": one.value("prompt")}).rest(),
            )
            yield pair_vote(one.value("winner"), vote)


def _flat(record: ForeignRecord) -> RecordedRow:
    judge, id = f"{record.value('judge')}/{record.value('strategy')}", record.text("id")
    votes = tuple(
        pair_vote(
            record.value(f"winner_swap_{swapped}"),
            RecordedVote(model=judge, swapped=swapped, text=record.text(f"raw_swap_{swapped}")),
        )
        for swapped in (False, True)
    )
    return RecordedRow(
        judge=judge,
        question=BETTER,
        fields={"instruction": id, "response": (f"{id}, output 1", f"{id}, output 2")},
        id=id,
        votes=votes,
        marks=gold(record.value("label")),
        named_only=True,
        more={**_subset(id), **record.rest(*_FLAT, "label", "id")},
    )


LLMBAR = Format(
    "llmbar",
    "LLMBar",
    "princeton-nlp/LLMBar",
    lambda head: head.has(*_PAIR, "label") or head.has(*_FLAT),
    _read,
)
