"""JUDGE-BENCH and BiGGen-Bench files, by name: labels, verdicts, and the agreement they give."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.commands import adjudge
from support.importing import imported

MODEL = "meta-llama/Meta-Llama-3.1-70B-Instruct"


def judge_bench(declared: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """One property, and what is said of each text by it."""
    return {
        "dataset": "Letters (written for this test)",
        "dataset_url": "",
        "expert_annotator": "false",
        "annotations": [{"prompt": "Rate it. {{ instance }}", **declared}],
        "instances": [
            {"id": place, "instance": f"Letter {place}", "annotations": {declared["metric"]: said}}
            for place, said in enumerate(rows)
        ],
    }


def people(*scores: object, reply: str | None = None) -> dict[str, Any]:
    said = {} if reply is None else {MODEL: reply}
    return {"individual_human_scores": list(scores), **said}


POLITE = {"metric": "polite", "category": "categorical", "labels_list": ["Yes", "No"]}
FLUENT = {"metric": "fluency", "category": "graded", "worst": 1, "best": 5}


def ranked(tmp_path: Path, content: object) -> list[dict[str, Any]]:
    """The judges, the best first, by the command that a user types."""
    (tmp_path / "set.json").write_text(json.dumps(content))
    done = adjudge("bench", "set.json", "--run", "run", "--json", "--draws", "100", cwd=tmp_path)
    assert done.returncode in (0, 3), done.stderr
    judges: list[dict[str, Any]] = json.loads(done.stdout)["results"][0]["judges"]
    return judges


def test_choices_agree_as_counted_by_hand(tmp_path: Path) -> None:
    content = judge_bench(
        POLITE,
        [
            people("Yes", "Yes", "No", reply="Yes."),
            people("No", "No", "No", reply="The answer is no"),
            people("Yes", "Yes", "Yes", reply="No"),
            people("No", "Yes", "No", reply="Either yes or no."),  # says both: unreadable
            people("Yes", "No", "Yes", reply="yes"),
        ],
    )
    (first,) = ranked(tmp_path, content)
    assert first["agreement"]["value"] == pytest.approx(3 / 4)
    assert first["kappa"]["value"] == pytest.approx(0.5)
    assert first["failed"] == 1
    assert MODEL in first["judge"]


def test_graded_replies_correlate_with_the_mean_of_people(tmp_path: Path) -> None:
    rows = [
        people(1, 2, reply="1"),
        people(2, 3, reply="3"),
        people(3, 4, reply="I give it a 2."),
        people(5, 5, reply="5/5"),  # 5 and 5: one number
        people(4, 4, reply="4"),
        people(4, 5, reply="from 1 to 5"),
    ]
    (first,) = ranked(tmp_path, judge_bench(FLUENT, rows))
    assert first["figure"] == "Spearman"
    assert first["agreement"]["value"] == pytest.approx(0.9)  # 1 - 6·2 / (5·24)
    assert first["failed"] == 1


def test_a_scale_whose_best_end_is_the_lower_one_is_turned_round(tmp_path: Path) -> None:
    faults = {"metric": "faults", "category": "graded", "worst": 10, "best": 0}
    found = imported(tmp_path, judge_bench(faults, [people(1, reply="2"), people(9, reply="12")]))
    assert found.answers == [9, 1]
    assert found.verdicts == [8, None]


def test_pairs_are_comparisons(tmp_path: Path) -> None:
    declared = {
        "metric": "better",
        "category": "categorical",
        "labels_list": ["model_a", "model_b"],
    }
    content = judge_bench(declared, [people("model_b", reply="model_a is better")])
    shown = {"input": "Greet Ann.", "output_a": "Hi.", "output_b": "Hello, Ann."}
    content["instances"][0]["instance"] = shown
    found = imported(tmp_path, content)
    assert (found.answers, found.verdicts) == ([1], [0])
    assert found.report.kind == "judge-bench"


def test_where_only_the_majority_is_kept_it_is_the_label(tmp_path: Path) -> None:
    said = {"majority_human": "1", "individual_human_scores": []}
    harm = {"metric": "toxicity", "category": "categorical", "labels_list": ["0", "1"]}
    found = imported(tmp_path, judge_bench({**harm, "best": "0", "worst": "1"}, [said]))
    assert [(one.annotator, one.answer) for one in found.labels] == [("people together", "1")]
    assert not found.report.notes


def biggen(place: int, human: object, **judges: object) -> dict[str, Any]:
    levels = {f"score{one}_description": f"level {one}" for one in range(1, 6)}
    return {
        "id": f"planning_picnic_{place}",
        "capability": "planning",
        "task": "picnic",
        "instance_idx": place,
        "system_prompt": "You plan picnics.",
        "input": "Plan a picnic.",
        "reference_answer": "Bread at noon.",
        "score_rubric": {"criteria": "Is there bread?", **levels},
        "model_name": "toy-7b",
        "response": f"Plan {place}",
        "human_score": human,
        **judges,
    }


ROWS = [
    biggen(0, 1, gpt4_score=1, prometheus_score=[1, 2, 1], gpt4_feedback="no bread"),
    biggen(1, 2, gpt4_score=3, prometheus_score=[2, 2, 2]),
    biggen(2, 3, gpt4_score=2, prometheus_score=[3, -1, 3]),
    biggen(3, 4, gpt4_score=4, prometheus_score=[-1, -1, -1]),
    biggen(4, 5, gpt4_score=5, prometheus_score=[4, 5, 5]),
]


def test_biggen_judges_are_ranked_and_a_score_of_minus_one_is_a_failure(tmp_path: Path) -> None:
    first, second = ranked(tmp_path, ROWS)
    assert (first["judge"], first["rows"], first["failed"]) == ("prometheus", 5, 1)
    assert first["agreement"]["value"] == pytest.approx(1)
    assert (second["judge"], second["failed"]) == ("gpt4", 0)
    assert second["agreement"]["value"] == pytest.approx(0.9)


def test_biggen_rows_bring_their_rubric_and_the_same_by_id(tmp_path: Path) -> None:
    found = imported(tmp_path, ROWS, lines=True, name="human_eval.jsonl")
    assert found.report.kind == "biggen-bench"
    assert "Is there bread?\n1: level 1\n" in found.rows[0]["fields"]["rubric"]
    assert len(found.labels) == 5
    own = {
        row["id"]: {
            **{
                key: value
                for key, value in row.items()
                if not key.endswith(("_score", "_feedback"))
            },
            "score": 3,
            "eval_model_name": "prometheus-7b",
        }
        for row in ROWS
    }
    by_id = imported(tmp_path / "own", own)
    assert by_id.verdicts == [3.0] * 5
