"""Published records of judges: both orders, ties, what could not be read, and the right answers as
labels.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adjudge.errors import RunError
from adjudge.features.importers.folder import imported_run
from adjudge.runs.folder import records_of
from support.importing import imported, imported_path

PAIR = {"input": "Say hi.", "output_1": "hi", "output_2": "no", "label": 1}


def test_llmbar_results_hold_both_orders_in_the_rows_own(tmp_path: Path) -> None:
    orders = {
        "swap = False": {"completion": ["x"], "winner": "1"},
        "swap = True": {"completion": ["y"], "winner": "2"},
    }
    found = imported(
        tmp_path, [{**PAIR, "results": [orders]}], name="evaluators/GPT-4/CoT/result.json"
    )
    (row,) = found.rows
    assert (row["judge"], row["selected_option"], row["positional_bias"]["detected"]) == (
        "GPT-4/CoT",
        "tie",
        True,
    )
    assert [vote["order"] for vote in row["votes"]] == [[0, 1], [1, 0]]
    assert found.answers == [0]


def test_a_data_set_without_judges_gives_rows_and_labels(tmp_path: Path) -> None:
    found = imported(tmp_path, [PAIR])
    assert (found.report.tally.unjudged, found.answers) == (1, [0])
    assert found.rows[0]["status"] == "failed"


def test_judgebench_decisions_and_null_judgments(tmp_path: Path) -> None:
    base = {
        "pair_id": "p",
        "question": "q",
        "response_A": "a",
        "response_B": "b",
        "label": "B>A",
        "judge_name": "arena",
    }
    said = {"judgment": {"judge_model": "gpt", "response": "…"}, "decision": "B>A"}
    found = imported(tmp_path, [{**base, "judgments": [said, None]}], lines=True)
    assert (found.verdicts, found.answers, found.outcomes) == (
        [1],
        [1],
        {"ok": 1, "model_error": 1},
    )


def test_mt_bench_single_pair_and_votes(tmp_path: Path) -> None:
    prompt = (
        "[Question]\nWhy?\n\n[The Start of Assistant's Answer]\nBecause.\n[The End of "
        "Assistant's Answer]"
    )
    single = {
        "question_id": 81,
        "model": "m",
        "judge": ["gpt-4", "single-v1"],
        "user_prompt": prompt,
        "judgment": "[[7]]",
        "score": 7,
        "turn": 1,
    }
    unread = {**single, "judgment": "Good.", "score": -1, "question_id": 82}
    found = imported(tmp_path / "a", [single, unread], lines=True, name="x.jsonl")
    assert (found.verdicts, found.outcomes) == ([7.0, None], {"ok": 1, "unreadable": 1})
    assert found.rows[0]["fields"] == {"question": "Why?", "response": "Because."}
    pair = {
        "question_id": 81,
        "model_1": "a",
        "model_2": "b",
        "g1_winner": "model_1",
        "g2_winner": "error",
        "judge": ["gpt-4", "pair-v2"],
        "turn": 1,
    }
    both = imported(
        tmp_path / "b", [{**pair, "g1_judgment": "[[A]]", "g2_judgment": "?"}], name="x.json"
    )
    assert (both.verdicts, both.rows[0]["systems"], both.outcomes) == (
        [0],
        ["a", "b"],
        {"ok": 1, "unreadable": 1},
    )
    vote = {
        "question_id": 81,
        "model_a": "a",
        "model_b": "b",
        "winner": "tie (inconsistent)",
        "judge": "expert_1",
        "turn": 1,
    }
    people = imported(tmp_path / "c", [vote], name="x.json")
    assert [(label.answer, label.kind) for label in people.labels] == [("tie", "expert")]


def test_arena_hards_second_game_is_turned_round(tmp_path: Path) -> None:
    games = [
        {"score": "B>>A", "judgment": {"answer": "[[B>>A]]"}},
        {"score": "A>B", "judgment": {"answer": "[[A>B]]"}},
    ]
    record = {"uid": "u", "judge": "gpt", "model": "new", "baseline": "old", "games": games}
    found = imported(
        tmp_path,
        [record, {**record, "uid": "v", "games": [{"score": None, "judgment": {"answer": "?"}}]}],
        lines=True,
    )
    assert found.verdicts == [1, None]
    assert [vote["metadata"]["weight"] for vote in found.rows[0]["votes"]] == [3, 1]


@pytest.mark.parametrize(
    ("preference", "verdict"), [(1, 0), (2.0, 1), (1.5, "tie"), (1.9, 1), (None, None)]
)
def test_alpaca_eval_preferences(tmp_path: Path, preference: float | None, verdict: object) -> None:
    record = {
        "instruction": "i",
        "output_1": "a",
        "output_2": "b",
        "generator_1": "x",
        "generator_2": "y",
        "annotator": "gpt",
        "preference": preference,
    }
    found = imported(tmp_path, [record])
    assert found.verdicts == [verdict]
    if preference == 1.9:
        assert found.rows[0]["votes"][0]["distribution"] == pytest.approx({"0": 0.1, "1": 0.9})


def test_rewardbench_hides_the_right_completion_among_the_others(tmp_path: Path) -> None:
    rows = [
        {
            "id": str(one),
            "prompt": "p",
            "chosen": ["good"],
            "rejected": ["b", "c", "d"],
            "subset": "Math",
            "scores": [[4], [1], [2], [3]],
        }
        for one in range(20)
    ]
    found = imported(tmp_path, rows)
    assert len(set(found.answers)) > 1
    assert found.verdicts == [row["fields"]["response"].index("good") for row in found.rows]


def test_pandalm_keeps_every_persons_vote_and_names_the_policy(tmp_path: Path) -> None:
    row = {
        "idx": 1,
        "instruction": "i",
        "input": "",
        "response1": "a",
        "response2": "b",
        "annotator1": 1,
        "annotator2": 0,
        "annotator3": 2,
    }
    rows = [
        {**row, "gpt_result": "Tie"},
        {**row, "idx": 2, "response2": "c", "gpt_result": "unsure"},
    ]
    found = imported(tmp_path / "drop", rows)
    assert (found.verdicts, len(found.labels)) == (["tie", None], 6)
    assert (
        "unreadable replies: drop (replies without a readable verdict are left out)"
        in found.report.notes
    )
    assert imported(tmp_path / "tie", rows, unreadable="tie").verdicts == ["tie", "tie"]
    assert imported(tmp_path / "wrong", rows, unreadable="wrong").verdicts == ["tie", 1]


def test_auto_j_decisions(tmp_path: Path) -> None:
    pair = {"prompt": "p", "response 1": "a", "response 2": "b", "label": 1}
    found = imported(
        tmp_path,
        [
            {**pair, "output": "… So, the final decision is Response 2."},
            {**pair, "response 2": "c", "output": "?"},
        ],
    )
    assert (found.verdicts, found.answers) == ([1, None], [1, 1])


def test_vicuna_reviews_are_read_from_the_reply(tmp_path: Path) -> None:
    review = {
        "id": "1",
        "instruction": "i",
        "response_1": "a",
        "response_2": "b",
        "judge": "gpt-4",
        "judge_raw": "8 9\nGood.",
        "judge_scores": [9, 8],
    }
    found = imported(
        tmp_path,
        [
            review,
            {**review, "id": "2", "judge_raw": "First, I will solve it.", "judge_scores": None},
        ],
        lines=True,
    )
    assert found.verdicts == [1, None]
    assert found.report.left == {"recorded score that contradicts its reply": 1}


def test_labelled_records_with_repeated_judges(tmp_path: Path) -> None:
    said: list[dict[str, Any]] = [
        {"repeat": 1, "verdict_pass": True, "error": None},
        {"repeat": 2, "verdict_pass": None, "error": "down"},
    ]
    rows = [
        {"id": "1", "prompt": "p", "response": "r", "label": "correct", "judges": {"naive": said}},
        {"id": "2", "prompt": "p", "response": "s", "label": "wrong", "judges": {"naive": said}},
    ]
    found = imported(tmp_path, rows, lines=True)
    assert (found.verdicts, sorted(found.answers)) == (["correct", "correct"], ["correct", "wrong"])
    assert found.outcomes == {"ok": 2, "model_error": 2}


def test_a_folder_of_one_format_is_one_run(tmp_path: Path) -> None:
    folder = tmp_path / "model_judgment" / "gpt"
    folder.mkdir(parents=True)
    for name in ("a", "b"):
        record = {
            "uid": name,
            "judge": "gpt",
            "model": name,
            "baseline": "old",
            "games": [{"score": "A=B", "judgment": "[[A=B]]"}],
        }
        (folder / f"{name}.jsonl").write_text(json.dumps(record) + "\n")
    (folder / "README.md").write_text("# notes\n")
    found = imported_path(tmp_path / "model_judgment", tmp_path / "run")
    assert (found.verdicts, found.report.files, len(found.report.ignored_files)) == (
        ["tie", "tie"],
        2,
        1,
    )


def test_records_without_a_label_are_kept_and_leave_the_labels_chosen_ones(tmp_path: Path) -> None:
    rows = [
        {"id": "1", "response": "r", "label": "PASS", "judges": {"j": "PASS"}},
        {"id": "2", "response": "s", "label": "FAIL", "judges": {"j": "PASS"}},
        {"id": "3", "response": "t", "judges": {"j": "FAIL"}},
    ]
    found = imported(tmp_path, rows, lines=True)
    assert (found.verdicts, sorted(found.answers)) == (["PASS", "PASS", "FAIL"], ["FAIL", "PASS"])
    assert {one.design for one in found.labels} == {"chosen"}


def test_an_empty_verdict_is_a_failed_vote_of_its_judge(tmp_path: Path) -> None:
    verdicts: list[Any] = ["PASS", None, {"verdict": None}]
    rows = [
        {"id": str(n), "response": f"r{n}", "label": ("PASS", "FAIL")[n % 2], "judges": {"j": said}}
        for n, said in enumerate(verdicts)
    ]
    found = imported(tmp_path, rows, lines=True)
    assert (found.verdicts, found.outcomes) == (["PASS", None, None], {"ok": 1, "model_error": 2})


def test_a_second_import_leaves_the_first_alone_until_it_is_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, replace_path = tmp_path / "run", Path.replace

    def overtaken(path: Path, place: Path) -> Path:
        if place == target:
            with pytest.raises(RunError, match="another import"), imported_run(target):
                pass
        return replace_path(path, place)

    monkeypatch.setattr(Path, "replace", overtaken)
    with imported_run(target):
        pass
    assert [one.name for one in tmp_path.iterdir()] == ["run"]
    assert list(records_of(target)) == []
