"""``judge.evaluate(frame, columns=…)`` of the judges of features: the frame comes back."""

from __future__ import annotations

from typing import Any

import pytest

from adjudge import (
    AspectCritic,
    Cascade,
    DirectJudge,
    EvidenceJudge,
    RagEvaluator,
    RubricJudge,
    SqlJudge,
)
from adjudge.errors import SetupError

ADDED = ["verdict", "score", "explanation", "status"]


@pytest.fixture
def pandas() -> Any:
    return pytest.importorskip("pandas", reason="pandas is not installed: make test-parquet")


def test_a_cascade_returns_the_frame(pandas: Any) -> None:
    frame = pandas.DataFrame({"Bot": ["x", "y"]}, index=[3, 1])
    steps = [AspectCritic("Polite?", f"scripted/{word}") for word in ("PASS", "FAIL")]
    judged = Cascade(steps).evaluate(frame, columns={"response": "Bot"})
    assert list(judged.columns) == ["Bot", *ADDED]
    assert (list(judged.index), list(judged["verdict"])) == ([3, 1], ["FAIL", "FAIL"])
    options = [DirectJudge(f"scripted/{word}") for word in ("Yes", "No")]
    judged = Cascade(options).evaluate(frame, "Is it polite?", columns={"response": "Bot"})
    assert list(judged["verdict"]) == ["No", "No"]


def test_evidence_returns_the_frame(pandas: Any) -> None:
    frame = pandas.DataFrame(
        {"said": ["The tower has 300 metres.", "Hello."], "found": ["It has 300 metres.", ""]}
    )
    judged = EvidenceJudge(method="rules").evaluate(
        frame, columns={"response": "said", "contexts": "found"}
    )
    assert list(judged.columns) == ["said", "found", *ADDED]
    assert list(judged["status"]) != []
    assert len(judged) == 2


def test_rubrics_return_the_frame(pandas: Any) -> None:
    rubric = '[{"text": "Gives a number.", "points": 2}]'
    frame = pandas.DataFrame({"Bot": ["300", "none"], "points": [rubric, rubric]})
    reply = '{"explanation": "It does.", "selected_option": "met"}'
    judged = RubricJudge(f"scripted/{reply}", per="point").evaluate(
        frame, columns={"response": "Bot", "rubric": "points"}
    )
    assert list(judged.columns) == ["Bot", "points", *ADDED]
    assert len(judged["score"]) == 2


def test_rag_returns_the_frame_with_a_column_per_dimension(pandas: Any) -> None:
    frame = pandas.DataFrame(
        {
            "Bot": ["Paris.", None, "Rome."],
            "asked": ["The capital of France?", None, "The capital of Italy?"],
            "found": ["Paris is the capital.", None, "Rome is the capital."],
        },
        index=["a", "b", "c"],
    )
    rag = RagEvaluator("scripted/1", dimensions=["answer_relevance", "groundedness"])
    judged = rag.evaluate(
        frame, columns={"response": "Bot", "user_input": "asked", "contexts": "found"}
    )
    assert list(judged.columns) == [*frame.columns, *ADDED, "answer_relevance", "groundedness"]
    # The blank row stays where it is, without a number.
    assert list(judged.index) == ["a", "b", "c"]
    assert judged["status"]["b"] == "skipped"
    assert judged.loc["b", ["verdict", "score", "answer_relevance"]].isna().all()
    assert judged["answer_relevance"]["a"] == 1.0 and judged["status"]["c"] == "scored"
    with pytest.raises(SetupError, match="first rows of the frame"):
        rag.evaluate(frame, columns={}, limit=1)
    with pytest.raises(SetupError, match=r"a column .answer_relevance. already"):
        rag.evaluate(frame.assign(answer_relevance=1), columns={"response": "Bot"})


def test_sql_returns_the_frame(pandas: Any) -> None:
    frame = pandas.DataFrame(
        {
            "query": ["SELECT a FROM t", "SELECT 2"],
            "gold": ["SELECT a FROM t"] * 2,
            "database": ["CREATE TABLE t(a); INSERT INTO t VALUES (1)"] * 2,
        }
    )
    judged = SqlJudge(copies=0, sandbox="none").evaluate(
        frame, columns={"response": "query", "reference": "gold"}
    )
    assert list(judged["verdict"]) == ["PASS", "FAIL"]


def test_polars_frames_are_polars_frames() -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed")
    frame = polars.DataFrame({"response": ["x"], "user_input": ["q"], "contexts": ["c"]})
    judged = RagEvaluator("scripted/1", dimensions=["answer_relevance"]).evaluate(frame, columns={})
    assert judged.columns[-1] == "answer_relevance" and judged["answer_relevance"].to_list() == [
        1.0
    ]
