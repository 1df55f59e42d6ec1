"""Ragas' own calls to a metric, in batches too; what has no verdict raises, and no aggregate counts
it.
"""

from __future__ import annotations

import asyncio

import pytest

from adjudge.errors import RunError
from support.neighbours import BAD, GOOD, ODD, SCALE, critic, direct

pytest.importorskip("ragas", reason="ragas is not installed: make test-neighbours tries it")
from ragas import Dataset, experiment

from adjudge.features.integrations.ragas import AdjudgeMetric


def test_a_response_is_scored() -> None:
    found = AdjudgeMetric(critic()).score(user_input="When?", response=GOOD)
    assert (found.value, found.reason) == (1.0, "it does")
    assert found.traces["output"]["adjudge.option"] == "PASS"
    found = asyncio.run(
        AdjudgeMetric(direct(), SCALE).ascore(response=BAD, retrieved_contexts=["The tower."])
    )
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


def test_an_experiment_of_ragas_goes_on_without_the_row_that_has_no_verdict(
    capsys: pytest.CaptureFixture[str],
) -> None:
    metric = AdjudgeMetric(critic())

    async def judged(row: dict[str, str]) -> dict[str, object]:
        return {**row, "score": (await metric.ascore(response=row["response"])).value}

    rows = Dataset(
        "answers", backend="inmemory", data=[{"response": text} for text in (GOOD, BAD, ODD)]
    )
    found = {
        row["response"]: row["score"]
        for row in asyncio.run(experiment()(judged).arun(rows, name="years"))
    }
    assert found == {GOOD: 1.0, BAD: 0.0}
    assert "unreadable" in capsys.readouterr().out
