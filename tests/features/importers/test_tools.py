"""Files of other evaluation tools and platforms: each failure stays a failure, each person's mark
becomes a label.
"""

from __future__ import annotations

import json
import math
import zipfile
from pathlib import Path
from typing import Any

import pytest

from adjudge.errors import RunError, SetupError
from support.importing import SAMPLES, imported, imported_path

# -- Inspect -------------------------------------------------------------------------


def test_inspect_gives_three_grades_and_one_that_cannot_be_read(tmp_path: Path) -> None:
    found = imported_path(SAMPLES / "inspect_0.3.285.json", tmp_path / "run")
    assert found.verdicts == ["C", None, "I", "C"]
    assert found.outcomes == {"ok": 3, "unreadable": 1}
    assert [row["id"] for row in found.rows] == ["a", "b", "a (epoch 2)", "b (epoch 2)"]
    vote = found.rows[0]["votes"][0]
    assert (vote["model"], vote["text"]) == ("mockllm/model", "It is right.\nGRADE: C")
    assert "[Submission]: Default output" in vote["metadata"]["prompt"]


def inspect_archive(path: Path, **entries: str) -> Path:
    """The sample log as an archive that needs no zstd."""
    log = json.loads((SAMPLES / "inspect_0.3.285.json").read_text())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "header.json",
            json.dumps({name: value for name, value in log.items() if name != "samples"}),
        )
        for sample in log["samples"]:
            archive.writestr(
                f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample)
            )
        for name, content in entries.items():
            archive.writestr(name, content)
    return path


def test_an_inspect_archive_gives_the_same_as_its_json(tmp_path: Path) -> None:
    assert imported_path(inspect_archive(tmp_path / "log.eval"), tmp_path / "run").verdicts == [
        "C",
        None,
        "I",
        "C",
    ]


def test_an_archive_packed_with_zstd_is_read_or_names_the_extra(tmp_path: Path) -> None:
    path = SAMPLES / "inspect_0.3.285.eval"
    try:
        import backports.zstd  # type: ignore[import-not-found,unused-ignore]  # noqa: F401
    except ImportError:
        with pytest.raises(SetupError, match=r"adjudge\[inspect\].*inspect log convert"):
            imported_path(path, tmp_path / "run")
    else:
        assert imported_path(path, tmp_path / "run").verdicts == ["C", None, "I", "C"]


def inspect_log(**score: Any) -> dict[str, Any]:
    sample = {
        "id": 1,
        "epoch": 1,
        "input": "2+2?",
        "target": "4",
        "output": {"completion": "4"},
        "scores": {"judge": score},
    }
    return {
        "version": 2,
        "status": "success",
        "eval": {"scorers": [{"name": "judge"}]},
        "samples": [sample],
    }


def test_an_edited_score_of_inspect_is_a_label_on_the_judges_own(tmp_path: Path) -> None:
    edit = {
        "value": "I",
        "provenance": {
            "author": "ann",
            "reason": "wrong",
            "timestamp": "2026-01-01T00:00:00+00:00",
        },
    }
    found = imported(
        tmp_path, inspect_log(value="I", history=[{"value": "C", "provenance": None}, edit])
    )
    assert found.verdicts == ["C"]
    assert [(label.answer, label.annotator, label.note) for label in found.labels] == [
        ("I", "ann", "wrong")
    ]


def test_no_answer_is_an_option_of_its_own_in_inspect(tmp_path: Path) -> None:
    found = imported(tmp_path, inspect_log(value="N"))
    assert (found.verdicts, found.rows[0]["score"]) == (["N"], None)


def test_a_later_log_of_inspect_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="log of version 3"):
        imported(tmp_path, {**inspect_log(value="C"), "version": 3})


# -- DeepEval ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["deepeval_4.3.1_latest_run_full.json", "deepeval_4.3.1_latest_test_run.json"]
)
def test_deepeval_gives_one_pass_and_one_error(tmp_path: Path, name: str) -> None:
    found = imported_path(SAMPLES / name, tmp_path / "run")
    assert found.verdicts == ["PASS", None]
    assert found.outcomes == {"ok": 1, "model_error": 1}
    assert [row["score"] for row in found.rows] == [0.8, None]
    assert found.rows[1]["reason"] == "ValueError: judge down"


def test_a_deepeval_run_that_was_uploaded_says_so(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="only a link"):
        imported(tmp_path, {"testRunLink": "https://example.org"})


# -- Ragas and EvalAssist --------------------------------------------------------------


def test_an_empty_cell_of_ragas_is_a_failed_metric(tmp_path: Path) -> None:
    table = (
        "user_input,retrieved_contexts,response,faithfulness,note\nQ1,\"['a', "
        "'b']\",A1,,x\nQ2,[],A2,0.5,y\nQ3,[],A3,nan,z\n"
    )
    found = imported(tmp_path, table, name="result.csv")
    assert found.verdicts == [None, 0.5, None]
    assert found.outcomes == {"model_error": 2, "ok": 1}
    assert found.rows[0]["fields"]["retrieved_contexts"] == ["a", "b"]
    assert found.rows[0]["input"] == {"note": "x"}


