"""EvalAssist's test cases of today: in, out, and in again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adjudge import (
    Criteria,
    CriteriaExample,
    CriteriaOption,
    DirectJudge,
    PairwiseJudge,
    ScriptedModel,
)
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import objects_in
from adjudge.features.importers.imported_case import case_in
from adjudge.features.importers.importing import import_file
from adjudge.features.playground.case_files import files_of
from adjudge.runs.exporters.export import export
from adjudge.runs.folder import run_info
from support.exported import judgments
from support.importing import imported

OPTIONS = [
    {"name": "Yes", "description": "It is.", "score": 1.0},
    {"name": "No", "description": "", "score": 0.0},
]
DIRECT = {
    "name": "tone",
    "description": "Is it kind?",
    "options": OPTIONS,
    "predictionField": "reply",
    "contextFields": ["question"],
}
PAIRWISE = {
    "name": "better",
    "description": "Which is kinder?",
    "predictionField": "reply",
    "contextFields": ["question"],
}
JUDGE = {
    "name": "eval_assist",
    "params": {"check_positional_bias": True, "self_consistency": 1, "generate_feedback": True},
}
EVALUATOR = {"name": "Llama-3.3-70B", "type": "direct", "provider": "watsonx"}


def instance(id: str, **more: Any) -> dict[str, Any]:
    found = {
        "id": id,
        "contextVariables": [{"name": "question", "value": f"q{id}"}],
        "expectedResult": "",
        "result": None,
    }
    return {**found, **more}


def direct_result(option: str, **more: Any) -> dict[str, Any]:
    own = {
        "selectedOption": option,
        "explanation": "so",
        "feedback": "be kinder",
        "score": float(option == "Yes"),
    }
    return {
        **own,
        "positionalBias": None,
        "metadata": {"generation_failed": False, "prompt": "p"},
        **more,
    }


def direct() -> dict[str, Any]:
    bias = {"detected": True, "result": direct_result("No")}
    rows = [
        instance(
            "1",
            response="r1",
            expectedResult="No",
            result=direct_result("Yes", positionalBias=bias),
        ),
        instance("2", response="r2", metadata={"synthetic_generation": {"persona": "x"}}),
    ]
    return whole("direct", rows, DIRECT, [instance("e1", response="e", expectedResult="Yes")])


def pairwise() -> dict[str, Any]:
    systems = [
        {
            "contestResults": [won],
            "positionalBias": [False],
            "winrate": won,
            "ranking": 2 - won,
            "comparedTo": ["x"],
            "explanations": ["y"],
        }
        for won in (0, 1)
    ]
    result = {
        "perSystemResults": systems,
        "selectedOption": 1,
        "explanation": "so",
        "positionalBias": None,
    }
    rows = [
        instance("1", responses=["a\n\nx", "b"], expectedResult=0),
        instance("2", responses=["c", "d"], expectedResult="tie", result=result),
    ]
    return whole(
        "pairwise", rows, PAIRWISE, [instance("e1", responses=["e", "f"], expectedResult=1)]
    )


def whole(
    kind: str, rows: list[dict[str, Any]], criteria: dict[str, Any], examples: list[dict[str, Any]]
) -> dict[str, Any]:
    content = {
        "instances": rows,
        "evaluator": {**EVALUATOR, "type": kind},
        "criteria": criteria,
        "type": kind,
        "pipeline": {**EVALUATOR, "type": kind},
        "syntheticGenerationConfig": {"task": None, "borderlineCount": 2},
        "contentFormatVersion": 2,
        "examples": examples,
        "judge": JUDGE,
    }
    return {"name": "My case", "content": json.dumps(content), "user_id": -1, "id": -1}


def content_of(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.loads(path.read_text(encoding="utf-8"))["content"])
    return found


@pytest.mark.parametrize("case", [direct(), pairwise()], ids=["direct", "pairwise"])
def test_a_test_case_of_today_comes_back_as_it_was(tmp_path: Path, case: dict[str, Any]) -> None:
    found = imported(tmp_path, case)
    assert found.report.version == "content version 2"
    export(found.folder, tmp_path / "out.json", "evalassist")
    assert content_of(tmp_path / "out.json") == json.loads(case["content"])
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["name"] == "My case"


def test_its_examples_its_field_and_its_judge_are_there(tmp_path: Path) -> None:
    found = imported(tmp_path, direct())
    (configuration,) = run_info(found.folder).judge_configurations.values()
    (criteria,) = configuration.criteria
    assert criteria["to_evaluate_field"] == "reply"
    assert criteria["context_fields"] == ["question"]
    assert [(one["fields"], one["option"]) for one in objects_in(criteria["examples"])] == [
        ({"question": "qe1", "reply": "e"}, "Yes")
    ]
    assert configuration.settings["judge"] == JUDGE
    assert found.rows[0]["fields"] == {"question": "q1", "reply": "r1"}
    assert (found.rows[0]["feedback"], found.rows[0]["positional_bias"]["detected"]) == (
        "be kinder",
        True,
    )


def test_a_comparison_without_a_result_stays_one_with_its_responses_apart(tmp_path: Path) -> None:
    case = pairwise()
    content = json.loads(case["content"])
    found = imported(
        tmp_path,
        {**case, "content": json.dumps({**content, "instances": content["instances"][:1]})},
    )
    (row,) = found.rows
    assert (row["selected_option"], row["reason"]) == (None, "no verdict is recorded for this row")
    assert row["fields"]["reply"] == ["a\n\nx", "b"]
    assert found.answers == [0]
    export(found.folder, tmp_path / "out.json", "evalassist")
    out = content_of(tmp_path / "out.json")
    assert (out["type"], out["instances"][0]["responses"]) == ("pairwise", ["a\n\nx", "b"])


def test_an_option_that_was_drawn_because_nothing_could_be_read_is_no_verdict(
    tmp_path: Path,
) -> None:
    """EvalAssist chooses a random option when its repairs fail."""
    failed = {
        "generation_failed": True,
        "final_fallback_chosen": {"selected_option": "Yes"},
        "unparsed_response": "Hm.",
    }
    case = whole(
        "direct",
        [instance("1", response="r", result=direct_result("Yes", metadata=failed))],
        DIRECT,
        [],
    )
    found = imported(tmp_path, case)
    assert (found.verdicts, found.outcomes) == ([None], {"unreadable": 1})
    assert found.rows[0]["votes"][0]["text"] == "Hm."
    export(found.folder, tmp_path / "out.json", "evalassist")
    assert content_of(tmp_path / "out.json") == json.loads(case["content"])


def test_an_option_that_the_criteria_do_not_have_is_unreadable(tmp_path: Path) -> None:
    rows = [
        instance("1", response="r", result=direct_result("Perhaps")),
        instance("2", response="s", result=direct_result("No")),
    ]
    found = imported(tmp_path, whole("direct", rows, DIRECT, []))
    assert (found.verdicts, found.outcomes) == ([None, "No"], {"unreadable": 1, "ok": 1})


def test_a_later_version_is_refused(tmp_path: Path) -> None:
    case = direct()
    later = {**json.loads(case["content"]), "contentFormatVersion": 3}
    with pytest.raises(Exception, match="content version 3; versions up to 2 can be read"):
        imported(tmp_path, {**case, "content": json.dumps(later)})


def test_a_run_of_ours_goes_there_and_comes_back(tmp_path: Path) -> None:
    criteria = Criteria(
        "tone",
        "Is it kind?",
        [CriteriaOption("Yes", "It is.", 1.0), CriteriaOption("No", "", 0.0)],
        to_evaluate_field="reply",
        examples=[
            CriteriaExample({"reply": "Go away.", "contexts": ["a", "b"]}, "No", "It is rude.")
        ],
        higher_is_better=False,
    )
    model = ScriptedModel(
        ['{"explanation": "so", "selected_option": "Yes", "feedback": "more"}'], name="m"
    )
    row = Instance({"contexts": ["one\n\ntwo", "three"], "reply": "r"}, id="1")
    DirectJudge(model, generate_feedback=True).evaluate([row], criteria, run=tmp_path / "run")
    export(tmp_path / "run", tmp_path / "out.json", "evalassist")
    out = content_of(tmp_path / "out.json")
    assert (out["contentFormatVersion"], out["type"], out["judge"]["name"]) == (
        2,
        "direct",
        "eval_assist",
    )
    assert out["examples"][0]["expectedResult"] == "No"
    assert out["instances"][0]["contextVariables"] == [
        {"name": "contexts", "value": "one\n\ntwo\n\nthree"}
    ]
    import_file(tmp_path / "out.json", tmp_path / "again")
    (before,), (after,) = judgments(tmp_path / "run"), judgments(tmp_path / "again")
    for name in ("fields", "option", "score", "explanation", "feedback"):
        assert after[name] == before[name], name
    (configuration,) = run_info(tmp_path / "again").judge_configurations.values()
    (asked,) = configuration.criteria
    assert asked["examples"] == [
        {
            "fields": {"reply": "Go away.", "contexts": ["a", "b"]},
            "option": "No",
            "explanation": "It is rude.",
        }
    ]
    assert (asked["higher_is_better"], asked["to_evaluate_field"]) == (False, "reply")
    export(tmp_path / "again", tmp_path / "second.json", "evalassist")
    assert content_of(tmp_path / "second.json") == out


def test_a_comparison_of_ours_goes_there_and_comes_back(tmp_path: Path) -> None:
    reply = '{"explanation": "so", "selected_option": "B"}'
    rows = [["a", "b\n\nc"], ["d", "e"]]
    PairwiseJudge(ScriptedModel([reply, "nothing"], name="m"), max_repairs=0).evaluate(
        rows, "Which is better?", run=tmp_path / "run"
    )
    export(tmp_path / "run", tmp_path / "out.json", "evalassist")
    import_file(tmp_path / "out.json", tmp_path / "again")
    before, after = list(judgments(tmp_path / "run")), list(judgments(tmp_path / "again"))
    assert [(row["selected_option"], row["fields"]) for row in after] == [
        (row["selected_option"], row["fields"]) for row in before
    ]


@pytest.mark.parametrize("case", [direct(), pairwise()], ids=["direct", "pairwise"])
def test_a_test_case_of_the_page_keeps_examples_and_settings(
    tmp_path: Path, case: dict[str, Any]
) -> None:
    (tmp_path / "in.json").write_text(json.dumps(case), encoding="utf-8")
    brought = case_in(tmp_path / "in.json", 100)
    assert len(brought.criteria.examples) == 1
    assert brought.settings.check_positional_bias is True
    assert (brought.settings.feedback, brought.criteria.to_evaluate_field) == (
        not brought.compares,
        "reply",
    )
    ((_, text),) = files_of(brought, "again", "evalassist").items()
    (tmp_path / "again.json").write_text(text, encoding="utf-8")
    assert content_of(tmp_path / "again.json")["contentFormatVersion"] == 2
    assert case_in(tmp_path / "again.json", 100) == brought


def test_both_orders_of_a_comparison_of_ours_come_back(tmp_path: Path) -> None:
    model = ScriptedModel(['{"explanation": "so", "selected_option": "A"}'], name="m")
    PairwiseJudge(model, check_positional_bias=True).evaluate(
        [["a", "b"]], "Which is better?", run=tmp_path / "run"
    )
    export(tmp_path / "run", tmp_path / "out.json", "evalassist")
    (row,) = content_of(tmp_path / "out.json")["instances"]
    assert (
        row["result"]["selectedOption"],
        row["result"]["positionalBias"]["result"]["selectedOption"],
    ) == (0, 1)
    import_file(tmp_path / "out.json", tmp_path / "again")
    (before,), (after,) = judgments(tmp_path / "run"), judgments(tmp_path / "again")
    assert (after["selected_option"], after["positional_bias"]) == (
        before["selected_option"],
        before["positional_bias"],
    )


def of_three(won: list[list[object]], **more: Any) -> dict[str, Any]:
    """A result as EvalAssist writes it: a list of contests for each response."""
    others = [[1, 2], [0, 2], [0, 1]]
    systems = [
        {
            "contestResults": results,
            "comparedTo": others[place],
            "explanations": ["", ""],
            "positionalBias": [False, False],
            "winrate": 0.5,
            "ranking": 0,
        }
        for place, results in enumerate(won)
    ]
    result = {"perSystemResults": systems, "selectedOption": 0, "explanation": "so", **more}
    return {**result, "positionalBias": None}


def rates(row: dict[str, Any]) -> list[float]:
    return [system["winrate"] for system in row["per_system_results"]]


def test_each_contest_of_three_responses_is_read(tmp_path: Path) -> None:
    """All losers tied with each other."""
    rows = [
        instance("1", responses=["a", "b", "c"], result=of_three([[1, 1], [0, 1], [0, 0]])),
        instance(
            "2", responses=["a", "b", "c"], result=of_three([["tie", True], ["tie", 1], [0, False]])
        ),
    ]
    found = imported(tmp_path, whole("pairwise", rows, PAIRWISE, []))
    assert [rates(row) for row in found.rows] == [[1.0, 0.5, 0.0], [0.75, 0.75, 0.0]]
    assert found.verdicts == [0, "tie"]
    assert not any("names only the best" in note for note in found.report.notes)


def test_losers_whose_contests_are_not_known_are_counted(tmp_path: Path) -> None:
    contradictory = of_three([[1, 1], [0, 1], [0, 1]])
    bare = {"selectedOption": 2, "explanation": "so", "positionalBias": None}
    rows = [
        instance(str(place), responses=["a", "b", "c"], result=result)
        for place, result in enumerate([contradictory, bare])
    ]
    found = imported(tmp_path, whole("pairwise", rows, PAIRWISE, []))
    assert [rates(row) for row in found.rows] == [[1.0, 0.25, 0.25], [0.25, 0.25, 1.0]]
    assert (
        "2 comparisons of three or more responses name only the best: the others count as tied "
        "with each other"
    ) in found.report.notes


def test_a_panel_in_both_orders_comes_back(tmp_path: Path) -> None:
    """Its pooled outcome does not follow from one vote in each order."""

    def model(*answers: str) -> Any:
        def reply(prompt: str) -> str:
            first = prompt.rindex("text a") < prompt.rindex("text b")
            return json.dumps({"selected_option": answers[0 if first else 1]})

        return reply

    models = [model("A", "A"), model("A", "B"), model("A", "B")]
    judge = PairwiseJudge(models, check_positional_bias=True)
    judge.evaluate([["text a", "text b"]], "Which is better?", run=tmp_path / "run")
    export(tmp_path / "run", tmp_path / "out.json", "evalassist")
    import_file(tmp_path / "out.json", tmp_path / "again")
    (before,), (after,) = judgments(tmp_path / "run"), judgments(tmp_path / "again")
    assert rates(after) == rates(before) == [1.0, 0.0]
