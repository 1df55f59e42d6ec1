"""Columns that a benchmark declares: which of them are read, and what is said about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from adjudge.errors import RunError
from support.importing import imported

FLAT = {
    "id": "Natural_1",
    "judge": "GPT-4",
    "strategy": "CoT",
    "label": 1,
    **{f"winner_swap_{swapped}": 1 for swapped in (False, True)},
    **{f"raw_swap_{swapped}": "Output (a)" for swapped in (False, True)},
}
PAIR = {
    "instruction": "Say hello.",
    "input": None,
    "context": "to a child",
    "response1": "Hello!",
    "response2": "Good day.",
    "human_votes": [1, 1, 2],
    "annotator1": 2,
    "gpt_result": [1, "?"],
    "gpt_reason": ["warmer"],
}


def test_only_columns_of_the_file_are_reported_as_read(tmp_path: Path) -> None:
    report = imported(tmp_path, [FLAT], lines=True).report
    assert report.used == {"id": "instruction", "label": "labels", "winner_swap_*": "votes"}


def test_of_several_columns_the_first_that_holds_something_counts(tmp_path: Path) -> None:
    found = imported(tmp_path, [PAIR])
    assert [label.winner for label in found.labels] == [0, 0, 1], "annotator1 is not one of three"
    assert found.rows[0]["fields"]["input"] == "to a child"


def test_a_list_in_a_judges_column_holds_samples_with_their_reasons(tmp_path: Path) -> None:
    votes = imported(tmp_path, [PAIR]).rows[0]["votes"]
    assert [(vote["sample"], vote["outcome"], vote["explanation"]) for vote in votes] == [
        (0, "ok", "warmer"),
        (1, "unreadable", None),
    ]


def test_a_later_record_without_a_required_column_is_named(tmp_path: Path) -> None:
    record = {"instruction": "i", "output_1": "a", "output_2": "b", "preference": 1}
    lacking = {name: value for name, value in record.items() if name != "output_2"}
    with pytest.raises(RunError, match="'output_2' is missing"):
        imported(tmp_path, [record, lacking])