def test_ragas_annotations_hold_the_judge_and_the_person(tmp_path: Path) -> None:
    def item(accepted: bool, edited: object = None) -> dict[str, Any]:
        prompt = {"prompt_output": {"verdict": 1, "reason": "fine"}, "edited_output": edited}
        about = {"user_input": "q", "response": f"a{accepted}{edited}"}
        return {
            "metric_input": about,
            "metric_output": 1,
            "prompts": {"p": prompt},
            "is_accepted": accepted,
        }

    found = imported(
        tmp_path,
        {"helpful": [item(True), item(False, {"verdict": 0, "reason": "no"}), item(False)]},
    )
    assert found.verdicts == ["PASS", "PASS", "PASS"]
    assert sorted(found.answers) == ["FAIL", "FAIL", "PASS"]


def test_an_evalassist_test_case_keeps_options_bias_and_expectations(tmp_path: Path) -> None:
    bias = {"detected": True, "result": {"selectedOption": "No", "explanation": "other"}}
    instances = [
        {
            "id": "1",
            "contextVariables": [{"name": "question", "value": "q"}],
            "expectedResult": "No",
            "response": "r",
            "result": {"selectedOption": "Yes", "explanation": "e", "positionalBias": bias},
        },
        {
            "id": "2",
            "contextVariables": [],
            "expectedResult": None,
            "response": "s",
            "result": None,
        },
    ]
    options = [
        {"name": "Yes", "description": "good", "score": 1},
        {"name": "No", "description": "bad", "score": 0},
    ]
    criteria = {"name": "tone", "description": "Is it kind?", "options": options}
    content = {
        "type": "direct",
        "instances": instances,
        "criteria": criteria,
        "evaluator": {"name": "granite"},
    }
    found = imported(
        tmp_path, {"name": "case", "content": json.dumps(content), "user_id": 1, "id": 1}
    )
    assert found.verdicts == ["Yes", None]
    assert found.rows[0]["positional_bias"]["detected"] is True
    assert found.rows[1]["reason"] == "no verdict is recorded for this row"
    assert [(label.answer, label.criteria) for label in found.labels] == [("No", "tone")]


# -- platforms -----------------------------------------------------------------------


def langfuse(
    source: str, value: object, kind: str = "NUMERIC", name: str = "quality", trace: str = "t1"
) -> dict[str, Any]:
    about = {"id": "x", "name": name, "value": value, "dataType": kind, "source": source}
    return {**about, "subject": {"kind": "trace", "id": trace}, "authorUserId": "ann"}


def test_langfuse_annotations_are_labels_on_what_the_judge_scored(tmp_path: Path) -> None:
    scores = [
        langfuse("EVAL", 0.9),
        langfuse("ANNOTATION", 0.2),
        langfuse("EVAL", "a text", "TEXT"),
    ]
    found = imported(tmp_path, {"data": scores, "meta": {}})
    assert (found.verdicts, found.answers) == ([0.9], [0.2])
    assert found.report.left == {"score of type TEXT, which is a text": 1}


def test_a_langfuse_trace_that_only_people_scored_is_a_row_without_a_verdict(
    tmp_path: Path,
) -> None:
    found = imported(
        tmp_path,
        [langfuse("EVAL", 1, "BOOLEAN"), langfuse("ANNOTATION", 0, "BOOLEAN", trace="t2")],
        lines=True,
    )
    assert set(found.verdicts) == {None, "PASS"}
    assert found.answers == ["FAIL"]


def test_langsmith_results_have_a_judgment_for_each_feedback(tmp_path: Path) -> None:
    table = (
        "inputs.question,outputs.answer,error,feedback.correct,feedback.tone,id\n"
        "q,a,,1,good,1\nq2,,boom,,,2\n"
    )
    found = imported(tmp_path, table, name="results.csv")
    assert {row["judge"]: row["status"] for row in found.rows if row["id"] == "2"} == {
        "correct": "failed",
        "tone": "failed",
    }
    assert found.verdicts == [1.0, None, "good", None]


def test_langsmith_corrections_are_labels(tmp_path: Path) -> None:
    judge = {"run_id": "r", "key": "ok", "score": 1, "feedback_source": {"type": "model"}}
    person = {
        "run_id": "r",
        "key": "ok",
        "score": 1,
        "correction": {"score": 0},
        "feedback_source": {"type": "app", "user_name": "ann"},
    }
    found = imported(tmp_path, [judge, person])
    assert (found.verdicts, [(label.answer, label.annotator) for label in found.labels]) == (
        [1.0],
        [(0.0, "ann")],
    )


