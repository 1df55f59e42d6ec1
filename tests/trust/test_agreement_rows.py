"""Which labelled rows figures of agreement are about."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from adjudge import AspectCritic, Instance
from adjudge.core.domain.label import Answer, Label
from adjudge.trust import Calibration, calibrate_run
from adjudge.trust.labels.session import Annotator, labelling
from adjudge.trust.labels.store import LabelStore
from support import commands
from support.labels import identity, model
from support.trust import Row, population, run_of


def label_rows(run: Path, rows: Sequence[Row], count: int) -> None:
    """Label the default queue without an error."""
    truth = {identity(text): good for text, good, _ in rows}
    work = labelling(run, Annotator("ann", count=count))
    while ahead := work.upcoming():
        for shown in ahead:
            good = truth[shown.queued.identity]
            work.answer(shown, Answer(option="PASS" if good else "FAIL"))


def only(found: Sequence[Calibration]) -> Calibration:
    (one,) = found
    return one


def topped_up(folder: Path) -> tuple[Path, dict[str, bool], set[str]]:
    """A run with few FAILs, labelled past the first 50 rows: whether the judge is right on each
    row, and the rows that were drawn among all rows.
    """
    rows = population(400, good=0.97, sensitivity=0.97, specificity=0.5, seed=3)
    run = run_of(folder, rows)
    label_rows(run, rows, 80)
    right = {identity(text): good == passed for text, good, passed in rows}
    drawn = {one.row for one in LabelStore(run).current() if one.design == "random"}
    return run, right, drawn


def test_rows_that_topped_up_a_verdict_are_not_in_figures_of_agreement(tmp_path: Path) -> None:
    run, right, drawn = topped_up(tmp_path / "run")
    found = only(calibrate_run(run))
    report = found.agreement
    assert report is not None and report.drawn
    assert report.count == len(drawn) < found.count
    assert report.figures["accuracy"].value == sum(right[one] for one in drawn) / len(drawn)
    assert report.drawn_otherwise == found.count - len(drawn)
    left_out = (
        f"figures of agreement leave out {report.drawn_otherwise} labelled rows that were not "
        "drawn among all rows"
    )
    for command in ("calibrate", "card", "bench"):
        assert left_out in " ".join(commands.adjudge(command, run).stdout.split())
    (data,) = json.loads(commands.adjudge("calibrate", run, "--json").stdout)["results"]
    assert data["agreement"]["drawn_otherwise"] == report.drawn_otherwise


def test_bench_ranks_judges_on_rows_drawn_among_all_rows(tmp_path: Path) -> None:
    run, right, drawn = topped_up(tmp_path / "run")
    (data,) = json.loads(commands.adjudge("bench", run, "--json").stdout)["results"]
    (judge,) = data["judges"]
    assert judge["rows"] == len(drawn)
    assert judge["agreement"]["value"] == sum(right[one] for one in drawn) / len(drawn)


def test_labels_from_before_and_after_a_run_grew_give_no_figures_of_agreement(
    tmp_path: Path,
) -> None:
    old = population(100, good=0.95)
    new = [
        (text.replace("row", "new row"), good, passed)
        for text, good, passed in population(300, good=0.3, specificity=0.5, seed=1)
    ]
    run = run_of(tmp_path / "run", old)
    label_rows(run, old, 50)
    run_of(run, [*old, *new])
    label_rows(run, [*old, *new], 90)
    found = only(calibrate_run(run))
    assert found.agreement is not None and found.agreement.count == 0
    assert all(one.value is None for one in found.agreement.figures.values())
    reason = "no figures of agreement: rows were added to the run between the labels"
    shown = commands.adjudge("calibrate", run).stdout
    assert reason in shown and "accuracy" not in shown
    card = commands.adjudge("card", run).stdout
    assert reason in card and "accuracy" not in card
    refused = commands.adjudge("bench", run)
    assert refused.returncode == 1 and reason in " ".join(refused.stderr.split())


def test_a_panel_is_measured_on_the_rows_of_the_figures_of_agreement(tmp_path: Path) -> None:
    """Rows that topped up a verdict were in the panel's figures and not in its accuracy."""
    run = tmp_path / "run"
    instances = [Instance({"response": f"text {place}"}, id=str(place)) for place in range(60)]
    panel = [model(lambda _: "PASS", "one"), model(lambda _: "PASS", "two")]
    AspectCritic("It is good.", panel, name="good").evaluate(instances, run=run)
    LabelStore(run).add(
        *(
            Label(
                row=one.identity,
                criteria="good",
                annotator="ann",
                option="PASS" if place < 30 else "FAIL",
                design="random" if place < 30 else "chosen",
            )
            for place, one in enumerate(instances)
        )
    )
    found = only(calibrate_run(run))
    assert found.agreement is not None and found.panel is not None
    assert found.agreement.count == found.panel.labels == 30
    assert found.panel.panel.share == found.agreement.figures["accuracy"].value == 1.0
