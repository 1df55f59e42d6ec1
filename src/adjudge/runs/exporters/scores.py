"""Verdicts and labels of a run as scores of Langfuse and as annotations of Phoenix.

What they are about is known by the row's id, which for Langfuse is a trace's and for Phoenix a
span's. A judgment that failed has no verdict, so that it is not there: :func:`without_verdict`
counts them.
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
from adjudge.runs.exporters.exported_options import exported_options
from adjudge.runs.exporters.files import text_file
from adjudge.runs.exporters.other_tools import system_of
from adjudge.runs.folder import records_of, run_info
from adjudge.trust.labels.store import LabelStore

_TRUTHS = {"PASS": 1, "FAIL": 0}


@dataclass(frozen=True)
class _Said:
    """What somebody said of a row, whoever it was."""

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
        """The same thing said again is the same score, not a second one."""
        parts = (self.row.judge, self.subject, self.row.criterion, self.who)
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def to_langfuse(run: Path, target: Path) -> int:
    """Bodies of ``POST /api/public/scores``, in a list as ``GET`` gives them.

    Says how many judgments were read.
    """
    return _write(run, target, _langfuse)


def to_phoenix(run: Path, target: Path) -> int:
    """The body of ``POST /v1/span_annotations``."""
    return _write(run, target, _phoenix)


def without_verdict(run: Path) -> int:
    """Judgments that neither of them has a place for."""
    return sum(
        count
        for statuses in run_info(run).judges.values()
        for status, count in statuses.items()
        if status != "scored"
    )


def trace_scores(run: Path, service: str) -> Iterator[tuple[str, JsonDict]]:
    """(key, body) of every verdict on a trace, as ``service`` takes it: langfuse, phoenix,
    langsmith, mlflow. The same verdict has the same key, and replaces itself there.
    """
    body, options = _ON_TRACES[service], exported_options(run)
    for row in records_of(run, votes=True):
        for said in _verdict(row, options(row)):
            yield said.key, body(said)


def _write(run: Path, target: Path, body: Callable[[_Said], JsonDict]) -> int:
    labels: dict[str, list[Label]] = {}
    for label in LabelStore(run).current():
        if label.answer is not None:
            labels.setdefault(f"{label.row} {label.criteria}", []).append(label)
    rows, start, options = 0, "", exported_options(run)
    with text_file(target) as file:
        file.write('{"data": [')
        for row in records_of(run, votes=True):
            rows += 1
            for said in (
                *_verdict(row, options(row)),
                *_labelled(row, labels, options(row)),
            ):
                file.write(f"{start}\n{json.dumps(body(said))}")
                start = ","
        file.write("\n]}\n")
    return rows


def _verdict(row: JudgmentRecord, options: JsonObject) -> Iterator[_Said]:
    number = None if row.score is None else float(row.score)
    answer = row.verdict if row.verdict is not None else number
    if row.scored and answer is not None:
        about: JsonDict = {"judge": row.judge, "models": list(row.used)}
        about |= {**system_of(row), **options}
        yield _Said(row, answer, number, row.explanation or "", row.judge, False, about)


def _labelled(
    row: JudgmentRecord, labels: dict[str, list[Label]], options: JsonObject
) -> Iterator[_Said]:
    """A row that several judges judged has its labels once."""
    systems = row.detail.named_systems
    for label in labels.pop(f"{row.identity} {row.criterion}", ()):
        named = isinstance(label.winner, int) and label.winner < len(systems)
        answer = systems[int(label.winner or 0)] if named else label.answer
        about = some_of(label, "annotator", "kind", "design", "judge_visible")
        said = answer if isinstance(answer, str) else float(answer or 0)
        yield _Said(
            row,
            said,
            label.score,
            label.note,
            label.annotator,
            True,
            {**about, **options, "at": datetime.fromtimestamp(label.at, UTC).isoformat()},
        )


def _langfuse(said: _Said) -> JsonDict:
    truth = _TRUTHS.get(str(said.answer))
    kind = (
        "NUMERIC"
        if not isinstance(said.answer, str)
        else "CATEGORICAL"
        if truth is None
        else "BOOLEAN"
    )
    return {
        "id": said.key,
        "traceId": said.subject,
        "name": said.row.criterion,
        "value": said.answer if truth is None else truth,
        "dataType": kind,
        "source": "ANNOTATION" if said.person else "EVAL",
        "comment": said.why or None,
        **({"authorUserId": said.who} if said.person else {}),
        "metadata": dict(said.more),
    }


def _phoenix(said: _Said) -> JsonDict:
    return {
        "span_id": said.subject,
        "name": said.row.criterion,
        "annotator_kind": "HUMAN" if said.person else "LLM",
        "result": {
            "label": said.answer if isinstance(said.answer, str) else None,
            "score": said.score,
            "explanation": said.why or None,
        },
        "metadata": dict(said.more),
        "identifier": said.key,
    }


def _phoenix_trace(said: _Said) -> JsonDict:
    body = _phoenix(said)
    return {"trace_id": body.pop("span_id"), **body}


def _langsmith(said: _Said) -> JsonDict:
    return {
        "id": str(UUID(said.key)),
        "run_id": said.subject,
        "key": said.row.criterion,
        "score": said.score,
        "value": said.answer if isinstance(said.answer, str) else None,
        "comment": said.why or None,
        "feedback_source": {"type": "model", "metadata": dict(said.more)},
    }


def _mlflow(said: _Said) -> JsonDict:
    truth = _TRUTHS.get(str(said.answer))
    about = {name: json.dumps(value) for name, value in said.more.items()}
    return {
        "trace_id": said.subject,
        "assessment_name": said.row.criterion,
        "source": {"source_type": "LLM_JUDGE", "source_id": said.who},
        "feedback": {"value": said.answer if truth is None else bool(truth)},
        "rationale": said.why,
        "metadata": {**about, "adjudge.key": said.key},
    }


_ON_TRACES = {
    "langfuse": _langfuse,
    "phoenix": _phoenix_trace,
    "langsmith": _langsmith,
    "mlflow": _mlflow,
}
