"""Results and runs as data frames: what is missing stays missing, and every column has one type."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from adjudge import (
    AspectCritic,
    Criteria,
    CriteriaOption,
    DirectJudge,
    ModelError,
    MultiCriteria,
    MultiCriteriaItem,
    ScriptedModel,
)
from adjudge.core.domain.results import AspectResult
from adjudge.errors import SetupError
from adjudge.features.integrations.frames import rows_of, to_arrow, to_pandas, to_polars
from adjudge.runs.exporters.export import column_types

SAID = '{"explanation": "so", "selected_option": "PASS"}'


def results(run: Path | None = None) -> list[AspectResult]:
    judge = AspectCritic(
        "It is good.", ScriptedModel([SAID, ModelError("broken")], name="m"), name="good"
    )
    return judge.evaluate(
        [{"question": "q", "answer": "a"}, {"question": "q", "answer": "b"}], run=run
    )


def test_a_row_for_each_judgment_with_what_was_judged_and_what_came_of_it() -> None:
    first, second = rows_of(results())
    assert (first["question"], first["answer"], first["verdict"], first["score"]) == (
        "q",
        "a",
        "PASS",
        1.0,
    )
    assert (second["status"], second["score"]) == ("failed", None)
    assert first.keys() == second.keys()
    assert json.loads(str(first["notes"])) == []


def test_a_run_folder_and_a_single_result_are_given_alike(tmp_path: Path) -> None:
    found = results(tmp_path / "run")
    (one,) = rows_of(found[0])
    kept = rows_of(tmp_path / "run")
    assert [row["score"] for row in kept] == [1.0, None]
    assert one["answer"] == kept[0]["answer"]


def test_several_criteria_give_a_row_each() -> None:
    options = [CriteriaOption("Yes", score=1.0), CriteriaOption("No", score=0.0)]
    items = [
        MultiCriteriaItem(Criteria(name, "Is it?", options), weight=0.5) for name in ("a", "b")
    ]
    found = DirectJudge(ScriptedModel()).evaluate_multi_criteria(["x", "y"], MultiCriteria(items))
    assert [(row["row"], row["criteria"]) for row in rows_of(found)] == [
        (1, "a"),
        (1, "b"),
        (2, "a"),
        (2, "b"),
    ]


def test_a_library_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(SetupError, match="pip install pandas"):
        to_pandas(results())


def test_pandas_knows_what_is_missing() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = to_pandas(results())
    assert isinstance(frame, pandas.DataFrame)
    assert frame["score"].isna().tolist() == [False, True]
    assert frame["score"].mean() == 1.0
    assert str(frame["score"].dtype) == "Float64"
    again = AspectCritic("It is good.", ScriptedModel()).evaluate(frame[["question", "answer"]])
    assert [one.score for one in again] == [1.0, 1.0]


def test_polars_and_arrow_know_what_is_missing() -> None:
    pytest.importorskip("polars", reason="polars is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    frame, table = to_polars(results()), to_arrow(results())
    assert frame["score"].to_list() == table["score"].to_pylist() == [1.0, None]
    for rows in (frame.select("question", "answer"), table.select(["question", "answer"])):
        again = AspectCritic("It is good.", ScriptedModel()).evaluate(rows)
        assert [one.score for one in again] == [1.0, 1.0]


def test_where_every_judgment_failed_the_score_is_still_a_column_of_numbers() -> None:
    """Else frames of two runs cannot be put together, and a mean is an error instead of a missing
    value.
    """
    failed = [one for one in results() if one.score is None]
    assert (
        column_types(rows_of(failed))["score"]
        == column_types(rows_of(failed))["agreement"]
        == "float64"
    )
