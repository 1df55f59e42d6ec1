"""Copies of one text: whose labels they share, by what was drawn."""

from __future__ import annotations

import random
from pathlib import Path
from statistics import fmean

import pytest

from adjudge import AspectCritic
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.label import Label
from adjudge.core.domain.results import Result
from adjudge.features.trust.label_files import write_labels
from adjudge.trust import Calibration, calibrate
from adjudge.trust.calibration import CalibrationSettings
from adjudge.trust.calibration_words import calibration_lines
from adjudge.trust.labels.files import read_labels, run_rows
from adjudge.trust.labels.store import LabelStore
from support.labels import model

NUMBER_ONLY = CalibrationSettings(agreement=None)
STUDIES = 30


def judged(texts: list[str], run: Path | None = None) -> list[Result]:
    critic = AspectCritic("Says yes.", model(lambda _: "PASS"), name="dates")
    rows = [Instance({"response": text}, f"r{place}") for place, text in enumerate(texts)]
    return list(critic.evaluate(rows, run=run) if run else critic.evaluate(rows))


def label(result: Result, **values: object) -> Label:
    """A label of a row: short texts pass."""
    text = str(result.instance.fields["response"])
    known: dict[str, object] = {
        "row": result.instance.identity,
        "id": result.instance.id,
        "criteria": "dates",
        "annotator": "ann",
        "option": "PASS" if text.startswith("short") else "FAIL",
        "design": "random",
    }
    return Label(**{**known, **values})  # type: ignore[arg-type]


def corrected(found: Calibration) -> tuple[float, bool]:
    """Return the corrected share, and whether its interval holds one half."""
    one = found.corrected
    assert one is not None and one.value is not None
    assert one.lower is not None and one.upper is not None
    return one.value, one.lower <= 0.5 <= one.upper


def test_labels_of_drawn_rows_are_of_these_rows_alone() -> None:
    """A text with three copies is drawn three times as often; if its label counted for all of them,
    the share of 0.5 came out as 0.69.
    """
    results = judged([f"short {n % 50}" for n in range(150)] + [f"long {n}" for n in range(150)])
    made = []
    for seed in range(STUDIES):
        rows = random.Random(seed).sample(results, 80)
        found = calibrate(results, [label(one, drawn_of=300) for one in rows], settings=NUMBER_ONLY)
        assert found.count == 80 and found.labels_only.count == 80
        made.append(corrected(found))
    assert fmean(value for value, _ in made) == pytest.approx(0.5, abs=0.03)
    assert fmean(holds for _, holds in made) >= 0.9


def test_labels_that_the_queue_drew_are_of_all_copies() -> None:
    results = judged([f"short {n % 50}" for n in range(150)] + [f"long {n}" for n in range(150)])
    texts = list({one.instance.identity: one for one in results}.values())
    values = []
    for seed in range(STUDIES):
        rows = random.Random(seed).sample(texts, 80)
        labels = [label(one, drawn_of=300, seed=seed) for one in rows]
        values.append(corrected(calibrate(results, labels, settings=NUMBER_ONLY))[0])
    assert fmean(values) == pytest.approx(0.5, abs=0.03)


def test_copies_that_were_added_belong_to_the_draw_of_their_text() -> None:
    """The added rows are 75 copies of old texts and 75 new texts. Labels that copies had from the
    first draw were pooled with those of the second: 0.62 instead of 0.5.
    """
    old = [f"short {n}" for n in range(75)] + [f"long {n}" for n in range(75)]
    results = judged(old + [f"short {n}" for n in range(75)] + [f"other {n}" for n in range(75)])
    texts = list({one.instance.identity: one for one in results}.values())
    assert len(texts) == 225
    made = []
    for seed in range(STUDIES):
        order = random.Random(seed).sample(texts, 225)
        first = [one for one in order if one in texts[:150]][:100]
        second = [one for one in order[:90] if one not in first]
        labels = [label(one, drawn_of=150, seed=seed) for one in first]
        labels += [label(one, drawn_of=300, seed=seed) for one in second]
        found = calibrate(results, labels, settings=NUMBER_ONLY)
        made.append(corrected(found))
        assert found.labels_only.value is None
        assert found.labels_only.reason.startswith("rows were added between the labels")
        assert found.labels_only.count > 100
    assert fmean(value for value, _ in made) == pytest.approx(0.5, abs=0.03)
    assert fmean(holds for _, holds in made) >= 0.9


def test_a_skipped_row_is_not_labelled_by_its_copy() -> None:
    results = judged([f"short {n % 60}" for n in range(120)])
    labels = [label(one) for one in results[:60]]
    labels += [label(one, state="skipped", option=None) for one in results[60:70]]
    found = calibrate(results, labels, settings=NUMBER_ONLY)
    assert (found.count, found.skipped) == (60, 10)


