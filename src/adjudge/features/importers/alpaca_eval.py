"""AlpacaEval: ``annotations.json``. A preference lies between 1 and 2: 2 is the second output, 1.5
a tie, null a failure.

What lies between is how likely the second output is the better one, as version 2 writes it: that
share of a win is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from adjudge.core.domain.verdict import TIE
from adjudge.features.importers.format import Format
from adjudge.features.importers.record import (
    ImportLog,
    Mark,
    RecordedQuestion,
    RecordedRow,
    RecordedVote,
)
from adjudge.features.importers.source import ForeignFile, ForeignRecord
from adjudge.messages import Message

_BETTER = RecordedQuestion("better output", "Which output would people prefer?", "comparison")
_PAIR = ("instruction", "output_1", "output_2")


def _read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    log.use(
        {
            "instruction": "instruction",
            "output_1": "response",
            "output_2": "response",
            "preference": "votes",
        }
    )
    judged = {_pair_key(record) for record in file.records() if not _is_person(_annotator(record))}
    for record in file.records():
        row = _row(record)
        yield replace(row, only_marks=True) if row.marks and _pair_key(record) in judged else row


def _annotator(record: ForeignRecord) -> str:
    return record.text("annotator") or "annotator"


def _is_person(annotator: str) -> bool:
    return annotator.isdecimal() or annotator.startswith("human")


def _pair_key(record: ForeignRecord) -> int:
    """What people and judges may both have been asked about: small, since a file may hold very
    many.
    """
    return hash(tuple(map(record.text, _PAIR)))


def _row(record: ForeignRecord) -> RecordedRow:
    annotator, preference = _annotator(record), record.number("preference")
    instruction, *outputs = record.texts(*_PAIR)
    row = RecordedRow(
        question=_BETTER,
        fields={"instruction": instruction, "response": tuple(outputs)},
        id=f"{record.text('dataset') or 'row'} {record.row}",
        systems=tuple(record.text(f"generator_{one}") or f"output_{one}" for one in (1, 2)),
        more=record.rest(*_PAIR, "preference", "raw_completion", "annotator"),
    )
    answer = _winner(preference)
    if _is_person(annotator):
        mark = Mark(answer=answer or 0, annotator=annotator, design="random")
        return replace(row, marks=() if answer is None else (mark,))
    vote = RecordedVote(
        model=annotator, text=record.text("raw_completion"), distribution=_shares(preference)
    )
    wrong = (
        Message("the preference is null")
        if preference is None
        else Message("a preference of {preference:g} names no output", preference=preference)
    )
    return replace(row, judge=annotator, votes=(vote.said_or_failed(answer, wrong),))


def _winner(preference: float | None) -> int | str | None:
    """From 1, the first output, to 2, the second; some versions write a tie as 0."""
    if preference in (0, 1.5):
        return TIE
    return int(preference > 1.5) if preference is not None and 1 <= preference <= 2 else None


def _shares(preference: float | None) -> dict[str, float] | None:
    """A preference between the two is how likely the second output is."""
    if preference is None or not 1 < preference < 2 or preference == 1.5:
        return None
    return {"0": 2 - preference, "1": preference - 1}


ALPACA_EVAL = Format(
    "alpaca-eval",
    Message("AlpacaEval annotations"),
    "tatsu-lab/alpaca_eval",
    lambda head: head.has(*_PAIR) and head.record.has_any("preference", "annotator"),
    _read,
)
