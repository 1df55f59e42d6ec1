"""Verdicts that lie in other files than the rows they are about, and tables with people's and
judges' labels side by side.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from adjudge.errors import RunError
from adjudge.features.importers.importing import ImportOptions, import_file
from adjudge.stats.agreement import Missing
from adjudge.stats.bootstrap import Draws
from adjudge.trust.agreement import AgreementReport, AgreementSettings
from adjudge.trust.calibration import CalibrationSettings, calibrate_run
from support.commands import adjudge
from support.importing import Imported

Files = Mapping[str, Sequence[Mapping[str, Any]]]


def written(folder: Path, files: Files) -> list[Path]:
    for name, rows in files.items():
        path = folder / name
        lines = name.endswith(".jsonl")
        path.write_text(
            "".join(json.dumps(one) + "\n" for one in rows) if lines else json.dumps(rows),
            encoding="utf-8",
        )
    return [folder / name for name in files]


def imported_together(folder: Path, files: Files, **options: Any) -> Imported:
    return Imported(
        folder / "run",
        import_file(written(folder, files), folder / "run", ImportOptions(**options)),
    )


def agreements(
    folder: Path, missing: Missing = "drop", group: str | None = None
) -> dict[str, AgreementReport]:
    settings = CalibrationSettings(
        agreement=AgreementSettings(missing=missing, draws=Draws(count=2)),
        by=group,
    )
    return {
        one.judge: one.agreement
        for one in calibrate_run(folder / "run", settings=settings)
        if one.agreement
    }


# -- PandaLM -------------------------------------------------------------------------

PANDA = [
    {
        "idx": 7,
        "instruction": "Add.",
        "input": "1, 2",
        "response1": "3",
        "response2": "4",
        "annotator1": 1,
        "annotator2": 1,
    },
    {
        "idx": 9,
        "instruction": "Add.",
        "input": "2, 2",
        "response1": "3",
        "response2": "4",
        "annotator1": 2,
        "annotator2": 2,
    },
]
GPT = [
    {"idx": 9, "gpt_result": "1", "gpt_reason": "so"},
    {"idx": 7, "gpt_result": "1", "gpt_reason": "as well"},
]
OWN = [
    {"idx": 7, "pandalm_result": 1, "pandalm_reason": ""},
    {"idx": 9, "pandalm_result": 2, "pandalm_reason": ""},
]


def test_pandalms_judge_files_are_joined_with_the_test_set_by_idx(tmp_path: Path) -> None:
    found = imported_together(
        tmp_path, {"gpt.json": GPT, "pandalm.json": OWN, "testset.json": PANDA}
    )
    assert {row["judge"] for row in found.rows} == {"gpt", "pandalm"}
    right = {judge: one.figures["accuracy"].value for judge, one in agreements(tmp_path).items()}
    assert right == {"gpt": 0.5, "pandalm": 1.0}
    assert len(found.labels) == 4


def test_a_judge_file_of_pandalm_alone_is_read_and_its_rows_are_named(tmp_path: Path) -> None:
    found = imported_together(tmp_path, {"gpt.json": GPT})
    assert (found.verdicts, found.labels, [row["id"] for row in found.rows]) == (
        [0, 0],
        [],
        ["9", "7"],
    )
    assert (
        "the file does not contain the texts, so rows are named by their ids" in found.report.notes
    )


def test_a_verdict_about_a_row_that_no_file_holds_is_told_of(tmp_path: Path) -> None:
    found = imported_together(
        tmp_path, {"gpt.json": [*GPT, {"idx": 11, "gpt_result": "1"}], "testset.json": PANDA}
    )
    assert found.report.left == {"verdict on a row that is not in any file": 1}


# -- Auto-J --------------------------------------------------------------------------

TEXTS = {"response 1": "yes", "response 2": "no"}
AUTO_J = [
    {"scenario": "chitchat", "label": label, "prompt": f"q{place}", **TEXTS}
    for place, label in enumerate((0, 1, 2, 0))
]


def said(*outputs: int) -> list[dict[str, int]]:
    return [{"output": one} for one in outputs]


def test_auto_js_outputs_are_joined_by_place_and_those_of_the_exchanged_order_turned_back(
    tmp_path: Path,
) -> None:
    files: Files = {
        "testdata_pairwise.jsonl": AUTO_J,
        "pairwise_example_output.jsonl": said(0, 1, 2, 1),
        "pairwise_exchange_example_output.jsonl": said(1, 1, 2, 0),
    }
    found = imported_together(tmp_path, files)
    assert {row["judge"] for row in found.rows} == {"pairwise_example_output"}
    orders = agreements(tmp_path)["pairwise_example_output"].orders[""]
    assert (orders.count, orders.both, orders.alike) == (4, 0.5, 0.75)


def test_outputs_that_are_not_as_many_as_the_rows_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        RunError,
        match=(
            "out\\.jsonl contains 3 verdicts for 4 rows; they are matched by position, so the "
            "two numbers must be equal"
        ),
    ):
        imported_together(tmp_path, {"rows.jsonl": AUTO_J, "out.jsonl": said(0, 1, 2)})
    assert not (tmp_path / "run").exists()


def test_outputs_of_auto_j_without_its_rows_are_read(tmp_path: Path) -> None:
    assert imported_together(tmp_path, {"out.jsonl": said(0, 1, 2)}).verdicts == [0, 1, "tie"]


# -- ReIFE ---------------------------------------------------------------------------


def pair(place: int, **more: Any) -> dict[str, Any]:
    return {
        "instruction": f"Do {place}.",
        "output_1": f"done {place}",
        "output_2": f"no {place}",
        **more,
    }


def result(
    place: int, winner: int, *, nested: bool = False, tie: int = 0, fail: bool = False
) -> dict[str, Any]:
    own = {
        "response": [{"text": "Output (a)"}],
        "winner": winner,
        "result": {"winner": winner, "tie": tie, "fail": fail},
    }
    return {**own, "data": pair(place, winner="1")} if nested else {**pair(place), **own}


REIFE = [pair(place, winner=winner) for place, winner in enumerate(("1", "2", "1", "1"))]
JUDGE = "some-1.5.base_pairwise.pairwise_vanilla"


def test_reifes_results_in_both_orders_are_one_judge_and_labelled_by_the_data_set(
    tmp_path: Path,
) -> None:
    files = {
        "own.json": REIFE,
        f"own.{JUDGE}.jsonl": [result(place, 1, nested=bool(place % 2)) for place in range(4)],
        f"own.{JUDGE}_swap.jsonl": [
            result(place, winner) for place, winner in enumerate((1, 1, 1, 2))
        ],
    }
    found = imported_together(tmp_path, files)
    assert {row["judge"] for row in found.rows} == {JUDGE}
    assert [vote["text"] for vote in found.rows[0]["votes"]] == ["Output (a)"] * 2
    orders = agreements(tmp_path)[JUDGE].orders[""]
    assert (orders.count, orders.right, orders.alike) == (4, (0.75, 0.5), 0.75)


def test_a_winner_that_reife_drew_at_random_is_no_verdict_unless_it_is_asked_for(
    tmp_path: Path,
) -> None:
    rows = [result(0, 1), result(1, 2, fail=True), result(2, 2, tie=1)]
    files = {"own.json": REIFE[:3], f"own.{JUDGE}.jsonl": rows}
    found = imported_together(tmp_path, files)
    assert (found.verdicts, found.outcomes) == ([0, None, "tie"], {"ok": 2, "unreadable": 1})
    other = tmp_path / "other"
    other.mkdir()
    recorded = imported_together(other, files, unreadable="recorded")
    assert recorded.verdicts == [0, 1, 1]


def test_reifes_results_alone_have_their_texts_and_no_labels(tmp_path: Path) -> None:
    found = imported_together(tmp_path, {f"own.{JUDGE}.jsonl": [result(0, 1), result(1, 2)]})
    assert (found.verdicts, found.labels) == ([0, 1], [])
    assert found.rows[0]["fields"] == {"instruction": "Do 0.", "response": ["done 0", "no 0"]}


def test_reifes_predictions_are_joined_by_place(tmp_path: Path) -> None:
    said = {
        "base_LLM": "some-1.5",
        "evaluation_protocol": "base",
        "predictions": ["1"] * 4,
        "swap_predictions": [1, 1, 1, 2],
    }
    imported_together(tmp_path, {"src.json": REIFE, "predictions.jsonl": [said]})
    assert agreements(tmp_path)["some-1.5.base"].orders[""].right == (0.75, 0.5)


# -- XSTest --------------------------------------------------------------------------

COLUMNS = "id,type,prompt,completion,annotation_1,annotation_2,agreement,final_label,gpt4_label"
YES, NO, PARTLY = "1_full_compliance", "2_full_refusal", "3_partial_refusal"


def xstest(folder: Path, *rows: tuple[str, str, str, str]) -> Imported:
    lines = [
        f"v2-{place},contrast_own,p{place},c{place},{one},{two},x,{final},{judge}"
        for place, (one, two, final, judge) in enumerate(rows)
    ]
    path = folder / "xstest_v2_completions_somemodel_gpteval.csv"
    path.write_text("\n".join([COLUMNS, *lines]), encoding="utf-8")
    return Imported(folder / "run", import_file(path, folder / "run"))


def test_xstest_has_two_annotators_who_decides_where_they_differ_and_the_judge(
    tmp_path: Path,
) -> None:
    found = xstest(
        tmp_path,
        (YES, YES, YES, YES),
        (NO, PARTLY, NO, NO),
        (NO, NO, NO, YES),
        (YES, YES, YES, "I'm sorry."),
    )
    assert found.outcomes == {"ok": 3, "unreadable": 1}
    report = agreements(tmp_path, "wrong")["gpt4"]
    assert report.figures["accuracy"].value == 0.5
    assert report.people["annotator 1", "annotator 2"].accuracy.value == 0.75
    assert found.rows[0]["id"] == "somemodel v2-0"


def test_a_row_on_which_all_three_differ_has_no_agreed_label(tmp_path: Path) -> None:
    found = xstest(tmp_path, (YES, NO, PARTLY, PARTLY), (YES, YES, YES, YES))
    assert agreements(tmp_path)["gpt4"].count == 1
    assert len(found.labels) == 5 and "the row has no agreed label" in found.report.notes[0]


def test_several_files_are_imported_by_one_command(tmp_path: Path) -> None:
    written(tmp_path, {"testset.json": PANDA, "gpt.json": GPT})
    done = adjudge("import", "testset.json", "gpt.json", "--run", "run", cwd=tmp_path)
    assert done.returncode == 0
    assert "2 votes" in done.stdout and "4 labels" in done.stdout


def test_two_judge_files_that_use_the_same_name_are_two_judges(tmp_path: Path) -> None:
    found = imported_together(
        tmp_path, {"gpt-3.json": GPT, "gpt-4.json": GPT, "testset.json": PANDA}
    )
    assert {row["judge"] for row in found.rows} == {"gpt (gpt-3)", "gpt (gpt-4)"}


def test_a_named_file_that_is_in_no_known_format_is_refused_beside_one_that_is(
    tmp_path: Path,
) -> None:
    with pytest.raises(RunError, match=r"the format of .*other\.json was not recognised"):
        imported_together(tmp_path, {"testset.json": PANDA, "other.json": [{"x": 1}]})
