"""DeepEval: ``.latest_run_full.json``, ``.latest_test_run.json`` and ``test_run_*.json``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from adjudge.errors import RunError
from adjudge.importers.format import Format
from adjudge.importers.record import FAIL, NOT_SAID, PASS, Left, Recorded, RecordedVote, by_model, pass_or_fail
from adjudge.importers.source import ForeignFile, Head
from adjudge.importers.values import fields_of, first, listed, mapping, number, text, usage_of, without

_CASES = ("testCases", "conversationalTestCases", "test_results", "testResults")
"""Of a test run, and of what ``evaluate()`` returns."""
_PATHS = (*((name,) for name in _CASES), *(("testRunData", name) for name in _CASES))
_METRICS = ("metricsData", "metricsMetadata")
"""The latter before version 1."""
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
    return graded or bool(cases and "metricsScores" in found) or not {*_CASES}.isdisjoint(inner) or "testRunLink" in found


def _read(file: ForeignFile, left: Left) -> Iterator[Recorded]:
    head = file.head
    if not mapping(head.document.get("testRunData")) and {*_CASES}.isdisjoint(head.document):
        raise RunError(f"{file.name} holds only a link to the test run, which was uploaded: import .latest_run_full.json instead")
    left.use({"input": "input", "actualOutput": "response", "expectedOutput": "expected_output", "metricsData": "votes"})
    for case in map(_camel, file.records(*_PATHS)):
        metrics = [_camel(mapping(one)) for one in listed(first(case, *_METRICS))]
        if not metrics:
            left.out("test case without metrics")
        for metric in metrics:
            yield _judged(case, metric)


def _camel(record: Mapping[str, object]) -> Mapping[str, object]:
    """Keys as a test run has them: what ``evaluate()`` returns writes them with underscores."""
    return {_CAMEL.sub(lambda found: found[1].upper(), name): value for name, value in record.items()}


def _judged(case: Mapping[str, object], metric: Mapping[str, object]) -> Recorded:
    name, vote = text(first(metric, "name", "metric")) or "metric", _vote(metric)
    turns = [f"{text(mapping(one).get('role'))}: {text(mapping(one).get('content'))}" for one in listed(case.get("turns"))]
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
        asked=pass_or_fail(name, f"{name}, a metric of DeepEval."),
        fields={**fields_of(parts), "response": "\n".join(turns) if turns else text(case.get("actualOutput"))},
        id=text(case.get("name")) or None,
        votes=(vote,),
        more=without(case, *_READ),
    )


def _vote(metric: Mapping[str, object]) -> RecordedVote:
    """A metric that ended in an error says ``success: false`` as well, and has no score."""
    score, threshold = number(metric.get("score")), number(metric.get("threshold"))
    vote = RecordedVote(
        model=text(metric.get("evaluationModel")) or NOT_SAID,
        explanation=text(metric.get("reason")) or None,
        usage=usage_of(metric.get("inputTokenCount"), metric.get("outputTokenCount")),
        more=without(metric, "name", "success", "score", "reason", "error", "evaluationModel"),
    )
    if metric.get("error") or score is None:
        return vote.failed(metric.get("error") or "the metric has no score")
    success = metric.get("success")
    passed = success if isinstance(success, bool) else score >= (0.5 if threshold is None else threshold)
    return vote.said(PASS if passed else FAIL, score)


DEEPEVAL = Format("deepeval", "DeepEval test run", "deepeval 4.3.1", _matches, _read)
