"""Rows that are drawn with chances of their own, and what their labels correct."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import fmean, stdev

import pytest

from adjudge import AspectCritic, Instance, Request, ScriptedModel
from adjudge.core.domain.label import Answer, Label
from adjudge.core.ledger.file import LABELS
from adjudge.errors import RunError, SetupError
from adjudge.features.trust.label_files import write_labels
from adjudge.trust.calibration import Calibration, CalibrationSettings, calibrate_run
from adjudge.trust.labels.files import read_labels, run_rows
from adjudge.trust.labels.queue import Queue, QueuedRow, row_index
from adjudge.trust.labels.scales import label_scale
from adjudge.trust.labels.session import Annotator, Labelling, labelling
from adjudge.trust.labels.store import LabelStore
from adjudge.trust.labels.weighting import FEWEST, Weighting, quotas
from support.commands import adjudge

ROWS = 300
LANGUAGES = ("en", "en", "en", "de", "fr")


def passes(number: int) -> bool:
    """What is true of a row."""
    return number % 4 != 0


def votes(number: int) -> list[bool]:
    """What three votes say: divided on every third row, and then wrong on half of these."""
    true = passes(number)
    if number % 3:
        return [true] * 3
    return [true, not true, (number % 2 == 0) == true]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    asked: Counter[int] = Counter()

    def script(request: Request) -> str:
        found = re.search(r"\[(\d+)\]", request.prompt.text)
        assert found is not None
        number = int(found[1])
        asked[number] += 1
        said = votes(number)[(asked[number] - 1) % 3]
        return json.dumps({"explanation": "x", "selected_option": "PASS" if said else "FAIL"})

    folder = tmp_path_factory.mktemp("weighted") / "run"
    rows = [
        Instance({"response": f"[{one}]", "language": LANGUAGES[one % 5]}, id=f"r{one}")
        for one in range(ROWS)
    ]
    judge = AspectCritic("Is it right?", ScriptedModel(script), strictness=3, name="right")
    judge.evaluate(rows, run=folder)
    return folder


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "run"))


def number_of(row: QueuedRow) -> int:
    return int(str(row.id)[1:])


def label(work: Labelling, most: int = 1000) -> int:
    count = 0
    while count < most and (shown := work.next()):
        true = passes(number_of(shown.queued))
        work.answer(shown, Answer(option="PASS" if true else "FAIL"))
        count += 1
    return count


def fill(work: Labelling, name: str = "ann") -> int:
    """What ``label`` does to a queue that nobody has begun, in one transaction."""
    labels = [
        Label(
            row=row.identity,
            id=row.id,
            criteria="right",
            annotator=name,
            option="PASS" if passes(number_of(row)) else "FAIL",
            design=row.design,
            seed=work.draw.seed,
            drawn_at=work.draw.at,
            drawn_under=work.judged.identity,
            drawn_by=work._drawn_by,
            chance=row.chance,
        )
        for row in work._plan.values()
    ]
    work._store.add(*labels)
    return len(labels)


def begin(run: Path, queue: Queue, count: int = 60, name: str = "ann", by: str = "") -> Labelling:
    return labelling(run, Annotator(name, queue=queue, count=count, by=by))


def calibrated(run: Path) -> Calibration:
    (found,) = calibrate_run(run, settings=CalibrationSettings(agreement=None))
    return found


def planned(run: Path, queue: Queue, count: int, seed: int) -> list[QueuedRow]:
    with row_index(run, label_scale(run, None), seed, queue=queue) as index:
        return index.draw(Weighting.read(f"{queue}:0.0"), count)


def test_each_label_keeps_its_chance_and_what_it_follows(run: Path) -> None:
    assert label(begin(run, "random-disagreement"), most=12) == 12
    labels = list(LabelStore(run).current())
    assert {one.design for one in labels} == {"random_weighted"}
    assert {one.drawn_by for one in labels} == {"random-disagreement:0.0"}
    assert len({one.drawn_under for one in labels}) == 1
    chances: dict[bool, set[float]] = defaultdict(set)
    for one in labels:
        chances[len(set(votes(int(str(one.id)[1:])))) > 1].add(float(one.chance or 0))
    assert min(chances[True]) > max(chances[False])


def test_the_sum_by_inverse_chances_is_right_on_average(made: Path) -> None:
    """Horvitz and Thompson's estimate needs the chances alone: if those were wrong it would be
    off.
    """
    truth = fmean(passes(one) for one in range(ROWS))
    found = [
        sum(passes(number_of(row)) / float(row.chance or 0) for row in rows) / ROWS
        for rows in (planned(made, "random-disagreement", 60, seed) for seed in range(8))
    ]
    assert abs(fmean(found) - truth) < 3 * stdev(found) / len(found) ** 0.5
    naive = [
        fmean(
            len(set(votes(number_of(row)))) > 1 for row in planned(made, "random-uncertain", 60, s)
        )
        for s in range(1)
    ]
    assert fmean(naive) > 0.36  # a third of the rows: they are drawn oftener


def test_the_corrected_number_is_the_mean_of_each_kind_times_its_rows(run: Path) -> None:
    fill(begin(run, "random-disagreement", 90))
    kinds: dict[tuple[bool, bool], list[bool]] = defaultdict(list)
    size: Counter[tuple[bool, bool]] = Counter()
    labelled = {int(str(one.id)[1:]) for one in LabelStore(run).current()}
    for number in range(ROWS):
        said = votes(number)
        key = sum(said) >= 2, len(set(said)) > 1
        size[key] += 1
        if number in labelled:
            kinds[key].append(passes(number))
    wanted = sum(size[key] / ROWS * fmean(own) for key, own in kinds.items())
    found = calibrated(run)
    assert found.corrected is not None and found.corrected.value == pytest.approx(wanted)
    assert found.labels_only.value is None and "among all rows" in found.labels_only.reason


def test_any_beginning_of_the_queue_is_a_beginning_of_each_kind(made: Path) -> None:
    """Wherever somebody stops, the labels of a kind are a random sample of it."""
    whole = planned(made, "random-disagreement", ROWS * 3, 5)
    order = {row.identity: place for place, row in enumerate(_by_lot(made, 5))}
    rows = planned(made, "random-disagreement", 80, 5)
    for stop in (20, 50, len(rows)):
        taken: dict[float | None, list[int]] = defaultdict(list)
        for row in rows[:stop]:
            taken[row.chance].append(order[row.identity])
        assert all(own == sorted(own) for own in taken.values())
    assert len(whole) == ROWS


def _by_lot(run: Path, seed: int) -> list[QueuedRow]:
    with row_index(run, label_scale(run, None), seed) as index:
        return index._draw_random(ROWS)


def test_the_same_command_goes_on_and_two_annotators_have_one_sample(run: Path) -> None:
    assert label(begin(run, "random-disagreement"), most=5) == 5
    work = begin(run, "random-disagreement")
    assert work.progress().done == 5
    fill(work)
    fill(begin(run, "random-disagreement", name="bob"), "bob")
    rows = {
        name: {one.row for one in LabelStore(run).current() if one.annotator == name}
        for name in ("ann", "bob")
    }
    assert rows["ann"] == rows["bob"]
    assert not calibrated(run).refusal


def test_more_rows_later_leave_the_first_ones_in(made: Path) -> None:
    few, more = (
        {row.identity for row in planned(made, "random-disagreement", n, 0)} for n in (40, 120)
    )
    assert few < more
    rows = {("PASS", "divided"): 40, ("PASS", "united"): 200, ("FAIL", "united"): 3}
    before = quotas(rows, "random-disagreement", 20)
    for count in range(21, 250, 7):
        now = quotas(rows, "random-disagreement", count)
        assert all(now[one] >= before[one] for one in rows) and now[("FAIL", "united")] == 3
        before = now
    assert min(quotas(rows, "random-disagreement", 1).values()) == 3 < FEWEST


def test_another_weighted_queue_is_refused_and_a_random_one_is_joined(run: Path) -> None:
    fill(begin(run, "random-disagreement"))
    with pytest.raises(SetupError, match="drawn by random-disagreement"):
        begin(run, "random-stratified", by="language")
    work = begin(run, "random", 30)
    before = len(list(LabelStore(run).current()))
    asked = label(work)
    labels = list(LabelStore(run).current())
    drawn = [one for one in labels if one.design == "random"]
    assert len(drawn) >= 30 > asked  # some were labelled already, and are in the random sample now
    assert len(labels) == before + asked
    found = calibrated(run)
    assert found.refusal is None and found.labels_only.count == len(drawn)


def test_a_stopped_random_queue_takes_over_no_row_that_comes_later(run: Path) -> None:
    fill(begin(run, "random-disagreement", 150))
    work = begin(run, "random", 60)
    label(work, most=3)
    work.next()
    order = {row.identity: place for place, row in enumerate(_by_lot(run, 0))}
    drawn = sorted(order[one.row] for one in LabelStore(run).current() if one.design == "random")
    assert drawn == list(range(len(drawn)))


def test_rows_are_drawn_apart_by_verdict_and_column(run: Path) -> None:
    fill(begin(run, "random-stratified", 90, by="language"))
    labels = list(LabelStore(run).current())
    assert {one.drawn_by for one in labels} == {"random-stratified:language"}
    each = Counter(LANGUAGES[int(str(one.id)[1:]) % 5] for one in labels)
    assert each["fr"] / len(labels) > 0.22  # a fifth of the rows
    assert not calibrated(run).refusal


def test_slices_that_were_drawn_apart_are_pulled_towards_the_others(run: Path) -> None:
    """What the whole lets expect of a slice is not what its own labels say."""
    fill(begin(run, "random-stratified", 90, by="language"))
    wanted = CalibrationSettings(by="language", agreement=None)
    (found,) = calibrate_run(run, settings=wanted)
    kinds = [(sum(votes(one)) > 1, LANGUAGES[one % 5]) for one in range(ROWS)]
    labels: defaultdict[tuple[bool, str], list[bool]] = defaultdict(list)
    for label in LabelStore(run).current():
        number = int(str(label.id)[1:])
        labels[kinds[number]].append(passes(number))
    means = {kind: fmean(each) for kind, each in labels.items()}
    by_verdict = {
        verdict: fmean(means[kind] for kind in kinds if kind[0] == verdict)
        for verdict in (False, True)
    }
    assert found.slices is not None and len(found.slices.slices) == 3
    for one in found.slices.slices:
        own = fmean(means[kind] for kind in kinds if kind[1] == one.name)
        expected = fmean(by_verdict[kind[0]] for kind in kinds if kind[1] == one.name)
        assert abs(own - expected) > 0.003 and one.pooled is not None
        share = one.pooled.from_whole
        assert one.pooled.value == pytest.approx((1 - share) * own + share * expected)
    assert found.confusion.sensitivity is not None
    assert found.confusion.sensitivity.reason == "rows were drawn with different chances: no limits"


@pytest.mark.parametrize(
    ("queue", "by", "says"),
    [
        ("random-stratified", "nobody", "a value in column 'nobody'"),
        ("random-stratified", "response", "has 300 values; rows can be drawn by at most 8"),
        ("random", "language", "--by works only with --queue random-stratified"),
    ],
)
def test_columns_that_do_not_do_are_refused(run: Path, queue: Queue, by: str, says: str) -> None:
    with pytest.raises(SetupError, match=re.escape(says)):
        begin(run, queue, by=by)


def test_copies_of_a_text_are_of_the_kind_that_it_was_drawn_by(tmp_path: Path) -> None:
    """Half of the German rows repeat English ones, which are drawn seldom and are all wrong."""

    def script(_: Request) -> str:
        return json.dumps({"explanation": "x", "selected_option": "PASS"})

    texts = [(f"[{one}]", "en") for one in range(300)]
    texts += [(f"[{one}]", "de") for one in (*range(0, 300, 10), *range(300, 330))]
    rows = [
        Instance({"response": text}, id=f"r{text[1:-1]}", metadata={"row": {"language": language}})
        for text, language in texts
    ]
    folder = tmp_path / "run"
    AspectCritic("Is it right?", ScriptedModel(script), name="right").evaluate(rows, run=folder)

    def is_right(id: str | None) -> bool:
        return int(str(id)[1:]) % 10 > 0 or int(str(id)[1:]) >= 300

    work = begin(folder, "random-stratified", 80, by="language")
    while shown := work.next():
        work.answer(shown, Answer(option="PASS" if is_right(shown.queued.id) else "FAIL"))
    drawn = {label.row for label in LabelStore(folder).current()}
    known = [row for row in rows if row.identity in drawn]
    english = [is_right(row.id) for row in known if int(str(row.id)[1:]) < 300]
    german = [is_right(row.id) for row in known if int(str(row.id)[1:]) >= 300]
    found = calibrated(folder).corrected
    assert found is not None
    assert found.value == pytest.approx((330 * fmean(english) + 30 * fmean(german)) / 360)


def test_labels_of_two_weighted_draws_correct_nothing(run: Path) -> None:
    fill(begin(run, "random-disagreement"))
    store = LabelStore(run)
    first = next(store.current())
    store.add(
        Label(**{**first.to_dict(), "annotator": "bob", "drawn_by": "random-uncertain:0.1"})  # type: ignore[arg-type]
    )
    found = calibrated(run)
    assert found.refusal is not None and found.refusal.code == "two_draws"


def test_a_file_keeps_chances_and_one_without_them_is_refused(run: Path, tmp_path: Path) -> None:
    fill(begin(run, "random-disagreement"))
    before, store = calibrated(run), LabelStore(run)
    write_labels(tmp_path / "labels.csv", store.current())
    with run_rows(run) as rows:
        again = list(read_labels(tmp_path / "labels.csv", rows))
    (found,) = calibrate_run(run, again, settings=CalibrationSettings(agreement=None))
    assert found.corrected == before.corrected
    text = (tmp_path / "labels.csv").read_text(encoding="utf-8-sig").splitlines()
    names = text[0].split(",")
    kept = [place for place, name in enumerate(names) if name != "chance"]
    bare = "\n".join(",".join(line.split(",")[at] for at in kept) for line in text)
    (tmp_path / "bare.csv").write_text(bare)
    with run_rows(run) as rows, pytest.raises(RunError, match=r"line 2.*needs drawn_by and chance"):
        list(read_labels(tmp_path / "bare.csv", rows))


def _first_version(path: Path) -> Iterator[str]:
    yield "ALTER TABLE labels DROP COLUMN drawn_by"
    yield "ALTER TABLE labels DROP COLUMN chance"
    yield "ALTER TABLE labels DROP COLUMN step"
    yield "ALTER TABLE draws DROP COLUMN drawn_by"
    yield "PRAGMA user_version = 1"


def test_a_run_that_labels_are_imported_into_goes_on_with_their_draw(
    run: Path, made: Path, tmp_path: Path
) -> None:
    """Of a second run of the same judge a third may lie above another doubt."""
    label(begin(run, "random-uncertain", 60))
    (drawn_by,) = {one.drawn_by for one in LabelStore(run).current()}
    labels = [
        replace(one, drawn_by="random-uncertain:0.25", seed=3, drawn_at=1.0)
        for one in LabelStore(run).current()
    ]
    assert drawn_by != "random-uncertain:0.25"
    write_labels(tmp_path / "labels.csv", labels)
    other = Path(shutil.copytree(made, tmp_path / "other"))
    said = adjudge("label", str(other), "--import", str(tmp_path / "labels.csv"))
    assert said.returncode == 0, said.stderr
    work = begin(other, "random-uncertain", 90)
    assert (str(work._drawn_by), work.draw.seed) == ("random-uncertain:0.25", 3)
    label(work)
    (found,) = calibrate_run(other, settings=CalibrationSettings(agreement=None))
    assert found.refusal is None
    assert any("drawn by the verdicts of an earlier run" in note for note in found.notes)

    wrong = [replace(one, drawn_by="random-uncertain:x") for one in labels]
    write_labels(tmp_path / "wrong.csv", wrong)
    third = Path(shutil.copytree(made, tmp_path / "third"))
    said = adjudge("label", str(third), "--import", str(tmp_path / "wrong.csv"))
    assert (said.returncode, "drawn_by is" in said.stderr) == (1, True)
    assert not list(LabelStore(third).current())


def test_labels_of_an_earlier_version_are_read_and_added_to(run: Path) -> None:
    label(begin(run, "random"), most=5)
    before = list(LabelStore(run).current())
    connection = sqlite3.connect(run / LABELS)
    for statement in _first_version(run):
        connection.execute(statement)
    connection.commit()
    connection.close()
    assert list(LabelStore(run).current()) == before
    assert LabelStore(run).weighting("right") is None
    assert label(begin(run, "random-disagreement"), most=5) == 5
    assert len(list(LabelStore(run).current())) == 10
    kept = {one.row: one for one in LabelStore(run).current()}
    assert [kept[one.row] for one in before] == before
