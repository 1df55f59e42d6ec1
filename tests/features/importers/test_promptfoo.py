"""promptfoo's results: whose verdict is whose, and what is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adjudge.errors import RunError
from adjudge.runs.exporters.inspect import to_inspect
from adjudge.runs.exporters.promptfoo import to_promptfoo
from adjudge.runs.exporters.scores import to_langfuse, to_phoenix
from adjudge.runs.results.run_report import report_of_run
from support.importing import imported

RUBRIC = {"type": "llm-rubric", "value": "is polite", "provider": "openai:gpt-5"}


def part(passed: bool = True, **more: Any) -> dict[str, Any]:
    return {
        "pass": passed,
        "score": float(passed),
        "reason": "because",
        "assertion": RUBRIC,
        **more,
    }


def result(*parts: dict[str, Any], **more: Any) -> dict[str, Any]:
    passed = all(one["pass"] for one in parts)
    return {
        "promptIdx": 0,
        "testIdx": 0,
        "provider": {"id": "echo"},
        "vars": {"question": "How are you?"},
        "response": {"output": "Fine, thank you."},
        "success": passed,
        "score": float(passed),
        "failureReason": int(not passed),
        "gradingResult": {
            "pass": passed,
            "score": float(passed),
            "reason": "",
            "componentResults": list(parts),
        },
        **more,
    }


def v3(*results: dict[str, Any], version: int = 3) -> dict[str, Any]:
    return {
        "evalId": "e",
        "results": {"version": version, "timestamp": "", "prompts": [], "results": list(results)},
        "config": {},
    }


def test_a_component_is_a_judgment_of_its_assertion(tmp_path: Path) -> None:
    found = imported(tmp_path, v3(result(part(True)), result(part(False), testIdx=1)))
    assert found.verdicts == ["PASS", "FAIL"]
    (row, _) = found.rows
    assert row["judge"] == "llm-rubric (openai:gpt-5)"
    assert row["criteria"] == "is polite"
    assert row["fields"] == {"question": "How are you?", "response": "Fine, thank you."}
    assert row["id"] == "0-0"


@pytest.mark.parametrize("shape", ["v3", "v2", "old", "lines"])
def test_every_shape_of_the_file_gives_the_same(tmp_path: Path, shape: str) -> None:
    results = [result(part(True)), result(part(False), testIdx=1)]
    table = {
        "head": {"prompts": [], "vars": []},
        "body": [{"outputs": [{"pass": True, "text": "[[[{"}]}],
    }
    old = {"version": 2, "timestamp": "", "table": table, "results": results, "stats": {}}
    documents: dict[str, Any] = {
        "v3": v3(*results),
        "v2": {"results": old, "config": {}},
        "old": old,
        "lines": results,
    }
    found = imported(tmp_path, documents[shape], lines=shape == "lines")
    assert found.report.kind == "promptfoo"
    assert found.verdicts == ["PASS", "FAIL"]


def test_a_single_line_of_jsonl_is_read(tmp_path: Path) -> None:
    assert imported(tmp_path, [result(part(True))], lines=True).verdicts == ["PASS"]


def test_a_grader_that_failed_is_a_failed_vote_and_no_fail(tmp_path: Path) -> None:
    broken = part(False, reason="API error: 500", metadata={"graderError": True})
    unread = part(False, reason="Could not extract JSON from llm-rubric response")
    errored = result(part(False), testIdx=2, failureReason=2, error="the provider is down")
    found = imported(tmp_path, v3(result(broken), result(unread, testIdx=1), errored))
    assert found.verdicts == [None, None, None]
    assert found.outcomes == {"model_error": 2, "unreadable": 1}
    assert {row["score"] for row in found.rows} == {None}


def test_an_error_before_grading_is_a_failed_vote_of_the_assertion(tmp_path: Path) -> None:
    errored = result(
        failureReason=2,
        success=False,
        score=0,
        error="timeout",
        gradingResult=None,
        testCase={"assert": [RUBRIC]},
    )
    found = imported(tmp_path, v3(errored))
    assert found.outcomes == {"model_error": 1}
    assert found.rows[0]["reason"] == "timeout"


def test_a_persons_rating_is_a_label_and_the_judges_verdict_is_recovered(tmp_path: Path) -> None:
    human = {
        "pass": False,
        "score": 0,
        "reason": "Manual result",
        "comment": "!highlight rude",
        "assertion": {"type": "human"},
    }
    overridden = result(part(True), human, success=False, score=0)
    found = imported(tmp_path, v3(overridden))
    assert found.verdicts == ["PASS"]
    assert found.rows[0]["score"] == 1.0
    (label,) = found.labels
    assert (label.answer, label.criteria, label.note, label.judge_visible) == (
        "FAIL",
        "is polite",
        "rude",
        True,
    )


def test_a_rating_of_several_assertions_is_about_all_of_them(tmp_path: Path) -> None:
    human = {"pass": False, "score": 0, "reason": "Manual result", "assertion": {"type": "human"}}
    code = part(True, assertion={"type": "contains", "value": "thank"})
    found = imported(tmp_path, v3(result(part(True), code, human)))
    assert {row["judge"]: row["option"] for row in found.rows} == {
        "llm-rubric (openai:gpt-5)": "PASS",
        "contains (code)": "PASS",
        "all assertions": "PASS",
    }
    assert [(label.criteria, label.answer) for label in found.labels] == [("overall", "FAIL")]
    assert found.report.left == {}


def test_plain_assertions_and_the_overall_verdict_are_kept(tmp_path: Path) -> None:
    code = {"type": "contains", "value": "thank"}
    script = {"type": "javascript", "value": "output.length < 9", "metric": "short"}
    half = result(
        part(True, assertion=code), part(False, assertion=script), success=True, score=0.5
    )
    found = imported(tmp_path, v3(half, result(part(False), testIdx=1)))
    assert {(row["id"], row["criteria"]): row["option"] for row in found.rows} == {
        ("0-0", "contains: thank"): "PASS",
        ("0-0", "short"): "FAIL",
        ("0-0", "overall"): "PASS",  # it passed by its threshold
        ("1-0", "is polite"): "FAIL",
        ("1-0", "overall"): "FAIL",
    }
    assert found.report.left == {}


@pytest.mark.parametrize("graded", [True, False])
def test_an_output_that_does_not_exist_is_not_judged_as_an_empty_one(
    tmp_path: Path, graded: bool
) -> None:
    absent = {"type": "not-contains", "value": "sorry"}
    failed = result(
        part(True, assertion=absent),
        success=False,
        failureReason=2,
        error="429 Too Many Requests",
        response={"error": "429 Too Many Requests"},
        testCase={"assert": [absent, {"type": "assert-set", "assert": [RUBRIC]}]},
    )
    if not graded:
        failed["gradingResult"] = None
    found = imported(tmp_path, v3(failed))
    assert {row["criteria"]: row["option"] for row in found.rows} == {
        "not-contains: sorry": None,
        "is polite": None,
        "overall": None,
    }
    assert found.outcomes == {"model_error": 3}
    assert {row["reason"] for row in found.rows} == {
        "the provider call failed: 429 Too Many Requests"
    }


def test_a_negated_assertion_is_turned_round(tmp_path: Path) -> None:
    found = imported(
        tmp_path, v3(result(part(True, assertion={**RUBRIC, "type": "not-llm-rubric"})))
    )
    assert found.verdicts == ["FAIL"]
    assert "inverted" in found.report.notes[0]


def test_the_default_grader_is_found_behind_the_results(tmp_path: Path) -> None:
    document = v3(result(part(True, assertion={"type": "llm-rubric", "value": "is polite"})))
    document["config"] = {
        "tests": [{"deep": [1, {"a": '"]}'}]}],
        "defaultTest": {"options": {"provider": {"id": "azure:x"}}},
    }
    assert imported(tmp_path, document).rows[0]["votes"][0]["model"] == "azure:x"


def test_unknown_fields_are_kept(tmp_path: Path) -> None:
    found = imported(tmp_path, v3(result(part(True, novel={"a": 1}), brandNew=[1, 2])))
    assert found.rows[0]["input"]["brandNew"] == [1, 2]
    assert found.rows[0]["votes"][0]["metadata"]["novel"] == {"a": 1}


def test_a_later_version_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="results of version 4; promptfoo's versions 2 and 3"):
        imported(tmp_path, v3(result(part(True)), version=4))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file.json"]


def test_the_table_has_a_group_of_columns_for_each_prompt(tmp_path: Path) -> None:
    header = (
        "question,[echo] one,Status,Score,Grader Reason,Comment,[echo] two,Status,Score,Grader "
        "Reason,Comment\n"
    )
    row = "Why?,'=1+1,PASS,1.0,good,,Because.,ERROR,0,API error: 500,\n"
    manual = (
        'What?,That.,FAIL,0,"Manual result (overrides all other grading '
        'results)",bad,This.,FAIL,0,weak,\n'
    )
    found = imported(tmp_path, header + row + manual, name="out.csv")
    assert found.verdicts == ["PASS", None, None, "FAIL"]
    assert found.outcomes == {"ok": 2, "model_error": 1}
    assert found.rows[0]["fields"]["response"] == "=1+1"
    assert [(label.answer, label.note) for label in found.labels] == [("FAIL", "bad")]


def means(folder: Path) -> dict[str, tuple[int, float | None]]:
    """System → its rows and their mean."""
    sections = report_of_run(folder).sections
    return {one.system: (one.summary.attempted, one.summary.mean) for one in sections}


def test_providers_are_systems_of_their_own_also_after_an_export(tmp_path: Path) -> None:
    """Two providers of which one is good and one is bad had one mean of 0.500 over 20 rows."""
    outputs = [
        result(
            part(place == 0),
            testIdx=test,
            promptIdx=place,
            provider={"id": f"openai:gpt-{place}"},
            prompt={"raw": "{{question}}", "label": "{{question}}"},
            response={"output": f"answer {test} of {place}"},
        )
        for test in range(10)
        for place in range(2)
    ]
    found = imported(tmp_path, v3(*outputs))
    expected = {"openai:gpt-0": (10, 1.0), "openai:gpt-1": (10, 0.0)}
    assert means(found.folder) == expected
    assert [one.sentence for one in report_of_run(found.folder).differences]
    for name, write in (("promptfoo", to_promptfoo), ("inspect", to_inspect)):
        write(found.folder, tmp_path / f"{name}.json")
        again = imported(tmp_path / name, (tmp_path / f"{name}.json").read_text("utf-8"))
        assert means(again.folder) == expected
    for name, export in (("langfuse", to_langfuse), ("phoenix", to_phoenix)):
        export(found.folder, tmp_path / f"{name}.json")
        metadata = json.loads((tmp_path / f"{name}.json").read_text("utf-8"))["data"]
        assert {one["metadata"]["system"] for one in metadata} == set(expected)


def test_prompts_of_one_provider_are_systems_too(tmp_path: Path) -> None:
    outputs = [
        result(part(), promptIdx=place, prompt={"raw": f"Prompt {place}: {{{{question}}}}"})
        for place in range(2)
    ]
    assert set(means(imported(tmp_path, v3(*outputs)).folder)) == {
        "Prompt 0: {{question}}",
        "Prompt 1: {{question}}",
    }


def test_columns_of_a_table_are_systems(tmp_path: Path) -> None:
    table = (
        "question,[openai:a] Say it,Status,Score,[openai:b] Say it,Status (2),Score (2)\n"
        "Q,one,PASS,1,two,FAIL,0\n"
    )
    found = imported(tmp_path, table, name="table.csv")
    assert means(found.folder) == {"[openai:a] Say it": (1, 1.0), "[openai:b] Say it": (1, 0.0)}
