"""Import DeepEval: ``.latest_run_full.json``, ``.latest_test_run.json`` and ``test_run_*.json``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from adjudge.errors import RunError
from adjudge.features.importers.format import Format
from adjudge.features.importers.record import (
    NOT_SAID,
    ImportLog,
    RecordedRow,
    RecordedVote,
    as_verdict,
    by_model,
    pass_or_fail,
    rate,
)
from adjudge.features.importers.source import ForeignFile, ForeignRecord, Head, usage_in
from adjudge.features.importers.values import fields_of
from adjudge.messages import Message

# Keys of the test cases, in a test run and in the result of ``evaluate()``.
_CASES = ("testCases", "conversationalTestCases", "test_results", "testResults")
_PATHS = (*((name,) for name in _CASES), *(("testRunData", name) for name in _CASES))
# The latter before version 1.
_METRICS = ("metricsData", "metricsMetadata")
# DeepEval's own metrics that pass at or below their threshold.
_LESS_IS_BETTER = ("hallucination", "bias", "toxicity", "misuse")
_CAMEL = re.compile(r"_([a-z])")
_FIELDS = {
    "input": "input",
    "scenario": "scenario",
    "expected_outcome": "expectedOutcome",
    "expected_output": "expectedOutput",
    "context": "context",
    "retrieval_context": "retrievalContext",
}


def _matches(head: Head) -> bool:
    document, inner = head.document, head.document.nested("testRunData")
    cases = [head.at(name) for name in _CASES if name in document]
    graded = any(_with_camel_case(case).has_any(*_METRICS) for case in cases)
    scored = bool(cases) and "metricsScores" in document
    return graded or scored or inner.has_any(*_CASES) or "testRunLink" in document


def _read(file: ForeignFile, log: ImportLog) -> Iterator[RecordedRow]:
    document = file.head.document
    if not document.nested("testRunData") and not document.has_any(*_CASES):
        raise RunError(
            "{name} contains only a link to the test run, which was uploaded: import "
            ".latest_run_full.json instead",
            name=file.name,
        )
    log.use(
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
            log.note(
                Message(
                    "{name}: less is better, so scores are inverted: 1 minus what DeepEval "
                    "recorded",
                    name=name,
                )
            )
    for case in map(_with_camel_case, file.records(*_PATHS)):
        metrics = _metrics(case)
        if not metrics:
            log.skip(Message("test case without metrics"))
        for metric in metrics:
            yield _metric_row(case, metric, directions[_name(metric)])


@dataclass
class _Direction:
    """The properties of a metric: if lower is better, and if it has verdicts."""

    less: bool
    verdicts: bool = False
    _evidence: int = 0

    def see(self, metric: ForeignRecord) -> None:
        """Learn from one result. Passing below the threshold suggests that less is better."""
        score, threshold = metric.number("score"), metric.number("threshold")
        success = metric.value("success")
        has_verdict = isinstance(success, bool)
        self.verdicts |= threshold is not None or has_verdict
        if score is None or threshold is None or score == threshold:
            return
        if has_verdict and not metric.value("error"):
            self._evidence += 1 if success is (score < threshold) else -1
            self.less = self._evidence > 0 if self._evidence else self.less


def _directions(file: ForeignFile) -> dict[str, _Direction]:
    """Return the direction of each metric, by metric name."""
    directions: dict[str, _Direction] = {}
    for case in map(_with_camel_case, file.records(*_PATHS)):
        for metric in _metrics(case):
            name = _name(metric)
            # A custom metric may have any name, so verdicts count more than the names of DeepEval's
            # own.
            directions.setdefault(name, _Direction(name.casefold() in _LESS_IS_BETTER)).see(metric)
    return directions


def _metrics(case: ForeignRecord) -> list[ForeignRecord]:
    return list(map(_with_camel_case, case.objects(*_METRICS)))


def _name(metric: ForeignRecord) -> str:
    return metric.text("name", "metric") or "metric"


def _with_camel_case(record: ForeignRecord) -> ForeignRecord:
    """Return the record with camelCase keys, as test runs write them.

    ``evaluate()`` writes them with underscores.
    """
    values = record.raw.items()
    return record.with_values(
        {_CAMEL.sub(lambda match: match[1].upper(), name): value for name, value in values}
    )


def _metric_row(case: ForeignRecord, metric: ForeignRecord, direction: _Direction) -> RecordedRow:
    name, vote = _name(metric), _vote(metric, direction)
    about = f"{name}, a metric of DeepEval." + (" Less of it is better." if direction.less else "")
    question = pass_or_fail(name, about) if direction.verdicts else rate(name, about)
    turns = [f"{turn.text('role')}: {turn.text('content')}" for turn in case.objects("turns")]
    parts = fields_of({field: case.value(key) for field, key in _FIELDS.items()})
    response = "\n".join(turns) if turns else case.text("actualOutput")
    return RecordedRow(
        judge=by_model(name, vote.model),
        question=replace(question, higher_is_better=not direction.less),
        fields={**parts, "response": response},
        id=case.text("name") or None,
        votes=(vote,),
        more=case.rest(*_FIELDS.values(), "actualOutput", "turns", *_METRICS, "name"),
    )


def _vote(metric: ForeignRecord, direction: _Direction) -> RecordedVote:
    """Return a metric's result as a vote, with the score reversed if less is better."""
    recorded, threshold = metric.number("score"), metric.number("threshold")
    error, success = metric.value("error"), metric.value("success")
    recorded_score = {"recorded_score": recorded} if direction.less and recorded is not None else {}
    vote = RecordedVote(
        model=metric.text("evaluationModel") or NOT_SAID,
        explanation=metric.text("reason"),
        usage=usage_in(metric, "inputTokenCount", "outputTokenCount"),
        more={
            **metric.rest("name", "success", "score", "reason", "error", "evaluationModel"),
            **recorded_score,
        },
    )
    # After an error, ``success`` is false as well: only the missing score shows it.
    if error or recorded is None:
        return vote.with_failure(error or Message("the metric has no score"))
    score = 1 - recorded if direction.less else recorded
    if not direction.verdicts:
        return vote.with_answer(score)
    if isinstance(success, bool):
        return vote.with_answer(as_verdict(success), score)
    if threshold is None:
        return vote.with_failure(Message("the metric has neither a verdict nor a threshold"))
    return vote.with_answer(
        as_verdict(recorded <= threshold if direction.less else recorded >= threshold), score
    )


DEEPEVAL = Format("deepeval", Message("DeepEval test run"), "deepeval 4.3.1", _matches, _read)
