"""A run as files of other tools, as far as their formats allow: results of promptfoo, logs of
Inspect.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from adjudge.core.domain.json_types import JsonDict, JsonObject
from adjudge.core.domain.label import Label
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.domain.repetition import REPEAT, ROW, asked_row
from adjudge.errors import SetupError
from adjudge.runs.exporters.exported_options import exported_options
from adjudge.runs.exporters.files import text_file
from adjudge.runs.folder import records_of, run_info
from adjudge.runs.pass_scale import Ends, passed, says_pass
from adjudge.trust.labels.scales import scale_ends, scales_in
from adjudge.trust.labels.store import LabelStore

_PROMPT = {
    "raw": "(the texts were made elsewhere)",
    "label": "(the texts were made elsewhere)",
    "provider": "adjudge",
    "id": "adjudge",
}
"""promptfoo takes no result without a prompt."""
_STATS = ("successes", "failures", "errors")
"""Counts of promptfoo, by the ``failureReason`` of a result."""
_TRUTHS = {"PASS": True, "FAIL": False}
_INSPECT_SCORES = {"c": 1.0, "p": 0.5, "i": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""Inspect's score of a word, in lower case. Any other word is 0 there."""


def to_promptfoo(run: Path, target: Path) -> int:
    """Write results in version 3: each judgment is the result of a model-graded assertion.

    Counts and skipped judgments are left out, because results there can only pass, fail or be
    errors. Returns the number of judgments read.
    """
    labels = {(label.row, label.criteria): mark for label, mark in _manual_ratings(run)}
    head = {"version": 3, "timestamp": _now(), "prompts": [_PROMPT]}
    places = _Places()
    count, read, ends, stats = 0, 0, scale_ends(run), dict.fromkeys(_STATS, 0)
    with text_file(target) as file:
        file.write(
            f'{{"evalId": {json.dumps(run.name)}, "results": {json.dumps(head)[:-1]}, "results": ['
        )
        for row in records_of(run, votes=True):
            _refuse_comparison(row, "promptfoo")
            read += 1
            if _has_no_place(row):
                continue
            reason = _failure_reason(row, ends)
            place = places.of(row, count)
            result = _promptfoo_result(row, place, labels, reason)
            file.write((",\n" if count else "\n") + json.dumps(result))
            stats[_STATS[reason]] += 1
            count += 1
        counted = json.dumps({**stats, "tokenUsage": {}})
        file.write(f'\n], "stats": {counted}}}, "config": {{}}, "shareableUrl": null}}\n')
    return read


def count_without_place(run: Path) -> int:
    """Return how many judgments of a run promptfoo cannot represent."""
    return sum(map(_has_no_place, records_of(run)))


def _has_no_place(row: JudgmentRecord) -> bool:
    return row.detail.is_count or row.status == "skipped"


def _failure_reason(row: JudgmentRecord, ends: Ends) -> int:
    """Return promptfoo's ``failureReason``: 0 for a pass, 1 for a failure, 2 without a score."""
    if not row.scored or row.score is None:
        return 2
    return int(passed(row, ends) is not True)


class _Places:
    """Assigns positions in promptfoo's results: several systems' answers to a row share a test."""

    def __init__(self) -> None:
        self._tests: dict[tuple[str, ...], int] = {}
        self._systems: dict[str, int] = {}

    def of(self, row: JudgmentRecord, count: int) -> tuple[int, int]:
        """Return the numbers of test and system. ``count``: how many results precede this one."""
        if not row.answered_by:
            return count, 0
        question = (row.judge, row.criterion, asked_row(row) or "", str(row.input.get(REPEAT, "")))
        test = self._tests.setdefault(question, len(self._tests))
        return test, self._systems.setdefault(row.answered_by, len(self._systems))


def _promptfoo_result(
    row: JudgmentRecord,
    place: tuple[int, int],
    labels: Mapping[tuple[str, str], JsonObject],
    reason: int,
) -> JsonDict:
    fields, good, failed = row.fields, reason == 0, reason == 2
    score = 0 if failed else row.score
    assertion = {"type": "llm-rubric", "value": row.criterion, "provider": _models(row)}
    part = {
        "pass": good,
        "score": score,
        "reason": row.explanation or row.reason or "",
        "assertion": assertion,
    }
    grading = {**part, **({"metadata": {"graderError": True}} if failed else {})}
    label = labels.get((row.identity, row.criterion))
    people = [] if label is None else [label]
    variables = {name: value for name, value in fields.items() if name != "response"}
    return {
        "testIdx": place[0],
        "promptIdx": place[1],
        "promptId": _PROMPT["id"],
        "prompt": {"raw": _PROMPT["raw"], "label": _PROMPT["label"]},
        "testCase": {"vars": variables, "assert": [assertion]},
        "provider": {"id": row.answered_by or "adjudge"},
        "latencyMs": 0,
        "vars": variables,
        "response": {"output": in_one(fields.get("response", ""))},
        "success": good,
        "score": score,
        "failureReason": reason,
        "error": row.reason if failed else None,
        "gradingResult": {
            "pass": good,
            "score": score,
            "reason": "",
            "componentResults": [grading, *people],
        },
        "namedScores": {},
    }


