"""LLMBar: ``dataset.json``, and ``evaluators/JUDGE/STRATEGY/result.json`` with both orders,
verdicts mapped back already.

The results of a row are what the judge wrote one after the other: metrics, a reference, of the
strategy Swap a first verdict in both orders, which it is shown where they disagree. The last of
them is its verdict.
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

_ORDERS = ("swap = False", "swap = True")
_SUBSET = re.compile(r"(?:^|[-_/ ])(Natural|Neighbor|GPTInst|GPTOut|Manual)(?=$|[-_/ ])")
"""The parts of the data set, as ids and folders name them."""
_FLAT = ("raw_swap_False", "winner_swap_False", "raw_swap_True", "winner_swap_True")


def _matches(head: Head) -> bool:
    return head.has("input", "output_1", "output_2", "label") or head.has(*_FLAT)


def _read(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    left.use(
        {
            "input": "instruction",
            "output_1": "response",
            "output_2": "response",
            "label": "labels",
            "results": "votes",
        }
    )
    judge = "/".join(file.path.parts[-3:-1]) if file.path.name == "result.json" else "judge"
    for place, record in enumerate(file.records()):
        if "winner_swap_False" in record:
            left.note(Message("the texts are not in the file: rows are named by their id"))
            yield _flat(record)
        else:
            yield _row(record, judge, place, file.path.as_posix())


def _subset(name: str) -> dict[str, object]:
    found = _SUBSET.search(name)
    return {"subset": found[1]} if found else {}


def _row(record: Mapping[str, object], judge: str, place: int, file: str) -> Recorded:
    *drafts, final = listed(record.get("results")) or ({},)
    votes = tuple(_votes(mapping(final), judge, drafts[-1] if drafts else None))
    return Recorded(
        judge=judge if votes else UNJUDGED,
        asked=BETTER,
        fields={
            "instruction": text(record["input"]),
            "response": (text(record["output_1"]), text(record["output_2"])),
        },
        id=text(record.get("id")) or f"row {place + 1}",
        votes=votes,
        marks=gold(record.get("label")),
        more={
            **_subset(file),
            **without(record, "input", "output_1", "output_2", "label", "results"),
        },
    )


def _votes(final: Mapping[str, object], judge: str, draft: object) -> Iterator[RecordedVote]:
    for name in _ORDERS:
        if name in final:
            one = mapping(final[name])
            reply = next(iter(listed(one.get("completion"))), None)  # behind it stands why it ended
            more = without({"draft": draft, "prompt": one.get("prompt")})
            yield pair_vote(
                one.get("winner"),
                model=judge,
                swapped=name.endswith("True"),
                reply=reply,
                more=more,
            )


def _flat(record: Mapping[str, object]) -> Recorded:
    judge, id = f"{record.get('judge')}/{record.get('strategy')}", text(record.get("id"))
    votes = tuple(
        pair_vote(
            record.get(f"winner_swap_{swapped}"),
            model=judge,
            swapped=swapped,
            reply=record.get(f"raw_swap_{swapped}"),
        )
        for swapped in (False, True)
    )
    return Recorded(
        judge=judge,
        asked=BETTER,
        fields={"instruction": id, "response": (f"{id}, output 1", f"{id}, output 2")},
        id=id,
        votes=votes,
        marks=gold(record.get("label")),
        named_only=True,
        more={**_subset(id), **without(record, *_FLAT, "label", "id")},
    )


LLMBAR = Format("llmbar", "LLMBar", "princeton-nlp/LLMBar", _matches, _read)
