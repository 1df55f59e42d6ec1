"""BiGGen-Bench: responses with a rubric of their own each, people's scores from 1 to 5
(``human_score``), and those of judges (``gpt4_score``, several in a list; -1 where none was read).

Also what ``run_response_eval.py`` writes: one judge's ``score``, by the id of the instance.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from adjudge.features.importers.format import Format
from adjudge.features.importers.pairs import NO_REPLY_VERDICT
from adjudge.features.importers.record import (
    ImportLog,
    Mark,
    RecordedQuestion,
    RecordedRow,
    RecordedVote,
)
from adjudge.features.importers.source import ForeignFile, ForeignRecord, Head
from adjudge.features.importers.values import Json, fields_of, number, text

_HUMAN = "human_score"
_JUDGE = re.compile(r"(?!human_)(.+)_score")
_FEEDBACK = re.compile(r".+_feedback")
RUBRIC_SCORE = RecordedQuestion(
    "rubric score",
    "How well does the response do by its rubric, from 1 to 5?",
    "rating",
    bounds=(1.0, 5.0),
)
_KEYS = ("capability", "task", "instance_idx", "score_rubric")
_READ = ("id", "system_prompt", "input", "reference_answer", "score_rubric", "response", _HUMAN)
_OWN = ("score", "feedback", "eval_model_name")


def _by_id(head: Head) -> bool:
    """Whether each instance stands under its id."""
    first = next(iter(head.document), "")
    return bool(first) and head.at(first).has(*_KEYS)


def _read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    log.use(
        {
            "input": "instruction",
            "score_rubric": "rubric",
            "response": "response",
            _HUMAN: "labels",
            "*_score": "votes",
        }
    )
    for record in _records(file):
        yield from _row(record).judged_by(dict(votes_by_judge(record)))


def _records(file: ForeignFile) -> Iterator[ForeignRecord]:
    if not _by_id(file.head):
        yield from file.records()
        return
    document = file.document(*((id,) for id in file.head.document))
    yield from (document.nested(id) for id in document)


def _row(record: ForeignRecord) -> RecordedRow:
    rubric = record.parsed("score_rubric")
    system = record.text("model_name", "response_model_name")
    levels = [f"{one}: {rubric.text(f'score{one}_description')}" for one in range(1, 6)]
    shown = fields_of(
        {
            "system_prompt": record.value("system_prompt"),
            "instruction": record.value("input"),
            "reference_answer": record.value("reference_answer"),
            "rubric": "\n".join([rubric.text("criteria"), *levels]),
        }
    )
    said = [key for key in record if _JUDGE.fullmatch(key) or _FEEDBACK.fullmatch(key)]
    return RecordedRow(
        question=RUBRIC_SCORE,
        fields={**shown, "response": record.text("response")},
        id=" ".join(filter(None, (record.text("id"), system))) or None,
        marks=marks_of(record),
        more=record.rest(*_READ, *_OWN, *said),
    )


def marks_of(record: ForeignRecord) -> tuple[Mark, ...]:
    """People's scores, one or several."""
    return tuple(
        Mark(answer=points, annotator=f"annotator {place}", design="random")
        for place, value in enumerate(_several(record.value(_HUMAN)), 1)
        if (points := _points(value)) is not None
    )


def votes_by_judge(record: ForeignRecord) -> Iterator[tuple[str, tuple[RecordedVote, ...]]]:
    """Each judge with its votes, by the names of the columns."""
    for key in record:
        if match := _JUDGE.fullmatch(key):
            name = match[1]
            yield name, _votes(name, record.value(key), record.value(f"{name}_feedback"))
    if "eval_model_name" in record:
        name = record.text("eval_model_name")
        yield name, _votes(name, record.value("score"), record.value("feedback"))


def _votes(name: str, scores: Json, feedback: Json) -> tuple[RecordedVote, ...]:
    said = [*map(text, _several(feedback))]
    return tuple(
        RecordedVote(
            model=name, sample=place, explanation=said[place] if place < len(said) else ""
        ).said_or_failed(_points(score), NO_REPLY_VERDICT, unreadable=True)
        for place, score in enumerate(_several(scores))
    )


def _several(value: Json) -> Sequence[Json]:
    return value if isinstance(value, list | tuple) else [value]


def _points(value: Json) -> float | None:
    """A score on the scale; anything else, such as -1, is none."""
    points = number(value)
    return points if points is not None and 1 <= points <= 5 else None


BIGGEN_BENCH = Format(
    "biggen-bench",
    "BiGGen-Bench",
    "prometheus-eval/BiGGen-Bench-Results",
    lambda head: head.has(*_KEYS) or _by_id(head),
    _read,
)
