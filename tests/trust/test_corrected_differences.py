"""Which rows a corrected difference of two runs is about: rows that came later, rows that were
skipped, copies of one text.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest

from adjudge import AspectCritic, Instance
from adjudge.core.domain.label import Answer, Label
from adjudge.runs.diff import run_diff
from adjudge.runs.results.gate import GateResult
from adjudge.runs.results.paired_gate import paired_gates
from adjudge.runs.results.setup import Setup
from adjudge.stats.difference import ComparisonOutcome
from adjudge.trust.comparison import (
    ComparisonSettings,
    RunComparison,
    _correct,
    _correction_notes,
    compare_runs,
)
from adjudge.trust.labels.session import Annotator, labelling
from adjudge.trust.labels.store import LabelStore
from adjudge.trust.paired_series import PairedSeries
from support import commands
from support.labels import model

Rows = Mapping[str, tuple[bool, bool]]
"""Text → whether it is good, and whether the judge says so."""


def answers(name: str, count: int, good: float, seed: int = 0, right: float = 0.9) -> Rows:
    choice, rows = random.Random(f"{name} {seed}"), {}
    for number in range(count):
        is_good = choice.random() < good
        passed = is_good == (choice.random() < right)
        rows[f"{name} {number} said {'yes' if passed else 'no'}."] = (is_good, passed)
    return rows


def judge(folder: Path, rows: Rows) -> Path:
    """Judge rows that are called q0, q1, …; a run that is there already goes on."""
    script = model(lambda prompt: "PASS" if "said yes." in prompt else "FAIL")
    instances = [Instance({"response": text}, f"q{number}") for number, text in enumerate(rows)]
    AspectCritic("Says yes.", script, name="dates").evaluate(instances, run=folder)
    return folder


def label(run: Path, rows: Rows, count: int = 500, skip: float = 0.0) -> None:
    """Label drawn rows as somebody does who is always right, and skips a share of the bad ones."""
    truth = {Instance({"response": text}).identity: good for text, (good, _) in rows.items()}
    work, choice = labelling(run, Annotator("ann", count=count)), random.Random(1)
    while ahead := work.upcoming():
        for shown in ahead:
            good = truth[shown.queued.identity]
            if not good and choice.random() < skip:
                work.skip(shown)
            else:
                work.answer(shown, Answer(option="PASS" if good else "FAIL"))


def only(one: Path, two: Path, *, sequential: bool = False) -> RunComparison:
    with run_diff(one, two) as found:
        settings = ComparisonSettings(sequential=sequential, noise=False)
        (comparison,) = compare_runs(one, two, found, settings)
    return comparison


def gate(one: Path, two: Path) -> GateResult:
    """Hold the second run to the first."""
    (found,) = paired_gates(Setup(against=str(one), margin=0.1), two)
    return found


def merged(old: Rows, new: Rows) -> Rows:
    return {**old, **new}


def test_rows_added_after_the_labels_were_drawn_may_be_anything(tmp_path: Path) -> None:
    """The second system is as good on the labelled rows and far worse on the new ones."""
    before, after = (answers(name, 80, 0.8) for name in "ab")
    one, two = judge(tmp_path / "one", before), judge(tmp_path / "two", after)
    label(one, before)
    label(two, after)
    drawn = only(one, two)
    assert drawn.corrected is not None and drawn.added == 0
    assert drawn.difference.smallest and drawn.to_dict()["smallest_detectable"] is None
    judge(one, merged(before, answers("new a", 120, 0.9)))
    judge(two, merged(after, answers("new b", 120, 0.1)))
    found = only(one, two)
    assert (found.rows, found.added, found.labels) == (200, 120, drawn.labels)
    assert found.corrected is not None and drawn.corrected.value == found.corrected.value
    assert found.shown.lower is not None and found.shown.lower < -0.5
    assert found.outcome is ComparisonOutcome.CANNOT_TELL
    note = "120 of 200 rows were added after the labels were drawn: the interval holds whatever"
    assert note in commands.adjudge("runs", "diff", one, two).stdout
    data = json.loads(commands.adjudge("runs", "diff", one, two, "--json").stdout)
    assert data["comparisons"][0]["rows_added_since_draw"] == 120
    held = gate(one, two)
    sentence, written = held.sentence(), held.to_dict()
    assert held.verdict == "inconclusive"
    assert f"The change is corrected by labels of {found.labels} rows." in sentence
    assert "120 rows were added after the labels were drawn and could have any value." in sentence
    assert (written["labels"], written["rows_added_since_draw"]) == (found.labels, 120)


def test_labels_from_before_and_after_a_run_grew_correct_no_difference(tmp_path: Path) -> None:
    before, after = (answers(name, 80, 0.8) for name in "ab")
    one, two = judge(tmp_path / "one", before), judge(tmp_path / "two", after)
    for run, rows, name in ((one, before, "new a"), (two, after, "new b")):
        label(run, rows, 60)
        grown = merged(rows, answers(name, 120, 0.5))
        judge(run, grown)
        label(run, grown, 120)
    found = only(one, two)
    assert found.corrected is None and found.uncorrected_because is not None
    reason = "the labels do not correct the difference: rows were added between them"
    assert reason in found.uncorrected_because and found.uncorrected_because in found.notes
    held = gate(one, two)
    written = held.to_dict()
    assert f"{reason.capitalize()}" in held.sentence()
    assert str(written["not_corrected_because"]).startswith(reason) and "labels" not in written
    data = json.loads(commands.adjudge("runs", "diff", one, two, "--json").stdout)
    assert data["comparisons"][0]["not_corrected_because"].startswith(reason)


@pytest.fixture(scope="module")
def skipped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, float]:
    """Two runs and the true difference. The second system is worse, and its annotators skip most of
    its bad answers.
    """
    folder = tmp_path_factory.mktemp("skipped")
    before, after = answers("a", 160, 0.8), answers("b", 160, 0.5)
    one, two = judge(folder / "one", before), judge(folder / "two", after)
    label(one, before)
    label(two, after, skip=0.8)
    truth = fmean(good for good, _ in after.values()) - fmean(good for good, _ in before.values())
    return one, two, truth


@pytest.mark.parametrize("sequential", [False, True])
def test_skipped_rows_of_a_difference_may_be_anything(
    skipped: tuple[Path, Path, float], sequential: bool
) -> None:
    one, two, truth = skipped
    found = only(one, two, sequential=sequential)
    assert found.skipped > 50 and found.corrected is not None
    assert found.corrected.lower is not None and found.corrected.upper is not None
    assert found.corrected.lower <= truth <= found.corrected.upper
    # without the skipped rows the limits would exclude the truth
    assert found.corrected.value is not None and found.corrected.value > truth + 0.2
    assert found.outcome is ComparisonOutcome.CANNOT_TELL
    if sequential:
        return
    shown = commands.adjudge("runs", "diff", one, two).stdout
    assert (
        f"{found.skipped} rows that were drawn in both runs were skipped or marked unsure" in shown
    )
    held = gate(one, two)
    assert f"{found.skipped} drawn rows were skipped or marked unsure and could" in held.sentence()
    assert held.to_dict()["rows_skipped"] == found.skipped


def test_rows_whose_labels_name_no_option_are_as_open_as_skipped_ones(tmp_path: Path) -> None:
    runs = []
    for name in "ab":
        rows = answers(name, 60, 0.7)
        runs.append(judge(tmp_path / name, rows))
        label(runs[-1], rows)
    strange = [
        replace(given, option="maybe", at=given.at + 1)
        for given in LabelStore(runs[1]).current()
        if given.option == "FAIL"
    ]
    LabelStore(runs[1]).add(*strange)
    found = only(*runs)
    assert found.skipped == len(strange) > 10
    assert found.corrected is not None and (found.corrected.width or 0) > len(strange) / 60


def test_a_skipped_row_with_the_same_text_in_both_runs_changes_nothing(tmp_path: Path) -> None:
    """People say the same of one text, whatever it is."""
    same = answers("same", 60, 0.5)
    runs = []
    for name in "ab":
        rows = merged(same, answers(name, 40, 0.9))
        runs.append(judge(tmp_path / name, rows))
        label(runs[-1], rows, skip=0.0 if name == "a" else 0.9)
    found = only(*runs)
    assert found.skipped > 20 and found.corrected is not None
    assert (found.shown.width or 1) < 0.35


def test_copies_do_not_make_few_labels_enough_for_a_difference(tmp_path: Path) -> None:
    """Ten labelled texts that are there four times were taken for forty labels."""
    runs = []
    for name in "ab":
        script = model(lambda _: "PASS")
        texts = [f"{name} {number % 30} said yes." for number in range(120)]
        instances = [Instance({"response": text}, f"q{at}") for at, text in enumerate(texts)]
        runs.append(tmp_path / name)
        AspectCritic("Says yes.", script, name="dates").evaluate(instances, run=runs[-1])
        LabelStore(runs[-1]).add(
            *(
                Label(
                    row=one.identity,
                    criteria="dates",
                    annotator="ann",
                    option="PASS",
                    design="random",
                )
                for one in instances[:10]
            )
        )
    found = only(*runs)
    assert (found.corrected, found.labels) == (None, 40)
    assert found.uncorrected_because == (
        "10 rows have labels in both runs; at least 20 are needed to correct the difference (the "
        "label of copies counts once)"
    )


def test_rows_with_equal_texts_are_compared_row_by_row(tmp_path: Path) -> None:
    """Sixty short answers that are alike counted as two rows, too few to compare."""
    runs = []
    for name, good in (("a", 50), ("b", 20)):
        script = model(lambda prompt: "PASS" if "said yes." in prompt else "FAIL")
        texts = [f"{name} said {'yes' if at < good else 'no'}." for at in range(60)]
        instances = [Instance({"response": text}, f"q{at}") for at, text in enumerate(texts)]
        runs.append(tmp_path / name)
        AspectCritic("Says yes.", script, name="dates").evaluate(instances, run=runs[-1])
    found = only(*runs)
    assert (found.rows, found.difference.units) == (60, 60)
    assert found.outcome is ComparisonOutcome.WORSE
    assert gate(*runs).verdict == "failed"


def test_too_few_groups_are_called_groups(tmp_path: Path) -> None:
    runs = []
    for name in "ab":
        script = model(lambda _: "PASS")
        instances = [
            Instance({"talk": f"t{at % 5}", "response": f"{name} {at}"}, f"q{at}")
            for at in range(50)
        ]
        runs.append(tmp_path / name)
        AspectCritic("Says yes.", script, name="dates").evaluate(instances, run=runs[-1])
    (held,) = paired_gates(Setup(against=str(runs[0]), cluster="talk"), runs[1])
    reason = "50 rows in 5 independent groups; a comparison needs at least 8 groups"
    assert held.verdict == "inconclusive" and reason in held.sentence()


def texts_apart(drawn: bool) -> PairedSeries:
    """60 of 200 pairs hold one canned reply in the second run, which people call bad and the judge
    good; 40 of the other pairs are labelled, and the canned one if ``drawn``.
    """
    series = PairedSeries(0.0, 1.0, ())
    for row in range(200):
        is_canned = row < 60
        texts = (row + 1000, 7 if is_canned else row + 5000)
        people = -1.0 if is_canned else 0.0
        if (is_canned and drawn) or 60 <= row < 100:
            series.labelled.add((people, people), 0.0, row, texts)
        else:
            series.rest.add((-1.0, 1.0), 0.0, row, texts)
        series.scores.add([(1.0, 1.0)])
        series.drawable.add([(1.0, 1.0)])
    series.other_texts = 200
    return series


@pytest.mark.parametrize("drawn", [True, False])
def test_a_canned_reply_of_many_rows_is_counted_apart(drawn: bool) -> None:
    """The true difference is -0.300. Without the label of the canned reply the interval lay around
    0, and with it 60 of 100 labels were bad: -0.600.
    """
    found = _correct(texts_apart(drawn), ComparisonSettings(), clustered=True)
    assert found is not None
    lower, value, upper = found.lower, found.value, found.upper
    assert lower is not None and value is not None and upper is not None
    assert lower < -0.3 < upper
    assert value == pytest.approx(-0.3 if drawn else 0.0)
    assert upper - lower < (0.2 if drawn else 0.8)
    notes = [str(one) for one in _correction_notes(texts_apart(drawn))]
    assert any("60 rows hold texts with many copies" in one for one in notes) is not drawn
