"""Auto-J: pairs with a label (0 the first, 1 the second, 2 a tie), and judges' texts that end in
their decision.

A judge's outputs may lie in a file of their own, one for each row (``{"output": 0}``), and those of
the exchanged order in another one, whose name says "exchange": they are by the labels as shown, and
are put back here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from adjudge.domain.verdict import Selection
from adjudge.domain.vote import Outcome
from adjudge.errors import RunError
from adjudge.importers.beside import Verdicts
from adjudge.importers.format import Format
from adjudge.importers.pairs import BETTER
from adjudge.importers.record import UNJUDGED, Left, Mark, Recorded, RecordedVote
from adjudge.importers.source import ForeignFile, Head
from adjudge.importers.values import first, text, without
from adjudge.messages import Message
from adjudge.verdicts.styles import decision, put_back

_PLACES: Mapping[str, Selection] = {"0": 0, "1": 1, "2": "tie"}
_RESPONSES = ("response 1", "response 2")
_TEXTS = ("output", "judgment", "pairwise_output")
_EXCHANGED = "exchange"


def _matches(head: Head) -> bool:
    return head.has(*_RESPONSES) or _is_outputs(head)


def _is_outputs(head: Head) -> bool:
    """Whether a file holds a judge's outputs alone."""
    return head.record.keys() == {"output"} and text(head.record["output"]) in _PLACES


def _join(files: Sequence[ForeignFile], left: Left) -> Iterator[Recorded]:
    verdicts = Verdicts()
    for file in files:
        if _is_outputs(file.head):
            _add_outputs(file, verdicts)
    rows = [file for file in files if not _is_outputs(file.head)]
    if not rows:
        left.use({"output": "votes"})
        yield from verdicts.alone(left)
    elif len(rows) > 1 and verdicts.said:
        names = ", ".join(file.name for file in rows)
        raise RunError(
            "outputs are about the rows of one file, by their place, and there are several: "
            "{names}",
            names=names,
        )
    else:
        found = enumerate((row for file in rows for row in _read(file, left)), 1)
        yield from verdicts.join(((row, (f"row {place}",)) for place, row in found), left)


def _add_outputs(file: ForeignFile, verdicts: Verdicts) -> None:
    """Outputs are called like their file: both orders alike."""
    name, swapped = file.path.stem, _EXCHANGED in file.path.stem
    judge = "_".join(part for part in name.split("_") if part != _EXCHANGED)
    for place, record in enumerate(file.records(), 1):
        chosen = _PLACES.get(text(record.get("output")))
        vote = RecordedVote(model=judge, swapped=swapped)
        unread = Message("{answer!r} names no response", answer=text(record.get("output")))
        vote = (
            vote.failed(unread, Outcome.UNREADABLE)
            if chosen is None
            else vote.said(put_back(chosen, swapped=swapped))
        )
        verdicts.add(f"row {place}", judge, vote)
        verdicts.by_place[file.name] = place


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
            marks=()
            if gold is None
            else (Mark(answer=gold, annotator="gold", kind="expert", design="random"),),
            more=without(record, *_RESPONSES, *_TEXTS, "prompt", "label"),
        )


def _votes(record: Mapping[str, object]) -> Iterator[RecordedVote]:
    reply, judge = text(first(record, *_TEXTS)), text(record.get("judge")) or "auto-j"
    said = record.get("pred_label")
    chosen = _PLACES.get(text(said)) if said is not None else decision(reply)
    if chosen is not None:
        yield RecordedVote(answer=chosen, model=judge, text=reply or None)
    elif reply:
        yield RecordedVote(model=judge, text=reply).failed(
            Message("no decision was read from the reply"), Outcome.UNREADABLE
        )


AUTO_J = Format("auto-j", Message("Auto-J pairs"), "GAIR-NLP/auto-j", _matches, _read, join=_join)
