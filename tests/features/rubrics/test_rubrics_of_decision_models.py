"""Rubrics judged by models that write nothing: point by point, and without quotes."""

from __future__ import annotations

from typing import Any

import pytest

from adjudge import RubricJudge, open_model
from adjudge.errors import SetupError
from support.decision_server import serving

ROW: dict[str, Any] = {
    "response": "Rest.",
    "rubric": [
        {"text": "It helps.", "points": 2},
        {"text": "It is short.", "points": 1, "evidence": True},
    ],
}


def all_met(body: Any) -> Any:
    for answer in body["answers"].values():
        answer["choice"] = "met"
        answer["probabilities"] = {"met": 0.9, "not met": 0.1, "cannot tell": 0.0}
    return body


def test_a_decision_model_answers_all_points_of_a_row_in_one_request() -> None:
    with serving() as server:
        server.change = all_met
        judge = RubricJudge(open_model(f"systemone:{server.url}#fake-1"))
        plain = [{**ROW, "rubric": [{"text": "A.", "points": 2}, {"text": "B.", "points": 1}]}]
        (result,) = judge.evaluate(plain)
        assert [len(request.questions) for request in server.requests] == [2]
    assert result.score == 1


def test_what_needs_a_quote_is_not_met_without_one() -> None:
    with serving() as server:
        server.change = all_met
        model = open_model(f"systemone:{server.url}#fake-1")
        (result,) = RubricJudge(model).evaluate([ROW])
        with pytest.raises(SetupError, match="evidence='required' needs a model that does"):
            RubricJudge(model, evidence="required")
    assert [point.answer for point in result.points] == ["met", None]
    assert "needs a quote" in str(result.points[1].reason)
    assert (result.score, result.bounds) == (None, pytest.approx((2 / 3, 1)))
