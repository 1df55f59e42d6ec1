"""What a number means in a file of another tool: its direction, its threshold, and whether it is a judgment at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from importing import imported

from support.commands import adjudge


def deepeval(*metrics: dict[str, Any]) -> dict[str, Any]:
    cases = [
        {"name": f"case {place}", "input": "q", "actualOutput": f"a{place}", "metricsData": [one]}
        for place, one in enumerate(metrics)
    ]
    return {"testCases": cases, "metricsScores": []}


def metric(
    score: float | None, success: bool | None, name: str = "Hallucination", threshold: float | None = 0.5
) -> dict[str, Any]:
    found = {"name": name, "score": score, "success": success, "threshold": threshold}
    return {key: value for key, value in found.items() if value is not None}


def test_less_hallucination_by_deepeval_is_better(tmp_path: Path) -> None:
    for name, score in (("before", 0.764), ("after", 0.247)):
        passed = score <= 0.5
        scores = [score - 0.01, score, score + 0.01] * 10
        imported(tmp_path / name, deepeval(*(metric(one, passed) for one in scores)))
    said = adjudge("runs", "diff", "before/run", "after/run", cwd=tmp_path).stdout
    assert "after/run is better" in said
    assert "worse" not in said


def test_a_score_of_which_less_is_better_is_turned_round_and_kept_as_it_was(tmp_path: Path) -> None:
    found = imported(tmp_path, deepeval(metric(0.25, True), metric(0.75, False)))
    assert [(row["option"], row["score"]) for row in found.rows] == [("PASS", 0.75), ("FAIL", 0.25)]
    assert found.rows[0]["votes"][0]["metadata"]["recorded_score"] == 0.25
    assert any("Hallucination" in note and "less is better" in note for note in found.report.notes)


def test_the_verdicts_of_a_metric_tell_its_direction_whatever_its_name(tmp_path: Path) -> None:
    found = imported(
        tmp_path, deepeval(metric(0.2, True, "Rudeness"), metric(0.9, False, "Rudeness"), metric(0.5, True, "Rudeness"))
    )
    assert [row["score"] for row in found.rows] == pytest.approx([0.8, 0.1, 0.5])
    found = imported(tmp_path / "more", deepeval(metric(0.9, True, "Bias"), metric(0.2, False, "Bias")))
    assert [row["score"] for row in found.rows] == [0.9, 0.2]


def test_a_metric_without_a_threshold_has_a_number_and_no_verdict(tmp_path: Path) -> None:
    found = imported(tmp_path, deepeval(metric(0.4, None, "Tone", None), metric(0.9, None, "Tone", None)))
    assert [(row.get("option"), row["score"]) for row in found.rows] == [(None, 0.4), (None, 0.9)]
    turned = imported(tmp_path / "less", deepeval(metric(0.25, None, "Toxicity", None)))
    assert [row["score"] for row in turned.rows] == [0.75]


def test_a_threshold_without_a_verdict_is_read_by_the_direction_of_the_metric(tmp_path: Path) -> None:
    found = imported(tmp_path, deepeval(metric(0.2, None, "Toxicity"), metric(0.7, None, "Toxicity"), metric(0.7, None, "Tone")))
    assert [(row["criteria"], row["option"]) for row in found.rows] == [
        ("Tone", "PASS"),
        ("Toxicity", "PASS"),
        ("Toxicity", "FAIL"),
    ]
