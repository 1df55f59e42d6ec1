"""Other versions and rarer shapes of the same formats: each is recognised, and each failure in it
stays a failure.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from adjudge.errors import RunError
from adjudge.features.importers import documents as whole
from adjudge.trust import calibrate_run
from support.importing import SAMPLES, imported, imported_path

# -- promptfoo -------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["json", "yaml"])
def test_what_promptfoo_itself_wrote(tmp_path: Path, ending: str) -> None:
    found = imported_path(SAMPLES / f"promptfoo_0.121.20.{ending}", tmp_path / "run")
    assert found.outcomes == {"ok": 9, "model_error": 5, "unreadable": 1}
    said = {
        row["fields"]["q"]: row["option"]
        for row in found.rows
        if row["criteria"] not in ("is short", "is sweet", "contains: said", "overall")
    }
    overall = [row["option"] for row in found.rows if row["criteria"] == "overall"]
    assert overall == ["PASS", "FAIL", None, None, None, "FAIL"]
    assert said == {
        "hello": "PASS",
        "go away": "FAIL",
        "Broken": None,
        "Garbled": None,
        "Crash": None,
        "hello again": "PASS",
    }
    assert {vote["model"] for row in found.rows for vote in row["votes"]} == {
        *("file://grader.js", "code", "assertions")
    }


def test_the_table_that_promptfoo_itself_wrote(tmp_path: Path) -> None:
    found = imported_path(SAMPLES / "promptfoo_0.121.20.csv", tmp_path / "run")
    assert found.verdicts == [
        "PASS",
        "FAIL",
        "FAIL",
        None,
        None,
        "FAIL",
    ]  # a CSV does not tell that the grader was down
    assert any("some grader errors look like FAIL" in note for note in found.report.notes)


def test_an_older_promptfoo_table_has_its_verdict_before_the_output(tmp_path: Path) -> None:
    table = (
        'q,[echo] Say {{q}}\na,[PASS] hello\nb,"[FAIL] (0.20) too rude\n---\ngo '
        'away"\nc,[ERROR] down\n'
    )
    found = imported(tmp_path, table, name="old.csv")
    assert found.verdicts == ["PASS", "FAIL", None]
    assert [row["fields"]["response"] for row in found.rows] == ["hello", "go away", "down"]


def test_a_yaml_that_unfolds_without_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole, "_LARGEST", 100_000)
    lines = ["results:", "  a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"  a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(RunError, match="expands to more than"):
        imported(tmp_path, "\n".join(lines) + "\n", name="bomb.yaml")
    assert not (tmp_path / "run").exists()


# -- DeepEval, Inspect -------------------------------------------------------------------


def test_what_deepevals_evaluate_returns(tmp_path: Path) -> None:
    good = {
        "name": "Relevancy",
        "threshold": 0.5,
        "success": True,
        "score": 0.9,
        "evaluation_model": "gpt",
        "error": None,
    }
    bad = {**good, "name": "Bias", "success": False, "score": None, "error": "timed out"}
    case = {
        "name": "case",
        "input": "q",
        "actual_output": "a",
        "expected_output": "e",
        "metrics_data": [good, bad],
    }
    found = imported(tmp_path, {"test_results": [case], "confident_link": None})
    assert (found.report.kind, found.verdicts) == ("deepeval", [None, "PASS"])  # by judge
    assert found.rows[0]["fields"] == {"input": "q", "expected_output": "e", "response": "a"}


def test_an_old_deepeval_run_and_one_of_conversations_alone(tmp_path: Path) -> None:
    old = {"metric": "Bias", "score": 0.0, "threshold": 0.0, "success": None}
    run = {
        "testFile": "t",
        "testCases": [{"input": "q", "actualOutput": "a", "metricsMetadata": [old]}],
    }
    assert imported(tmp_path / "old", run).verdicts == ["PASS"]
    metric = {"name": "Role", "score": 1, "success": True}
    talk = {
        "turns": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}],
        "metricsData": [metric],
    }
    found = imported(tmp_path / "talk", {"testRunData": {"conversationalTestCases": [talk]}})
    assert found.rows[0]["fields"]["response"] == "user: hi\nassistant: yo"


def test_a_log_of_inspects_first_version_has_one_score(tmp_path: Path) -> None:
    sample = {
        "id": 1,
        "epoch": 1,
        "input": "q",
        "target": "t",
        "output": {"completion": "a"},
        "score": {"value": "I"},
    }
    found = imported(
        tmp_path, {"version": 1, "status": "success", "eval": {"task": "t"}, "samples": [sample]}
    )
    assert (found.report.kind, found.verdicts) == ("inspect", ["I"])


def test_a_sample_of_inspect_in_chunks_has_its_long_texts_beside_it(tmp_path: Path) -> None:
    shell = {
        "id": "a",
        "epoch": 1,
        "input": "attachment://1",
        "target": "t",
        "scores": {"s": {"value": "C"}},
    }
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as made:
        made.writestr("header.json", json.dumps({"version": 2, "status": "success", "eval": {}}))
        made.writestr(
            "samples/a_epoch_1/sample.json",
            json.dumps({**shell, "output": {"completion": "attachment://2"}}),
        )
        made.writestr("samples/a_epoch_1/metadata.json", json.dumps({"topic": "x"}))
        made.writestr("samples/a_epoch_1/messages/0.json", "[]")
        made.writestr("samples/a_epoch_1/attachments/0.json", json.dumps(["no", "long question"]))
        made.writestr("samples/a_epoch_1/attachments/2.json", json.dumps(["long answer"]))
    (row,) = imported_path(tmp_path / "log.eval", tmp_path / "run").rows
    assert row["fields"] == {"input": "long question", "target": "t", "response": "long answer"}
    assert row["input"]["metadata"] == {"topic": "x"}


# -- tables by pandas, Ragas ---------------------------------------------------------------


def test_ragas_results_as_pandas_writes_json(tmp_path: Path) -> None:
    columns = {
        "user_input": {"0": "q", "1": "r"},
        "response": {"0": "a", "1": "b"},
        "faithfulness": {"0": 0.5, "1": None},
    }
    assert imported(tmp_path / "columns", columns).verdicts == [0.5, None]
    split = {"columns": list(columns), "index": [0, 1], "data": [["q", "a", 0.5], ["r", "b", None]]}
    found = imported(tmp_path / "split", split)
    assert (found.report.kind, found.verdicts) == ("ragas", [0.5, None])


def test_ragas_conversations(tmp_path: Path) -> None:
    talk = [{"content": "hi", "type": "human"}, {"content": "yo", "type": "ai"}]
    found = imported(tmp_path, [{"user_input": talk, "reference": "x", "agent_goal_accuracy": 1.0}])
    assert (found.report.kind, found.verdicts) == ("ragas", [1.0])
    assert found.rows[0]["fields"]["response"] == "human: hi\nai: yo"


# -- platforms -----------------------------------------------------------------------------


def test_langsmith_rows_of_evaluate(tmp_path: Path) -> None:
    results = [
        {"key": "ok", "score": 1, "comment": "fine"},
        {"key": "tone", "score": None, "value": None, "comment": "down"},
    ]
    row = {
        "run": {"id": "r", "inputs": {"q": "x"}, "outputs": {"a": "y"}},
        "example": {"outputs": {"a": "z"}},
        "evaluation_results": {"results": results},
    }
    found = imported(tmp_path, [row])
    assert {one["judge"]: one["score"] for one in found.rows} == {"ok": 1.0, "tone": None}
    assert found.rows[0]["fields"] == {"q": "x", "reference": "z", "response": "y"}


def test_langsmith_feedback_as_a_table(tmp_path: Path) -> None:
    table = "run_id,key,score,value,comment,correction,feedback_source\n"
    table += (
        "r,ok,1,,,,\"{'type': 'model'}\"\nr,ok,0,,no,,\"{'type': 'app', 'user_name': "
        "'ann'}\"\ns,ok,,,down,,\n"
    )
    found = imported(tmp_path, table, name="feedback.csv")
    assert (found.verdicts, found.answers, found.labels[0].annotator) == ([1.0, None], [0.0], "ann")


def annotation(kind: str, span: str, **result: Any) -> dict[str, Any]:
    return {
        "span_id": span,
        "name": "ok",
        "annotator_kind": kind,
        "result": result,
        "metadata": {},
        "identifier": "",
    }


def test_phoenix_annotations_of_spans(tmp_path: Path) -> None:
    data = [
        annotation("LLM", "1", label="good", score=1),
        annotation("HUMAN", "1", label="bad"),
        annotation("LLM", "2"),
    ]
    found = imported(tmp_path, {"data": data, "next_cursor": None})
    assert (found.report.kind, found.verdicts, found.answers) == (
        "phoenix",
        ["good", None],
        ["bad"],
    )


def test_a_persons_number_in_phoenix_is_the_label_that_has_it(tmp_path: Path) -> None:
    judge = {"name": "ok", "annotator_kind": "LLM", "label": "good", "score": 1}
    person = {"name": "ok", "annotator_kind": "HUMAN", "label": None, "score": 1}
    found = imported(
        tmp_path,
        [{"example_id": "1", "input": {"q": "x"}, "output": "y", "annotations": [judge, person]}],
    )
    assert found.answers == ["good"]


def test_langfuse_traces_with_their_scores(tmp_path: Path) -> None:
    score = {"name": "ok", "value": 1, "dataType": "BOOLEAN", "source": "EVAL", "comment": "fine"}
    person = {**score, "value": 0, "source": "ANNOTATION"}
    found = imported(
        tmp_path, {"data": [{"id": "t", "input": "q", "output": "a", "scores": [score, person]}]}
    )
    assert (found.verdicts, found.answers) == (["PASS"], ["FAIL"])
    assert found.rows[0]["fields"] == {"input": "q", "response": "a"}


def test_braintrust_tables_hold_their_scores_as_json(tmp_path: Path) -> None:
    table = (
        'id,experiment_id,input,output,expected,scores\n1,e,q,a,x,"{""Fact"": 0.5, ""Style"": '
        'null}"\n'
    )
    found = imported(tmp_path, table, name="bt.csv")
    assert {row["judge"]: row["score"] for row in found.rows} == {"Fact": 0.5, "Style": None}


def test_mlflow_traces_have_their_texts_in_the_first_span(tmp_path: Path) -> None:
    spans = [
        {
            "span_id": "s",
            "parent_span_id": None,
            "attributes": {"mlflow.spanInputs": '{"q": "x"}', "mlflow.spanOutputs": '"y"'},
        }
    ]
    judge = {
        "assessment_name": "ok",
        "source": {"source_type": "LLM_JUDGE", "source_id": "m"},
        "feedback": {"value": True},
    }
    trace = {
        "info": {"trace_id": "1", "response_preview": "y…", "assessments": [judge]},
        "data": {"spans": spans},
    }
    found = imported(tmp_path, [trace])
    assert (found.verdicts, found.rows[0]["fields"]) == (
        ["PASS"],
        {"input": '{"q": "x"}', "response": "y"},
    )


def test_what_mlflow_itself_wrote(tmp_path: Path) -> None:
    found = imported_path(SAMPLES / "mlflow_3.17.2_traces.json", tmp_path / "run")
    assert (found.verdicts, found.answers, found.outcomes) == (
        ["PASS", None],
        ["FAIL"],
        {"ok": 1, "model_error": 1},
    )
    assert found.rows[0]["fields"] == {"input": '{"q": "a"}', "response": "answer to a"}
    assert found.rows[1]["reason"] == "judge down"


def test_mlflow_traces_as_a_table(tmp_path: Path) -> None:
    cell = (
        "[{'assessment_name': 'ok', 'source': {'source_type': 'HUMAN', 'source_id': 'ann'}, "
        "'feedback': {'value': 'no'}}]"
    )
    found = imported(
        tmp_path, f'trace_id,request,response,assessments\n1,q,a,"{cell}"\n', name="traces.csv"
    )
    assert (found.report.kind, found.answers) == ("mlflow", ["no"])


def test_an_evalassist_comparison_without_a_selected_option(tmp_path: Path) -> None:
    systems = [{"winrate": 0.2}, {"winrate": 0.8}]
    one = {
        "id": "1",
        "contextVariables": [],
        "responses": ["a", "b"],
        "expectedResult": 0,
        "result": {"perSystemResults": systems},
    }
    found = imported(
        tmp_path,
        {
            "name": "n",
            "content": json.dumps(
                {"type": "pairwise", "instances": [one], "criteria": {"name": "c"}}
            ),
        },
    )
    assert (found.verdicts, found.answers) == ([1], [0])


# -- records -------------------------------------------------------------------------------


def test_arena_picks_and_cascades(tmp_path: Path) -> None:
    arena = {
        "id": "1",
        "model_a": "x",
        "model_b": "y",
        "human_winner": "model_b",
        "judge_pick": "B",
    }
    found = imported(tmp_path / "a", [arena, {**arena, "id": "2", "judge_pick": None}], lines=True)
    assert (found.verdicts, found.answers, found.outcomes) == (
        [1, None],
        [1, 1],
        {"ok": 1, "unreadable": 1},
    )
    cascade = {
        "instruction": "i",
        "outputs": ["a", "b"],
        "preferences": {"ann": 1, "bob": 2},
        "probs": [0.7, 0.3],
    }
    both = imported(tmp_path / "b", [cascade])
    assert (both.verdicts, sorted(both.answers)) == ([0], [0, 1])


def test_votes_of_mt_bench_meet_whoever_is_listed_first_and_each_turn_for_itself(
    tmp_path: Path,
) -> None:
    """The published votes: people and GPT-4, one comparison in either order, the whole talk beside
    votes on its first turn.
    """

    def talk(name: str) -> list[dict[str, str]]:
        return [
            {"role": role, "content": f"{role} {name} {turn}"}
            for turn in (1, 2)
            for role in ("user", "assistant")
        ]

    def vote(judge: str, first: str, second: str, winner: str, turn: int) -> dict[str, Any]:
        models = {
            "model_a": first,
            "model_b": second,
            "winner": winner,
            "judge": judge,
            "turn": turn,
        }
        return {
            "question_id": 81,
            **models,
            "conversation_a": talk(first),
            "conversation_b": talk(second),
        }

    people = [
        vote("expert_1", "y", "x", "model_a", 1),
        vote("author_2", "x", "y", "model_b", 1),
        vote("expert_1", "x", "y", "tie", 2),
    ]
    judged = [vote("gpt4_pair", "x", "y", "model_b", 1), vote("gpt4_pair", "y", "x", "model_a", 2)]
    found = imported(tmp_path, [*people, *judged], lines=True)
    said = {
        (row["id"], row["selected_option"]) for row in found.rows if row["judge"] == "gpt4_pair"
    }
    assert said == {("question 81, x, y, turn 1", 1), ("question 81, x, y, turn 2", 1)}
    assert {(label.annotator, label.id, label.answer) for label in found.labels} == {
        ("expert_1", "question 81, x, y, turn 1", 1),
        ("author_2", "question 81, x, y, turn 1", 1),
        ("expert_1", "question 81, x, y, turn 2", "tie"),
    }
    assert found.rows[0]["fields"]["response"] == ["assistant x 1", "assistant y 1"]
    (one,) = [one for one in calibrate_run(tmp_path / "run") if one.judge == "gpt4_pair"]
    assert one.confusion.table == {"tie": {"y": 1}, "y": {"y": 1}}


def test_a_data_set_as_parquet(tmp_path: Path) -> None:
    """As data sets are often published: nested values come as they are."""
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    talk = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    vote = {
        "question_id": 81,
        "model_a": "x",
        "model_b": "y",
        "winner": "model_b",
        "judge": "expert_1",
        "turn": 1,
    }
    rows = [{**vote, "conversation_a": talk, "conversation_b": talk}]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "votes.parquet")
    found = imported_path(tmp_path / "votes.parquet", tmp_path / "run")
    assert (found.report.kind, found.answers, found.rows[0]["fields"]["question"]) == (
        "mt-bench",
        [1],
        "q",
    )


# -- WildBench, Prometheus, Auto-J's critiques -----------------------------------------------------


def wildbench(session: str, said: dict[str, Any], **more: object) -> dict[str, Any]:
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    return {
        "session_id": session,
        "parsed_result": said,
        "meta_data": {"batch_req_id": "b", "usage": usage, "error": None},
        **more,
    }


def test_wildbench_scores(tmp_path: Path) -> None:
    rows = [
        wildbench(
            *("s1", {"strengths": "short", "weaknesses": "wrong", "score": "4"}),
            model_test="org/small",
            score="4",
            model_output="No.",
        ),
        wildbench("s2", {"N/A": "N/A"}, model_test="org/small", score="N/A", model_output="No."),
        wildbench("s3", {"score": 11}, model_test="org/small", model_output=""),
    ]
    found = imported(tmp_path, rows, name="eval=judge-1/small.json")
    assert found.report.kind == "wildbench"
    assert found.verdicts == [4.0, None, None]
    assert found.outcomes == {"ok": 1, "unreadable": 2}
    assert found.rows[0]["votes"][0]["model"] == "judge-1"
    assert "wrong" in found.rows[0]["explanation"]
    assert [row["id"] for row in found.rows] == [f"s{place} org/small" for place in (1, 2, 3)]
    assert len({json.dumps(row["fields"]) for row in found.rows}) == 3


def test_wildbench_comparisons(tmp_path: Path) -> None:
    pair = {"model_A": "new", "model_B": "old", "model_outputs": {"new": "Yes.", "old": "No."}}
    rows = [
        wildbench("s1", {"reason": "r", "choice": "B++"}, winner="old", extent=2, **pair),
        wildbench("s2", {"choice": "A=B"}, winner="tie", extent=0, **pair),
        {
            "session_id": "s3",
            "last_query": "Really?",
            "generator": "new",
            "model_output": "Yes.",
            "ref_generator": "old",
            "ref_output": "No.",
            "assignment": {"A": "old", "B": "new"},
            "result": '{"choice": "B+"}',
            "parsed_result": {"choice": "B+"},
        },
    ]
    found = imported(tmp_path, rows)
    assert found.report.kind == "wildbench"
    assert found.verdicts == [1, "tie", 1]
    assert found.rows[2]["fields"]["response"] == ["No.", "Yes."]
    assert found.rows[2]["fields"]["last_query"] == "Really?"


def prometheus_prompt(response: str) -> str:
    return (
        "###Task Description:\nJudge.\n\n###The instruction to evaluate:\nSay\n### Plan: hello\n\n"
        f"###Response to evaluate:\n{response}\n\n###Reference Answer (Score 5):\nHello!\n\n"
        "###Score Rubrics:\n[Is it kind?]\nScore 1: no\nScore 5: yes\n\n###Feedback: "
    )


def test_prometheus_scores(tmp_path: Path) -> None:
    rows = [
        {
            "idx": 1,
            "response_source": "small",
            "instruction": prometheus_prompt("Hi."),
            "gpt4_score": [4, 5, -1],
            "gpt4_feedback": ["kind", "very kind", ""],
            "human_score": [5, 4],
        }
    ]
    found = imported(tmp_path, rows)
    assert found.report.kind == "prometheus"
    assert found.outcomes == {"ok": 2, "unreadable": 1}
    assert found.answers == [5, 4]
    (row,) = found.rows
    assert row["fields"]["response"] == "Hi."
    assert row["fields"]["instruction"] == "Say\n### Plan: hello"
    assert row["fields"]["reference_answer"] == "Hello!"
    assert row["votes"][1]["explanation"] == "very kind"


def test_prometheus_pairs(tmp_path: Path) -> None:
    pair = {
        "source": "harmless",
        "chosen_instruction": prometheus_prompt("Hi."),
        "rejected_instruction": prometheus_prompt("Go away."),
    }
    other = {**pair, "chosen_instruction": prometheus_prompt("Hello.")}
    rows = [pair, {**other, "tie": 1, "chosen_score": 2, "rejected_score": 4}]
    found = imported(tmp_path, rows)
    assert found.report.kind == "prometheus"
    assert {label.id: label.answer for label in found.labels} == {"row 1": 0, "row 2": "tie"}
    said = {row["id"]: (row["selected_option"], row["fields"]["response"]) for row in found.rows}
    assert said == {"row 1": (None, ["Hi.", "Go away."]), "row 2": (1, ["Hello.", "Go away."])}


def test_comparisons_of_critiques_by_gpt_4(tmp_path: Path) -> None:
    replies = [
        ("A: Feedback 1 is significantly better.\n\nB has less.", False),
        ("A: Feedback 1 is significantly better.", True),
        ("C: Neither is significantly better.", True),
        ("Both are fine.", False),
    ]
    rows = [
        {"output": reply, "cost": 0.1, "finish_reason": "stop", "meta": {"exchange": exchanged}}
        for reply, exchanged in replies
    ]
    rows.append(
        {"output": "Failed!", "cost": 0.0, "finish_reason": "fail", "meta": {"exchange": False}}
    )
    found = imported(tmp_path, rows, lines=True, name="gpt-4-Eval_auto-j_vs_chatgpt.jsonl")
    assert found.report.kind == "auto-j"
    assert found.verdicts == [0, 1, "tie", None, None]
    assert found.outcomes == {"ok": 3, "unreadable": 1, "model_error": 1}
    assert found.rows[0]["votes"][0]["model"] == "gpt-4"
