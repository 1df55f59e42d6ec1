"""Two runs over the same rows: better, worse, or cannot tell."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from adjudge import AspectCritic, DirectJudge, Instance, load_run
from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.label import Label
from adjudge.runs.diff import JudgmentSummary, OutcomeCount, run_diff
from adjudge.runs.results.comparison_words import comparison_lines
from adjudge.runs.results.paired_gate import paired_gates
from adjudge.runs.results.setup import Setup
from adjudge.stats.difference import ComparisonOutcome, compare, labelled_difference
from adjudge.trust.comparison import (
    ComparisonSettings,
    RunComparison,
    adjusted_for_all,
    compare_runs,
)
from adjudge.trust.labels.store import LabelStore
from adjudge.trust.paired_series import PairedSeries
from support import commands
from support.labels import model


def system(
    folder: Path,
    passes: Sequence[bool],
    name: str = "a",
    failed: int = 0,
    definition: str = "Says yes.",
) -> Path:
    """A run of a system whose answer to question n passes or not; the first ``failed`` judgments
    have no verdict.
    """
    script = model(
        lambda prompt: "" if "said none" in prompt else "PASS" if "said yes" in prompt else "FAIL"
    )
    rows = [
        Instance(
            {"response": f"{name} {n} said {'none' if n < failed else 'yes' if passed else 'no'}"},
            f"q{n}",
        )
        for n, passed in enumerate(passes)
    ]
    AspectCritic(definition, script, name="dates", max_repairs=0).evaluate(rows, run=folder)
    return folder


def only(one: Path, two: Path, cluster: str | None = None, **settings: float) -> RunComparison:
    with run_diff(one, two, cluster) as found:
        (comparison,) = compare_runs(one, two, found, ComparisonSettings(**settings))  # type: ignore[arg-type]
    return comparison


def drawn(count: int, rate: float, seed: int) -> list[bool]:
    choice = random.Random(seed)
    return [choice.random() < rate for _ in range(count)]


def test_a_better_system_is_called_better_and_the_other_way_round_worse(tmp_path: Path) -> None:
    a, b = drawn(120, 0.5, 1), drawn(120, 0.8, 2)
    one, two = system(tmp_path / "one", a), system(tmp_path / "two", b, "b")
    found, back = only(one, two), only(two, one)
    assert (found.outcome, back.outcome) == (ComparisonOutcome.BETTER, ComparisonOutcome.WORSE)
    assert found.difference == compare([float(x) for x in b], [float(x) for x in a])
    assert found.other_texts == 120 and found.same_judge


def test_nearly_equal_systems_cannot_be_told_apart_and_the_smallest_difference_is_said(
    tmp_path: Path,
) -> None:
    one, two = (
        system(tmp_path / "one", drawn(60, 0.7, 1)),
        system(tmp_path / "two", drawn(60, 0.72, 2), "b"),
    )
    found = only(one, two)
    assert found.outcome is ComparisonOutcome.CANNOT_TELL
    done = commands.adjudge("runs", "diff", one, two)
    assert "cannot tell" in done.stdout
    assert (
        "the smallest difference that 60 rows would show in 80% of comparisons is "
        f"{found.difference.smallest:.3f}"
    ) in done.stdout
    data = json.loads(commands.adjudge("runs", "diff", one, two, "--json").stdout)
    assert data["comparisons"][0]["outcome"] == "cannot tell"


def test_limits_of_a_difference_stay_within_the_scale(tmp_path: Path) -> None:
    one, two = system(tmp_path / "one", [True] * 40), system(tmp_path / "two", [False] * 40, "b")
    shown = only(one, two).to_dict()["difference"]
    assert isinstance(shown, dict) and shown["lower"] == -1.0
    assert "difference -1.000 (-1.000 to" in commands.adjudge("runs", "diff", one, two).stdout


def test_a_margin_asks_for_more_than_any_difference(tmp_path: Path) -> None:
    one, two = (
        system(tmp_path / "one", drawn(120, 0.5, 1)),
        system(tmp_path / "two", drawn(120, 0.8, 2), "b"),
    )
    assert only(one, two, margin=0.25).outcome is ComparisonOutcome.CANNOT_TELL


def test_rows_without_a_score_may_be_anything(tmp_path: Path) -> None:
    one, two = (
        system(tmp_path / "one", drawn(120, 0.5, 1)),
        system(tmp_path / "two", drawn(120, 0.8, 2), "b", failed=40),
    )
    found = only(one, two)
    assert (found.rows, found.missing) == (80, 40)
    of_scored = found.difference.of_scored
    assert of_scored is not None and of_scored.lower > 0
    assert found.shown.lower is not None and found.shown.lower < 0
    assert found.outcome is ComparisonOutcome.CANNOT_TELL
    assert "40 of 120 rows have no number in one of the runs" in found.notes
    # 80 rows alone would show less than rows that may be anything
    assert found.to_dict()["smallest_detectable"] is None
    assert "the smallest difference" not in commands.adjudge("runs", "diff", one, two).stdout


def test_no_smallest_difference_is_promised_with_a_margin_or_rows_without_a_counterpart(
    tmp_path: Path,
) -> None:
    passes = drawn(60, 0.7, 1)
    one = system(tmp_path / "one", passes)
    two = system(tmp_path / "two", drawn(60, 0.72, 2), "b")
    shorter = system(tmp_path / "three", drawn(50, 0.72, 2), "b")
    assert only(one, two).to_dict()["smallest_detectable"] is not None
    assert only(one, two, margin=0.02).to_dict()["smallest_detectable"] is None
    assert only(one, shorter).to_dict()["smallest_detectable"] is None


def test_two_judges_of_the_same_texts_are_not_two_systems(tmp_path: Path) -> None:
    passes = drawn(60, 0.7, 1)
    one = system(tmp_path / "one", passes)
    found = only(one, system(tmp_path / "two", passes, definition="Says yes, and politely."))
    assert not found.same_judge
    assert any("a difference between the judges" in note for note in found.notes)


def test_a_stricter_judge_of_the_same_texts_does_not_make_them_worse(tmp_path: Path) -> None:
    one = system(tmp_path / "one", [True] * 100)
    stricter = only(one, system(tmp_path / "two", [False] * 100, definition="Says a loud yes."))
    if stricter.other_texts:  # the helper writes the verdict into the text
        stricter = replace(stricter, other_texts=0)
    assert stricter.outcome is ComparisonOutcome.WORSE and not stricter.same_judge
    headline = next(iter(comparison_lines(stricter, "two")))
    assert "two scores lower" in headline and "worse" not in headline
    more_lenient = replace(stricter, outcome=ComparisonOutcome.BETTER)
    assert "two scores higher" in next(iter(comparison_lines(more_lenient, "two")))
    assert "two is worse" in next(iter(comparison_lines(replace(stricter, other_texts=9), "two")))


def test_turns_of_one_conversation_are_not_independent(tmp_path: Path) -> None:
    choice = random.Random(3)
    script = model(lambda prompt: "PASS" if "said yes" in prompt else "FAIL")

    def talks(name: str, rate: float) -> Path:
        rows = []
        for talk in range(12):
            good = choice.random() < rate
            for turn in range(10):
                said = f"{name} {talk} {turn} said {'yes' if good else 'no'}"
                rows.append(Instance({"talk": f"t{talk}", "response": said}, f"q{talk}-{turn}"))
        AspectCritic("Says yes.", script, name="dates").evaluate(rows, run=tmp_path / name)
        return tmp_path / name

    one, two = talks("one", 0.5), talks("two", 0.75)
    plain, grouped = only(one, two), only(one, two, "talk")
    assert (grouped.difference.units, plain.difference.units) == (12, 120)
    assert (grouped.shown.width or 0) > 2 * (plain.shown.width or 1)


def test_where_every_row_has_labels_they_alone_are_the_difference(tmp_path: Path) -> None:
    """The judge passes all of the second system; people fail half of it."""
    one, two = system(tmp_path / "one", [True] * 40), system(tmp_path / "two", [True] * 40, "b")
    for folder, name, every in ((one, "a", 1), (two, "b", 2)):
        LabelStore(folder).add(
            *(
                Label(
                    row=Instance({"response": f"{name} {n} said yes"}).identity,
                    criteria="dates",
                    annotator="ann",
                    option="FAIL" if n % every else "PASS",
                    design="random",
                )
                for n in range(40)
            )
        )
    found = only(one, two)
    assert found.corrected is not None and found.corrected.method == "labels only"
    assert (found.corrected.value, found.outcome, found.notes) == (
        -0.5,
        ComparisonOutcome.WORSE,
        (),
    )


def label_all(folder: Path, name: str, passes: Sequence[bool], said: Sequence[str]) -> None:
    """Labels of the first rows of a run, drawn at random."""
    LabelStore(folder).add(
        *(
            Label(
                row=Instance({"response": f"{name} {n} said {'yes' if passed else 'no'}"}).identity,
                criteria="dates",
                annotator="ann",
                option=option,
                design="random",
            )
            for n, (passed, option) in enumerate(zip(passes, said, strict=False))
        )
    )


def test_labels_that_were_changed_in_sight_of_the_verdict_do_not_move_the_difference(
    tmp_path: Path,
) -> None:
    passes = [True] * 40
    one, two = system(tmp_path / "one", passes), system(tmp_path / "two", passes, "b")
    for folder, name in ((one, "a"), (two, "b")):
        label_all(folder, name, passes, ["PASS", "FAIL"] * 20)
    before = only(one, two).corrected
    LabelStore(two).add(
        *(
            replace(label, option="PASS", judge_visible=True, design="chosen")
            for label in list(LabelStore(two).current())
        )
    )
    assert before is not None and only(one, two).corrected == before


@pytest.mark.parametrize("differ", [0, 4, 5])
def test_labels_that_are_all_alike_do_not_make_a_difference_certain(
    tmp_path: Path, differ: int
) -> None:
    """The judge fell from .97 to .74; twenty labels, all PASS in both runs, made that "+0.000
    (+0.000 to +0.000)". Whatever the labels say, the difference is corrected by them.
    """
    a, b = [n % 33 != 32 for n in range(300)], [n < 20 or n % 4 != 3 for n in range(300)]
    one, two = system(tmp_path / "one", a), system(tmp_path / "two", b, "b")
    label_all(one, "a", a, ["PASS"] * 24)
    label_all(two, "b", b, ["FAIL"] * differ + ["PASS"] * (24 - differ))
    found = only(one, two)
    assert (found.corrected is not None, found.labels) == (True, 24)
    alone = labelled_difference([-1.0] * differ + [0.0] * (24 - differ))
    assert found.shown.width is not None and found.shown.width > 0.8 * (alone.width or 1)


def test_labels_of_both_runs_correct_the_difference(tmp_path: Path) -> None:
    """The judge passes everything that says yes; people fail half of what the second system says
    yes to.
    """
    a, b = drawn(200, 0.6, 1), drawn(200, 0.9, 2)
    one, two = system(tmp_path / "one", a), system(tmp_path / "two", b, "b")
    choice = random.Random(5)
    for folder, passes, name, kept in ((one, a, "a", 1.0), (two, b, "b", 0.6)):
        labels = [
            Label(
                row=Instance({"response": f"{name} {n} said {'yes' if passed else 'no'}"}).identity,
                criteria="dates",
                annotator="ann",
                option="PASS" if passed and choice.random() < kept else "FAIL",
                design="random",
            )
            for n, passed in enumerate(passes[:80])
        ]
        LabelStore(folder).add(*labels)
    found = only(one, two)
    assert found.difference.outcome is ComparisonOutcome.BETTER
    assert (found.labels, found.outcome) == (80, ComparisonOutcome.CANNOT_TELL)
    assert found.corrected is not None and abs(found.corrected.value or 1) < 0.15
    assert found.to_dict()["p_value"] == found.adjusted  # of what is shown, as the outcome is


def test_over_many_criteria_a_chance_difference_is_not_called_one(tmp_path: Path) -> None:
    """Ten criteria, one of which differs as chance often has it."""
    options = [CriteriaOption("Yes", score=1.0), CriteriaOption("No", score=0.0)]
    criteria = [Criteria(name, f"Does it hold {name}?", options) for name in ("c0", "c1")]

    def made(folder: Path, yes: int) -> Path:
        def says(prompt: str) -> str:
            number = int(prompt.rsplit("row ", maxsplit=1)[-1].split(maxsplit=1)[0])
            return "Yes" if "hold c0?" not in prompt or number < yes else "No"

        for one in criteria:
            DirectJudge(model(says)).evaluate(
                [Instance({"response": f"row {n} end"}, f"q{n}") for n in range(40)],
                one,
                run=folder / one.name,
            )
        return folder

    one, two = made(tmp_path / "one", 40), made(tmp_path / "two", 32)
    with run_diff(one / "c0", two / "c0") as found:
        (alone,) = compare_runs(one / "c0", two / "c0", found)
    assert alone.outcome is ComparisonOutcome.WORSE
    with run_diff(one / "c1", two / "c1") as found:
        (same,) = compare_runs(one / "c1", two / "c1", found)
    others = [replace(same, criteria=f"c{number}") for number in range(1, 10)]
    together = adjusted_for_all([alone, *others], ComparisonSettings())
    assert together[0].outcome is ComparisonOutcome.CANNOT_TELL
    assert together[0].adjusted == pytest.approx(10 * (alone.difference.p_value or 0))


def test_votes_that_waver_are_said_to_be_noise(tmp_path: Path) -> None:
    def made(name: str, seed: int) -> Path:
        choice = random.Random(seed)
        critic = AspectCritic(
            "Says yes.",
            model(lambda _: choice.choice(("PASS", "FAIL"))),
            strictness=3,
            name="dates",
        )
        critic.evaluate(
            [Instance({"response": f"{name} {n}"}, f"q{n}") for n in range(40)], run=tmp_path / name
        )
        return tmp_path / name

    found = only(made("one", 1), made("two", 2))
    assert found.noise is not None and found.noise.share is not None and found.noise.share > 0.2
    assert (
        found.noise.with_votes is not None
        and found.noise.with_votes[10] < found.noise.with_votes[1]
    )


@pytest.mark.parametrize("failed", [0, 3])
def test_pairs_that_are_counted_together_come_to_what_they_do_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failed: int
) -> None:
    one = system(tmp_path / "one", drawn(60, 0.5, 1), failed=failed)
    two = system(tmp_path / "two", drawn(60, 0.7, 2), "b")
    with run_diff(one, two) as found:
        assert sum(each.times for each in found.outcomes(found.lines()[0])) == 60
    together = only(one, two)
    monkeypatch.setattr(PairedSeries, "add_outcomes", lambda *_: False)
    assert repr(only(one, two)) == repr(together)
    assert together.pairing.ways == {"id": 60}


def test_pairs_are_counted_together_only_if_sums_are_exact_and_rows_independent(
    tmp_path: Path,
) -> None:
    series = PairedSeries(0, 1, ())
    judged = JudgmentSummary("scored", 0.1, "A")
    third = OutcomeCount(("a", "a"), judged, judged, 0, 3)
    assert not series.add_outcomes([third], list)
    verdict = judged._replace(score=None)
    assert not series.add_outcomes([third._replace(before=verdict, after=verdict)], list)
    assert (series.scores.rows, series.missing) == (0, 0)
    one = system(tmp_path / "one", drawn(20, 0.5, 1))
    two = system(tmp_path / "two", drawn(19, 0.7, 2), "b")
    with run_diff(one, two) as found:
        assert not list(found.outcomes(found.lines()[0]))  # one row has no counterpart
    with run_diff(one, one, "response") as found:
        assert not list(found.outcomes(found.lines()[0]))


@pytest.mark.parametrize("labelled", [False, True])
def test_a_gate_between_judges_of_the_same_texts_asks_for_no_labels(
    tmp_path: Path, labelled: bool
) -> None:
    one = system(tmp_path / "one", drawn(60, 0.7, 1))
    two = system(
        tmp_path / "two", drawn(60, 0.7, 1), definition="Says yes, and politely.", failed=1
    )
    if labelled:
        for run in (one, two):
            LabelStore(run).add(
                *(
                    Label(
                        row=record.identity,
                        criteria="dates",
                        annotator="ann",
                        option="PASS",
                        design="random",
                    )
                    for record in load_run(run).records()
                )
            )
    (gate,) = paired_gates(Setup(against=str(one), margin=0.01), two)
    reason = (
        "the texts are the same and the judges differ: this is a difference between the judges, "
        "not between the texts, and labels cannot correct it"
    )
    assert gate.may_be_of_judges and gate.verdict == "inconclusive"
    assert gate.to_dict()["not_corrected_because"] == reason
    assert only(one, two).to_dict()["not_corrected_because"] == reason
    sentence = gate.sentence()
    assert f"{reason[1:]}. " in sentence and "Judge both runs with the same judge." in sentence
    assert "label rows" not in sentence
    (other,) = paired_gates(
        Setup(against=str(one), margin=0.01),
        system(tmp_path / "three", drawn(60, 0.7, 1), "b", definition="Says yes, and politely."),
    )
    assert "label rows of both" in other.sentence()
