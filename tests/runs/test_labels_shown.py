"""Columns with labels that judges must not see: named ``expected``, or compared with by checks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adjudge import AspectCritic, DirectJudge
from adjudge.core.data.dataset import LabelsShown, read_instances
from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.prompts.renderer import shown_fields
from adjudge.runs.eval_file import load_eval
from adjudge.runs.row_reader import RowReader
from support.commands import adjudge

LABELLED = [
    {"id": f"r{number}", "response": f"Answer {number}.", "expected": label}
    for number, label in enumerate(["polite", "rude", "Polite ", ""] * 5)
]
"""Twenty rows with a human label in ``expected``, some without one."""
OPTIONS = [CriteriaOption("Yes"), CriteriaOption("No")]


def _labels_in(rows: list[dict[str, str]], columns: dict[str, str] | None = None) -> list[str]:
    told: list[LabelsShown] = []
    list(read_instances(rows, columns, on_labels_shown=told.append))
    return [f"{labels.column}: {', '.join(labels.values)}" for labels in told]


def test_a_column_of_labels_taken_for_the_reference_is_told_of() -> None:
    assert _labels_in(LABELLED) == ["expected: polite, rude"]


@pytest.mark.parametrize("name", ["expected", "Ground Truth", "target"])
def test_labels_are_noticed_under_every_name_that_is_guessed(name: str) -> None:
    rows = [{"response": row["response"], name: row["expected"]} for row in LABELLED]
    assert _labels_in(rows) == [f"{name}: polite, rude"]


def test_a_reference_that_is_named_or_differs_from_row_to_row_is_not_questioned() -> None:
    assert _labels_in(LABELLED, {"reference": "expected"}) == []
    assert _labels_in([{"response": row["response"], "reference": "yes"} for row in LABELLED]) == []
    answers = [
        {"response": row["response"], "expected": f"In {1880 + n}."}
        for n, row in enumerate(LABELLED)
    ]
    assert _labels_in(answers) == []
    assert _labels_in(LABELLED[:7]) == []  # too few rows to tell


def test_an_empty_column_leaves_the_field_out() -> None:
    rows = list(read_instances(LABELLED, {"reference": ""}))
    assert {tuple(row.fields) for row in rows} == {("response",)}
    assert _labels_in(LABELLED, {"reference": ""}) == []


def _rows_file(folder: Path) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in LABELLED))
    return path


def test_judge_warns_of_labels_and_runs_as_the_warning_says(tmp_path: Path) -> None:
    _rows_file(tmp_path)
    words = ["judge", "--file", "rows.jsonl", "--criterion", "Is it polite?", "-m", "scripted"]
    warned = adjudge(*words, "-q", cwd=tmp_path)
    assert "judges see the column 'expected' as the reference answer" in warned.stderr
    assert "--column reference=" in warned.stderr
    blind = adjudge(*words, "--column", "reference=", "--run", "runs/one", "-q", cwd=tmp_path)
    assert (blind.returncode, "expected" in blind.stderr) == (0, False)
    resumed = adjudge("resume", "runs/one", cwd=tmp_path)  # the kept eval file leaves it out, too
    assert (resumed.returncode, "expected" in resumed.stderr) == (0, False)


def test_judges_in_python_warn_of_labels(caplog: pytest.LogCaptureFixture) -> None:
    """Rows of a program were judged with their labels, without a word."""
    rows = [{key: cell for key, cell in row.items() if cell} for row in LABELLED]
    AspectCritic("It is polite.", models="scripted").evaluate(rows)
    DirectJudge(models="scripted").evaluate(rows, "Is it polite?")
    warned = [record.getMessage() for record in caplog.records if record.name == "adjudge.data"]
    assert len(warned) == 2
    assert all("'expected'" in each and "'polite', 'rude'" in each for each in warned)
    caplog.clear()
    alone = Criteria("polite", "Is it polite?", OPTIONS, context_fields=[])
    DirectJudge(models="scripted").evaluate(rows, alone)
    DirectJudge(models="scripted").evaluate(LABELLED[:7], "Is it polite?")
    left_out = list(read_instances(LABELLED, {"reference": ""}))
    DirectJudge(models="scripted").evaluate(left_out, "Is it polite?")
    assert not [record for record in caplog.records if record.name == "adjudge.data"]


def test_checks_alone_and_criteria_that_need_a_reference_do_not_warn(tmp_path: Path) -> None:
    _rows_file(tmp_path)
    checked = adjudge("check", "--file", "rows.jsonl", "--contains", "Answer", cwd=tmp_path)
    words = ["judge", "--file", "rows.jsonl", "--column", "user_input=id", "-m", "scripted"]
    judged = adjudge(*words, "-c", "factual_correctness", cwd=tmp_path)
    assert "as the reference answer" not in checked.stderr + judged.stderr


def test_a_model_does_not_see_what_a_check_compares_with(tmp_path: Path) -> None:
    _rows_file(tmp_path)
    path = tmp_path / "eval.yaml"
    path.write_text(
        "data: {path: rows.jsonl, columns: {reference: ''}}\n"
        "models: [scripted]\n"
        "checks:\n  - {equals: {field: expected}, rows_with: expected}\n"
        "judges:\n  - {kind: aspect, name: polite, criteria: It is polite.}\n"
    )
    row, *_ = RowReader(load_eval(path)).read(lambda odd: None)
    assert row.fields["expected"] == "polite"  # the check reads it
    whole_row = Criteria("polite", "Is it polite?", OPTIONS)
    assert list(shown_fields(whole_row, row)) == ["response"]
    naming_it = Criteria("polite", "Is it polite?", OPTIONS, context_fields=["expected"])
    assert list(shown_fields(naming_it, row)) == ["expected", "response"]
