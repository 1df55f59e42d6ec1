"""A run as a log of Inspect: a sample for each judged row, with a score by each question."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from adjudge.core.domain.json_types import JsonDict, JsonObject
from adjudge.core.domain.record import JudgmentRecord
from adjudge.runs.exporters.exported import (
    AgreedLabels,
    Exported,
    Losses,
    in_one,
    now,
    refuse_comparison,
)
from adjudge.runs.exporters.files import text_file
from adjudge.runs.exporters.judgment_metadata import (
    PASS_OR_FAIL,
    ROW_ID,
    Metadata,
    Outcome,
    outcome_metadata,
    question_metadata,
    related_rows,
)
from adjudge.runs.folder import records_of

_WORDS = {"c": 1.0, "p": 0.5, "i": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""Inspect's score of a word, in lower case. Any other word is 0 there."""
_Asked = tuple[str, str]
"""A judge and its criterion."""


def to_inspect(run: Path, target: Path) -> Exported:
    """Write a log in version 2: a row is a sample, a question is a scorer; NaN without a verdict.

    If Inspect would score a verdict differently, its score is written instead.
    """
    losses = Losses("Inspect", run)
    samples = _samples(run, losses)
    scorers = _scorer_names(samples)
    head = {
        "version": 2,
        "status": "success",
        "eval": {
            "created": now(),
            "task": run.name,
            "dataset": {},
            "model": "none/none",
            "config": {"epochs": max((sample.epoch for sample in samples), default=1)},
            "scorers": [{"name": name} for name in scorers.values()],
        },
    }
    about, judgments = question_metadata(run), _Judgments(run)
    with text_file(target) as file:
        file.write(json.dumps(head)[:-1] + ', "samples": [')
        for place, sample in enumerate(samples):
            rows = {
                scorers[asked]: judgments.take(asked[0], index)
                for asked, index in sample.judgments.items()
            }
            file.write((",\n" if place else "\n") + json.dumps(_sample(sample, rows, about)))
        file.write("\n]}\n")
    losses.labels = AgreedLabels(run).unused
    return losses.exported()


@dataclass(frozen=True)
class _Sample:
    """One answer to one row, and the judgments of it."""

    id: str
    epoch: int
    judgments: dict[_Asked, int] = field(default_factory=dict)
    """Judge and criterion → the judgment's index."""


def _samples(run: Path, losses: Losses) -> list[_Sample]:
    """Return the samples of a run, in the order in which it has their rows.

    A row that a judge judged several times by one criterion has several epochs.
    """
    samples: dict[tuple[object, ...], _Sample] = {}
    times, epochs = Counter[tuple[object, ...]](), Counter[str]()
    for row in records_of(run):
        refuse_comparison(row, "Inspect")
        losses.judgments += 1
        if row.status == "skipped":
            losses.skipped += 1
            continue
        losses.see(row)
        subject, asked = (row.id, row.identity, row.answered_by), (row.judge, row.criterion)
        times[subject, asked] += 1
        key = (*subject, times[subject, asked])
        if key not in samples:
            id = row.id or str(len(samples) + 1)
            id = f"{id} ({row.answered_by})" if row.answered_by else id
            epochs[id] += 1
            samples[key] = _Sample(id, epochs[id])
        samples[key].judgments[asked] = row.index
    return [*samples.values()]


def _scorer_names(samples: list[_Sample]) -> dict[_Asked, str]:
    """Return the name of each question: the criterion, after its judge if several judges ask it."""
    asked = dict.fromkeys(each for sample in samples for each in sample.judgments)
    judges = Counter(criterion for _, criterion in asked)
    return {
        (judge, criterion): criterion if judges[criterion] == 1 else f"{judge}: {criterion}"
        for judge, criterion in asked
    }


class _Judgments:
    """Hands out the judgments of a run by judge and index. Each judge's are read once."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._unread: dict[str, Iterator[JudgmentRecord]] = {}
        self._waiting: dict[tuple[str, int], JudgmentRecord] = {}
        """Judgments that were read before their turn: few, since judges get rows in one order."""

    def take(self, judge: str, index: int) -> JudgmentRecord:
        """Return a judgment with its votes; it cannot be taken again."""
        if judge not in self._unread:
            self._unread[judge] = records_of(self._run, votes=True, judge=judge)
        while (judge, index) not in self._waiting:
            row = next(self._unread[judge])
            if row.status != "skipped":
                self._waiting[judge, row.index] = row
        return self._waiting.pop((judge, index))


def _sample(sample: _Sample, rows: Mapping[str, JudgmentRecord], about: Metadata) -> JsonDict:
    first = next(iter(rows.values()))
    fields = first.fields
    answer = {"role": "assistant", "content": in_one(fields.get("response", ""))}
    inputs = {
        name: in_one(field_text)
        for name, field_text in fields.items()
        if name not in ("response", "target", "reference")
    }
    return {
        "id": sample.id,
        "epoch": sample.epoch,
        "input": next(iter(inputs.values()))
        if len(inputs) == 1
        else "\n\n".join(f"{name}: {field_text}" for name, field_text in inputs.items()),
        "target": in_one(fields.get("target") or fields.get("reference") or ""),
        "output": {
            "model": first.answered_by or "none/none",
            "choices": [{"message": answer, "stop_reason": "stop"}],
            "completion": answer["content"],
        },
        "scores": {name: _score(row, about(row)) for name, row in rows.items()},
        "metadata": {ROW_ID: first.id, **related_rows(first)},
    }


def _score(row: JudgmentRecord, about: JsonObject) -> JsonDict:
    metadata = {**about, **outcome_metadata(row)}
    value = inspect_value(metadata)
    is_told = row.verdict in (None, value) or isinstance(value, bool)
    return {
        "value": value,
        **({} if is_told else {"answer": row.verdict}),
        "explanation": row.explanation or row.reason,
        "metadata": metadata,
        "history": [],
    }


def inspect_value(metadata: JsonObject) -> str | float | bool:
    """Return the value of a judgment that Inspect scores as its score; NaN without one."""
    outcome = Outcome.of(metadata)
    if outcome is None:
        return math.nan
    verdict, score = outcome.verdict, outcome.score
    if verdict is not None and verdict in PASS_OR_FAIL and score in (None, PASS_OR_FAIL[verdict]):
        return verdict == "PASS"
    if verdict is not None and score in (None, _WORDS.get(verdict.casefold())):
        return verdict
    return math.nan if score is None else score
