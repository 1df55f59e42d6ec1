"""Prometheus' benchmark files: a whole prompt per row, with GPT-4's scores from 1 to 5
(``gpt4_score``), people's (``human_score``) and those of Prometheus itself; or two prompts, of
which one holds the response that people chose.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from adjudge.core.domain.verdict import Selection
from adjudge.features.importers.benchmarks import JUDGES_SCORES, RUBRIC_SCORE
from adjudge.features.importers.format import Format
from adjudge.features.importers.layout import Layout
from adjudge.features.importers.pairs import BETTER, gold_marks
from adjudge.features.importers.record import UNJUDGED, ImportLog, RecordedRow, RecordedVote
from adjudge.features.importers.source import ForeignFile, ForeignRecord, Head
from adjudge.features.importers.values import fields_of
from adjudge.messages import Message

_SECTIONS = {
    "The instruction to evaluate": "instruction",
    "Response to evaluate": "response",
    "Reference Answer (Score 5)": "reference_answer",
    "Score Rubrics": "rubric",
}
_HEADER = re.compile(
    rf"^###\s*({'|'.join(map(re.escape, (*_SECTIONS, 'Task Description', 'Feedback')))}):[ \t]*\n?",
    re.MULTILINE,
)
_PAIR = ("chosen_instruction", "rejected_instruction")


def _sections(prompt: str) -> dict[str, str]:
    """The parts of a prompt by our names for them."""
    found = [*_HEADER.finditer(prompt)]
    ends = [*(one.start() for one in found[1:]), len(prompt)]
    return {
        _SECTIONS[one[1]]: prompt[one.end() : end].strip()
        for one, end in zip(found, ends, strict=True)
        if one[1] in _SECTIONS
    }


def _is_prompt(text: str) -> bool:
    return {"response", "rubric"} <= _sections(text).keys()


def _matches(head: Head) -> bool:
    record = head.record
    if record.has(*_PAIR):
        return all(_is_prompt(record.text(name)) for name in _PAIR)
    scored = record.has_any("gpt4_score", "human_score", "prometheus_score")
    return scored and _is_prompt(record.text("instruction"))


def _section(name: str) -> Callable[[ForeignRecord], str]:
    return lambda record: _sections(record.text("instruction")).get(name, "")


def _source_and_row(record: ForeignRecord) -> str:
    names = (record.text("idx"), record.text("response_source"), f"row {record.row}")
    return " ".join(filter(None, names))


_SCORED = Layout(
    keys=("instruction",),
    question=RUBRIC_SCORE,
    fields={name: _section(name) for name in ("instruction", "reference_answer", "rubric")},
    optional=("instruction", "reference_answer", "rubric"),
    responses=(_section("response"),),
    id=_source_and_row,
    people=("human_score",),
    judges=JUDGES_SCORES,
    reasons="{judge}_feedback",
    read=("instruction",),
    used={
        "instruction": "instruction, response, reference_answer, rubric",
        "human_score": "labels",
        "*_score": "votes",
    },
)


def _read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    if file.head.has(*_PAIR):
        log.use({"chosen_instruction": "response 1, the better one", "source": "column"})
        yield from map(_compared, file.records())
    else:
        yield from _SCORED.rows(file.records(), file.path, log)


def _compared(record: ForeignRecord) -> RecordedRow:
    chosen, rejected = (_sections(record.text(name)) for name in _PAIR)
    better: Selection = "tie" if record.number("tie") == 1 else 0
    scores = [record.number(name) for name in ("chosen_score", "rejected_score")]
    shown = {name: text for name, text in chosen.items() if name != "response"}
    return RecordedRow(
        judge="prometheus" if None not in scores else UNJUDGED,
        question=BETTER,
        fields={
            **fields_of(shown),
            "response": (chosen.get("response", ""), rejected.get("response", "")),
        },
        id=f"row {record.row}",
        votes=_votes(*scores),
        marks=gold_marks(better),
        more=record.rest(*_PAIR, "chosen_score", "rejected_score", "tie"),
    )


def _votes(chosen: float | None, rejected: float | None) -> tuple[RecordedVote, ...]:
    """Prometheus' own comparison, if it scored both responses."""
    if chosen is None or rejected is None:
        return ()
    better: Selection = "tie" if chosen == rejected else int(rejected > chosen)
    vote = RecordedVote(model="prometheus", more={"scores": [chosen, rejected]})
    return (vote.said(better),)


PROMETHEUS = Format(
    "prometheus",
    Message("Prometheus benchmark files"),
    "prometheus-eval/prometheus-eval dcfb442",
    _matches,
    _read,
)
