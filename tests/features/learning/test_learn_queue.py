"""``label --queue learn``: rows that teach next to rows drawn by design."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path

import pytest

from adjudge import DirectJudge
from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.label import Answer, Label
from adjudge.features.learning.learner import LearnedJudge, LearnSettings
from adjudge.runs.folder import records_of
from adjudge.trust.calibration import calibrate_run
from adjudge.trust.labels.queue import QueuedRow, row_index
from adjudge.trust.labels.scales import label_scale
from adjudge.trust.labels.session import Annotator, labelling
from adjudge.trust.labels.store import LabelStore

CRITERIA = Criteria(
    "sea",
    "Is it about the sea?",
    [CriteriaOption("Yes", score=1.0), CriteriaOption("No", score=0.0)],
)
SEA, LAND = ("ship", "wave", "harbour", "tide"), ("desk", "train", "garden", "clock")
ROWS = 300
ANNOTATORS = int(os.environ.get("ADJUDGE_TABLES", "12"))


def sea_words(place: int) -> int:
    return random.Random(place).choice((0, 0, 0, 1, 2, 3, 4, 5))


def text_of(place: int) -> str:
    count = sea_words(place)
    words = [SEA[(place + at) % 4] for at in range(count)]
    words += [LAND[(place + at) % 4] for at in range(5 - count)]
    return f"Number {place}: {' '.join(words)}."


def truth_of(place: int) -> str:
    """Mixed texts are about the sea as often as not, whatever the judge makes of their words."""
    count = sea_words(place)
    if count in (2, 3):
        return "Yes" if place % 2 else "No"
    return "Yes" if count > 2 else "No"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("learn")
    others = range(1000, 1080)
    LearnedJudge.fit(
        [text_of(place) for place in others],
        CRITERIA,
        [truth_of(place) for place in others],
        settings=LearnSettings(words_only=True),
    ).save(folder / "judge.json")
    judge = DirectJudge(f"learned/{folder / 'judge.json'}")
    judge.evaluate(
        [Instance({"response": text_of(place)}, id=str(place)) for place in range(ROWS)],
        CRITERIA,
        run=folder / "run",
    )
    return folder / "run"


def plan(run: Path, count: int, seed: int = 0) -> list[QueuedRow]:
    with row_index(run, label_scale(run, None), seed, queue="learn") as index:
        return index.plan("learn", count)


def random_rows(run: Path, count: int, seed: int = 0) -> list[str]:
    with row_index(run, label_scale(run, None), seed) as index:
        return [row.identity for row in index.plan("random", count)]


def test_half_of_the_rows_are_the_first_of_the_random_order(run: Path) -> None:
    rows = plan(run, 40)
    drawn = [row.identity for row in rows if row.design == "random"]
    assert Counter(row.design for row in rows) == {"random": 20, "chosen": 20}
    assert drawn == random_rows(run, 20)
    assert len({row.identity for row in rows}) == 40


def test_chosen_rows_are_the_unsure_ones_of_each_verdict(run: Path) -> None:
    chosen = [row for row in plan(run, 40) if row.design == "chosen"]
    verdicts = {record.identity: str(record.choice) for record in records_of(run)}
    counts = Counter(verdicts[row.identity] for row in chosen)
    assert min(counts["Yes"], counts["No"]) >= 7
    unsure = sum(sea_words(int(row.id or 0)) in (1, 2, 3) for row in chosen)
    assert unsure >= 16


def test_place_does_not_tell_which_rows_were_drawn(run: Path) -> None:
    first = {plan(run, 2, seed)[0].design for seed in range(8)}
    assert first == {"random", "chosen"}


def test_all_rows(run: Path) -> None:
    rows = plan(run, 2 * ROWS)
    assert Counter(row.design for row in rows) == {"random": ROWS}


def test_session_labels_both_kinds_and_keeps_them_apart(run: Path) -> None:
    who = Annotator("ada", queue="learn", count=12)
    work = labelling(run, who)
    while row := work.next():
        work.answer(row, Answer(option=truth_of(int(row.queued.id or 0))))
    labels = list(LabelStore(run).current(CRITERIA.name))
    assert Counter(label.design for label in labels) == {"random": 6, "chosen": 6}
    assert all((label.drawn_of is None) == (label.design == "chosen") for label in labels)
    assert work.progress().done == work.progress().total == 12

    # Undo takes back the last label, of whichever kind.
    last = max(labels, key=lambda label: label.at)
    undone = work.undo()
    assert undone is not None
    assert undone.row == last.row
    again = work.next()
    assert again is not None
    work.answer(again, Answer(option="Yes"))

    # A chosen row is asked again once the random order reaches it.
    random_work = labelling(run, Annotator("ada", count=ROWS))
    chosen = {label.row for label in labels if label.design == "chosen"}
    first = next(row for row in random_rows(run, ROWS) if row in chosen)
    asked: list[str] = []
    while first not in asked and (row := random_work.next()):
        asked.append(row.queued.identity)
        random_work.answer(row, Answer(option=truth_of(int(row.queued.id or 0))))
    assert first in asked and chosen.isdisjoint(asked[:-1])
    LabelStore(run).path.unlink()


def test_corrected_rate_stays_valid(run: Path) -> None:
    """Simulated annotators, each with a draw of their own; 2,000 under ``make test-traffic``."""
    places = {record.identity: int(record.id or 0) for record in records_of(run)}
    rate = sum(truth_of(place) == "Yes" for place in places.values()) / ROWS
    estimates, covered = [], 0
    seeds = range(ANNOTATORS)
    for seed in seeds:
        labels = [
            Label(
                row=row.identity,
                id=row.id,
                criteria=CRITERIA.name,
                annotator="ada",
                option=truth_of(places[row.identity]),
                design=row.design,
                at=1.0,
                seed=seed if row.design == "random" else None,
                drawn_of=ROWS if row.design == "random" else None,
            )
            for row in plan(run, 80, seed)
        ]
        (calibration,) = calibrate_run(run, labels)
        share = calibration.corrected
        assert share is not None
        assert share.value is not None
        assert share.lower is not None
        assert share.upper is not None
        estimates.append(share.value)
        covered += share.lower <= rate <= share.upper
    mean = sum(estimates) / len(estimates)
    spread = (sum((value - mean) ** 2 for value in estimates) / len(estimates)) ** 0.5
    assert abs(mean - rate) < 4 * spread / len(seeds) ** 0.5
    assert covered >= 0.88 * ANNOTATORS
