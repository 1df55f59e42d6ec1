"""PandaLM: pairs with several people's votes, and what judges said of them, in the same file or in
others by ``idx``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from adjudge.importers.beside import Verdicts
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
    if _is_judges(head):
        return True
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


def _is_judges(head: Head) -> bool:
    """Whether a file holds a judge's results alone."""
    return (
        head.has("idx")
        and "instruction" not in head.record
        and any(map(_RESULT.fullmatch, head.record))
    )


def _join(files: Sequence[ForeignFile], left: Left) -> Iterator[Recorded]:
    beside = [file for file in files if _is_judges(file.head)]
    clashes = Counter(judge for file in beside for judge, _ in _judges(file.head.record))
    verdicts = Verdicts()
    for file in beside:
        for record in file.records():
            for judge, vote in _judges(record):
                name = judge if clashes[judge] < 2 else f"{judge} ({file.path.stem})"
                verdicts.add(text(record.get("idx")), name, replace(vote, model=name))
    if len(beside) == len(files):
        left.use({"idx": "row", "result": "votes"})
        yield from verdicts.alone(left)
    else:
        found = (row for file in files if file not in beside for row in _read(file, left))
        yield from verdicts.join(((row, (row.id,)) for row in found), left)


def _read(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    left.use(
        {
            "instruction": "instruction",
            "response1": "response",
            "response2": "response",
            "annotator": "labels",
            "judges": "votes",
        }
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
            pair_vote(
                said.get("verdict"),
                model=name,
                why=text(said.get("reason")),
                more=without(said, "verdict", "reason"),
            ),
        )
    for key, value in record.items():
        if match := _RESULT.fullmatch(key):
            yield (
                match[1],
                pair_vote(value, model=match[1], why=text(record.get(f"{match[1]}_reason"))),
            )


def _marks(record: Mapping[str, object]) -> Iterator[Mark]:
    """One for each person. Every row has them, so the rows are no selection."""
    given = listed(record.get("human_votes")) or [
        value for key, value in record.items() if _ANNOTATOR.fullmatch(key)
    ]
    for place, value in enumerate(given, 1):
        chosen = winner(value)
        if chosen is not None:
            yield Mark(answer=chosen, annotator=f"annotator {place}", design="random")


def _row(record: Mapping[str, object], place: int) -> Recorded:
    """With its labels, as it is where nobody judged it."""
    shown = fields_of(
        {"instruction": record.get("instruction"), "input": first(record, "input", "context")}
    )
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


PANDALM = Format("pandalm", "PandaLM", "WeOpenML/PandaLM test set v1", _matches, _read, join=_join)