def test_phoenix_annotations_by_kind_and_error(tmp_path: Path) -> None:
    def annotation(kind: str, label: str | None, error: str | None = None) -> dict[str, Any]:
        return {
            "name": "toxic",
            "annotator_kind": kind,
            "label": label,
            "score": None,
            "explanation": "",
            "error": error,
        }

    record = {
        "repetition_number": 1,
        "input": {"q": "x"},
        "reference_output": {"a": "y"},
        "output": "z",
        "error": None,
    }
    first = {
        **record,
        "example_id": "1",
        "annotations": [annotation("LLM", "no"), annotation("HUMAN", "yes")],
    }
    second = {
        **record,
        "example_id": "2",
        "output": "w",
        "annotations": [annotation("LLM", None, "timeout")],
    }
    found = imported(tmp_path, [first, second])
    assert (found.verdicts, found.answers) == (["no", None], ["yes"])
    assert found.rows[1]["reason"] == "timeout"


def test_phoenix_tables_are_read_like_their_json(tmp_path: Path) -> None:
    header = "example_id,input,output,annotation_ok_label,annotation_ok_score,annotation_ok_error\n"
    table = '1,"{""q"": ""x""}",y,good,1,\n2,{},z,,,boom\n'
    found = imported(tmp_path, header + table, name="phoenix.csv")
    assert found.verdicts == ["good", None]
    assert found.rows[0]["fields"] == {"q": "x", "response": "y"}


def test_braintrust_scores_sit_on_root_spans_and_null_is_no_zero(tmp_path: Path) -> None:
    root = {
        "id": "1",
        "span_id": "s",
        "root_span_id": "s",
        "is_root": True,
        "input": "q",
        "output": "a",
    }
    events = [
        {**root, "scores": {"Factuality": 0.6, "Style": None}},
        {
            "id": "2",
            "span_id": "c",
            "root_span_id": "s",
            "span_parents": ["s"],
            "span_attributes": {"name": "Factuality", "type": "score"},
            "metadata": {"rationale": "mostly"},
        },
    ]
    found = imported(tmp_path, {"events": events})
    assert {row["judge"]: (row["score"], row["explanation"]) for row in found.rows} == {
        "Factuality": (0.6, "mostly"),
        "Style": (None, None),
    }


def test_mlflow_assessments_by_source(tmp_path: Path) -> None:
    def assessment(kind: str, **body: object) -> dict[str, Any]:
        return {
            "assessment_name": "safe",
            "source": {"source_type": kind, "source_id": kind.lower()},
            **body,
        }

    judge, person = (
        assessment("LLM_JUDGE", feedback={"value": "yes"}),
        assessment("HUMAN", feedback={"value": "no"}),
    )
    broken = assessment(
        "LLM_JUDGE", feedback={"value": None, "error": {"error_code": "X", "error_message": "down"}}
    )
    wanted = {
        "assessment_name": "expected",
        "source": {"source_type": "HUMAN"},
        "expectation": {"value": "long text"},
    }
    traces = [
        {
            "info": {"trace_id": "1", "assessments": [judge, person, wanted]},
            "request": "q",
            "response": "a",
        },
        {"info": {"trace_id": "2", "assessments": [broken]}, "request": "q", "response": "b"},
    ]
    found = imported(tmp_path, {"traces": traces})
    assert (found.verdicts, found.answers) == (["yes", None], ["no"])
    assert found.rows[1]["reason"] == "down"
    assert found.report.left == {"expectation 'expected', which belongs to no judge": 1}


def test_openai_output_items_and_their_errors(tmp_path: Path) -> None:
    sample = {"output": [{"role": "assistant", "content": "a"}], "model": "m"}
    items = [
        {
            "id": "1",
            "datasource_item_id": 0,
            "datasource_item": {"q": "x"},
            "results": [{"name": "g", "passed": True, "score": 1}],
            "sample": sample,
        },
        {
            "id": "2",
            "datasource_item_id": 1,
            "datasource_item": {"q": "y"},
            "results": [
                {"name": "g", "passed": False, "score": 0, "sample": {"error": {"message": "down"}}}
            ],
            "sample": sample,
        },
    ]
    found = imported(tmp_path, {"object": "list", "data": items})
    assert found.verdicts == ["PASS", None]


def test_openai_event_logs_with_an_invalid_choice(tmp_path: Path) -> None:
    def event(kind: str, sample: str, data: dict[str, Any]) -> dict[str, Any]:
        return {"run_id": "r", "event_id": 1, "sample_id": sample, "type": kind, "data": data}

    asked = {"prompt": [{"role": "user", "content": "q"}], "sampled": ["a"]}
    lines = [
        {"spec": {"eval_name": "fact"}},
        event("sampling", "1", asked),
        event("metrics", "1", {"choice": "A", "score": 1.0}),
        event("sampling", "2", asked),
        event("metrics", "2", {"choice": "__invalid__", "score": 0}),
        {"final_report": {}},
    ]
    found = imported(tmp_path, lines, lines=True)
    assert (found.verdicts, found.outcomes) == (["A", None], {"ok": 1, "unreadable": 1})


def test_numbers_that_are_none_are_failures_wherever_they_stand(tmp_path: Path) -> None:
    found = imported(tmp_path, inspect_log(value=math.nan, explanation="not scored"))
    assert (found.verdicts, found.outcomes) == ([None], {"unreadable": 1})
    assert found.rows[0]["reason"] == "not scored"
