from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

import pytest

from adjudge import AspectCritic
from adjudge.runs.folder import records_of
from adjudge.trust.measure import Measure
from adjudge.trust.panel_check import panel_of
from adjudge.trust.rows import LabelledRow


@pytest.mark.parametrize("missing", ["drop", "wrong"])
def test_a_replacement_is_measured_on_the_rows_that_it_was_asked_about(
    tmp_path: Path, missing: Literal["drop", "wrong"]
) -> None:
    """With ``missing="wrong"``, every row on which it was not needed counted as its mistake."""

    def says(option: str) -> str:
        return json.dumps({"explanation": "so", "selected_option": option})

    def a(prompt: str) -> str:
        return says("PASS" if "good" in prompt.rpartition("material")[2] else "FAIL")

    def b(prompt: str) -> str:
        if "odd" in prompt.rpartition("material")[2]:
            raise RuntimeError("down")
        return a(prompt)

    rows = [
        {"id": str(number), "response": f"{number} {'odd' if number % 4 == 1 else 'even'} {word}"}
        for number, word in ((number, "good" if number % 3 else "bad") for number in range(24))
    ]
    critic = AspectCritic("Polite?", [a, b], replacement="scripted/PASS", name="polite")
    critic.evaluate(rows, run=tmp_path / "run")
    labelled = [
        LabelledRow(
            identity=str(number),
            place=number,
            verdict=record.verdict,
            number=None,
            answers={"ann": "PASS" if number % 3 else "FAIL"},
            random=False,
            votes=record.votes or (),
        )
        for number, record in enumerate(records_of(tmp_path / "run", votes=True))
    ]
    measure = Measure("PASS", ("FAIL", "PASS"), {"FAIL": 0.0, "PASS": 1.0})
    panel = panel_of(labelled, measure, 0.95, missing=missing)
    assert panel is not None
    spare = panel.members["scripted/PASS"]
    assert (spare.share, spare.left_out) == (pytest.approx(4 / 6), 0)
    failed = panel.members["b"]
    assert failed.share == pytest.approx(1.0 if missing == "drop" else 18 / 24)
