"""What calibrate says of a judge that was asked in two orders, and of copies of one text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adjudge.features.importers.importing import import_file
from adjudge.stats.bootstrap import Draws
from adjudge.trust.agreement import AgreementReport, AgreementSettings
from adjudge.trust.calibration import CalibrationSettings, calibrate_run
from support.commands import adjudge


def pair(place: int, *winners: str, label: str = "1", subset: str = "Natural") -> dict[str, object]:
    said = {
        f"winner_swap_{swap}": winner for swap, winner in zip((False, True), winners, strict=True)
    }
    raw = {f"raw_swap_{swap}": "…" for swap in (False, True)}
    return {
        "id": f"llmbar-{subset}-{place:03}",
        "judge": "GPT-4",
        "strategy": "CoT",
        "label": label,
        **raw,
        **said,
    }


def agreement(path: Path, group: str | None = None) -> AgreementReport:
    import_file(path, path.parent / "run")
    settings = CalibrationSettings(agreement=AgreementSettings(draws=Draws(count=2)), by=group)
    (found,) = calibrate_run(path.parent / "run", settings=settings)
    assert found.agreement is not None
    return found.agreement


def test_votes_count_in_each_order_and_rows_where_both_say_the_same(tmp_path: Path) -> None:
    rows = [
        pair(1, "1", "1"),
        pair(2, "1", "2"),
        pair(3, "2", "2"),
        pair(4, "1", "1", subset="Manual"),
    ]
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, rows)))
    orders = agreement(tmp_path / "x.jsonl", "subset").orders
    assert orders.keys() == {"", "Natural", "Manual"}
    assert (orders[""].count, orders[""].right, orders[""].alike) == (4, (0.75, 0.5), 0.75)
    assert orders["Natural"].accuracy == pytest.approx(0.5)
    done = adjudge("calibrate", "run", cwd=tmp_path)
    (line,) = [one for one in done.stdout.splitlines() if one.startswith("both orders")]
    assert line == (
        "both orders: 62.50% of votes right (75.00% and 50.00%); 50.00% of rows right in both, "
        "50.00% with more right votes than wrong; 75.00% of rows say the same in both (4 rows)"
    )


def test_a_row_without_a_verdict_in_one_order_is_in_no_such_figure(tmp_path: Path) -> None:
    rows = [pair(1, "1", "?"), pair(2, "1", "1")]
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert agreement(tmp_path / "x.jsonl").orders[""].count == 1


def test_people_are_compared_on_as_many_rows_as_the_judge(tmp_path: Path) -> None:
    """Two rows are copies of one text, on which the people differ."""
    row = {
        "instruction": "i",
        "response1": "a",
        "response2": "b",
        "annotator1": 1,
        "annotator2": 2,
        "gpt_result": "1",
    }
    other = {**row, "response2": "c", "annotator2": 1}
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, [row, row, other])))
    found = agreement(tmp_path / "x.jsonl")
    (people,) = found.people.values()
    assert (people.count, people.accuracy.value) == (3, pytest.approx(1 / 3))


def test_judges_that_share_a_question_are_named(tmp_path: Path) -> None:
    row = {
        "instruction": "i",
        "response1": "a",
        "response2": "b",
        "annotator1": 1,
        "gpt_result": "1",
        "llama_result": "2",
    }
    (tmp_path / "x.jsonl").write_text(json.dumps(row))
    import_file(tmp_path / "x.jsonl", tmp_path / "run")
    lines = adjudge("calibrate", "run", cwd=tmp_path).stdout.splitlines()
    assert {"gpt", "llama"} <= {line.strip() for line in lines}
