"""``adjudge plan``: rows, labels and dollars for a wanted precision or power."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from adjudge import AspectCritic, Instance
from adjudge.core.gateway.prices import PriceTable
from adjudge.runs.folder import run_info
from adjudge.trust.labels.store import LabelStore
from adjudge.trust.planning import _usd_per_row, planned_judge
from support import commands
from support.labels import label, model
from support.trust import labelled, labels_of, population, run_of


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--rate 0.9 --width 0.2", "is then 0.2 wide or less in half of all samples."),
        ("--rate 0.8 --width 0.2 --sensitivity 0.95 --specificity 0.9", "Without the judge"),
        ("--rate 0.8 --difference 0.15", "rates of 0.8 and 0.95 are then told apart"),
        ("--rate 0.9 --bar 0.7", "a gate at 0.7 is then decided"),
    ],
)
def test_a_plan_says_what_it_takes_and_how_sure_that_is(
    words: str, said: str, tmp_path: Path
) -> None:
    done = commands.adjudge("plan", *words.split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout
    assert "Simulated" in done.stdout and "±" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--rate 1.2 --width 0.1", "rate must be between 0 and 1"),
        ("--rate 0.9", "give exactly one goal"),
        ("--rate 0.9 --width 0.1 --bar 0.8", "give exactly one goal"),
        ("--rate 0.9 --bar 0.9", "differ from the rate"),
        ("--rate 0.9 --difference 0.2", "make 1.1"),
        ("--rate 0.9 --difference 0", "not 0"),
        ("--rate 0.9 --width 0", "width must be between"),
        ("--rate 0.9 --width 0.1 --rows 50", "rows needs a judge"),
        ("--rate 0.9 --width 0.1 --sensitivity 0.9", "give both"),
        ("--rate 0.9 --difference 0.05 --discordant 0.01", "at least as large"),
        ("--rate 0.9 --width 0.1 --judge nowhere", "nowhere"),
        ("--rate 0.9 --width 0.1 --sequential", "only for a gate"),
        ("--rate few --width 0.1", "few"),
    ],
)
def test_what_cannot_be_planned_is_refused_in_a_sentence(
    words: str, said: str, tmp_path: Path
) -> None:
    done = commands.adjudge("plan", *words.split(), cwd=tmp_path)
    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_plan_with_a_run_knows_what_one_judge_costs(tmp_path: Path) -> None:
    texts = [f"row {place} said {'yes' if place % 3 else 'no'}." for place in range(40)]

    def critic(name: str) -> AspectCritic:
        said = model(lambda prompt: "PASS" if "yes" in prompt else "FAIL", "openai/gpt-4o-mini")
        return AspectCritic("Says yes.", said, name=name)

    run = tmp_path / "run"
    critic("dates").evaluate([Instance({"response": text}) for text in texts], run=run)
    LabelStore(run).add(
        *(label(one, "FAIL" if "no" in one else "PASS", design="random") for one in texts)
    )
    found, info = planned_judge(run), run_info(run)
    (used,) = info.usage.values()
    assert found.usd_per_row == pytest.approx(
        (PriceTable.load().cost("openai/gpt-4o-mini", used) or 0) / 40
    )
    assert _usd_per_row(replace(info, votes=80)) == pytest.approx(2 * (found.usd_per_row or 0))
    assert _usd_per_row(replace(info, judges={**info.judges, "other": {"scored": 40}})) is None
    assert _usd_per_row(replace(info, usage={})) is None


def test_a_plan_says_how_its_judge_differs_from_the_measured_one(tmp_path: Path) -> None:
    run = tmp_path / "run"
    rows = population(60, good=0.5)
    labelled(run_of(run, rows), labels_of(rows))
    shown = commands.adjudge("calibrate", run).stdout
    plan = commands.adjudge("plan", "--rate", "0.5", "--width", "0.3", "--judge", run)
    good, bad = sum(is_good for _, is_good, _ in rows), sum(not is_good for _, is_good, _ in rows)
    hits = sum(is_good and passed for _, is_good, passed in rows)
    rejected = sum(not is_good and not passed for _, is_good, passed in rows)
    assert f"sensitivity {hits / good:.3f}" in shown
    assert f"to pass {hits / (good + 1):.3f} of what people pass" in plan.stdout
    assert (
        f"According to its labels these are {hits / good:.3f} and {rejected / bad:.3f}; one "
        "mistake of each kind is added"
    ) in plan.stdout


def test_a_plan_is_a_json_document_too(tmp_path: Path) -> None:
    words = "plan --rate 0.8 --width 0.05 --sensitivity 0.9 --specificity 0.9 --rows 60 --json"
    done = commands.adjudge(*words.split(), cwd=tmp_path)
    assert done.returncode == 5  # out of reach
    (found,) = json.loads(done.stdout)["results"]
    assert found["what"] == "rate"
    assert found["labels"] is None
    assert found["labels_alone"] > 100
    assert "out of reach" in found["sentences"][0]
