"""ReIFE: a data set with its winners, and results of judges
(``results/DATASET.MODEL.PROTOCOL[_swap].jsonl``), winners put back.

A judge's results in the two orders lie in two files, of which one is called ``_swap``. Where the
reply had no verdict (``fail``) or was even (``tie``), the file holds a winner that was drawn at
random: none here, unless ``--unreadable recorded``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence

from adjudge.domain.verdict import TIE
from adjudge.domain.vote import Outcome
from adjudge.importers.beside import Verdicts
from adjudge.importers.format import Format
from adjudge.importers.pairs import BETTER, gold, pair_vote, winner
from adjudge.importers.record import Left, Recorded, RecordedVote
from adjudge.importers.source import ForeignFile, Head
from adjudge.importers.values import listed, mapping, text, without
from adjudge.messages import Message

_TEXTS = ("instruction", "output_1", "output_2")
_PREDICTIONS = ("base_LLM", "evaluation_protocol", "predictions")
_SWAPPED = "_swap"
_Rows = Iterator[tuple[Recorded, tuple[Hashable, ...]]]


def _matches(head: Head) -> bool:
    return (
        head.has(*_PREDICTIONS)
        or _is_results(head)
        or (head.has(*_TEXTS, "winner") and head.form in ("list", "lines"))
    )


def _is_results(head: Head) -> bool:
    found = mapping(head.record.get("result"))
    return (
        head.has("winner", "response")
        and "winner" in found
        and ("data" in head.record or head.has(*_TEXTS))
    )


def _join(files: Sequence[ForeignFile], left: Left) -> Iterator[Recorded]:
    left.use(
        {
            "instruction": "instruction",
            "output_1": "response",
            "output_2": "response",
            "winner": "labels",
            "result": "votes",
        }
    )
    verdicts, results = Verdicts(), [file for file in files if _is_results(file.head)]
    for file in files:
        if file.head.has(*_PREDICTIONS):
            _add_predictions(file, verdicts)
    for file in results:
        _add_results(file, verdicts, left)
    rows = [file for file in files if file not in results and not file.head.has(*_PREDICTIONS)]
    if rows:
        yield from verdicts.join(_rows(rows, labelled=True), left)
    elif results:
        yield from verdicts.join(_first_of_each(results), left)
    else:
        yield from verdicts.alone(left)


def _read(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    yield from _join([file], left)


def _rows(files: Sequence[ForeignFile], *, labelled: bool) -> _Rows:
    place = 0
    for file in files:
        seen: Counter[Hashable] = Counter()
        for record in file.records():
            place += 1
            own = _own(record)
            row = Recorded(
                asked=BETTER,
                fields={
                    "instruction": text(own.get("instruction")),
                    "response": (text(own["output_1"]), text(own["output_2"])),
                },
                id=f"row {place}",
                marks=gold(own.get("winner")) if labelled else (),
                more=without(own, *_TEXTS, "winner") if labelled else {},
            )
            yield row, (_key(own, seen), f"row {place}")


def _first_of_each(results: Sequence[ForeignFile]) -> _Rows:
    """The rows of results without their data set: each once, though every file holds them."""
    known: set[Hashable] = set()
    for row, keys in _rows(results, labelled=False):
        if keys[0] not in known:
            known.add(keys[0])
            yield row, keys[:1]


def _own(record: Mapping[str, object]) -> Mapping[str, object]:
    """The row itself, which some protocols put into ``data``."""
    return mapping(record.get("data")) if "output_1" not in record else record


def _key(own: Mapping[str, object], seen: Counter[Hashable]) -> Hashable:
    """The texts of a row; a data set may hold them twice, and then the first is joined with the
    first.
    """
    texts = hash(tuple(text(own.get(name)) for name in _TEXTS))
    seen[texts] += 1
    return texts, seen[texts]


def _add_results(file: ForeignFile, verdicts: Verdicts, left: Left) -> None:
    name = file.path.name.removesuffix(".jsonl").removesuffix(".json")
    judge, swapped = name.partition(".")[2].replace(_SWAPPED, "") or name, _SWAPPED in name
    seen: Counter[Hashable] = Counter()
    for record in file.records():
        verdicts.add(_key(_own(record), seen), judge, _vote(record, judge, swapped, left))


def _vote(record: Mapping[str, object], judge: str, swapped: bool, left: Left) -> RecordedVote:
    found = mapping(record.get("result"))
    replies = [mapping(one) for one in listed(record.get("response"))]
    reply = text(replies[0].get("text")) if len(replies) == 1 else ""
    drawn = found.get("fail") or found.get("tie")
    vote = RecordedVote(
        model=judge,
        swapped=swapped,
        text=reply or None,
        stand_in=winner(record.get("winner")) if drawn else None,
    )
    if drawn:
        left.note(
            Message(
                "a winner that the file drew at random is not a verdict: --unreadable recorded "
                "counts it as published figures do"
            )
        )
    if found.get("fail"):
        return vote.failed(Message("no verdict was read from the reply"), Outcome.UNREADABLE)
    return (
        vote.said(TIE)
        if drawn
        else pair_vote(record.get("winner"), model=judge, swapped=swapped, reply=reply)
    )


def _add_predictions(file: ForeignFile, verdicts: Verdicts) -> None:
    """Of the published data set: all winners of a judge in one record, by the place of the row."""
    for record in file.records():
        judge = f"{text(record.get('base_LLM'))}.{text(record.get('evaluation_protocol'))}"
        for name, swapped in (("predictions", False), ("swap_predictions", True)):
            for place, one in enumerate(listed(record.get(name)), 1):
                verdicts.add(f"row {place}", judge, pair_vote(one, model=judge, swapped=swapped))
                verdicts.by_place[f"{file.name} ({judge}, {name})"] = place


REIFE = Format(
    "reife",
    Message("ReIFE data and results"),
    "yale-nlp/ReIFE cfcb8fc",
    _matches,
    _read,
    join=_join,
)
