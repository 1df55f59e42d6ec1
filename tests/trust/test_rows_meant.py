"""Which rows a corrected number is about: rows that came later, rows that were skipped, exactly
these rows, copies of one text.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest

from adjudge import AspectCritic, Instance
from adjudge.core.domain.label import Answer, Label
from adjudge.errors import SetupError
from adjudge.runs.results.summary import GateConfidence, LostRows
from adjudge.stats.correction import within_possible
from adjudge.stats.estimate import Estimate
from adjudge.trust import Calibration, calibrate, calibrate_run
from adjudge.trust.calibration import CalibrationSettings
from adjudge.trust.labels.session import Annotator, labelling
from adjudge.trust.labels.store import LabelStore
from adjudge.trust.report import trust_sentence
from support import commands
from support.labels import identity, judged, model
from support.trust import Row, labelled, labels_of, population, run_of

NUMBER_ONLY = CalibrationSettings(agreement=None)


def only(found: Sequence[Calibration]) -> Calibration:
    (one,) = found
    return one


def renamed(rows: Sequence[Row]) -> list[Row]:
    """Rows that come later, with their own texts."""
    return [(text.replace("row", "new row"), good, passed) for text, good, passed in rows]


def label_rows(run: Path, rows: Sequence[Row], count: int, skip: Sequence[str] = ()) -> None:
    """Label the queue as somebody does who is always right, and skips some texts."""
    truth = {identity(text): good for text, good, _ in rows}
    skipped = {identity(text) for text in skip}
    work = labelling(run, Annotator("ann", count=count))
    while ahead := work.upcoming():
        for shown in ahead:
            row = shown.queued.identity
            if row in skipped:
                work.skip(shown)
            else:
                work.answer(shown, Answer(option="PASS" if truth[row] else "FAIL"))


def test_rows_that_were_added_after_labelling_are_left_out_and_counted(tmp_path: Path) -> None:
    """The old rows are mostly good and the new ones mostly bad: no label can say so of them."""
    old = population(100)
    new = renamed(population(300, good=0.1, seed=1))
    run = run_of(tmp_path / "run", old)
    label_rows(run, old, 60)
    before = only(calibrate_run(run, settings=NUMBER_ONLY))
    run_of(run, [*old, *new])
    found = only(calibrate_run(run, settings=NUMBER_ONLY))
    assert (found.rows, found.added) == (100, 300)
    assert (found.corrected, found.naive) == (before.corrected, before.naive)
    assert "left out: 300 rows added since the labels were drawn" in trust_sentence(found)
    shown = commands.adjudge("calibrate", run)
    assert "300 rows were added after the labels were drawn" in shown.stdout
    (data,) = json.loads(commands.adjudge("calibrate", run, "--json").stdout)["results"]
    assert (data["rows"], data["rows_added_since_draw"]) == (100, 300)
    report = commands.adjudge("runs", "show", run)
    assert "left out: 300 rows added since the labels were drawn" in report.stdout


def test_labels_from_before_and_after_a_run_grew_are_weighed_apart(tmp_path: Path) -> None:
    """Old rows have far more labels for their number than new ones, and other errors."""
    held, shown = 0, 0
    for seed in range(3):
        old = population(100, good=0.95, seed=seed)
        new = renamed(population(300, good=0.3, seed=100 + seed))
        run = run_of(tmp_path / f"run{seed}", old)
        label_rows(run, old, 50)
        run_of(run, [*old, *new])
        label_rows(run, [*old, *new], 90)
        found = only(calibrate_run(run, settings=NUMBER_ONLY))
        assert (found.rows, found.added) == (400, 0)
        if found.refusal:
            assert "–" in found.refusal.text  # which rows lack labels
            continue
        truth = fmean(good for _, good, _ in [*old, *new])
        assert found.corrected is not None
        assert found.corrected.lower is not None and found.corrected.upper is not None
        held += found.corrected.lower <= truth <= found.corrected.upper
        shown += 1
        assert "rows were added between the labels" in str(found.labels_only.reason)
        assert found.confusion.sensitivity is not None
        assert found.confusion.sensitivity.reason == (
            "rows were added between the draws of labels: no limits"
        )
    assert shown >= 2 and held == shown


def test_a_label_keeps_of_how_many_rows_it_was_drawn_also_in_files(tmp_path: Path) -> None:
    rows = population(80)
    run = run_of(tmp_path / "run", rows)
    label_rows(run, rows, 40)
    assert {one.drawn_of for one in LabelStore(run).current()} == {80}
    commands.adjudge("label", run, "--export", tmp_path / "labels.csv")
    other = run_of(tmp_path / "other", [*rows, *renamed(rows)])
    commands.adjudge("label", other, "--import", tmp_path / "labels.csv")
    found = only(calibrate_run(other, settings=NUMBER_ONLY))
    assert (found.rows, found.added) == (80, 80)


def test_a_file_of_drawn_rows_speaks_of_the_rows_that_the_run_has(tmp_path: Path) -> None:
    rows = population(90)
    run = run_of(tmp_path / "run", rows)
    lines = [f"r{place},{'PASS' if good else 'FAIL'}" for place, (_, good, _) in enumerate(rows)]
    (tmp_path / "people.csv").write_text("\n".join(["id,ann", *lines[:60]]))
    commands.adjudge("label", run, "--import", tmp_path / "people.csv", "--design", "random")
    run_of(run, [*rows, *renamed(rows)])
    found = only(calibrate_run(run, settings=NUMBER_ONLY))
    assert (found.rows, found.added) == (90, 90)


def test_labels_of_an_earlier_release_say_that_rows_may_have_been_added(tmp_path: Path) -> None:
    rows = population(120)
    run = labelled(run_of(tmp_path / "run", rows), labels_of(rows[:60], seed=0, drawn_at=1.0))
    found = only(calibrate_run(run, settings=NUMBER_ONLY))
    assert found.corrected is not None and found.added == 0
    assert any("60 labels do not say how many rows" in note for note in found.notes)


def judge_named(folder: Path, rows: Sequence[Row]) -> Path:
    """Like ``run_of``, but each row has a name of its own, wherever it is."""
    critic = AspectCritic(
        "The response gives a date.",
        model(lambda prompt: "PASS" if "yes" in prompt[prompt.rindex("row ") :] else "FAIL"),
        name="dates",
        max_repairs=0,
    )
    critic.evaluate([Instance({"response": text}, text) for text, _, _ in rows], run=folder)
    return folder


@pytest.mark.parametrize("source", ["queue", "file"])
def test_rows_that_were_moved_or_replaced_are_not_taken_for_drawn_ones(
    tmp_path: Path, source: str
) -> None:
    """Newest rows first, or the last 60 rows only: the number is about drawn rows all the same."""
    old = population(60)
    new = renamed(population(60, good=0.1, seed=1))
    run = judge_named(tmp_path / "run", old)
    if source == "queue":
        label_rows(run, old, 40)
    else:
        drawn = random.Random(1).sample(range(60), 40)
        lines = [f"{old[place][0]},{'PASS' if old[place][1] else 'FAIL'}" for place in drawn]
        (tmp_path / "people.csv").write_text("\n".join(["id,ann", *lines]))
        commands.adjudge("label", run, "--import", tmp_path / "people.csv", "--design", "random")
    before = only(calibrate_run(run, settings=NUMBER_ONLY))
    judge_named(run, [*new, *old])
    moved = only(calibrate_run(run, settings=NUMBER_ONLY))
    assert (moved.rows, moved.added, moved.corrected) == (60, 60, before.corrected)
    judge_named(run, [*old[30:], *new[:30]][::-1])
    rolled = only(calibrate_run(run, settings=NUMBER_ONLY))
    assert (rolled.rows, rolled.added) == (30, 30)
    assert rolled.labels_only.value == fmean(
        label.option == "PASS"
        for label in LabelStore(run).current()
        if label.row in {identity(text) for text, *_ in old[30:]}
    )
    later = [*old[30:], *new[:30]][::-1]
    label_rows(run, later, 60)
    both = only(calibrate_run(run, settings=NUMBER_ONLY))
    assert (both.rows, both.added) == (60, 0)
    truth = fmean(good for _, good, _ in later)
    assert both.corrected is not None and both.corrected.lower is not None
    assert both.corrected.lower <= truth <= (both.corrected.upper or 0)


def test_labels_of_a_run_with_other_rows_count_as_chosen(tmp_path: Path) -> None:
    """Half of the rows were replaced: the labels say nothing about the new half."""
    old = population(60)
    run = judge_named(tmp_path / "run", old)
    label_rows(run, old, 40)
    commands.adjudge("label", run, "--export", tmp_path / "labels.jsonl")
    other = judge_named(tmp_path / "other", [*renamed(population(30, good=0.1, seed=1)), *old[30:]])
    options = ("--import", tmp_path / "labels.jsonl", "--skip-bad-rows")
    shown = commands.adjudge("label", other, *options)
    kept = sum(
        label.row in {identity(text) for text, *_ in old[30:]}
        for label in LabelStore(run).current()
    )
    assert f"{kept} labels count as chosen: they were drawn from rows" in shown.stdout
    refusal = only(calibrate_run(other, settings=NUMBER_ONLY)).refusal
    assert refusal is not None and refusal.code == "chosen_rows"
    part = judge_named(tmp_path / "part", old[30:])
    commands.adjudge("label", part, *options, "--design", "random")
    found = only(calibrate_run(part, settings=NUMBER_ONLY))
    assert (found.rows, found.added, found.count) == (30, 0, kept)


def test_a_label_drawn_of_no_rows_is_refused() -> None:
    (label,) = labels_of(population(1))
    with pytest.raises(
        SetupError, match="drawn_of of a label must be a whole number of at least 1"
    ):
        replace(label, drawn_of=0)


def test_skipped_rows_are_counted_and_the_interval_holds_whatever_they_are(tmp_path: Path) -> None:
    """Who skips bad rows makes the others look good."""
    rows = population(300, good=0.7, sensitivity=0.9, specificity=0.7)
    bad = [text for text, good, _ in rows if not good]
    run, honest = (run_of(tmp_path / name, rows) for name in ("run", "honest"))
    label_rows(run, rows, 80, skip=random.Random(1).sample(bad, round(0.6 * len(bad))))
    label_rows(honest, rows, 80)
    found, wanted = (only(calibrate_run(one, settings=NUMBER_ONLY)) for one in (run, honest))
    assert found.skipped > 5 and wanted.skipped == 0
    assert found.corrected is not None and wanted.corrected is not None
    for one in (found.corrected, found.labels_only):
        assert one.lower is not None and one.upper is not None and one.value is not None
    assert found.corrected.lower is not None and wanted.corrected.lower is not None
    assert found.corrected.lower <= wanted.corrected.lower + 0.03
    assert (found.corrected.value or 0) > (wanted.corrected.value or 0) + 0.05
    shown = commands.adjudge("calibrate", run).stdout
    assert f"{found.skipped} drawn rows were skipped, marked unsure or given no option" in shown
    assert found.to_dict()["rows_skipped"] == found.skipped


def test_the_interval_holds_whatever_unsure_rows_are(tmp_path: Path) -> None:
    """People are unsure about most bad rows: the others look good."""
    rows = population(300, good=0.7, sensitivity=0.9, specificity=0.7)
    bad = {identity(text) for text, good, _ in rows if not good}
    truth = {identity(text): good for text, good, _ in rows}
    run = run_of(tmp_path / "run", rows)
    work = labelling(run, Annotator("ann", count=80))
    unsure = 0
    while ahead := work.upcoming():
        for shown in ahead:
            row = shown.queued.identity
            if row in bad and int(row[:8], 16) % 4:
                work.unsure(shown)
                unsure += 1
            else:
                work.answer(shown, Answer(option="PASS" if truth[row] else "FAIL"))
    found = only(calibrate_run(run, settings=NUMBER_ONLY))
    assert found.skipped == unsure > 8
    for one in (found.corrected, found.labels_only):
        assert one is not None and one.lower is not None and one.value is not None
        assert one.lower < 0.7 < one.value
    shown_text = commands.adjudge("calibrate", run).stdout
    assert f"{unsure} drawn rows were skipped, marked unsure or given no option" in shown_text
    assert f"{unsure} labels marked unsure, left out" in shown_text


def test_a_row_that_one_skips_and_another_labels_is_labelled(tmp_path: Path) -> None:
    rows = population(60)
    run = run_of(tmp_path / "run", rows)
    label_rows(run, rows, 50, skip=[text for text, _, _ in rows[:20]])
    assert only(calibrate_run(run, settings=NUMBER_ONLY)).skipped > 0
    labelled(run, labels_of(rows, "bob"))
    assert only(calibrate_run(run, settings=NUMBER_ONLY)).skipped == 0


def test_the_limits_at_every_look_hold_whatever_skipped_rows_are(tmp_path: Path) -> None:
    rows = population(60)
    run = run_of(tmp_path / "run", rows)
    settings = replace(NUMBER_ONLY, sequential=True)
    label_rows(run, rows, 50, skip=[text for text, _, _ in rows[:20]])
    found = only(calibrate_run(run, settings=settings))
    label_rows(run, rows, 50)
    all_given = only(calibrate_run(run, settings=settings))
    assert found.skipped > 0 and all_given.skipped == 0
    assert found.corrected is not None and all_given.corrected is not None
    assert (found.corrected.width or 0) > (all_given.corrected.width or 1) + 0.1


def test_exactly_these_rows_are_known_better_than_rows_like_them(tmp_path: Path) -> None:
    rows = population(120)
    run = labelled(run_of(tmp_path / "run", rows), labels_of(rows[:60]))
    like, these = (
        only(calibrate_run(run, settings=replace(NUMBER_ONLY, these_rows=meant)))
        for meant in (False, True)
    )
    assert like.corrected is not None and these.corrected is not None
    assert these.corrected.value == like.corrected.value
    assert (these.corrected.width or 1) < 0.8 * (like.corrected.width or 0)
    assert (these.labels_only.width or 1) < 0.8 * (like.labels_only.width or 0)
    shown = commands.adjudge("calibrate", run).stdout
    assert "intervals apply to rows like these; --these-rows gives" in shown
    shown = commands.adjudge("calibrate", run, "--these-rows").stdout
    assert "at 95%, exactly these 120 rows)" in shown.splitlines()[0]
    assert "intervals apply to exactly these 120 rows" in shown
    refused = commands.adjudge("calibrate", run, "--these-rows", "--sequential")
    assert refused.returncode == 1 and "leave one of them out" in refused.stderr


def test_a_run_whose_every_row_is_labelled_leaves_no_doubt_about_these_rows(
    tmp_path: Path,
) -> None:
    rows = population(40)
    run = labelled(run_of(tmp_path / "run", rows), labels_of(rows))
    found = only(calibrate_run(run, settings=replace(NUMBER_ONLY, these_rows=True)))
    truth = fmean(good for _, good, _ in rows)
    assert found.corrected is not None
    assert (found.corrected.lower, found.corrected.upper) == (
        pytest.approx(truth),
        pytest.approx(truth),
    )


def test_one_number_has_one_interval_in_report_calibration_and_gate(tmp_path: Path) -> None:
    """Ten texts are on forty rows: rows of their own, but each label of theirs counts once."""
    texts = [f"text {number} says {'yes' if number % 4 else 'no'}." for number in range(10)] * 4
    run = judged(tmp_path / "run", texts, lambda prompt: "PASS" if "yes" in prompt else "FAIL")
    labels = labels_of([(text, "yes" in text, True) for text in dict.fromkeys(texts)])
    shown = json.loads(commands.adjudge("runs", "show", run, "--json").stdout)
    found = only(calibrate_run(labelled(run, labels), settings=NUMBER_ONLY))
    limits = shown["summary"]["interval"]
    assert (found.naive.lower, found.naive.upper) == (limits["lower"], limits["upper"])
    gate = GateConfidence(0.95).interval([float("yes" in text) for text in texts], [], LostRows())
    assert gate is not None and (gate.lower, gate.upper) == (limits["lower"], limits["upper"])
    assert (found.labels_only.width or 0) > 1.5 * (found.naive.width or 1)


def test_a_row_without_a_value_in_the_column_counts_alone_as_in_gates(tmp_path: Path) -> None:
    rows = [{"response": f"{n} yes" if n % 3 else f"{n} no", "talk": ""} for n in range(40)]
    critic = AspectCritic(
        "Says yes.", model(lambda text: "PASS" if "yes" in text else "FAIL"), name="dates"
    )
    instances = [Instance({"response": one["response"]}, metadata={"row": one}) for one in rows]
    critic.evaluate(instances, run=tmp_path / "run")
    labels = labels_of([(one["response"], "yes" in one["response"], True) for one in rows[:30]])
    run = labelled(tmp_path / "run", labels)
    plain, by_talk = (
        only(calibrate_run(run, settings=replace(NUMBER_ONLY, cluster=column)))
        for column in (None, "talk")
    )
    assert by_talk.naive.width == pytest.approx(plain.naive.width, rel=0.1)


def test_limits_of_exactly_these_rows_hold_nothing_that_labels_rule_out() -> None:
    """32 of 100 rows are labelled good and 10 have no label, but one conversation is 60 of them:
    the limits were 0.000 and 0.999.
    """
    critic = AspectCritic("Is it good?", model(lambda text: "PASS" if "t 9" in text else "FAIL"))
    rows = [
        Instance({"response": f"t {n:02}", "talk": "long" if n < 60 else f"c{n}"}, f"r{n}")
        for n in range(100)
    ]
    results = critic.evaluate(rows)
    criterion = results[0].criteria.name
    labels = [
        Label(
            row=one.instance.identity,
            id=one.instance.id,
            criteria=criterion,
            annotator="ann",
            option="PASS" if n >= 60 and n % 5 else "FAIL",
            design="random",
        )
        for n, one in enumerate(results)
        if n % 10
    ]
    settings = replace(NUMBER_ONLY, these_rows=True, cluster="talk")
    found = calibrate(results, labels, settings=settings)
    assert found.corrected is not None
    for one in (found.corrected, found.labels_only):
        assert (one.lower, one.upper) == (pytest.approx(0.32), pytest.approx(0.42))
    with_numbers = within_possible(Estimate(0.5, 0.1, 0.9, 3, "any"), [1.0, 0.4, 0.4], 4)
    assert (with_numbers.value, with_numbers.lower) == (0.5, pytest.approx(0.45))
    assert with_numbers.upper == pytest.approx(0.7)
