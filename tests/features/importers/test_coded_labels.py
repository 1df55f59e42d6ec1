"""Labels and verdicts that are written as codes: what they mean is told by the file, or nobody
takes them for anything.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adjudge.errors import RunError
from support.importing import imported


def record(label: object, **judges: Any) -> dict[str, Any]:
    return {"question": "q", "response": f"{label} {judges}", "label": label, "judges": judges}


def pair(place: int, label: object, verdict: object) -> dict[str, Any]:
    texts = {"instruction": f"i{place}", "response_1": "one", "response_2": "two"}
    return {**texts, "label": label, "judges": {"j": {"verdict": verdict}}}


@pytest.mark.parametrize(("good", "bad"), [(1, 0), ("1", "0"), (1.0, 0.0), ("PASS", "FAIL")])
def test_labels_of_one_and_nought_beside_passed_are_pass_and_fail(
    tmp_path: Path, good: object, bad: object
) -> None:
    rows = [
        record(good, j={"passed": True}),
        record(bad, j={"passed": False}),
        record(good, j={"passed": "no"}),
    ]
    found = imported(tmp_path, rows)
    assert found.verdicts == ["PASS", "FAIL", "FAIL"]
    assert {label.id: label.answer for label in found.labels} == {
        "row 1": "PASS",
        "row 2": "FAIL",
        "row 3": "PASS",
    }


def test_labels_that_are_grades_are_not_taken_for_fails(tmp_path: Path) -> None:
    found = imported(tmp_path, [record(5, j={"passed": True}), record(2, j={"passed": False})])
    assert (found.verdicts, found.answers) == (["PASS", "FAIL"], [])
    assert found.report.left == {
        "label 5, which is neither pass nor fail": 1,
        "label 2, which is neither pass nor fail": 1,
    }


def test_a_truth_that_is_none_is_unreadable(tmp_path: Path) -> None:
    found = imported(tmp_path, [record(1, j={"passed": "perhaps"}), record(0, j={"passed": 1})])
    assert (found.verdicts, found.outcomes) == ([None, "PASS"], {"ok": 1, "unreadable": 1})


def test_two_labels_of_which_neither_is_known_to_be_good_have_no_scores(tmp_path: Path) -> None:
    found = imported(
        tmp_path, [record("spam", j={"verdict": "ham"}), record("ham", j={"verdict": "ham"})]
    )
    assert [row["score"] for row in found.rows] == [None, None]
    known = imported(
        tmp_path / "known",
        [record("bad", j={"verdict": "fine"}), record("fine", j={"verdict": "bad"})],
    )
    assert [(row["option"], row["score"]) for row in known.rows] == [("fine", 1.0), ("bad", 0.0)]


def test_pairs_labelled_nought_and_one_are_counted_from_nought(tmp_path: Path) -> None:
    found = imported(tmp_path, [pair(1, 0, 0), pair(2, 1, 1), pair(3, 0, "tie")])
    assert (found.verdicts, sorted(found.answers)) == ([0, 1, "tie"], [0, 0, 1])


def test_pairs_labelled_one_and_two_are_counted_from_one(tmp_path: Path) -> None:
    found = imported(tmp_path, [pair(1, 1, 2), pair(2, 2, "1")])
    assert (found.verdicts, found.answers) == ([1, 0], [0, 1])


def test_pairs_with_three_codes_say_nothing_about_which_one_is_a_tie(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"0, 1, 2.*which of them is a tie"):
        imported(tmp_path, [pair(1, 0, 0), pair(2, 1, 1), pair(3, 2, 1)])


@pytest.mark.parametrize("codes", [(-1, 0, 1), (0, 0.5, 1), (1, 2, 3, 4, 5), (0.2, 0.7, 0.9)])
def test_pairs_with_other_numbers_are_no_pairs_of_codes(
    tmp_path: Path, codes: tuple[float, ...]
) -> None:
    with pytest.raises(RunError, match=f"labelled {codes[0]:g}, .*which of them is a tie"):
        imported(tmp_path, [pair(n, code, code) for n, code in enumerate(codes)])


@pytest.mark.parametrize(("labels", "verdicts"), [((0, 1), (1, 2)), ((1, 2), (0, 1))])
def test_a_judge_that_counts_responses_in_another_way_than_the_labels_is_refused(
    tmp_path: Path, labels: tuple[int, ...], verdicts: tuple[int, ...]
) -> None:
    rows = [pair(n, *both) for n, both in enumerate(zip(labels, verdicts, strict=True))]
    with pytest.raises(
        RunError,
        match=f"labelled {labels[0]}, {labels[1]}, and 'j' says {verdicts[0]}, {verdicts[1]}",
    ):
        imported(tmp_path, rows)


def test_a_number_of_an_error_is_unreadable_beside_labels_that_say_how_responses_are_counted(
    tmp_path: Path,
) -> None:
    found = imported(tmp_path, [pair(1, 1, 2), pair(2, 2, -1)])
    assert (found.verdicts, found.outcomes) == ([1, None], {"ok": 1, "unreadable": 1})


def test_a_verdict_outside_the_labels_is_unreadable_and_no_option(tmp_path: Path) -> None:
    rows = [record("correct", j={"verdict": "Correct"}), record("wrong", j={"verdict": "banana"})]
    found = imported(tmp_path, rows)
    assert (found.verdicts, found.outcomes) == (["correct", None], {"ok": 1, "unreadable": 1})
    assert "banana" in found.rows[1]["votes"][0]["reason"]
    graded = imported(
        tmp_path / "graded", [record(4, j={"verdict": 5}), record(2, j={"verdict": "good"})]
    )
    assert (graded.verdicts, graded.outcomes) == ([5.0, None], {"ok": 1, "unreadable": 1})
