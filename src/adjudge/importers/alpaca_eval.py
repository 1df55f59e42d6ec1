"""AlpacaEval: ``annotations.json``. A preference lies between 1 and 2: 2 is the second output, 1.5
a tie, null a failure.

What lies between is how likely the second output is the better one, as version 2 writes it: that
share of a win is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from adjudge.domain.verdict import TIE
from adjudge.importers.format import Format
from adjudge.importers.record import UNJUDGED, Asked, Left, Mark, Recorded, RecordedVote
from adjudge.importers.source import ForeignFile, Head
from adjudge.importers.values import number, text, without
from adjudge.messages import Message

_ASKED = Asked("better output", "Which output would people prefer?", "comparison")
_READ = ("instruction", "output_1", "output_2", "preference", "raw_completion", "annotator")


def _matches(head: Head) -> bool:
    return head.has("instruction", "output_1", "output_2") and (
        "preference" in head.record or "annotator" in head.record
    )


def _read(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    left.use(
        {
            "instruction": "instruction",
            "output_1": "response",
            "output_2": "response",
            "preference": "votes",
        }
    )
    judged = {_pair_of(record) for record in file.records() if not _is_person(_annotator(record))}
    for place, record in enumerate(file.records()):
        row = _row(record, place)
        yield replace(row, only_marks=True) if row.marks and _pair_of(record) in judged else row


def _annotator(record: Mapping[str, object]) -> str:
    return text(record.get("annotator")) or "annotator"


def _is_person(annotator: str) -> bool:
    return annotator.isdecimal() or annotator.startswith("human")


def _pair_of(record: Mapping[str, object]) -> int:
    """What people and judges may both have been asked about: small, since a file may hold very
    many.
    """
    return hash(tuple(text(record.get(name)) for name in ("instruction", "output_1", "output_2")))


def _row(record: Mapping[str, object], place: int) -> Recorded:
    annotator, preference = _annotator(record), number(record.get("preference"))
    by_person = _is_person(annotator)
    systems = tuple(text(record.get(f"generator_{one}")) or f"output_{one}" for one in (1, 2))
    vote = RecordedVote(
        model=annotator,
        text=text(record.get("raw_completion")) or None,
        distribution=_shares(preference),
    )
    answer = _winner(preference)
    marks = (
        ()
        if not by_person or answer is None
        else (Mark(answer=answer, annotator=annotator, design="random"),)
    )
    wrong = (
        Message("the preference is null")
        if preference is None
        else Message("a preference of {preference:g} names no output", preference=preference)
    )
    vote = vote.failed(wrong) if answer is None else vote.said(answer)
    return Recorded(
        judge=UNJUDGED if by_person else annotator,
        asked=_ASKED,
        fields={
            "instruction": text(record["instruction"]),
            "response": (text(record["output_1"]), text(record["output_2"])),
        },
        id=f"{text(record.get('dataset')) or 'row'} {place + 1}",
        systems=systems,
        votes=() if by_person else (vote,),
        marks=marks,
        more=without(record, *_READ),
    )


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
    "alpaca-eval", Message("AlpacaEval annotations"), "tatsu-lab/alpaca_eval", _matches, _read
)
