"""Shapes that files in the wild have: nothing is invented of them, nothing lost, and a failure is
no verdict.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adjudge.errors import RunError
from adjudge.features.bench.labelled_rows import LabelledSource, labelled_set
from adjudge.features.compat.evalassist_run import to_evalassist
from adjudge.runs.earlier_rows import rows_of_run
from adjudge.trust.calibration import calibrate_run
from support.importing import imported


def _promptfoo(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "promptIdx": 0,
        "testIdx": 0,
        "vars": {"q": "a"},
        "response": {"output": "Paris"},
        "success": True,
        "score": 1,
        "gradingResult": {"pass": True, "score": 1, "reason": "", "componentResults": list(parts)},
        **more,
    }


def _part(kind: str, passed: bool) -> dict[str, Any]:
    return {
        "pass": passed,
        "score": float(passed),
        "reason": "so",
        "assertion": {"type": kind, "value": "is rude"},
    }


def test_a_manual_rating_of_a_not_assertion_is_turned_round_like_its_verdict(
    tmp_path: Path,
) -> None:
    found = imported(
        tmp_path, [_promptfoo(_part("not-llm-rubric", False), _part("human", True))], lines=True
    )
    assert (found.verdicts, found.answers) == (
        ["PASS"],
        ["FAIL"],
    )  # the judge called it rude, the person did not


def test_a_variable_that_is_called_response_is_kept_beside_the_response(tmp_path: Path) -> None:
    record = _promptfoo(_part("llm-rubric", True), vars={"response": "London"})
    found = imported(tmp_path, [record], lines=True)
    assert found.rows[0]["fields"] == {"given_response": "London", "response": "Paris"}


def test_the_index_of_a_ragas_table_is_no_metric(tmp_path: Path) -> None:
    found = imported(
        tmp_path, ",user_input,response,faithfulness\n0,q,a,0.5\n1,q2,b,\n", name="results.csv"
    )
    assert {row["judge"] for row in found.rows} == {"faithfulness"}
    assert found.verdicts == [0.5, None]


def test_contexts_and_the_truth_of_an_older_ragas_table_are_kept(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        "question,answer,contexts,ground_truth,harm\nq,a,\"['c', 'd']\",g,1\n",
        name="results.csv",
    )
    assert found.rows[0]["fields"] == {
        "question": "q",
        "contexts": ["c", "d"],
        "ground_truth": "g",
        "response": "a",
    }


def test_the_score_that_a_langsmith_correction_corrects_stays_the_judges(tmp_path: Path) -> None:
    judged = {
        "run_id": "r",
        "key": "ok",
        "score": 1,
        "correction": {"score": 0},
        "feedback_source": {"type": "model"},
    }
    found = imported(tmp_path, [judged])
    assert (found.verdicts, found.answers) == ([1.0], [0.0])


def test_a_phoenix_score_without_a_label_is_not_lost_where_others_have_labels(
    tmp_path: Path,
) -> None:
    said = {"name": "ok", "annotator_kind": "LLM", "label": "good", "score": 1.0, "error": None}
    rows = [
        {"example_id": "1", "input": {"q": "x"}, "output": "y", "annotations": [said]},
        {
            "example_id": "2",
            "input": {"q": "z"},
            "output": "y",
            "annotations": [{**said, "label": None, "score": 0.5}],
        },
    ]
    assert imported(tmp_path, rows).verdicts == ["good", "0.5"]


def test_an_openai_item_that_ended_in_an_error_has_no_verdict_and_is_told_of(
    tmp_path: Path,
) -> None:
    item = {
        "datasource_item": {"q": "x"},
        "datasource_item_id": 1,
        "status": "error",
        "sample": {"output": []},
    }
    graded = {**item, "results": [{"name": "g", "passed": False, "score": 0.0}]}
    found = imported(tmp_path, {"data": [graded, {**item, "datasource_item_id": 2, "results": []}]})
    assert (found.verdicts, found.outcomes) == ([None], {"model_error": 1})
    assert found.report.left == {"output item without results: its status is 'error'": 1}


def test_an_alpaca_eval_preference_that_names_no_output_is_no_verdict(tmp_path: Path) -> None:
    pair = {
        "output_1": "a",
        "generator_1": "r",
        "output_2": "b",
        "generator_2": "m",
        "annotator": "judge",
    }
    rows = [{**pair, "instruction": str(said), "preference": said} for said in (1, 2, -1, 3)]
    assert imported(tmp_path, rows).verdicts == [0, 1, None, None]


def test_a_test_case_of_a_later_evalassist_is_refused(tmp_path: Path) -> None:
    case = {
        "instances": [{"id": "1", "response": "r"}],
        "criteria": {"name": "c"},
        "contentFormatVersion": 3,
    }
    with pytest.raises(RunError, match="content version 3; versions up to 2 can be read"):
        imported(tmp_path, case)


def test_a_number_of_thousands_of_digits_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="too many digits"):
        imported(
            tmp_path, f'[{{"user_input": "q", "response": "r", "faithfulness": {"1" * 5000}}}]'
        )
    assert not (tmp_path / "run").exists()


_NAMES = {
    "id": "1",
    "model_a": "a",
    "model_b": "much longer name",
    "human_winner": "model_b",
    "judge_pick": "A",
}


def test_rows_whose_texts_are_elsewhere_are_not_judged_anew(tmp_path: Path) -> None:
    found = imported(tmp_path, [_NAMES], lines=True)
    with pytest.raises(RunError, match="the names of its rows but not their texts"):
        list(rows_of_run(found.folder))
    with pytest.raises(RunError, match="the names of its rows but not their texts"):
        labelled_set(LabelledSource(tmp_path / "file.json"))


def test_names_of_texts_have_no_length_to_judge_by(tmp_path: Path) -> None:
    found = imported(tmp_path, [{**_NAMES, "id": str(place)} for place in range(10)], lines=True)
    (one,) = calibrate_run(found.folder)
    assert one.agreement is not None
    assert "longest" not in one.agreement.baselines


def test_an_evalassist_test_case_keeps_both_orders_and_its_context_on_the_way_back(
    tmp_path: Path,
) -> None:
    options = [{"name": "Yes", "description": ""}, {"name": "No", "description": ""}]
    bias = {"detected": True, "result": {"selectedOption": "No", "explanation": "why"}}
    result = {"selectedOption": "Yes", "explanation": "so", "positionalBias": bias}
    instance = {
        "id": "1",
        "contextVariables": [{"name": "q", "value": "x"}],
        "response": "r",
        "result": result,
    }
    case = {
        "instances": [instance],
        "criteria": {"name": "kind", "description": "Is it kind?", "options": options},
    }
    found = imported(tmp_path, case)
    to_evalassist(found.folder, tmp_path / "again.json")
    content = json.loads(json.loads((tmp_path / "again.json").read_text())["content"])
    assert content["criteria"]["contextFields"] == ["q"]
    assert content["instances"][0]["result"]["positionalBias"] == bias
