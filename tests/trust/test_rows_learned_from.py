"""Rows that a learned judge was trained on measure it nowhere, also not in a program."""

from __future__ import annotations

from adjudge import AspectCritic, Instance, Label
from adjudge.trust import calibrate
from adjudge.trust.calibration import CalibrationSettings
from support.labels import model

NUMBER_ONLY = CalibrationSettings(agreement=None)


def test_results_of_learned_rows_are_left_out_and_counted() -> None:
    """Of 60 labelled rows the judge learned 30 by heart; on the others it is wrong."""
    critic = AspectCritic("Says yes.", model(lambda _: "PASS"), name="dates")
    results = list(critic.evaluate([Instance({"response": f"row {n}"}) for n in range(60)]))
    labels = [
        Label(
            row=result.instance.identity,
            criteria="dates",
            annotator="ann",
            option="PASS" if place < 30 else "FAIL",
            design="random",
        )
        for place, result in enumerate(results)
    ]
    learned = {result.instance.identity for result in results[:30]}
    calibration = calibrate(results, labels, learned_rows=learned, settings=NUMBER_ONLY)
    assert (calibration.count, calibration.labels_only.value) == (30, 0.0)
    notes = list(map(str, calibration.notes))
    assert "30 labels do not count, because the judge learned from their rows" in notes
    assert any(note.startswith("30 rows that the judge learned from are left") for note in notes)
    assert calibrate(results, labels, settings=NUMBER_ONLY).count == 60
