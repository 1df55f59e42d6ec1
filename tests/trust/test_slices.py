"""Corrected numbers and comparisons apart for each slice, and what a guideline lacks."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest

from adjudge import AspectCritic, Instance, Request, ScriptedModel
from adjudge.core.domain.label import Label
from adjudge.core.domain.slices import MISSING, OTHERS, slice_names, slice_rows, value_in
from adjudge.errors import SetupError
from adjudge.runs.diff import run_diff
from adjudge.runs.folder import records_of
from adjudge.runs.results.comparison_words import comparison_lines
from adjudge.stats.correction import Stratum, post_stratified
from adjudge.stats.slices import OwnValue, labels_missing, level_of_each, pool
from adjudge.trust.agreement import AgreementSettings
from adjudge.trust.calibration import Calibration, CalibrationSettings, calibrate_run
from adjudge.trust.comparison import compare_runs
from adjudge.trust.guideline import guideline_problems
from adjudge.trust.judge_among_people import judge_among_people
from adjudge.trust.labels.store import LabelStore
from adjudge.trust.rows import LabelledRow

ROWS = 240
CHOICE = random.Random(7)
LANGUAGE = [CHOICE.choice(("en", "en", "de")) if one % 60 else "" for one in range(ROWS)]
TRUE = [CHOICE.random() < (0.9 if LANGUAGE[one] == "en" else 0.5) for one in range(ROWS)]


def made(folder: Path, errors: float, seed: int = 0) -> Path:
    choice = random.Random(seed)
    said = [true != (choice.random() < errors) for true in TRUE]

    def script(request: Request) -> str:
        found = re.search(r"\[(\d+)\]", request.prompt.text)
        option = "PASS" if found and said[int(found[1])] else "FAIL"
        return json.dumps({"explanation": "x", "selected_option": option})

    rows = [
        Instance(
            {"response": f"[{one}]", "language": LANGUAGE[one], "user": f"u{one}"}, id=f"r{one}"
        )
        for one in range(ROWS)
    ]
    AspectCritic("Is it right?", ScriptedModel(script), name="right").evaluate(rows, run=folder)
    identities = {one.id: one.identity for one in rows}
    LabelStore(folder).add(
        *(
            Label(
                row=identities[f"r{one}"],
                id=f"r{one}",
                criteria="right",
                annotator=name,
                option="PASS" if TRUE[one] != wrong(name, one) else "FAIL",
                design="random",
            )
            for name in ("ann", "bob")
            for one in range(1, ROWS, 2)
        )
    )
    return folder


def wrong(name: str, row: int) -> bool:
    """Bob errs on half of the German rows."""
    return name == "bob" and LANGUAGE[row] == "de" and row % 4 == 1


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("slices")
    return made(folder / "one", 0.1), made(folder / "two", 0.3, 1)


def calibrated(run: Path, by: str) -> Calibration:
    (found,) = calibrate_run(run, settings=CalibrationSettings(by=by, agreement=None))
    return found


def test_each_slice_is_corrected_by_its_own_labels_at_the_joint_level(
    runs: tuple[Path, Path],
) -> None:
    found = calibrated(runs[0], "language").slices
    assert found is not None and found.column == "language"
    names = [one.name for one in found.slices]
    assert names == ["en", "de", MISSING]
    assert found.each == pytest.approx(0.975)  # two of them have enough labels
    shown = {one.name: one for one in found.slices}
    for name in ("en", "de"):
        places = [at for at in range(ROWS) if LANGUAGE[at] == name]
        assert shown[name].rows == len(places)
        assert shown[name].labels == sum(at % 2 for at in places)
        assert shown[name].corrected.level == pytest.approx(0.975)
    few = shown[MISSING]
    assert few.corrected.lower is None and few.more == 4
    assert str(few.corrected.reason) == "too few labels here: 4 more"
    assert any("no value in 'language'" in note for note in found.notes)
    assert few.pooled is None  # two slices do not show how much slices differ


def test_a_slice_alone_has_the_number_that_a_run_of_it_would_have(runs: tuple[Path, Path]) -> None:
    found = calibrated(runs[0], "language").slices
    assert found is not None
    german = next(one for one in found.slices if one.name == "de")
    choice = random.Random(0)
    said = [true != (choice.random() < 0.1) for true in TRUE]
    strata = []
    for verdict in (False, True):
        own = [at for at in range(ROWS) if LANGUAGE[at] == "de" and said[at] == verdict]
        labels = [
            fmean(TRUE[at] != wrong(name, at) for name in ("ann", "bob")) for at in own if at % 2
        ]
        strata.append(Stratum(str(verdict), len(own), tuple(labels)))
    wanted = post_stratified(strata, level=0.975)
    assert german.corrected.value == pytest.approx(wanted.value)
    assert german.corrected.lower == pytest.approx(wanted.lower)


def test_simultaneous_intervals_hold_together() -> None:
    """Five slices of 40 labels, a judge that is right in 8 of 10: all five hold in 95 of 100."""
    choice, draws, held = random.Random(1), 40, 0
    each = level_of_each(0.95, 5)
    rates = (0.5, 0.7, 0.8, 0.9, 0.95)
    for _ in range(draws):
        together = True
        for rate in rates:
            rows = []
            for _ in range(200):
                true = choice.random() < rate
                rows.append((true, true != (choice.random() < 0.2)))
            strata = [
                Stratum(
                    str(side),
                    sum(said == side for _, said in rows),
                    tuple(float(true) for true, said in rows[:40] if said == side),
                )
                for side in (False, True)
            ]
            one = post_stratified(strata, level=each)
            together &= one.lower is not None and one.lower <= rate <= (one.upper or 0.0)
        held += together
    assert held / draws > 0.93


def test_pooling_finds_the_spread_that_leaves_as_much_as_chance_would() -> None:
    own = [OwnValue(0.9, 0.05, 0.7), OwnValue(0.5, 0.1, 0.7), OwnValue(0.72, 0.2, 0.7)]
    found = pool([*own, OwnValue(None, None, 0.6)])
    grid = [step / 1e5 for step in range(100_000)]
    spread = min(
        grid,
        key=lambda one: abs(
            sum((each.value - each.expected) ** 2 / (one + each.error**2) for each in own)  # type: ignore[operator,misc]
            - 2
        ),
    )
    for one, each in zip(found, own, strict=False):
        assert one is not None and each.error is not None and each.value is not None
        share = each.error**2 / (each.error**2 + spread)
        assert one.from_whole == pytest.approx(share, abs=1e-2)
        assert one.value == pytest.approx((1 - share) * each.value + share * 0.7, abs=1e-2)
    assert found[3] is not None and found[3] == (0.6, 1.0)
    assert pool(own[:2]) == [None, None]
    alike = pool([replace_value(one, 0.7) for one in own])
    assert all(one is not None and one.from_whole == 1.0 for one in alike)


def replace_value(one: OwnValue, value: float) -> OwnValue:
    return one._replace(value=value)


def test_many_values_numbers_and_empty_cells_are_told_apart_with_a_sentence() -> None:
    many = slice_rows([f"u{one % 40}" for one in range(400)] + ["big"] * 9, "user")
    assert len(many.names) == 13 and many.names[0] == OTHERS
    assert "the 12 with the most rows" in str(many.notes[0])
    numbers = slice_rows([str(one) for one in range(100)] + [""], "length")
    assert Counter(numbers.of_rows) == {
        "0 to 24": 25, "25 to 49": 25, "50 to 74": 25, "75 to 99": 25, MISSING: 1,
    }  # fmt: skip
    assert slice_names(Counter({"1": 5, "2": 5, "": 2}), "stars").of("2") == "2"
    with pytest.raises(SetupError, match="no row has a value in column 'x'"):
        slice_rows(["", ""], "x")


def test_nested_columns_are_refused_with_the_way_out(runs: tuple[Path, Path]) -> None:
    record = next(iter(records_of(runs[0])))
    nested = replace(record, input={"meta": {"lang": "de", "user": 7}, "tags": ["a"]})
    with pytest.raises(SetupError, match=r"name one of its values: meta\.lang, meta\.user"):
        value_in(nested, "meta")
    with pytest.raises(SetupError, match=r"contains a list; .* as tags\[0\]"):
        value_in(nested, "tags")
    assert (value_in(nested, "meta.lang"), value_in(nested, "none")) == ("de", "")


def test_a_slice_needs_as_many_labels_as_the_whole() -> None:
    assert labels_missing([Stratum("PASS", 100, (1.0,) * 18), Stratum("FAIL", 50, (0.0,) * 2)]) == 3


def test_runs_are_compared_slice_by_slice(runs: tuple[Path, Path]) -> None:
    one, two = runs
    with run_diff(one, two, by="language") as found:
        (whole,) = compare_runs(one, two, found)
    with run_diff(one, two) as found:
        (alone,) = compare_runs(one, two, found)
    assert replace(whole, slices=(), slicing=()) == alone
    names = [part.slice for part in whole.slices]
    assert names == ["en", "de", MISSING]
    assert sum(part.rows for part in whole.slices) == whole.rows
    assert {part.level for part in whole.slices} == {0.975}
    en = whole.slices[0]
    assert en.outcome.value == "worse"
    lines = [str(line) for line in comparison_lines(whole, "two")]
    assert any(line.startswith("  en: worse: ") for line in lines)
    assert "  the intervals of all slices and criteria hold simultaneously at 95%" in lines
    assert whole.to_dict()["slices"][2]["difference"]["reason"]  # type: ignore[index,call-overload]


def test_a_slice_that_one_run_alone_has_is_told_of(tmp_path: Path) -> None:
    critic = AspectCritic("Is it right?", ScriptedModel(lambda _: "PASS"), name="right")
    for run, languages in (("one", "en it"), ("two", "en en fr")):
        rows = [
            Instance({"response": f"{at} {language}", "language": language}, id=f"{language} {at}")
            for language in languages.split()
            for at in range(3)
        ]
        critic.evaluate(rows, run=tmp_path / run)
    with run_diff(tmp_path / "one", tmp_path / "two", by="language") as found:
        (whole,) = compare_runs(tmp_path / "one", tmp_path / "two", found)
    lines = " ".join(map(str, comparison_lines(whole, "two")))
    assert "fr: cannot tell: only the second run has it (3 rows)" in lines
    assert "it: cannot tell: only the first run has it (3 rows)" in lines
    slices = whole.to_dict()["slices"]
    assert [one["name"] for one in slices] == ["en", "it", "fr"]  # type: ignore[index,union-attr,call-overload]


def test_rows_whose_value_changed_are_in_no_slice_and_counted(tmp_path: Path) -> None:
    """They counted under their old value: the slice that they left was called worse."""
    for run, moved in (("one", "lamp"), ("two", "kettle")):
        products = ["kettle"] * 20 + [moved] * 10 + ["lamp"] * 10
        rows = [
            Instance({"response": f"{run} [{at:02}]", "product": product}, id=f"r{at}")
            for at, product in enumerate(products)
        ]
        critic = AspectCritic(
            "Is it right?",
            ScriptedModel(lambda ask: "FAIL" if "two [2" in ask.prompt.text else "PASS"),
            name="right",
        )
        critic.evaluate(rows, run=tmp_path / run)
    with run_diff(tmp_path / "one", tmp_path / "two", by="product") as found:
        (whole,) = compare_runs(tmp_path / "one", tmp_path / "two", found)
    assert (whole.first, whole.second, whole.rows) == (1.0, 0.75, 40)
    slices = {one.slice: (one.rows, one.first, one.second) for one in whole.slices}
    assert slices == {"kettle": (20, 1.0, 1.0), "lamp": (10, 1.0, 1.0)}
    lines = " ".join(map(str, comparison_lines(whole, "two")))
    assert (
        "10 of 40 rows changed their value in 'product' between the runs and count in no slice "
        "(lamp → kettle: 10)" in lines
    )
    assert whole.to_dict()["rows_in_another_slice"] == 10


def test_a_guideline_is_told_which_options_and_slices_annotators_differ_on(
    runs: tuple[Path, Path],
) -> None:
    found = guideline_problems(runs[0], by="language")
    pair, part = found
    differ = sum(wrong("bob", at) for at in range(1, ROWS, 2))
    assert pair.options == ("FAIL", "PASS") and (pair.rows, pair.of) == (differ, ROWS // 2)
    assert str(part.slice) == "language de" and part.rows == differ
    assert part.p_value is not None and part.p_value < 0.001
    assert "“If it is language de: ….”" in str(part.proposal)
    assert guideline_problems(runs[0], "nothing") == []


def test_the_judge_is_one_more_annotator_where_few_rows_are_shared() -> None:
    choice = random.Random(3)
    rows = []
    for place in range(150):
        true = choice.random() < 0.6
        said = {
            name: "PASS" if true != (choice.random() < error) else "FAIL"
            for name, error in (("", 0.25), ("ann", 0.05), ("bob", 0.1))
        }
        people = {
            name: said[name]
            for name in ("ann", "bob")
            if place < 28 or (name == "ann") == (place % 2)
        }
        rows.append(LabelledRow(str(place), place, said[""], None, people, random=True))
    found = judge_among_people(rows)
    assert found.shared == 28 and not found.reason
    assert found.right[""] == pytest.approx(0.75, abs=0.08)
    assert found.right["ann"] > found.right["bob"] > found.right[""]
    refused = judge_among_people(rows[20:])
    assert "8 rows were labelled by two people" in refused.reason and not refused.right


def test_it_is_shown_where_the_test_is_refused(tmp_path: Path) -> None:
    run = made(tmp_path / "run", 0.1)
    labels = list(LabelStore(run).current())
    bobs = [one for one in labels if one.annotator == "bob"][:25]
    few = [one for one in labels if one.annotator == "ann"] + bobs
    (found,) = calibrate_run(run, few, settings=CalibrationSettings(agreement=AgreementSettings()))
    assert found.agreement is not None and found.agreement.raters is not None
    assert set(found.agreement.raters.right) == {"", "ann", "bob"}
    (whole,) = calibrate_run(run, labels)
    assert whole.agreement is not None and whole.agreement.raters is None
