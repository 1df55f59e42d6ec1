"""The step that a judge blames beside the step that people name."""

from __future__ import annotations

import json
from pathlib import Path

from adjudge import AgentEvaluator, Request, ScriptedModel, Trajectory
from adjudge.core.domain.label import Label
from adjudge.features.agents.item import as_instance
from adjudge.runs.folder import records_of
from adjudge.trust.calibration import calibrate_run
from adjudge.trust.calibration_words import agreement_figures
from adjudge.trust.labels.store import LabelStore

TRUE = (2, 3, 4, 4, None, 2)
"""What people name; the judge names step 3 each time."""


def blame(_: Request) -> str:
    said = {"explanation": "x", "evidence": [], "step": 3, "agent": "assistant"}
    return json.dumps({**said, "selected_option": "ignored error"})


def blamed_run(folder: Path) -> Path:
    roles = ("user", "assistant") * 3
    rows = [
        as_instance(
            Trajectory.of([{"role": one, "content": f"{place} says {one}"} for one in roles]),
            place,
            {"id": f"r{place}"},
        )
        for place in range(len(TRUE))
    ]
    AgentEvaluator(ScriptedModel(blame), measures=["blame"]).evaluate(rows, run=folder)
    records = list(records_of(folder))
    option = records[0].verdict
    assert option is not None
    LabelStore(folder).add(
        *(
            Label(
                row=one.identity,
                id=one.id,
                criteria=one.criterion,
                annotator="ann",
                option=option,
                step=true,
                design="random",
            )
            for one, true in zip(records, TRUE, strict=True)
        )
    )
    return folder


def test_a_step_counts_where_people_name_one(tmp_path: Path) -> None:
    (found,) = calibrate_run(blamed_run(tmp_path / "run"))
    assert found.agreement is not None
    exact, near = (found.agreement.figures[name] for name in ("wrong step", "wrong step ±1"))
    assert (exact.value, exact.count) == (1 / 5, 5)
    assert near.value == 1.0 and near.lower is not None and 0.4 < near.lower < 1
    shown = {str(name): one for name, one in agreement_figures(found.agreement)}
    assert shown["the step where it went wrong"] is exact
