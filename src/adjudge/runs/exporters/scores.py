"""Verdicts and labels of a run as scores of Langfuse and as annotations of Phoenix.

The row's id names the trace for Langfuse, and the span for Phoenix. A failed judgment has no
verdict and is left out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

from adjudge.core.domain.frozen_mapping import some_of
from adjudge.core.domain.json_types import JsonDict, JsonObject
from adjudge.core.domain.label import Label
from adjudge.core.domain.record import JudgmentRecord
from adjudge.runs.exporters.exported import Exported, Losses
from adjudge.runs.exporters.files import text_file
from adjudge.runs.exporters.judgment_metadata import Outcome, outcome_metadata, question_metadata
from adjudge.runs.folder import records_of
from adjudge.trust.labels.store import LabelStore

_TRUTHS = {"PASS": 1, "FAIL": 0}


@dataclass(frozen=True)
class _TraceScore:
    """A verdict or label on a row."""

    row: JudgmentRecord
    answer: str | float
    score: float | None
    why: str
    who: str
    person: bool
    more: JsonObject

    @property
    def subject(self) -> str:
        return self.row.name

    @property
    def key(self) -> str:
        """A stable key, so that exporting a verdict again does not create a second score."""
        parts = (self.row.judge, self.subject, self.row.criterion, self.who)
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]

    @property
    def is_between(self) -> bool:
        """Return True if the score of a verdict is not the one that the verdict stands for."""
        outcome = Outcome.of(self.more)
        if self.person or outcome is None or None in (outcome.verdict, outcome.score):
            return False
        return outcome.verdict_score != outcome.score


def to_langfuse(run: Path, target: Path) -> Exported:
    """Write bodies for ``POST /api/public/scores``, as a list like that returned by ``GET``."""
    return _write(run, target, "langfuse", _langfuse)


def to_phoenix(run: Path, target: Path) -> Exported:
    """Write the body for ``POST /v1/span_annotations``."""
    return _write(run, target, "phoenix", _phoenix)


def trace_scores(run: Path, service: str) -> Iterator[tuple[str, JsonDict]]:
    """Yield key and body for every verdict on a trace, in the form that ``service`` expects.

    Services are langfuse, phoenix, langsmith and mlflow. Keys are stable, so sending a verdict
    again overwrites the earlier one.
    """
    body, about = _ON_TRACES[service], question_metadata(run)
    for row in records_of(run, votes=True):
        for score in _verdict(row, about(row)):
            yield score.key, body(score)


def _write(run: Path, target: Path, tool: str, body: Callable[[_TraceScore], JsonDict]) -> Exported:
    labels: dict[str, list[Label]] = {}
    for label in LabelStore(run).current():
        if label.answer is not None:
            labels.setdefault(f"{label.row} {label.criteria}", []).append(label)
    start, about, losses = "", question_metadata(run), Losses(tool, run)
    with text_file(target) as file:
        file.write('{"data": [')
        for row in records_of(run, votes=True):
            losses.judgments += 1
            losses.see(row)
            question = about(row)
            verdicts = [*_verdict(row, question)]
            losses.failed += not verdicts
            losses.comparisons += bool(verdicts) and row.detail.is_comparison
            for score in (*verdicts, *_label_scores(row, labels, question)):
                losses.between += tool == "langfuse" and score.is_between
                file.write(f"{start}\n{json.dumps(body(score))}")
                start = ","
        file.write("\n]}\n")
    losses.labels = sum(map(len, labels.values()))
    return losses.exported()


def _verdict(row: JudgmentRecord, question: JsonObject) -> Iterator[_TraceScore]:
    metadata = {**question, **outcome_metadata(row)}
    answer = trace_value(metadata)
    if answer is not None:
        number = None if row.score is None else float(row.score)
        yield _TraceScore(row, answer, number, row.explanation or "", row.judge, False, metadata)


def trace_value(metadata: JsonObject) -> str | float | None:
    """Return the verdict of a judgment, or the score of one without; None without either."""
    outcome = Outcome.of(metadata)
    return None if outcome is None else outcome.verdict or outcome.score


def _label_scores(
    row: JudgmentRecord, labels: dict[str, list[Label]], question: JsonObject
) -> Iterator[_TraceScore]:
    """Yield a row's labels, only once even if several judges judged the row."""
    systems = row.detail.named_systems
    for label in labels.pop(f"{row.identity} {row.criterion}", ()):
        names_system = isinstance(label.winner, int) and label.winner < len(systems)
        answer = systems[int(label.winner or 0)] if names_system else label.answer
        about = some_of(label, "annotator", "kind", "design", "judge_visible")
        value = answer if isinstance(answer, str) else float(answer or 0)
        yield _TraceScore(
            row,
            value,
            label.score,
            label.note,
            label.annotator,
            True,
            {**about, **question, "at": datetime.fromtimestamp(label.at, UTC).isoformat()},
        )


def _langfuse(score: _TraceScore) -> JsonDict:
    truth = _TRUTHS.get(str(score.answer))
    kind = (
        "NUMERIC"
        if not isinstance(score.answer, str)
        else "CATEGORICAL"
        if truth is None
        else "BOOLEAN"
    )
    return {
        "id": score.key,
        "traceId": score.subject,
        "name": score.row.criterion,
        "value": score.answer if truth is None else truth,
        "dataType": kind,
        "source": "ANNOTATION" if score.person else "EVAL",
        "comment": score.why or None,
        **({"authorUserId": score.who} if score.person else {}),
        "metadata": dict(score.more),
    }


def langfuse_value(metadata: JsonObject) -> str | float | None:
    """Return the value of a judgment as Langfuse has it: 1 or 0 for PASS and FAIL."""
    value = trace_value(metadata)
    return _TRUTHS.get(str(value), value)


def _phoenix(score: _TraceScore) -> JsonDict:
    return {
        "span_id": score.subject,
        "name": score.row.criterion,
        "annotator_kind": "HUMAN" if score.person else "LLM",
        "result": {
            "label": score.answer if isinstance(score.answer, str) else None,
            "score": score.score,
            "explanation": score.why or None,
        },
        "metadata": dict(score.more),
        "identifier": score.key,
    }


def _phoenix_trace(score: _TraceScore) -> JsonDict:
    body = _phoenix(score)
    return {"trace_id": body.pop("span_id"), **body}


def _langsmith(score: _TraceScore) -> JsonDict:
    return {
        "id": str(UUID(score.key)),
        "run_id": score.subject,
        "key": score.row.criterion,
        "score": score.score,
        "value": score.answer if isinstance(score.answer, str) else None,
        "comment": score.why or None,
        "feedback_source": {"type": "model", "metadata": dict(score.more)},
    }


def mlflow_value(metadata: JsonObject) -> str | float | None:
    """Return the value of a judgment as MLflow has it: true or false for PASS and FAIL."""
    value = trace_value(metadata)
    return bool(_TRUTHS[str(value)]) if str(value) in _TRUTHS else value


def _mlflow(score: _TraceScore) -> JsonDict:
    truth = _TRUTHS.get(str(score.answer))
    about = {name: json.dumps(value) for name, value in score.more.items()}
    return {
        "trace_id": score.subject,
        "assessment_name": score.row.criterion,
        "source": {"source_type": "LLM_JUDGE", "source_id": score.who},
        "feedback": {"value": score.answer if truth is None else bool(truth)},
        "rationale": score.why,
        "metadata": {**about, "adjudge.key": score.key},
    }


_ON_TRACES = {
    "langfuse": _langfuse,
    "phoenix": _phoenix_trace,
    "langsmith": _langsmith,
    "mlflow": _mlflow,
}
