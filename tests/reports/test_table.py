"""Rows for spreadsheets and scripts."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from adjudge.reports.table import cell, write_rows


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_what_a_spreadsheet_would_run_is_defused(text: str) -> None:
    assert cell(text) == f"'{text}"


@pytest.mark.parametrize(
    ("value", "shown"), [(None, ""), (1.5, "1.5"), (-1.5, "-1.5"), (True, "True"), ("x", "x"), ({"a": 1}, '{"a": 1}')]
)
def test_other_values_are_shown_as_they_are(value: object, shown: str) -> None:
    assert cell(value) == shown


def test_rows_with_different_columns_share_one_header(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.csv", [{"a": 1, "b": "x,\ny"}, {"c": "ю"}])
    with (tmp_path / "a.csv").open(encoding="utf-8-sig", newline="") as file:
        assert list(csv.DictReader(file)) == [{"a": "1", "b": "x,\ny", "c": ""}, {"a": "", "b": "", "c": "ю"}]


def test_half_a_character_is_written_as_its_escape(tmp_path: Path) -> None:
    write_rows(tmp_path / "a.jsonl", [{"text": "so \ud83d"}])
    assert json.loads((tmp_path / "a.jsonl").read_text(encoding="utf-8"))["text"] == "so \ud83d"
