"""Values of platforms that are not what they look like: truths in words, NaN, other scales, other
directions.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from adjudge.errors import RunError
from support.importing import imported


def langfuse(value: object, kind: str, trace: str = "t", **more: Any) -> dict[str, Any]:
    about = {
        "id": trace,
        "name": more.pop("name", "quality"),
        "value": value,
        "dataType": kind,
        "source": "EVAL",
    }
    return {**about, "subject": {"kind": "trace", "id": trace}, **more}


def feedback(run: str, **more: Any) -> dict[str, Any]:
    return {"run_id": run, "key": "ok", "score": None, "feedback_source": {"type": "model"}, **more}


def test_a_boolean_of_langfuse_that_is_neither_true_nor_false_is_no_fail(tmp_path: Path) -> None:
    given = [1, 0, "True", "false", "yes", "perhaps", "nan"]
    found = imported(
        tmp_path, [langfuse(one, "BOOLEAN", f"t{place}") for place, one in enumerate(given)]
    )
    assert found.verdicts == ["PASS", "FAIL", "PASS", "FAIL", "PASS", None, None]


def test_what_is_not_a_number_is_no_option_of_its_own(tmp_path: Path) -> None:
    mlflow = [
        {
            "assessment_name": "ok",
            "trace_id": f"t{place}",
            "source": {"source_type": "LLM_JUDGE"},
            "feedback": {"value": value},
        }
        for place, value in enumerate([0.5, math.nan, {"a": 1}, [1, 2]])
    ]
    found = imported(tmp_path / "mlflow", mlflow)
    assert (found.verdicts, found.outcomes) == (
        [0.5, None, None, None],
        {"ok": 1, "model_error": 1, "unreadable": 2},
    )
    table = "inputs.q,outputs.a,feedback.tone,id\nq,a,good,1\nq,b,NaN,2\nq,c,null,3\n"
    assert imported(tmp_path / "langsmith", table, name="r.csv").verdicts == ["good", None, None]


def test_one_question_has_one_kind_of_answer(tmp_path: Path) -> None:
    found = imported(
        tmp_path, [feedback("a", score=True), feedback("b", score=0.5), feedback("c", score=False)]
    )
    assert found.verdicts == [1.0, 0.5, 0.0]
    words = imported(
        tmp_path / "words",
        [feedback("a", value="good"), feedback("b", value="bad"), feedback("c", score=1)],
    )
    assert words.verdicts == ["good", "bad", "1"]


def test_a_correction_of_the_answer_does_not_agree_with_the_judge(tmp_path: Path) -> None:
    found = imported(
        tmp_path,
        [
            feedback("a", score=1, correction={"answer": "Paris"}),
            feedback("b", score=1, correction={"score": 0}),
        ],
    )
    assert [(label.id, label.answer) for label in found.labels] == [("b", 0.0)]
    assert found.report.left == {"correction without the correct score": 1}


def test_a_score_on_another_scale_than_pass_and_fail_is_kept_beside_it(tmp_path: Path) -> None:
    item = {"id": "1", "datasource_item": {"q": "x"}, "sample": {"output": [{"content": "a"}]}}
    found = imported(
        tmp_path, [{**item, "results": [{"name": "g", "passed": True, "score": 6.0}]}], lines=True
    )
    assert (found.verdicts, found.rows[0]["score"]) == (["PASS"], 1.0)
    assert found.rows[0]["votes"][0]["metadata"]["recorded_score"] == 6.0


def test_every_metric_of_an_event_is_a_question_and_texts_are_none(tmp_path: Path) -> None:
    events: list[dict[str, Any]] = [
        {"spec": {"eval_name": "e"}},
        {
            "event_id": 0,
            "sample_id": "s",
            "type": "metrics",
            "data": {"expected": "5", "f1": 0.25, "em": 0},
        },
    ]
    found = imported(tmp_path, events, lines=True)
    assert {row["judge"]: row["score"] for row in found.rows} == {"e/f1": 0.25, "e/em": 0.0}


def test_an_invalidated_sample_of_inspect_is_not_counted(tmp_path: Path) -> None:
    samples = [
        {
            "id": name,
            "epoch": 1,
            "input": "q",
            "target": "t",
            "output": {"completion": "a"},
            "scores": {"s": {"value": "C"}},
            **more,
        }
        for name, more in (("a", {}), ("b", {"invalidation": {"author": "ann", "reason": "leak"}}))
    ]
    found = imported(
        tmp_path, {"version": 2, "status": "success", "eval": {"task": "t"}, "samples": samples}
    )
    assert found.verdicts == ["C"]
    assert found.report.left == {"sample that was invalidated": 1}


def test_edits_of_a_score_with_several_values_are_told_of(tmp_path: Path) -> None:
    history = [{"value": {"x": 1, "y": 0}}, {"value": {"x": 0}, "provenance": {"author": "ann"}}]
    score = {"s": {"value": {"x": 0, "y": 0}, "history": history}}
    sample = {"id": "a", "epoch": 1, "input": "q", "output": {"completion": "a"}, "scores": score}
    found = imported(
        tmp_path, {"version": 2, "status": "success", "eval": {"task": "t"}, "samples": [sample]}
    )
    assert {row["judge"]: row["score"] for row in found.rows} == {"s/x": 1.0, "s/y": 0.0}
    assert found.report.left == {"edit of a score that has several values": 1}


# -- directions ------------------------------------------------------------------------


def test_a_name_that_sounds_like_less_is_better_is_told_of_and_turned_round_on_request(
    tmp_path: Path,
) -> None:
    rows = [
        langfuse(0.9, "NUMERIC", "a", name="Hallucination"),
        langfuse(0.2, "NUMERIC", "b", name="Hallucination"),
    ]
    rows.append({**langfuse(0.1, "NUMERIC", "a", name="Hallucination"), "source": "ANNOTATION"})
    plain = imported(tmp_path / "plain", rows)
    assert plain.verdicts == [0.9, 0.2]
    assert any(
        "Hallucination" in note and "--less-is-better" in note for note in plain.report.notes
    )
    turned = imported(tmp_path / "turned", rows, less_is_better=("Hallucination",))
    assert turned.verdicts == pytest.approx([0.1, 0.8])
    assert turned.answers == [0.9]
    assert turned.rows[0]["votes"][0]["metadata"]["recorded_score"] == 0.9
    assert not any("--less-is-better" in note for note in turned.report.notes)


def test_options_with_scores_are_turned_round_as_well(tmp_path: Path) -> None:
    said = {"name": "toxicity", "annotator_kind": "LLM", "label": "toxic", "score": 1.0}
    clean = {**said, "label": "fine", "score": 0.0}
    rows = [
        {"example_id": str(n), "output": "a", "annotations": [one]}
        for n, one in enumerate((said, clean))
    ]
    found = imported(tmp_path, rows, less_is_better=("toxicity",))
    assert [(row["option"], row["score"]) for row in found.rows] == [("toxic", 0.0), ("fine", 1.0)]


def test_what_cannot_be_turned_round_is_refused(tmp_path: Path) -> None:
    rows = [langfuse(4, "NUMERIC", "a", name="Bias")]
    with pytest.raises(RunError, match="4 is outside 0 to 1"):
        imported(tmp_path, rows, less_is_better=("Bias",))
    with pytest.raises(RunError, match=r"there is no question named 'Tone'; the data has Bias"):
        imported(tmp_path / "b", rows, less_is_better=("Tone",))


def test_a_number_with_an_underscore_is_a_name(tmp_path: Path) -> None:
    rows = [
        {"response": f"r{n}", "label": label, "judges": {"j": {"verdict": label}}}
        for n, label in enumerate(["1_2", "3"])
    ]
    assert imported(tmp_path, json.dumps(rows)).verdicts == ["1_2", "3"]