def _manual_ratings(run: Path) -> Iterator[tuple[Label, JsonDict]]:
    """Yield labels with their manual ratings. Labels that neither pass nor fail are left out."""
    ends = scale_ends(run)
    points = {
        scale.name: {option.name: option.score for option in scale.scale.criteria.options}
        for scale in scales_in(run)
    }
    for label in LabelStore(run).current():
        score = (
            label.score
            if label.score is not None
            else points.get(label.criteria, {}).get(label.option or "")
        )
        good = says_pass(label.option, score, label.criteria, ends)
        if good is not None:
            yield (
                label,
                {
                    "pass": good,
                    "score": int(good),
                    "reason": "Manual result",
                    "comment": label.note,
                    "assertion": {"type": "human"},
                },
            )


def to_inspect(run: Path, target: Path) -> int:
    """Write a log in version 2: each judgment is a sample with one score, NaN without a verdict.

    If Inspect would score an option differently, its score is written instead.
    """
    options = exported_options(run)
    head = {
        "version": 2,
        "status": "success",
        "eval": {
            "created": _now(),
            "task": run.name,
            "dataset": {},
            "model": "none/none",
            "config": {"epochs": 1},
            "scorers": [{"name": name} for name in run_info(run).judges],
        },
    }
    count = 0
    with text_file(target) as file:
        file.write(json.dumps(head)[:-1] + ', "samples": [')
        for row in records_of(run, votes=True):
            _refuse_comparison(row, "Inspect")
            file.write((",\n" if count else "\n") + json.dumps(_inspect_sample(row, options(row))))
            count += 1
        file.write("\n]}\n")
    return count


def _inspect_sample(row: JudgmentRecord, options: JsonObject) -> JsonDict:
    fields = row.fields
    word = row.verdict if row.detail.is_option else None
    is_read = word is None or not options or _INSPECT_SCORES.get(word.casefold()) == row.score
    option = word if is_read else row.score
    choice = option if option is not None else _TRUTHS.get(row.verdict or "")
    value = (choice if choice is not None else row.score) if row.scored else math.nan
    answer = {"role": "assistant", "content": in_one(fields.get("response", ""))}
    inputs = {
        name: in_one(field_text)
        for name, field_text in fields.items()
        if name not in ("response", "target", "reference")
    }
    score: JsonDict = {
        "value": value,
        **({} if is_read else {"answer": word}),
        "explanation": row.explanation or row.reason,
        "metadata": {"model": _models(row), **options},
        "history": [],
    }
    return {
        "id": row.id or row.row,
        "epoch": 1,
        "input": next(iter(inputs.values()))
        if len(inputs) == 1
        else "\n\n".join(f"{name}: {field_text}" for name, field_text in inputs.items()),
        "target": in_one(fields.get("target") or fields.get("reference") or ""),
        "output": {
            "model": row.answered_by or "none/none",
            "choices": [{"message": answer, "stop_reason": "stop"}],
            "completion": answer["content"],
        },
        "scores": {row.judge: score},
        "metadata": {"criteria": row.criterion, **system_of(row)},
    }


def system_of(row: JudgmentRecord) -> JsonDict:
    """Return the system and the row that it answered, for re-imports; empty without a system."""
    return {"system": row.answered_by, ROW: asked_row(row)} if row.answered_by else {}


def _refuse_comparison(row: JudgmentRecord, tool: str) -> None:
    if row.systems:
        raise SetupError(
            "{tool} cannot represent comparisons: export the run to evalassist or jsonl",
            tool=tool,
        )


def _models(row: JudgmentRecord) -> str:
    return ", ".join(row.used)


def _now() -> str:
    return datetime.now(UTC).isoformat()


def in_one(value: str | Sequence[str]) -> str:
    """Return a single text, joining several with blank lines."""
    return value if isinstance(value, str) else "\n\n".join(value)
