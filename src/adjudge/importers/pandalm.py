"""PandaLM: pairs with several people's votes, and what judges said of them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from adjudge.importers.format import Format
from adjudge.importers.pairs import BETTER, pair_vote, winner
from adjudge.importers.record import Left, Mark, Recorded, RecordedVote
from adjudge.importers.source import ForeignFile, Head
from adjudge.importers.values import fields_of, first, listed, mapping, text, without

_ANNOTATOR = re.compile(r"annotator_?\d+")
_RESULT = re.compile(r"(.+)_result")
_READ = (
    "instruction",
    "input",
    "context",
    "response1",
    "response2",
    "response_1",
    "response_2",
    "judges",
    "human_votes",
    "label",
)


def _matches(head: Head) -> bool:
    pair = head.has("response1", "response2") or head.has("response_1", "response_2")
    return (
        pair
        and "instruction" in head.record
        and (
            "human_votes" in head.record
            or any(map(_ANNOTATOR.fullmatch, head.record))
            or any(map(_RESULT.fullmatch, head.record))
        )
    )


def _read(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    left.use(
        {"instruction": "instruction", "response1": "response", "response2": "response", "annotator": "labels", "judges": "votes"}
    )
    for place, record in enumerate(file.records()):
        row, judges = _row(record, place), dict(_judges(record))
        for number, (judge, vote) in enumerate(judges.items()):
            yield replace(row, judge=judge, votes=(vote,), marks=row.marks if number == 0 else ())
        if not judges:
            yield row


def _judges(record: Mapping[str, object]) -> Iterator[tuple[str, RecordedVote]]:
    for name, one in mapping(record.get("judges")).items():
        said = mapping(one)
        yield (
            name,
            pair_vote(said.get("verdict"), model=name, why=text(said.get("reason")), more=without(said, "verdict", "reason")),
        )
    for key, value in record.items():
        if match := _RESULT.fullmatch(key):
            yield match[1], pair_vote(value, model=match[1], why=text(record.get(f"{match[1]}_reason")))


def _marks(record: Mapping[str, object]) -> Iterator[Mark]:
    """One for each person. Every row has them, so the rows are no selection."""
    given = listed(record.get("human_votes")) or [value for key, value in record.items() if _ANNOTATOR.fullmatch(key)]
    for place, value in enumerate(given, 1):
        chosen = winner(value)
        if chosen is not None:
            yield Mark(answer=chosen, annotator=f"annotator {place}", design="random")


def _row(record: Mapping[str, object], place: int) -> Recorded:
    """With its labels, as it is where nobody judged it."""
    shown = fields_of({"instruction": record.get("instruction"), "input": first(record, "input", "context")})
    responses = tuple(text(first(record, f"response{one}", f"response_{one}")) for one in (1, 2))
    return Recorded(
        asked=BETTER,
        fields={**shown, "response": responses},
        id=text(first(record, "id", "idx")) or f"row {place + 1}",
        marks=tuple(_marks(record)),
        more={
            key: value
            for key, value in without(record, *_READ).items()
            if not _RESULT.fullmatch(key) and not _ANNOTATOR.fullmatch(key)
        },
    )


PANDALM = Format("pandalm", "PandaLM", "WeOpenML/PandaLM test set v1", _matches, _read)
