"""Measures of agents judged by a decision model: a checklist point by point, blame step by step."""

from __future__ import annotations

from typing import Any

import pytest

from adjudge import AgentEvaluator, open_model
from adjudge.core.domain.results import Status
from adjudge.errors import SetupError
from support.decision_server import DecisionServer, serving

RUN: dict[str, Any] = {
    "messages": [
        {"role": "user", "content": "Cancel order 4711."},
        {"role": "assistant", "content": "Done."},
    ],
    "checklist": ["It answers.", "It cancels.", "It is polite."],
}


def judged(server: DecisionServer, answers: dict[str, Any]) -> Any:
    """Judge the run with these probabilities of "met", by point."""

    def change(body: Any) -> Any:
        for question in server.requests[-1].questions:
            assert isinstance(question.instructions, dict)
            share = answers[str(question.instructions["point"])]
            shares = {"met": share, "missed": 0.9 - share, "cannot be told": 0.1}
            body["answers"][question.name]["probabilities"] = shares
        return body

    server.change = change
    evaluator = AgentEvaluator(open_model(f"systemone:{server.url}#m"), measures=["checklist"])
    (result,) = evaluator.evaluate([RUN])
    return result.results["checklist"]


def test_the_points_are_one_request_and_the_share_is_that_of_the_points_met() -> None:
    with serving() as server:
        result = judged(server, {"It answers.": 0.8, "It cancels.": 0.1, "It is polite.": 0.7})
        assert [len(request.questions) for request in server.requests] == [3]
    assert [point.met for point in result.points] == [True, False, True]
    assert result.score == pytest.approx(2 / 3)


def test_a_point_whose_answer_is_broken_leaves_no_share() -> None:
    with serving() as server:
        result = judged(server, {"It answers.": 0.8, "It cancels.": 5, "It is polite.": 0.7})
    assert [point.met for point in result.points] == [True, None, True]
    assert (result.status, result.score) == (Status.FAILED, None)


def test_blame_goes_step_by_step_because_a_decision_model_names_no_step() -> None:
    def change(body: Any) -> Any:
        (name,) = body["answers"]
        criteria = [option.value for option in server.requests[-1].questions[0].options]
        kind = criteria[1]
        shares = {
            option: 0.9 if option == kind else 0.1 / (len(criteria) - 1) for option in criteria
        }
        body["answers"][name] |= {"probabilities": shares, "choice": kind}
        return body

    with serving() as server:
        server.change = change
        model = open_model(f"systemone:{server.url}#m")
        (judged_run,) = AgentEvaluator(model, measures=["blame"]).evaluate([RUN])
        result = judged_run.results["blame"]
        assert len(server.requests) == 1
    assert (result.status, result.place["step"]) == (Status.SCORED, 2)


def test_a_decision_model_alone_derives_no_checklist() -> None:
    with serving() as server, pytest.raises(SetupError, match="cannot derive a checklist"):
        AgentEvaluator(open_model(f"systemone:{server.url}#m"), measures=["checklist"], derive=True)
