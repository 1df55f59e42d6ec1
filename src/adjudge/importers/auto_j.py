"""Auto-J: pairs with a label (0 the first, 1 the second, 2 a tie), and judges' texts that end in their decision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from adjudge.domain.verdict import Selection
from adjudge.domain.vote import Outcome
from adjudge.importers.format import Format
from adjudge.importers.pairs import BETTER
from adjudge.importers.record import UNJUDGED, Left, Mark, Recorded, RecordedVote
from adjudge.importers.source import ForeignFile, Head
from adjudge.importers.values import first, text, without
from adjudge.verdicts.styles import decision

_PLACES: Mapping[str, Selection] = {"0": 0, "1": 1, "2": "tie"}
_RESPONSES = ("response 1", "response 2")
_TEXTS = ("output", "judgment", "pairwise_output")


def _matches(head: Head) -> bool:
    return head.has(*_RESPONSES)


def _read(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    left.use({"prompt": "prompt", "label": "labels", "output": "votes"})
    for place, record in enumerate(file.records()):
        votes = tuple(_votes(record))
        gold = _PLACES.get(text(record.get("label")))
        yield Recorded(
            judge=votes[0].model if votes else UNJUDGED,
            asked=BETTER,
            fields={
                "prompt": text(first(record, "prompt", "usermsg")),
                "response": tuple(text(record[name]) for name in _RESPONSES),
            },
            id=text(first(record, "id", "comparison_id")) or f"row {place + 1}",
            votes=votes,
            marks=() if gold is None else (Mark(answer=gold, annotator="gold", kind="expert", design="random"),),
            more=without(record, *_RESPONSES, *_TEXTS, "prompt", "label"),
        )


def _votes(record: Mapping[str, object]) -> Iterator[RecordedVote]:
    reply, judge = text(first(record, *_TEXTS)), text(record.get("judge")) or "auto-j"
    said = record.get("pred_label")
    chosen = _PLACES.get(text(said)) if said is not None else decision(reply)
    if chosen is not None:
        yield RecordedVote(answer=chosen, model=judge, text=reply or None)
    elif reply:
        yield RecordedVote(model=judge, text=reply).failed("no decision was read from the reply", Outcome.UNREADABLE)


AUTO_J = Format("auto-j", "Auto-J pairs", "GAIR-NLP/auto-j", _matches, _read)
