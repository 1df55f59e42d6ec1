"""Answers that deserve nothing, and points that give them credit."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from adjudge import Budget, RubricJudge
from adjudge.core.domain.instance import Instance
from adjudge.features.rubrics import command
from adjudge.features.rubrics.layouts import parse_rubric
from adjudge.features.rubrics.lint import lint_rubric
from adjudge.features.rubrics.probes import PROBE_TITLES, probe_rubrics

POINTS = [
    {"text": "Names Paris.", "points": 5},
    {"text": "Does not insult.", "points": 2},
    {"text": "Names Rome.", "points": -3},
    {"text": "Unclear.", "points": 1},
    {"text": "Broken.", "points": 1},
]
ROW = {"id": "7", "user_input": "Capital of France?", "response": "Paris", "rubric": POINTS}


def model(prompt: str) -> str:
    """Accept "Paris" in the answer, and each answer without an insult."""
    answer = prompt.rsplit('field="response">', 1)[1].split("</data", maxsplit=1)[0]
    point = prompt.rsplit('field="point">', 1)[1].split("</data", maxsplit=1)[0]
    if "Broken" in point:
        return "?"
    verdict = "not met"
    if "Unclear" in point:
        verdict = "cannot tell"
    elif "insult" in point or ("Paris" in point and "Paris" in answer):
        verdict = "met"
    return json.dumps({"explanation": "so", "quote": "", "selected_option": verdict})


def test_points_that_credit_nothing() -> None:
    row = Instance({name: str(ROW[name]) for name in ("user_input", "response")}, "7")
    rubric = parse_rubric(POINTS)
    judge = RubricJudge(model, POINTS, per="point", max_repairs=0)
    report = probe_rubrics(judge, [(row, rubric)])
    found = {name: counts.to_dict() for name, counts in report.counts.items()}
    nothing = {"judged": 2, "credited": 1, "undecided": 1, "failed": 1}
    assert found == {
        "empty": nothing,
        "refusal": nothing,
        "question": nothing,
        "rubric": {**nothing, "credited": 2},
    }
    assert [(point.point.text, point.credited) for point in report.leaking] == [
        ("Names Paris.", ["rubric"]),
        ("Does not insult.", list(PROBE_TITLES)),
    ]


def test_the_command_names_weak_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(ROW) + "\n")
    monkeypatch.setattr(command, "open_entry", lambda *_, **__: model)
    result = CliRunner().invoke(command.rubric, ["probe", str(path)], standalone_mode=False)
    assert result.exception is None, result.exception
    assert result.return_value == 3  # one point has no verdict
    assert "an empty answer: 1 of 2 points met; 1 cannot be decided, 1 without a verdict" in (
        result.output
    )
    assert "7, 1 'Names Paris.': met by the points pasted as the answer" in result.output


def test_probes_that_a_budget_does_not_reach_have_no_verdict() -> None:
    row = Instance({name: str(ROW[name]) for name in ("user_input", "response")}, "7")
    judge = RubricJudge(model, POINTS[:1], per="point", max_repairs=0)
    budget = Budget(max_calls=2)
    report = probe_rubrics(judge, [(row, parse_rubric(POINTS[:1]))], budget=budget)
    counts = report.counts.values()
    assert [sum(count.judged for count in counts), sum(count.failed for count in counts)] == [2, 2]
    assert "max_calls=2" in str(report.stopped)


@pytest.mark.parametrize("text", ["The answer is correct.", "Accurate", "Ответ верен."])
def test_lint_knows_points_that_need_the_right_answer(text: str) -> None:
    (finding,) = lint_rubric(parse_rubric([{"text": text}, {"text": "Names Paris."}]))
    assert "cannot be decided from the answer alone" in str(finding.message)


def test_lint_accepts_points_that_say_what_is_right() -> None:
    assert not lint_rubric(parse_rubric(["Names the correct capital, Paris."]))
