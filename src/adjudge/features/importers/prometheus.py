"""Import Prometheus' benchmark files, which have whole prompts in their rows.

A row has either one prompt, with scores from 1 to 5 by GPT-4 (``gpt4_score``), people
(``human_score``) and Prometheus itself, or two prompts, one with the response that people chose.
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
    """Return the parts of a prompt by field name."""
    matches = [*_HEADER.finditer(prompt)]
    ends = [*(match.start() for match in matches[1:]), len(prompt)]
    return {
        _SECTIONS[match[1]]: prompt[match.end() : end].strip()
        for match, end in zip(matches, ends, strict=True)
        if match[1] in _SECTIONS
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
        yield from map(_comparison_row, file.records())
    else:
        yield from _SCORED.rows(file.records(), file.path, log)


def _comparison_row(record: ForeignRecord) -> RecordedRow:
    chosen_parts, rejected_parts = (_sections(record.text(name)) for name in _PAIR)
    better: Selection = "tie" if record.number("tie") == 1 else 0
    scores = [record.number(name) for name in ("chosen_score", "rejected_score")]
    shared = {name: text for name, text in chosen_parts.items() if name != "response"}
    return RecordedRow(
        judge="prometheus" if None not in scores else UNJUDGED,
        question=BETTER,
        fields={
            **fields_of(shared),
            "response": (chosen_parts.get("response", ""), rejected_parts.get("response", "")),
        },
        id=f"row {record.row}",
        votes=_votes(*scores),
        marks=gold_marks(better),
        more=record.rest(*_PAIR, "chosen_score", "rejected_score", "tie"),
    )


def _votes(chosen: float | None, rejected: float | None) -> tuple[RecordedVote, ...]:
    """Return Prometheus' own comparison, if it scored both responses."""
    if chosen is None or rejected is None:
        return ()
    better: Selection = "tie" if chosen == rejected else int(rejected > chosen)
    vote = RecordedVote(model="prometheus", more={"scores": [chosen, rejected]})
    return (vote.with_answer(better),)


PROMETHEUS = Format(
    "prometheus",
    Message("Prometheus benchmark files"),
    "prometheus-eval/prometheus-eval dcfb442",
    _matches,
    _read,
)