def test_a_skipped_text_leaves_as_much_open_as_its_labels_can_say() -> None:
    """Twelve rows are copies of one text. Each counted as a row that was skipped by itself, so that
    a skipped text had a narrower interval than a labelled one.
    """
    results = judged(["canned"] * 12 + [f"{'short' if n % 2 else 'long'} {n}" for n in range(100)])
    drawn = [results[0], *results[12:72]]

    def limits(canned: Label) -> list[tuple[float, float]]:
        labels = [canned, *(label(one, seed=1) for one in drawn[1:])]
        found = calibrate(results, labels, settings=NUMBER_ONLY)
        assert found.corrected is not None
        return [(one.lower or 0, one.upper or 0) for one in (found.corrected, found.labels_only)]

    skipped = limits(label(drawn[0], seed=1, state="skipped", option=None))
    for option in ("PASS", "FAIL"):
        given = limits(label(drawn[0], seed=1, option=option))
        for (low, high), (lower, upper) in zip(skipped, given, strict=True):
            assert low <= lower + 1e-9 and high >= upper - 1e-9


def test_named_estimators_do_not_promise_to_hold_for_skipped_rows() -> None:
    results = judged([f"short {n}" for n in range(120)])
    labels = [label(one) for one in results[:60]]
    labels += [label(one, state="skipped", option=None) for one in results[60:70]]
    settings = CalibrationSettings(agreement=None, all_estimators=True)
    lines = list(map(str, calibration_lines(calibrate(results, labels, settings=settings))))
    place = next(n for n, line in enumerate(lines) if line.startswith("10 drawn rows were skipped"))
    assert lines[place + 1] == "but not those of PPI++, Rogan–Gladen: they leave such rows out"
    lines = list(map(str, calibration_lines(calibrate(results, labels, settings=NUMBER_ONLY))))
    assert not any("leave such rows out" in line for line in lines)


@pytest.mark.parametrize("ids", [True, False])
def test_an_export_keeps_the_labels_of_copies(tmp_path: Path, ids: bool) -> None:
    """Twenty texts stand on two rows each, and people say something else of either."""
    critic = AspectCritic("Says yes.", model(lambda _: "PASS"), name="dates")
    rows = [
        Instance({"response": f"text {place // 2}"}, f"r{place}" if ids else None)
        for place in range(40)
    ]
    critic.evaluate(rows, run=tmp_path / "run")
    given = tmp_path / "given.csv"
    lines = [f"{f'r{at}' if ids else at + 1},{'PASS' if at % 2 else 'FAIL'}" for at in range(40)]
    given.write_text("\n".join([f"{'id' if ids else 'row'},ann", *lines]), "utf-8")
    with run_rows(tmp_path / "run") as known:
        LabelStore(tmp_path / "run").add(*read_labels(given, known))
    written = list(LabelStore(tmp_path / "run").current_of_copies())
    assert len(written) == 40
    for name, wide in (("out.jsonl", False), ("wide.csv", True)):
        assert write_labels(tmp_path / name, written, wide=wide) == 40
        with run_rows(tmp_path / "run") as known:
            again = list(read_labels(tmp_path / name, known))
        about = {(one.row, one.id, one.option) for one in written}
        assert len(again) == 40 and {(one.row, one.id, one.option) for one in again} == about


def test_limits_at_every_look_bound_the_share_of_rows_not_of_texts() -> None:
    """30 texts with nine copies pass, 90 single ones fail: of all rows .75 pass, of all texts .25.
    The limits held the share of texts, and ended at the printed .75.
    """
    texts = [f"short {n % 30}" for n in range(270)] + [f"long {n}" for n in range(90)]
    results = judged(texts)
    drawn = {one.instance.identity: one for one in results}.values()
    labels = [label(one, drawn_of=360, seed=1) for one in drawn]
    often = CalibrationSettings(agreement=None, sequential=True)
    calibration = calibrate(results, labels, settings=often)
    for found in (calibration.corrected, calibration.labels_only):
        assert found is not None and found.value == pytest.approx(0.75)
        assert found.lower is not None and found.upper is not None
        assert 0.25 < found.lower < 0.75 < found.upper < 1


def test_a_slice_says_that_copies_count_once() -> None:
    """It said 36 labels and "3 more", with a bar of 20."""
    texts = [f"short {n // 3} de" for n in range(75)] + [f"long {n} en" for n in range(60)]
    critic = AspectCritic("Says yes.", model(lambda _: "PASS"), name="dates")
    rows = [
        Instance({"response": text, "lang": text[-2:]}, f"r{place}")
        for place, text in enumerate(texts)
    ]
    results = list(critic.evaluate(rows))
    each = list({one.instance.identity: one for one in results}.values())
    labels = [label(one, drawn_of=135, seed=1) for one in (*each[:12], *each[25:])]
    settings = CalibrationSettings(agreement=None, by="lang")
    found = calibrate(results, labels, settings=settings).slices
    assert found is not None
    few = next(one for one in found.slices if one.name == "de")
    assert few.labels == 36
    assert str(few.corrected.reason) == (
        "too few labels here: 8 more (labels of 12 different texts; copies count once)"
    )
