"""DeepEval: ``.latest_run_full.json``, ``.latest_test_run.json`` and ``test_run_*.json``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from adjudge.errors import RunError
from adjudge.importers.format import Format
from adjudge.importers.record import (
    FAIL,
    NOT_SAID,
    PASS,
    Asked,
    Left,
    Recorded,
    RecordedVote,
    by_model,
    pass_or_fail,
)
from adjudge.importers.source import ForeignFile, Head
from adjudge.importers.values import (
    fields_of,
    first,
    listed,
    mapping,
    number,
    text,
    usage_of,
    without,
)
from adjudge.messages import Message

_CASES = ("testCases", "conversationalTestCases", "test_results", "testResults")
"""Of a test run, and of what ``evaluate()`` returns."""
_PATHS = (*((name,) for name in _CASES), *(("testRunData", name) for name in _CASES))
_METRICS = ("metricsData", "metricsMetadata")
"""The latter before version 1."""
_LESS_IS_BETTER = ("hallucination", "bias", "toxicity", "misuse")
"""DeepEval's own metrics that pass at or below their threshold."""
_CAMEL = re.compile(r"_([a-z])")
_READ = (
    "input",
    "actualOutput",
    "expectedOutput",
    "context",
    "retrievalContext",
    "turns",
    *_METRICS,
    "name",
    "scenario",
    "expectedOutcome",
)


def _matches(head: Head) -> bool:
    found, inner = head.document, mapping(head.document.get("testRunData"))
    cases = [mapping(head.at(name)) for name in _CASES if name in found]
    graded = any(name in _camel(case) for case in cases for name in _METRICS)
    return (
        graded
        or bool(cases and "metricsScores" in found)
        or not {*_CASES}.isdisjoint(inner)
        or "testRunLink" in found
    )


def _read(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    head = file.head
    if not mapping(head.document.get("testRunData")) and {*_CASES}.isdisjoint(head.document):
        raise RunError(
            "{name} holds only a link to the test run, which was uploaded: import "
            ".latest_run_full.json instead",
            name=file.name,
        )
    left.use(
        {
            "input": "input",
            "actualOutput": "response",
            "expectedOutput": "expected_output",
            "metricsData": "votes",
        }
    )
    directions = _directions(file)
    for name, direction in directions.items():
        if direction.less:
            left.note(
                Message(
                    "{name}: less is better, so that scores are turned round: 1 minus what "
                    "DeepEval recorded",
                    name=name,
                )
            )
    for case in map(_camel, file.records(*_PATHS)):
        metrics = _metrics(case)
        if not metrics:
            left.out(Message("test case without metrics"))
        for metric in metrics:
            yield _judged(case, metric, directions[_name(metric)])


@dataclass
class _Direction:
    """Which end of a metric is the good one, and whether it has verdicts at all."""

    less: bool
    verdicts: bool = False
    _evidence: int = 0

    def see(self, metric: Mapping[str, object]) -> None:
        """What passes below its threshold, or fails above it, is better the less there is of it."""
        score, threshold, success = (
            number(metric.get("score")),
            number(metric.get("threshold")),
            metric.get("success"),
        )
        self.verdicts |= threshold is not None or isinstance(success, bool)
        if (
            metric.get("error")
            or score is None
            or threshold is None
            or not isinstance(success, bool)
            or score == threshold
        ):
            return
        self._evidence += 1 if success is (score < threshold) else -1
        if self._evidence:
            self.less = self._evidence > 0


def _directions(file: ForeignFile) -> dict[str, _Direction]:
    """By the metrics' names; where their verdicts tell, by those: one's own metric may have any
    name.
    """
    found: dict[str, _Direction] = {}
    for case in map(_camel, file.records(*_PATHS)):
        for metric in _metrics(case):
            name = _name(metric)
            found.setdefault(name, _Direction(name.casefold() in _LESS_IS_BETTER)).see(metric)
    return found


def _metrics(case: Mapping[str, object]) -> list[Mapping[str, object]]:
    return [_camel(mapping(one)) for one in listed(first(case, *_METRICS))]


def _name(metric: Mapping[str, object]) -> str:
    return text(first(metric, "name", "metric")) or "metric"


def _camel(record: Mapping[str, object]) -> Mapping[str, object]:
    """Keys as a test run has them: what ``evaluate()`` returns writes them with underscores."""
    return {
        _CAMEL.sub(lambda found: found[1].upper(), name): value for name, value in record.items()
    }


def _judged(
    case: Mapping[str, object], metric: Mapping[str, object], direction: _Direction
) -> Recorded:
    name, vote = _name(metric), _vote(metric, direction)
    about = f"{name}, a metric of DeepEval." + (" Less of it is better." if direction.less else "")
    asked = pass_or_fail(name, about) if direction.verdicts else Asked(name, about, "rating")
    turns = [
        f"{text(mapping(one).get('role'))}: {text(mapping(one).get('content'))}"
        for one in listed(case.get("turns"))
    ]
    parts = {
        "input": case.get("input"),
        "scenario": case.get("scenario"),
        "expected_outcome": case.get("expectedOutcome"),
        "expected_output": case.get("expectedOutput"),
        "context": case.get("context"),
        "retrieval_context": case.get("retrievalContext"),
    }
    return Recorded(
        judge=by_model(name, vote.model),
        asked=replace(asked, higher_is_better=not direction.less),
        fields={
            **fields_of(parts),
            "response": "\n".join(turns) if turns else text(case.get("actualOutput")),
        },
        id=text(case.get("name")) or None,
        votes=(vote,),
        more=without(case, *_READ),
    )


def _vote(metric: Mapping[str, object], direction: _Direction) -> RecordedVote:
    """A metric that ended in an error says ``success: false`` as well, and has no score."""
    recorded, threshold = number(metric.get("score")), number(metric.get("threshold"))
    vote = RecordedVote(
        model=text(metric.get("evaluationModel")) or NOT_SAID,
        explanation=text(metric.get("reason")) or None,
        usage=usage_of(metric.get("inputTokenCount"), metric.get("outputTokenCount")),
        more={
            **without(metric, "name", "success", "score", "reason", "error", "evaluationModel"),
            **({"recorded_score": recorded} if direction.less and recorded is not None else {}),
        },
    )
    if metric.get("error") or recorded is None:
        return vote.failed(metric.get("error") or Message("the metric has no score"))
    score = 1 - recorded if direction.less else recorded
    success = metric.get("success")
    if not direction.verdicts:
        return vote.said(score)
    if isinstance(success, bool):
        return vote.said(PASS if success else FAIL, score)
    if threshold is None:
        return vote.failed(Message("the metric has neither a verdict nor a threshold"))
    passed = recorded <= threshold if direction.less else recorded >= threshold
    return vote.said(PASS if passed else FAIL, score)


DEEPEVAL = Format("deepeval", Message("DeepEval test run"), "deepeval 4.3.1", _matches, _read)
