"""MLflow's own entry points, offline: feedback on traces, and a judge as a scorer of
``mlflow.genai.evaluate``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from adjudge import Instance
from adjudge.core.domain.label import Label
from support.neighbours import BAD, GOOD, ODD, SCALE, critic, direct

pytest.importorskip("mlflow", reason="mlflow is not installed: make test-neighbours tries it")
pytest.importorskip("mlflow.genai", reason="mlflow is not installed with its evaluation")
import mlflow

from adjudge.features.integrations.mlflow import adjudge_scorer, log_labels, log_results


@pytest.fixture(autouse=True, scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder, before = tmp_path_factory.mktemp("mlflow"), Path.cwd()
    os.chdir(folder)
    mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
    mlflow.set_experiment("judged")
    yield
    mlflow.set_tracking_uri(None)
    os.chdir(before)


def traced(answer: str) -> str:
    with mlflow.start_span("answer") as span:
        span.set_outputs(answer)
    mlflow.flush_trace_async_logging()
    found: str = span.trace_id
    return found


def test_judgments_are_feedback_and_a_failure_is_an_error_without_a_value() -> None:
    ids = [traced(answer) for answer in (GOOD, BAD, ODD)]
    rows = [
        Instance({"response": answer}, metadata={"trace_id": id})
        for answer, id in zip((GOOD, BAD, ODD), ids, strict=True)
    ]
    assert log_results(critic().evaluate(rows)) == 3
    found = [mlflow.get_trace(id).info.assessments[0] for id in ids]
    assert [one.name for one in found] == ["year"] * 3
    assert [one.value for one in found] == ["yes", "no", None]
    assert [one.error.error_code if one.error else None for one in found] == [
        None,
        None,
        "UNREADABLE",
    ]
    assert found[0].source.source_type == "LLM_JUDGE"
    assert (found[0].rationale, found[0].metadata["adjudge.option"]) == ("it does", "PASS")


def test_scores_of_a_scale_are_from_0_to_1_and_rows_without_a_trace_are_left_out() -> None:
    id = traced(GOOD)
    results = direct().evaluate([Instance({"response": GOOD}), Instance({"response": BAD})], SCALE)
    assert log_results(results) == 0
    assert log_results(results[:1], [id]) == 1
    assert mlflow.get_trace(id).info.assessments[0].value == 1.0


def test_labels_are_feedback_of_people() -> None:
    id, row = traced(GOOD), Instance({"response": GOOD})
    label = Label(row=row.identity, criteria="year", annotator="ann", option="PASS", note="it does")
    skipped = Label(row=row.identity, criteria="year", annotator="bob", state="skipped")
    assert log_labels([label, skipped], {row.identity: id}) == 1
    (found,) = mlflow.get_trace(id).info.assessments
    assert (found.value, found.source.source_type, found.source.source_id) == (
        "PASS",
        "HUMAN",
        "ann",
    )


def test_a_judge_scores_in_mlflows_own_evaluation() -> None:
    data = [
        {
            "inputs": {"question": "When?"},
            "outputs": answer,
            "expectations": {"expected_response": "1889"},
        }
        for answer in (GOOD, BAD, ODD)
    ]
    found = mlflow.genai.evaluate(
        data=data, scorers=[adjudge_scorer(critic()), adjudge_scorer(direct(), SCALE)]
    )
    assert found.metrics["years/mean"] == 0.5  # of the two that have a score
    frame = found.result_df.sort_values("years/value", na_position="last")
    assert list(frame["years/value"].dropna()) == [0.0, 1.0]
    assert frame["years/value"].isna().sum() == frame["year/value"].isna().sum() == 1
