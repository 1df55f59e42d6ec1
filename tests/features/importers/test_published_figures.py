"""The public records give their published figures: import, then calibrate, one command each."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from adjudge.stats.agreement import Missing
from adjudge.stats.bootstrap import Draws
from adjudge.trust.agreement import AgreementSettings
from adjudge.trust.calibration import Calibration, CalibrationSettings, calibrate_run
from support.importing import imported_path
from support.records import PUBLIC, without_public

pytestmark = [
    without_public,
    pytest.mark.skipif(
        not os.environ.get("ADJUDGE_PUBLISHED"), reason="a minute of work: make test-import"
    ),
]


def calibrated(
    name: str, tmp_path: Path, missing: Missing = "drop", group: str | None = None
) -> dict[str, Calibration]:
    """By judge; few draws, since nothing here looks at an interval."""
    imported_path(PUBLIC / name, tmp_path / "run")
    settings = AgreementSettings(missing=missing, draws=Draws(count=2))
    return {
        one.judge: one
        for one in calibrate_run(
            tmp_path / "run", settings=CalibrationSettings(agreement=settings, by=group)
        )
    }


def percent(value: float | None) -> float:
    assert value is not None
    return round(100 * value, 2)


def figures(one: Calibration) -> list[float]:
    assert one.agreement is not None
    names = ("accuracy", "macro precision", "macro recall", "macro F1")
    return [percent(one.agreement.figures[name].value) for name in names]


@pytest.mark.parametrize(
    ("missing", "accuracy"), [("tie", 71.07), ("wrong", 69.77), ("drop", 71.56)]
)
def test_pandalm_by_each_policy_for_unreadable_replies(
    tmp_path: Path, missing: Missing, accuracy: float
) -> None:
    found = calibrated("pandalm.jsonl", tmp_path, missing)
    assert figures(found["pandalm-7b"]) == [66.77, 57.38, 57.50, 57.43]
    assert figures(found["gpt-3.5-turbo"])[0] == accuracy
    if missing == "tie":
        assert figures(found["gpt-3.5-turbo"]) == [71.07, 58.79, 57.36, 57.55]


def test_pandalms_annotators_among_themselves(tmp_path: Path) -> None:
    found = calibrated("pandalm.jsonl", tmp_path)["pandalm-7b"].agreement
    assert found is not None
    kappas = [one.kappa.value or 0.0 for one in found.people.values()]
    # One pair of texts stands in the file twice with other votes: each row has its own.
    assert kappas == pytest.approx([0.852, 0.879, 0.862], abs=0.0006)


def test_agent_cases_false_passes_and_false_fails(tmp_path: Path) -> None:
    found = calibrated("agent_cases.jsonl", tmp_path)
    wrong = {
        name: (
            one.confusion.table["wrong"].get("correct", 0),
            one.confusion.table["correct"].get("wrong", 0),
        )
        for name, one in found.items()
    }
    assert wrong == {"naive": (5, 11), "phoenix": (5, 10), "deepeval": (8, 5), "opik": (0, 16)}


def test_llmbar_in_both_orders(tmp_path: Path) -> None:
    found = calibrated("llmbar_recorded.jsonl", tmp_path, group="subset")
    published = {
        "Vanilla_NoRules": (93.5, 97),
        "Vanilla": (95.5, 95),
        "CoT": (94.5, 91),
        "Metrics_Reference": (96.0, 96),
    }
    for strategy, (accuracy, alike) in published.items():
        report = found[f"GPT-4/{strategy}"].agreement
        assert report is not None
        natural = report.orders["Natural"]
        assert (natural.count, percent(natural.accuracy), percent(natural.alike)) == (
            100,
            accuracy,
            alike,
        )


def test_rag25s_dual_judge(tmp_path: Path) -> None:
    one: Any = calibrated("rag25.jsonl", tmp_path)["zarmaks_mistral_dual"]
    assert percent(one.agreement.figures["accuracy"].value) == 92
    assert [
        percent(one.agreement.classes["FAIL"][name].value) for name in ("precision", "recall", "F1")
    ] == [93.33] * 3
    assert (
        percent(one.agreement.classes["PASS"]["recall"].value) == 90
    )  # its specificity: what it looks for is a bad answer
