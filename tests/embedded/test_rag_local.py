"""The RAG evaluator on the embedded model: a score, a probability and a note
for every dimension.
"""

from __future__ import annotations

import os

import pytest

from adjudge import Status
from adjudge.features.rag import RagEvaluator
from adjudge.runs.results.report import report_of
from support.rag import EXAMPLE

BAD = ("irrelevant", "ungrounded", "incomplete", "wordy", "harmful", "injection", "refuses")


@pytest.mark.skipif(
    "ADJUDGE_LOCAL_JUDGMENTS" not in os.environ, reason="takes long: make test-embedded"
)
def test_a_row_is_scored_by_likelihood() -> None:
    evaluator = RagEvaluator(dimensions=["conciseness"])
    rows = evaluator.rows(EXAMPLE, limit=1)
    (result,) = evaluator.evaluate(rows.instances)
    assert result.status is Status.SCORED
    assert all(score in (0, 1, 2) for score in result.scores.values())
    assert all(str(text).startswith("p = ") for text in result.explanations.values())
    assert report_of(evaluator, [result]).notes


@pytest.mark.skipif(
    "ADJUDGE_LOCAL_JUDGMENTS" not in os.environ, reason="takes long: make test-embedded"
)
def test_the_good_answers_of_the_example_stand_above_the_bad_ones() -> None:
    evaluator = RagEvaluator()
    rows = evaluator.rows(EXAMPLE)
    found = {
        instance.id: result.composite.value or 0.0
        for instance, result in zip(rows.instances, evaluator.evaluate(rows.instances), strict=True)
    }
    good = [found[one] for one in ("perfect", "history", "not in the sources")]
    bad = [found[one] for one in BAD]
    assert min(good) > max(bad), found
