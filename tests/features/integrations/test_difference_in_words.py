"""A difference between runs in a message of pytest: in points only if scores run from 0 to 1."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from adjudge import Criteria, CriteriaOption, DirectJudge, ScriptedModel
from adjudge.features.integrations.pytest_decisions import describe_difference
from adjudge.runs.folder import run_info
from adjudge.runs.results.paired_gate import paired_gates
from adjudge.runs.results.setup import Setup

STARS = Criteria("stars", "How good is it?", [CriteriaOption(str(n), score=n) for n in range(1, 6)])


def test_stars_are_not_called_points(tmp_path: Path) -> None:
    """A drop of one star was "worse by 100.0 points"."""
    for run, stars in (("old", "5"), ("new", "4")):
        model = ScriptedModel([json.dumps({"selected_option": stars})])
        texts = [f"{run} {row}" for row in range(20)]
        DirectJudge(model).evaluate(texts, STARS, run=tmp_path / run)
    against = str(tmp_path / "old")
    setup = replace(
        Setup.of_run(run_info(tmp_path / "new")), against=against, against_place=against
    )
    (gate,) = paired_gates(replace(setup, confidence=0.95), tmp_path / "new")
    message = describe_difference(gate)
    assert "change -1.000" in message
    assert "points" not in message
