"""Votes of a panel that were lost leave a gate open if they could turn it."""

from __future__ import annotations

from pathlib import Path

import pytest

from adjudge import AspectCritic, DirectJudge, ScriptedModel
from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.instance import Instance
from adjudge.runs.folder import records_of
from adjudge.runs.results.gate import mean_gate
from adjudge.runs.results.summary import GateConfidence, Tally

ROWS = [Instance({"response": f"text {place}"}, id=f"r{place}") for place in range(10)]
KIND = Criteria(
    "kind", "Is it kind?", (CriteriaOption("Yes", "", 1.0), CriteriaOption("No", "", 0))
)


def model(name: str, *options: str) -> ScriptedModel:
    return ScriptedModel(
        [f'{{"explanation": "so", "selected_option": "{one}"}}' for one in options], name=name
    )


def tally(run: Path, confidence: float | None = None) -> Tally:
    found = Tally(GateConfidence(confidence))
    for one in records_of(run, votes=True):
        found.add(one)
    return found


def test_lost_votes_of_an_aspect_leave_the_gate_open(tmp_path: Path) -> None:
    """Two models pass every row, and the third one lost its votes: 1.000 may be 0.667."""
    panel = [model("one", "PASS"), model("two", "PASS"), model("lost", "nonsense")]
    AspectCritic("It is good.", panel, max_repairs=0).evaluate(ROWS, run=tmp_path / "run")
    summary = tally(tmp_path / "run").summary()
    assert (summary.mean, summary.open_rows) == (1.0, 10)
    assert (summary.lower, summary.upper) == (pytest.approx(2 / 3), 1.0)
    gate = mean_gate("aspect", "aspect", summary, 0.7)
    assert gate.verdict == "inconclusive"
    assert "10 of 10 rows lack votes of the panel that could change them." in gate.sentence()
    assert mean_gate("aspect", "aspect", summary, 0.6).verdict == "holds"
    sure = tally(tmp_path / "run", 0.95).summary().confident
    assert sure is not None and sure.lower < 2 / 3


def test_a_majority_that_lost_votes_cannot_turn_counts(tmp_path: Path) -> None:
    lost = model("lost", "nonsense")
    panel = [model("one", "Yes"), model("two", "Yes"), lost]
    DirectJudge(panel, max_repairs=0).evaluate(ROWS, KIND, run=tmp_path / "three")
    summary = tally(tmp_path / "three").summary()
    assert (summary.open_rows, summary.lower) == (0, 1.0)
    DirectJudge([model("one", "Yes"), lost], max_repairs=0).evaluate(
        ROWS, KIND, run=tmp_path / "two"
    )
    summary = tally(tmp_path / "two").summary()
    assert (summary.open_rows, summary.lower, summary.upper) == (10, 0.0, 1.0)
