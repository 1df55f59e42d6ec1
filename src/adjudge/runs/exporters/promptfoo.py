"""A run as results of promptfoo: scores from 0 to 1 that pass or fail."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from adjudge.core.domain.json_types import JsonDict, JsonObject
from adjudge.core.domain.label import Label
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.domain.repetition import REPEAT, asked_row
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
    ROW_ID,
    SCALE,
    Outcome,
    outcome_metadata,
    question_metadata,
    scale_in,
)
from adjudge.runs.folder import records_of
from adjudge.runs.pass_scale import Ends, passed, says_pass
from adjudge.trust.labels.scales import ends_by_judge

ANSWER = "answer"
"""The key of a manual rating for the label that it was made of."""
_PROMPT = {
    "raw": "(the texts were made elsewhere)",
    "label": "(the texts were made elsewhere)",
    "provider": "adjudge",
    "id": "adjudge",
}
"""promptfoo takes no result without a prompt."""
_STATS = ("successes", "failures", "errors")
"""Counts of promptfoo, by the ``failureReason`` of a result."""
_UNIT = (0.0, 1.0)


def to_promptfoo(run: Path, target: Path) -> Exported:
    """Write results in version 3: each judgment is the result of a model-graded assertion.

    A score is the share of its scale, since 1 is a full score there. Counts and skipped judgments
    are left out, because results there can only pass, fail or be errors.
    """
    labels, about, ends = AgreedLabels(run), question_metadata(run), ends_by_judge(run)
    head = {"version": 3, "timestamp": now(), "prompts": [_PROMPT]}
    places, losses = _Places(), Losses("promptfoo", run)
    scales = _scales(run)
    count, stats = 0, dict.fromkeys(_STATS, 0)
    with text_file(target) as file:
        file.write(
            f'{{"evalId": {json.dumps(run.name)}, "results": {json.dumps(head)[:-1]}, "results": ['
        )
        for row in records_of(run, votes=True):
            refuse_comparison(row, "promptfoo")
            losses.judgments += 1
            losses.counts += row.detail.is_count
            losses.skipped += row.status == "skipped" and not row.detail.is_count
            if row.detail.is_count or row.status == "skipped":
                continue
            losses.see(row)
            scale = scales[row.judge, row.criterion]
            if scale != _UNIT:
                losses.scales[row.criterion] = scale
            judge_ends = ends.get(row.judge, {})
            metadata = {ROW_ID: row.id, **about(row), SCALE: list(scale), **outcome_metadata(row)}
            people = _manual_rating(labels.find(row), judge_ends)
            if people:
                labels.use(row)
            reason = _failure_reason(row, judge_ends)
            result = _result(row, places.of(row, count), metadata, people, reason)
            file.write((",\n" if count else "\n") + json.dumps(result))
            stats[_STATS[reason]] += 1
            count += 1
        counted = json.dumps({**stats, "tokenUsage": {}})
        file.write(f'\n], "stats": {counted}}}, "config": {{}}, "shareableUrl": null}}\n')
    losses.labels = labels.unused
    return losses.exported()


def _scales(run: Path) -> dict[tuple[str, str], tuple[float, float]]:
    """Return the scale of each judge's criteria, as wide as the scores of the run."""
    about, scales = question_metadata(run), dict[tuple[str, str], tuple[float, float]]()
    for row in records_of(run):
        key = (row.judge, row.criterion)
        low, high = scales[key] if key in scales else scale_in(about(row))
        # a rubric has no scale of its own, but each row has limits
        ends = (*(row.detail.limits or ()), *(() if row.score is None else (row.score,)))
        if not row.detail.is_count:
            scales[key] = min((low, *ends)), max((high, *ends))
    return scales


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


def _result(
    row: JudgmentRecord,
    place: tuple[int, int],
    metadata: JsonObject,
    people: JsonObject,
    reason: int,
) -> JsonDict:
    fields, good, failed = row.fields, reason == 0, reason == 2
    score = 0 if failed else promptfoo_score(metadata)
    assertion = {
        "type": "llm-rubric",
        "value": row.criterion,
        "provider": ", ".join(row.used),
    }
    part = {
        "pass": good,
        "score": score,
        "reason": row.explanation or row.reason or "",
        "assertion": assertion,
        "metadata": {**({"graderError": True} if failed else {}), **metadata},
    }
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
            "componentResults": [part, *([people] if people else [])],
        },
        "namedScores": {},
    }


def promptfoo_score(metadata: JsonObject) -> float | None:
    """Return the score of a judgment for promptfoo: its share of the scale."""
    outcome = Outcome.of(metadata)
    return outcome.share if outcome else None


def _manual_rating(label: Label | None, ends: Ends) -> JsonDict:
    """Return a label as a manual rating; empty if it neither passes nor fails."""
    if label is None:
        return {}
    options: Mapping[str, float] = ends[label.criteria].options if label.criteria in ends else {}
    score = options.get(label.option or "") if label.score is None else label.score
    good = says_pass(label.option, score, label.criteria, ends)
    if good is None:
        return {}
    return {
        "pass": good,
        "score": int(good),
        "reason": "Manual result",
        "comment": label.note,
        "assertion": {"type": "human"},
        "metadata": {ANSWER: label.answer},
    }
