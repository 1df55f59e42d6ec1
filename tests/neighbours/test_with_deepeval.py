"""DeepEval's own ``assert_test`` and ``evaluate``, offline; what has no verdict is an error there,
never a score.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from adjudge.errors import RunError
from support.neighbours import BAD, GOOD, ODD, SCALE, critic, direct

os.environ.update({"DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "DEEPEVAL_DISABLE_DOTENV": "1"})
pytest.importorskip("deepeval", reason="deepeval is not installed: make test-neighbours tries it")
from deepeval import assert_test, evaluate
from deepeval.evaluate import AsyncConfig, DisplayConfig, ErrorConfig
from deepeval.test_case import LLMTestCase

from adjudge.features.integrations.deepeval import AdjudgeMetric


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def case(answer: str) -> LLMTestCase:
    return LLMTestCase(
        input="When?",
        actual_output=answer,
        expected_output="1889",
        retrieval_context=["The tower."],
    )


@pytest.mark.parametrize("run_async", [True, False])
def test_assert_test_passes_and_fails_by_the_threshold(run_async: bool) -> None:
    assert_test(
        case(GOOD),
        [AdjudgeMetric(critic()), AdjudgeMetric(direct(), SCALE, threshold=1.0)],
        run_async=run_async,
    )
    with pytest.raises(AssertionError, match="year"):
        assert_test(case(BAD), [AdjudgeMetric(critic())], run_async=run_async)


def test_what_has_no_verdict_is_an_error_and_no_score() -> None:
    metric = AdjudgeMetric(critic())
    with pytest.raises(RunError, match="unreadable"):
        metric.measure(case(ODD))
    assert (metric.score, metric.is_successful()) == (None, False)
    assert metric.error is not None
    with pytest.raises(RunError, match="unreadable"):
        assert_test(case(ODD), [AdjudgeMetric(critic())])


@pytest.mark.parametrize("indicator", [True, False])
@pytest.mark.parametrize("run_async", [True, False])
def test_evaluate_goes_on_past_an_error(run_async: bool, indicator: bool) -> None:
    quiet = DisplayConfig(show_indicator=indicator, print_results=False)
    found = evaluate(
        [case(GOOD), case(ODD)],
        [AdjudgeMetric(critic())],
        async_config=AsyncConfig(run_async=run_async),
        display_config=quiet,
        error_config=ErrorConfig(ignore_errors=True),
    )
    told = {one.metrics_data[0].score: one.metrics_data[0] for one in found.test_results}
    assert told.keys() == {1.0, None}
    assert "unreadable" in told[None].error
