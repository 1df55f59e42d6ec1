"""``judge.evaluate(frame, columns=…)`` returns the frame with the verdicts beside its rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from adjudge import AspectCritic, Criteria, CriteriaOption, DirectJudge
from adjudge.core.data.sources.row import Row
from adjudge.core.judges.frames import _values_of, _with_fields
from adjudge.errors import SetupError


class SmallFrame:
    """A frame of a library that is neither pandas nor polars."""

    def __init__(self, **columns: list[object]) -> None:
        self.columns = list(columns)
        self._rows = list(zip(*columns.values(), strict=True))

    def itertuples(self, *, index: bool, name: None) -> Iterator[tuple[object, ...]]:
        return iter(self._rows)


def polite() -> AspectCritic:
    return AspectCritic("Is it polite?", models="scripted")


def test_pandas_keeps_its_index_columns_and_order() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: make test-parquet")
    frame = pandas.DataFrame({"Q": ["a", "b"], "Bot": ["x", "y"], "n": [1, 2]}, index=[7, 9])
    for judged in (
        polite().evaluate(frame, columns={"response": "Bot", "user_input": "Q"}),
        DirectJudge(models="scripted").evaluate(frame, "conciseness", columns={"response": "Bot"}),
    ):
        names = ["Q", "Bot", "n", "verdict", "score", "explanation", "status"]
        assert list(judged.columns) == names
        assert list(judged.index) == [7, 9]
        assert list(judged["score"]) == [1.0, 1.0]
        assert list(judged["status"]) == ["scored", "scored"]
    assert list(frame.columns) == ["Q", "Bot", "n"]  # the caller's is as it was


def test_two_fields_may_come_from_one_column() -> None:
    """The first of the two was lost, so the judge did not see the question."""
    row = Row(1, {"Text": "the text", "n": "1"})
    named = _with_fields(row, {"response": "Text", "user_input": "Text"})
    assert named.cells == {"response": "the text", "user_input": "the text", "n": "1"}


def test_a_failure_is_a_missing_value_and_no_number() -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: make test-parquet")

    def silent(prompt: str) -> str:
        return "no verdict"

    judged = AspectCritic("Is it polite?", models=silent).evaluate(
        pandas.DataFrame({"response": ["x"]}), columns={}
    )
    assert judged["score"].isna().all() and judged["verdict"].isna().all()
    assert judged["status"][0] != "scored"


@pytest.mark.parametrize(
    ("cells", "column", "message"),
    [
        ({"Bot": ["x"]}, "Answer", "no column 'Answer' .*it has: Bot"),
        ({"Bot": ["x"], "score": [1]}, "Bot", "already has a column 'score'"),
    ],
)
def test_missing_and_taken_columns_are_named(
    cells: dict[str, list[object]], column: str, message: str
) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: make test-parquet")
    with pytest.raises(SetupError, match=message):
        polite().evaluate(pandas.DataFrame(cells), columns={"response": column})


def test_polars_stays_polars() -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed: make test-parquet")
    frame = polars.DataFrame({"Bot": ["x", "y"]})
    judged = polite().evaluate(frame, columns={"response": "Bot"})
    assert isinstance(judged, polars.DataFrame)
    assert judged["score"].to_list() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("given", "columns", "message"),
    [
        (
            SmallFrame(Bot=["x"]),
            {"response": "Bot"},
            "pandas or polars data frames, not with SmallFrame",
        ),
        (["x"], {"response": "Bot"}, "pandas or polars data frames, not with list"),
    ],
)
def test_what_has_no_place_for_verdicts_is_refused_before_any_call(
    given: Any, columns: dict[str, str], message: str
) -> None:
    def never(prompt: str) -> str:
        raise AssertionError("nothing should be asked")

    with pytest.raises(SetupError, match=message):
        AspectCritic("Is it polite?", models=never).evaluate(given, columns=columns)


def test_without_columns_a_frame_gives_results() -> None:
    results = polite().evaluate(SmallFrame(response=["x", "y"]))
    assert [result.verdict for result in results] == ["PASS", "PASS"]


def test_a_random_option_for_a_failed_judgment_is_no_number() -> None:
    """The mean of the column counted it."""
    options = [CriteriaOption("Yes", 1.0), CriteriaOption("No", 0.0)]
    judge = DirectJudge("scripted/nothing to read", on_failure="random")
    result = judge.evaluate("text", Criteria("clear", "Is it clear?", options))
    assert (result.score, result.fallback) != (None, None)
    values = _values_of(result)
    assert (values["verdict"], values["score"], values["status"]) == (None, None, "failed")
