"""Import HealthBench's meta-evaluation: single points with the labels of physicians."""

from __future__ import annotations

from collections.abc import Iterator

from adjudge.core.data.rendering import chat, is_chat
from adjudge.core.domain.criteria import CriteriaOption
from adjudge.features.importers.layout import Layout, benchmark
from adjudge.features.importers.record import Mark, RecordedQuestion
from adjudge.features.importers.source import ForeignRecord
from adjudge.features.rubrics.rubric import MET, NOT_MET
from adjudge.features.rubrics.wording import point_criteria

_ASKED = point_criteria("en", "response")


def _conversation(record: ForeignRecord) -> str:
    prompt = record.value("prompt")
    return chat(prompt) if is_chat(prompt) else record.text("prompt")


def _labels(record: ForeignRecord) -> Iterator[Mark]:
    """Yield each physician's label."""
    labels, names = record.value("binary_labels"), record.value("anonymized_physician_ids")
    people = names if isinstance(names, list) else []
    for place, label in enumerate(labels if isinstance(labels, list) else []):
        if isinstance(label, bool):
            name = str(people[place]) if place < len(people) else f"physician {place + 1}"
            yield Mark(answer=MET if label else NOT_MET, annotator=name, design="random")


def _id(record: ForeignRecord) -> str:
    names = (record.text("prompt_id"), record.text("completion_id"))
    return " ".join(filter(None, (*names, record.text("category"))))


HEALTHBENCH_META = benchmark(
    "healthbench-meta",
    "HealthBench meta-evaluation",
    "openai/simple-evals ee3b031",
    Layout(
        keys=("prompt", "completion", "rubric", "binary_labels"),
        question=RecordedQuestion(
            "rubric",
            _ASKED.description,
            options=(CriteriaOption(MET, score=1.0), CriteriaOption(NOT_MET, score=0.0)),
            context_fields=("user_input", "point"),
        ),
        fields={"user_input": _conversation, "point": "rubric"},
        responses=("completion",),
        required=("completion", "rubric"),
        id=_id,
        marks=_labels,
        read=("prompt", "binary_labels", "anonymized_physician_ids"),
        used={"binary_labels": "labels"},
    ),
)
"""Read by ``adjudge import`` and ``adjudge bench``: how well a judge agrees with physicians."""
