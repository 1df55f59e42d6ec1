"""PandaLM: pairs with several people's votes, and what judges said of them, in the same file or in
others by ``idx``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from adjudge.features.importers.beside import SeparateVerdicts
from adjudge.features.importers.format import Format
from adjudge.features.importers.pairs import BETTER, pair_vote, winner
from adjudge.features.importers.record import ImportLog, Mark, RecordedRow, RecordedVote
from adjudge.features.importers.source import ForeignFile, ForeignRecord, Head, named_objects
from adjudge.features.importers.values import fields_of

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
    labelled = head.has("human_votes") or any(map(_ANNOTATOR.fullmatch, head.record))
    judged = any(map(_RESULT.fullmatch, head.record))
    return _is_judges(head) or (pair and head.has("instruction") and (labelled or judged))


def _is_judges(head: Head) -> bool:
    """Whether a file holds a judge's results alone."""
    alone = head.has("idx") and not head.has("instruction")
    return alone and any(map(_RESULT.fullmatch, head.record))


def _join(files: Sequence[ForeignFile], log: ImportLog) -> Iterator[RecordedRow]:
    beside = [file for file in files if _is_judges(file.head)]
    clashes = Counter(judge for file in beside for judge, _ in _judges(file.head.record))
    verdicts = SeparateVerdicts()
    for file in beside:
        for record in file.records():
            for judge, vote in _judges(record):
                name = judge if clashes[judge] < 2 else f"{judge} ({file.path.stem})"
                verdicts.add(record.text("idx"), name, replace(vote, model=name))
    if len(beside) == len(files):
        log.use({"idx": "row", "result": "votes"})
        yield from verdicts.alone(log)
    else:
        found = (row for file in files if file not in beside for row in _read(file, log))
        yield from verdicts.join(((row, (row.id,)) for row in found), log)


def _read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    log.use(
        {
            "instruction": "instruction",
            "response1": "response",
            "response2": "response",
            "annotator": "labels",
            "judges": "votes",
        }
    )
    for record in file.records():
        yield from _row(record).judged_by({name: (vote,) for name, vote in _judges(record)})


def _judges(record: ForeignRecord) -> Iterator[tuple[str, RecordedVote]]:
    for name, said in named_objects(record.nested("judges")).items():
        vote = RecordedVote(
            model=name, explanation=said.text("reason"), more=said.rest("verdict", "reason")
        )
        yield name, pair_vote(said.value("verdict"), vote)
    for key in record:
        if match := _RESULT.fullmatch(key):
            name = match[1]
            vote = RecordedVote(model=name, explanation=record.text(f"{name}_reason"))
            yield name, pair_vote(record.value(key), vote)


def _marks(record: ForeignRecord) -> Iterator[Mark]:
    """One for each person. Every row has them, so the rows are no selection."""
    own = [value for key, value in record.raw.items() if _ANNOTATOR.fullmatch(key)]
    for place, value in enumerate(record.values("human_votes") or own, 1):
        chosen = winner(value)
        if chosen is not None:
            yield Mark(answer=chosen, annotator=f"annotator {place}", design="random")


def _row(record: ForeignRecord) -> RecordedRow:
    """With its labels, as it is where nobody judged it."""
    shown = fields_of(
        {"instruction": record.value("instruction"), "input": record.value("input", "context")}
    )
    responses = tuple(record.text(f"response{one}", f"response_{one}") for one in (1, 2))
    said = [key for key in record if _RESULT.fullmatch(key) or _ANNOTATOR.fullmatch(key)]
    return RecordedRow(
        question=BETTER,
        fields={**shown, "response": responses},
        id=record.name("id", "idx"),
        marks=tuple(_marks(record)),
        more=record.rest(*_READ, *said),
    )


PANDALM = Format("pandalm", "PandaLM", "WeOpenML/PandaLM test set v1", _matches, _read, join=_join)
