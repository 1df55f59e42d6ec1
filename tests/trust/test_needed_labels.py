"""How many more labels a calibration asks for."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from adjudge import (
    AspectCritic,
    Criteria,
    CriteriaOption,
    DirectJudge,
    Instance,
    QuantitativeCriteria,
    Request,
    ScriptedModel,
)
from adjudge.core.domain.label import Label
from adjudge.core.domain.sampled import QuantitativeResult
from adjudge.trust import Calibration, calibrate, calibrate_run
from adjudge.trust.calibration import CalibrationSettings
from support import commands
from support.labels import model
from support.trust import labelled, labels_of, population, run_of

NUMBER_ONLY = CalibrationSettings(agreement=None)
UNKNOWN = "cannot tell how many labels an interval 0.1 wide needs: "


def only(found: Sequence[Calibration]) -> Calibration:
    (one,) = found
    return one


def test_rows_that_belong_together_have_no_plan() -> None:
    critic = AspectCritic(
        "Says yes.", model(lambda prompt: "PASS" if "said yes" in prompt else "FAIL"), name="dates"
    )
    rows = population(300)
    instances = [
        Instance({"talk": str(place // 5), "response": text})
        for place, (text, _, _) in enumerate(rows)
    ]
    labels = [
        replace(label, row=one.identity)
        for one, label in zip(instances[:150], labels_of(rows[:150]), strict=True)
    ]
    results = critic.evaluate(instances)
    grouped = calibrate(results, labels, settings=replace(NUMBER_ONLY, cluster="talk"))
    assert grouped.needed.labels is None
    assert grouped.needed.reason == (
        UNKNOWN + "rows belong together, so their labels are not independent"
    )


def test_failed_rows_without_labels_have_no_plan(tmp_path: Path) -> None:
    rows = population(400)
    run = run_of(tmp_path / "run", rows, failed=lambda text: text.split()[1].endswith("7"))
    judged = [row for row in rows[:150] if not row[0].split()[1].endswith("7")]
    found = only(calibrate_run(labelled(run, labels_of(judged)), settings=NUMBER_ONLY))
    assert found.needed.reason == UNKNOWN + "failed judgments have no label"
    shown = commands.adjudge("calibrate", run).stdout
    assert "Cannot tell how many labels an interval 0.1 wide needs: failed" in shown


@pytest.mark.parametrize("state", ["skipped", "unsure"])
def test_rows_that_nobody_decided_have_no_plan(tmp_path: Path, state: str) -> None:
    rows = population(300)
    undecided = [
        replace(one, option=None, state=state)  # type: ignore[arg-type]
        for one in labels_of(rows[60:80])
    ]
    run = labelled(run_of(tmp_path / "run", rows), [*labels_of(rows[:60]), *undecided])
    found = only(calibrate_run(run, settings=NUMBER_ONLY))
    assert found.skipped == 20
    assert found.needed.reason == UNKNOWN + "some drawn rows were skipped or marked unsure"


def test_labels_are_enough_exactly_if_the_width_is_reached(tmp_path: Path) -> None:
    rows = population(300)
    run = labelled(run_of(tmp_path / "run", rows), labels_of(rows[:150]))
    for target in (0.05, 0.1, 0.15, 0.2, 0.3):
        found = only(calibrate_run(run, settings=replace(NUMBER_ONLY, target_width=target)))
        assert found.corrected is not None and found.corrected.width is not None
        assert (found.needed.more == 0) == (found.corrected.width <= target)


def scores(settings: CalibrationSettings, labels: int = 60) -> Calibration:
    """A judge that adds 1 to scores of 200 rows, some of them labelled."""
    choice = random.Random(4)
    truth = [choice.choice([0.0, 10.0]) for _ in range(200)]
    texts = [f"row {place}: {min(10.0, value + 1)}!" for place, value in enumerate(truth)]

    def script(request: Request) -> str:
        number = request.prompt.text.split("row ")[-1].split(": ")[1].split("!")[0]
        return json.dumps({"explanation": "", "score": float(number)})

    criteria = QuantitativeCriteria("How long is it?", ScriptedModel(script))

    async def judge_all() -> list[QuantitativeResult]:
        return [await criteria.evaluate(text) for text in texts]

    results = asyncio.run(judge_all())
    given = [
        Label(
            row=one.instance.identity,
            criteria=one.criteria.name,
            annotator="ann",
            score=value,
            design="random",
        )
        for one, value in list(zip(results, truth, strict=True))[:labels]
    ]
    return calibrate(results, given, settings=settings)


def test_scores_never_need_more_labels_than_there_are_rows() -> None:
    found = scores(replace(NUMBER_ONLY, target_width=0.02))
    assert found.needed.labels is None
    assert "with all 200 rows labelled it would be about 0.1" in found.needed.reason
    full = scores(replace(NUMBER_ONLY, target_width=0.02), labels=200).corrected
    assert full is not None and full.width is not None
    expected = float(found.needed.reason.split("about ")[1].split()[0])
    assert expected == pytest.approx(full.width / 10, rel=0.02)
    these = scores(replace(NUMBER_ONLY, target_width=0.02, these_rows=True))
    assert these.needed.labels is not None and these.needed.labels <= 200


def grades(folder: Path, labels: int) -> Path:
    """A run of 120 rows on a scale from 1 to 4, some of them labelled at random."""
    choice, points = random.Random(2), {"bad": 1.0, "fair": 1.9, "good": 4.0}
    options = [CriteriaOption(*one) for one in points.items()]
    criteria = Criteria("grade", "How good is it?", options)
    truth = [choice.choice(["bad", "fair", "good"]) for _ in range(120)]
    judge = DirectJudge(
        model(lambda prompt: next(one for one in points if f"says {one}." in prompt))
    )
    rows = [
        Instance({"response": f"{place} says {one if choice.random() < 0.8 else 'fair'}."})
        for place, one in enumerate(truth)
    ]
    judge.evaluate(rows, criteria, run=folder)
    return labelled(
        folder,
        [
            Label(row=row.identity, criteria="grade", annotator="ann", option=one, design="random")
            for row, one in list(zip(rows, truth, strict=True))[:labels]
        ],
    )


def test_grades_have_the_width_that_was_foretold(tmp_path: Path) -> None:
    """A share near a half would be a third wider."""
    half = only(calibrate_run(grades(tmp_path / "half", 60), settings=NUMBER_ONLY))
    full = only(calibrate_run(grades(tmp_path / "full", 120), settings=NUMBER_ONLY)).corrected
    assert full is not None and full.width is not None
    assert half.needed.reason.startswith("a width of 0.1 of the scale is out of reach: ")
    assert half.needed.reason.endswith(" of the scale")
    expected = float(half.needed.reason.split("about ")[1].split()[0])
    assert expected == pytest.approx(full.width / 3, rel=0.06)
    shown = commands.adjudge("calibrate", tmp_path / "half").stdout
    assert f"it would be about {expected:.3f} of the scale" in shown


def test_a_wider_target_never_needs_more_labels(tmp_path: Path) -> None:
    run = grades(tmp_path / "run", 60)
    width = only(calibrate_run(run, settings=NUMBER_ONLY)).corrected
    assert width is not None and width.width is not None
    needed = [
        only(calibrate_run(run, settings=replace(NUMBER_ONLY, target_width=target))).needed.labels
        for target in (width.width / 3 * share for share in (0.85, 0.9, 0.95, 0.999, 1.001))
    ]
    assert all(one is not None for one in needed)
    assert needed == sorted(needed, key=lambda one: -(one or 0))
    assert needed[-2] is not None and needed[-2] <= 63 and needed[-1] == 60
