"""What a number means in a file of another tool: its direction, its threshold, and whether it is a
judgment at all.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adjudge.runs.folder import run_info
from support.commands import adjudge
from support.importing import Imported, imported


def deepeval(*metrics: dict[str, Any]) -> dict[str, Any]:
    cases = [
        {"name": f"case {place}", "input": "q", "actualOutput": f"a{place}", "metricsData": [one]}
        for place, one in enumerate(metrics)
    ]
    return {"testCases": cases, "metricsScores": []}


def metric(
    score: float | None,
    success: bool | None,
    name: str = "Hallucination",
    threshold: float | None = 0.5,
) -> dict[str, Any]:
    found = {"name": name, "score": score, "success": success, "threshold": threshold}
    return {key: value for key, value in found.items() if value is not None}


def test_less_hallucination_by_deepeval_is_better(tmp_path: Path) -> None:
    for name, score in (("before", 0.764), ("after", 0.247)):
        passed = score <= 0.5
        scores = [score - 0.01, score, score + 0.01] * 10
        imported(tmp_path / name, deepeval(*(metric(one, passed) for one in scores)))
    said = adjudge("runs", "diff", "before/run", "after/run", cwd=tmp_path).stdout
    assert "after/run scores higher" in said
    assert "worse" not in said


def test_a_score_of_which_less_is_better_is_turned_round_and_kept_as_it_was(tmp_path: Path) -> None:
    found = imported(tmp_path, deepeval(metric(0.25, True), metric(0.75, False)))
    assert [(row["option"], row["score"]) for row in found.rows] == [("PASS", 0.75), ("FAIL", 0.25)]
    assert found.rows[0]["votes"][0]["metadata"]["recorded_score"] == 0.25
    assert any("Hallucination" in note and "less is better" in note for note in found.report.notes)


def test_the_verdicts_of_a_metric_tell_its_direction_whatever_its_name(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        deepeval(
            metric(0.2, True, "Rudeness"),
            metric(0.9, False, "Rudeness"),
            metric(0.5, True, "Rudeness"),
        ),
    )
    assert [row["score"] for row in found.rows] == pytest.approx([0.8, 0.1, 0.5])
    found = imported(
        tmp_path / "more", deepeval(metric(0.9, True, "Bias"), metric(0.2, False, "Bias"))
    )
    assert [row["score"] for row in found.rows] == [0.9, 0.2]


def test_a_metric_without_a_threshold_has_a_number_and_no_verdict(tmp_path: Path) -> None:
    found = imported(
        tmp_path, deepeval(metric(0.4, None, "Tone", None), metric(0.9, None, "Tone", None))
    )
    assert [(row.get("option"), row["score"]) for row in found.rows] == [(None, 0.4), (None, 0.9)]
    turned = imported(tmp_path / "less", deepeval(metric(0.25, None, "Toxicity", None)))
    assert [row["score"] for row in turned.rows] == [0.75]


def test_a_threshold_without_a_verdict_is_read_by_the_direction_of_the_metric(
    tmp_path: Path,
) -> None:
    found = imported(
        tmp_path,
        deepeval(
            metric(0.2, None, "Toxicity"), metric(0.7, None, "Toxicity"), metric(0.7, None, "Tone")
        ),
    )
    assert [(row["criteria"], row["option"]) for row in found.rows] == [
        ("Tone", "PASS"),
        ("Toxicity", "PASS"),
        ("Toxicity", "FAIL"),
    ]


# -- Ragas -----------------------------------------------------------------------------


def test_a_ragas_metric_that_failed_on_every_row_is_there_with_its_failures(tmp_path: Path) -> None:
    table = "user_input,response,faithfulness,answer_relevancy,remark\nQ1,A1,,0.5,\nQ2,A2,,0.75,\n"
    found = imported(tmp_path, table, name="result.csv")
    assert dict(found.report.tally.judges) == {"faithfulness": 2, "answer_relevancy": 2}
    assert found.outcomes == {"model_error": 2, "ok": 2}
    assert found.report.left == {"column 'remark', which is empty in every row": 1}


def test_a_cell_of_a_ragas_metric_that_is_no_number_does_not_take_the_metric_away(
    tmp_path: Path,
) -> None:
    table = "user_input,response,faithfulness,style\nQ1,A1,0.5,1\nQ2,A2,TimeoutError(),n/a\n"
    found = imported(tmp_path, table, name="result.csv")
    assert found.verdicts == [0.5, None]
    assert found.rows[1]["votes"][0]["reason"] == "'TimeoutError()' is not a number"
    assert found.report.left == {"column 'style', which contains both numbers and other values": 1}


def test_latency_and_cost_in_a_table_of_ragas_are_no_judges(tmp_path: Path) -> None:
    names = (
        "faithfulness",
        "latency_ms",
        "total_cost",
        "tokens",
        "response_time",
        "numTokens",
        "price_usd",
        "duration",
    )
    table = f"user_input,response,{','.join(names)}\nQ1,A1{',0.5' * len(names)}\n"
    found = imported(tmp_path, table, name="result.csv")
    assert list(found.report.tally.judges) == ["faithfulness"]
    assert found.report.left["column 'latency_ms', which records time or cost, not quality"] == 1
    assert found.rows[0]["input"]["total_cost"] == "0.5"


def test_noise_sensitivity_of_ragas_is_better_the_less_there_is(tmp_path: Path) -> None:
    table = "user_input,response,noise_sensitivity(mode=relevant)\nQ1,A1,0.25\n"
    found = imported(tmp_path, table, name="result.csv")
    assert found.verdicts == [0.75]
    assert any("less is better" in note for note in found.report.notes)


def test_words_of_ragas_that_pass_or_fail_are_verdicts(tmp_path: Path) -> None:
    table = "user_input,response,my_metric\nQ1,A1,pass\nQ2,A2,fail\nQ3,A3,\n"
    found = imported(tmp_path, table, name="result.csv")
    assert (found.verdicts, found.outcomes) == (["PASS", "FAIL", None], {"ok": 2, "model_error": 1})


def annotation(
    place: int, judge: int, edited: int | None, accepted: bool, output: float | None = None
) -> dict[str, Any]:
    prompt = {
        "prompt_output": {"verdict": judge, "reason": "the judge's"},
        "edited_output": None if edited is None else {"verdict": edited, "reason": "the person's"},
    }
    result = output if output is not None else judge if edited is None else edited
    about = {"user_input": "q", "response": f"a{place}"}
    return {
        "metric_input": about,
        "metric_output": result,
        "prompts": {"p": prompt},
        "is_accepted": accepted,
    }


def test_a_persons_edit_in_ragas_annotations_is_not_the_judges_verdict(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        {
            "helpful": [
                annotation(1, 1, 0, True),
                annotation(2, 0, 1, True),
                annotation(3, 1, None, False),
            ]
        },
    )
    assert found.verdicts == ["PASS", "FAIL", "PASS"]
    assert {label.id: label.answer for label in found.labels} == {
        "helpful 1": "FAIL",
        "helpful 2": "PASS",
        "helpful 3": "FAIL",
    }
    assert found.rows[0]["explanation"] == "the judge's"


def test_the_judges_own_number_of_an_edited_ragas_metric_is_not_known(tmp_path: Path) -> None:
    prompts = {
        "one": {"prompt_output": {"statements": []}, "edited_output": {"statements": ["x"]}},
        "two": {},
    }
    about = {"metric_input": {"response": "a"}, "prompts": prompts, "is_accepted": True}
    found = imported(tmp_path, {"faithfulness": [{**about, "metric_output": 0.5}]})
    assert (found.verdicts, found.answers) == ([None], [0.5])
    assert "edited" in found.rows[0]["votes"][0]["reason"]


# -- promptfoo --------------------------------------------------------------------------


def test_an_output_of_promptfoo_without_assertions_did_not_pass(tmp_path: Path) -> None:
    table = (
        "topic,[echo] p,Status,Score,Named Scores,Grader Reason,Comment\n"
        'bees,out,PASS,1.00,"{}",No assertions,\n'
        'ants,out,PASS,1.00,"{}",All assertions passed,\n'
    )
    found = imported(tmp_path, table, name="result.csv")
    assert (found.verdicts, found.report.tally.unjudged) == ([None, "PASS"], 1)
    assert found.outcomes == {"ok": 1}


# -- who judged --------------------------------------------------------------------------


def test_judges_that_no_file_names_are_not_one_judge(tmp_path: Path) -> None:
    tables = [f"user_input,response,faithfulness\nQ1,A1,{score}\n" for score in (0.5, 0.6)]
    one, two = (
        imported(tmp_path / str(place), table, name="r.csv") for place, table in enumerate(tables)
    )
    again = imported(tmp_path / "again", tables[0], name="r.csv")
    assert identity(one) != identity(two)
    assert identity(one) == identity(again)


def test_a_judge_that_files_name_is_the_same_in_all_of_them(tmp_path: Path) -> None:
    found = []
    for place, score in enumerate((0.8, 0.9)):
        named = {**metric(score, True, "Tone"), "evaluationModel": "gpt-4o"}
        found.append(imported(tmp_path / str(place), deepeval(named)))
    assert identity(found[0]) == identity(found[1])


def identity(run: Imported) -> str:
    (found,) = run_info(run.folder).identities.values()
    return found
