"""Ragas' own calls to a metric, in batches too; what has no verdict raises, and no aggregate counts it."""

from __future__ import annotations

import asyncio

import pytest

from adjudge.errors import RunError
from support.neighbours import BAD, GOOD, ODD, SCALE, critic, direct

pytest.importorskip("ragas", reason="ragas is not installed: make test-neighbours tries it")
from adjudge.integrations.ragas import AdjudgeMetric


def test_a_response_is_scored() -> None:
    found = AdjudgeMetric(critic()).score(user_input="When?", response=GOOD)
    assert (found.value, found.reason) == (1.0, "it does")
    assert found.traces["output"]["adjudge.option"] == "PASS"
    found = asyncio.run(AdjudgeMetric(direct(), SCALE).ascore(response=BAD, retrieved_contexts=["The tower."]))
    assert found.value == 0.0


def test_many_are_scored_by_ragas_own_batches() -> None:
    metric = AdjudgeMetric(critic(), name="names a year")
    rows = [{"user_input": "When?", "response": text} for text in (GOOD, BAD)]
    assert [one.value for one in metric.batch_score(rows)] == [1.0, 0.0]
    assert [one.value for one in asyncio.run(metric.abatch_score(rows))] == [1.0, 0.0]
    assert metric.name == "names a year"


def test_what_has_no_verdict_raises() -> None:
    with pytest.raises(RunError, match="unreadable"):
        AdjudgeMetric(critic()).score(response=ODD)
