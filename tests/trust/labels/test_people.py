"""Rows that are assigned to people, and rows that people have before them."""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from adjudge.core.domain.label import Answer
from adjudge.core.ledger.file import LABEL_FILES, PEOPLE, refuse_links
from adjudge.errors import RunError, SetupError
from adjudge.trust.calibration import calibrate_run
from adjudge.trust.labels.people import KEPT_FOR, Assignment, People
from adjudge.trust.labels.session import Annotator, Labelling, assign_rows, labelling
from adjudge.trust.labels.store import LabelStore
from support.labels import identity, judged

THREE = ("ann", "bob", "vera")
ANN = Annotator("ann", count=40)


def texts(count: int) -> list[str]:
    return [f"text number {number:04}." for number in range(count)]


def third_fails(prompt: str) -> str:
    return "FAIL" if int(prompt.partition("text number ")[2][:4]) % 3 == 0 else "PASS"


def rows_of(run: Path, name: str) -> list[str]:
    """Label everything that is somebody's, and say what it was."""
    work, found = labelling(run, Annotator(name)), []
    while shown := work.next():
        found.append(str(shown.queued.id))
        work.answer(shown, Answer(option="PASS"))
    done, total = work.progress()
    assert done == total
    return found


def test_each_row_is_labelled_by_so_many_people_and_each_has_as_many(tmp_path: Path) -> None:
    run = judged(tmp_path / "run", texts(40), third_fails)
    assign_rows(run, Assignment(people=THREE, per_row=2, overlap=4, count=40))
    shares = {name: rows_of(run, name) for name in THREE}
    times = Counter(row for rows in shares.values() for row in rows)
    assert sorted(times.values()) == [2] * 36 + [3] * 4
    assert {len(rows) for rows in shares.values()} == {28}
    pairs = Counter(
        frozenset(name for name in THREE if row in shares[name]) for row in times if times[row] == 2
    )
    assert len(pairs) == 3, "everybody shares rows with everybody"


def test_who_gets_a_row_does_not_depend_on_what_the_judge_says(tmp_path: Path) -> None:
    found = []
    for name, verdict in (("one", third_fails), ("other", lambda _: "PASS")):
        run = judged(tmp_path / name, texts(40), verdict)
        assign_rows(run, Assignment(people=THREE, count=40))
        found.append({who: rows_of(run, who) for who in THREE})
    assert found[0] == found[1]


def test_the_labels_of_one_of_them_correct_the_number_as_a_random_sample_does(
    tmp_path: Path,
) -> None:
    """Whoever never comes leaves a smaller sample behind, not another one: over many seeds the mean
    of what one person's labels come to is the truth.
    """
    run = judged(tmp_path / "run", texts(60), third_fails)
    truth = {identity(text): number % 4 != 0 for number, text in enumerate(texts(60))}
    means = []
    for seed in range(40):
        for name in LABEL_FILES:
            (run / name).unlink(missing_ok=True)
        LabelStore(run).draw("dates", seed)
        assign_rows(run, Assignment(people=THREE, count=60))
        mine = labelling(run, Annotator("bob")).assigned
        assert mine and len(mine.rows) == 20
        means.append(sum(truth[row] for row in mine.rows) / 20)
    assert sum(means) / len(means) == pytest.approx(0.75, abs=0.03)
    rows_of(run, "bob")
    (found,) = calibrate_run(run)
    assert found.count == 20


@pytest.mark.parametrize("before", ["carol", "ann"])
def test_a_row_drawn_with_a_chance_of_its_own_counts_as_random_where_it_is_in_a_share(
    tmp_path: Path, before: str
) -> None:
    """Else the sample would hold a row for its doubt, or lack it for that. What somebody leaves out
    does not keep the rows behind it from the sample.
    """
    run = judged(tmp_path / "run", texts(40), third_fails)
    work = labelling(run, Annotator(before, queue="random-stratified", count=12))
    while shown := work.next():
        work.answer(shown, Answer(option="PASS"))
    assign_rows(run, Assignment(people=("ann", "bob"), count=40))
    ann = labelling(run, Annotator("ann"))
    assert ann.assigned and len(ann.assigned.rows) == 20
    if shown := ann.next():
        ann.skip(shown)
    while shown := ann.next():
        ann.answer(shown, Answer(option="PASS"))
    drawn = {one.row for one in LabelStore(run).current() if one.design == "random"}
    assert drawn == {*ann.assigned.rows}
    for name in ("ann", "bob"):
        rows_of(run, name)
    assert {one.design for one in LabelStore(run).current() if one.is_done} == {"random"}


def test_new_rows_are_dealt_too_and_nobody_loses_theirs(tmp_path: Path) -> None:
    run = judged(tmp_path / "run", texts(20), third_fails)
    assign_rows(run, Assignment(people=THREE, count=45))
    before = {one.annotator: one.total for one in People(run).progress()}
    mine = set(rows_of(run, "ann"))
    judged(run, texts(45), third_fails)
    added = rows_of(run, "ann")
    assert mine.isdisjoint(added)
    assert not {int(row[1:]) for row in added} & set(range(20))
    totals = {one.annotator: one.total for one in People(run).progress()}
    assert sum(before.values()) == 20 and sum(totals.values()) == 45
    assert set(totals.values()) == {15}


def test_who_leaves_passes_the_rows_on_that_are_not_labelled(tmp_path: Path) -> None:
    run = judged(tmp_path / "run", texts(30), third_fails)
    assign_rows(run, Assignment(people=("ann", "bob"), count=30))
    done = rows_of(run, "bob")[:15]
    assign_rows(run, Assignment(people=("ann", "vera"), count=30))
    left = [*rows_of(run, "ann"), *rows_of(run, "vera")]
    assert sorted([*done, *left]) == sorted(f"r{number}" for number in range(30))


def test_who_is_not_named_is_refused_with_the_names(tmp_path: Path) -> None:
    run = judged(tmp_path / "run", texts(9), third_fails)
    assign_rows(run, Assignment(people=THREE))
    with pytest.raises(SetupError, match="assigned to ann, bob, vera, not to 'Ann'"):
        labelling(run, Annotator("Ann"))
    assert labelling(run, Annotator("Ann", queue="suspicious")).progress().total == 0
    People(run).unassign("dates")
    assert labelling(run, Annotator("Ann")).progress() == (0, 9)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"people": ()}, "name at least one person"),
        ({"people": ("ann", "ann")}, "each person once"),
        ({"people": ("ann", "Ann")}, "each person once"),
        ({"people": ("ann", " bob")}, "' bob' cannot be a person's name"),
        ({"people": ("ann\nbob: 9 of 9",)}, "cannot be a person's name"),
        ({"people": ("\u202eann",)}, "cannot be a person's name"),
        ({"people": ("ann",), "per_row": 2}, "from 1 to 1, not 2"),
        ({"people": ("ann",), "count": 10**40}, "number of rows must be from 1 to"),
        ({"people": tuple(f"p{one}" for one in range(1_001))}, "at most 1000 people, not to 1001"),
        ({"people": ("ann",), "queue": "failed"}, "the queue failed cannot be assigned"),
    ],
)
def test_what_cannot_be_assigned_is_said(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(SetupError, match=said):
        Assignment(**wrong)  # type: ignore[arg-type]


def test_rows_before_somebody_are_known_to_all_and_free_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each object opens the file for itself, as another process does."""
    run = judged(tmp_path / "run", texts(5), third_fails)
    ann, bob = (labelling(run, Annotator(name, overlap=0)) for name in ("ann", "bob"))
    held = [shown.queued.identity for shown in ann.upcoming()]
    assert len(held) == 2
    mine = [shown.queued.identity for shown in bob.upcoming()]
    assert len(mine) == 2 and not {*held} & {*mine}
    assert [shown.queued.identity for shown in ann.upcoming()] == held
    ann.leave()
    assert People(run).take("dates", "vera", held, 2) == held
    monkeypatch.setattr("adjudge.trust.labels.people.time.time", lambda: 2**40)
    assert People(run).take("dates", "zoe", held, 2) == held
    assert KEPT_FOR < 2**20
    monkeypatch.undo()
    assert People(run).take("dates", "ann", held, 2) == held, "the clock was set back"


def test_many_at_once_never_have_the_same_row(tmp_path: Path) -> None:
    run = judged(tmp_path / "run", texts(24), third_fails)
    works = [labelling(run, Annotator(f"p{number}", overlap=0)) for number in range(4)]

    def label(work: Labelling) -> None:
        while shown := work.next():
            work.answer(shown, Answer(option="PASS"))
        work.leave()

    threads = [threading.Thread(target=label, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    times = Counter(one.row for one in LabelStore(run).history())
    assert set(times.values()) == {1} and len(times) == 24


def test_a_row_that_is_labelled_while_another_is_chosen_is_not_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bob labels his row and lets go of it after ann has seen which rows are open, and before she
    takes one.
    """
    run = judged(tmp_path / "run", texts(6), third_fails)
    ann, bob = (labelling(run, Annotator(name, overlap=0)) for name in ("ann", "bob"))
    shown, take = bob.next(), People.take
    assert shown is not None

    def taken(people: People, criteria: str, who: str, rows: list[str], count: int) -> list[str]:
        if who == "ann" and not list(LabelStore(run).current()):
            bob.answer(shown, Answer(option="PASS"))
            bob.next()
        return take(people, criteria, who, rows, count)

    monkeypatch.setattr(People, "take", taken)
    mine = [one.queued.identity for one in ann.upcoming()]
    assert len(mine) == 2 and shown.queued.identity not in mine


def test_undo_takes_back_what_was_said_last_also_after_rows_were_drawn_anew(tmp_path: Path) -> None:
    run, said = judged(tmp_path / "run", texts(40), third_fails), []
    carol = labelling(run, Annotator("carol", queue="random-stratified", count=12))
    while shown := carol.next():
        said.append(carol.answer(shown, Answer(option="PASS")).row)
    ann = labelling(run, ANN)
    for _ in range(20):
        if shown := ann.next():
            ann.answer(shown, Answer(option="PASS"))
    assert ("carol", "random") in {(one.annotator, one.design) for one in LabelStore(run).current()}
    back = [label.row for label in (carol.undo(), carol.undo(), carol.undo()) if label]
    assert back == said[:-4:-1]


def test_a_file_that_comes_and_goes_is_no_strange_file(tmp_path: Path) -> None:
    """SQLite makes and removes its own files while others look for links."""
    beside, ended = tmp_path / f"{PEOPLE}-shm", threading.Event()

    def come_and_go() -> None:
        while not ended.is_set():
            beside.touch()
            beside.unlink()

    thread = threading.Thread(target=come_and_go)
    thread.start()
    try:
        for _ in range(3000):
            refuse_links(tmp_path, LABEL_FILES)
    finally:
        ended.set()
        thread.join()


def test_a_file_of_somebody_else_is_refused(tmp_path: Path) -> None:
    run = judged(tmp_path / "run", texts(3), third_fails)
    (run / "people.sqlite").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RunError, match="symbolic link"):
        People(run).take("dates", "ann", ["r"])


@pytest.mark.parametrize(
    "text",
    [
        '{"people": [1, 2], "count": "many"}',
        '{"people": ["ann"], "overlap": "x"}',
        '{"people": ["ann"], "queue": "foo"}',
        '{"people": ["ann"], "by": 5}',
        '{"people": ["ann"], "count": -1}',
        f'{{"people": ["ann"]}}{" " * 10**6}',
        "[" * 10**5,
    ],
)
def test_what_somebody_else_wrote_of_people_is_refused_with_the_way_out(
    tmp_path: Path, text: str
) -> None:
    People(tmp_path).assign("dates", Assignment(people=("ann",)), [], 0)
    with closing(sqlite3.connect(tmp_path / PEOPLE)) as connection, connection:
        connection.execute("UPDATE assignments SET assignment = ?", (text,))
    for ask in (People(tmp_path).progress, lambda: People(tmp_path).assignment("dates")):
        with pytest.raises(RunError, match=r"people\.sqlite contains no readable assignment"):
            ask()


def test_a_damaged_file_of_people_says_that_no_label_is_in_it(tmp_path: Path) -> None:
    (tmp_path / PEOPLE).write_bytes(b"garbage" * 300)
    with pytest.raises(RunError, match="move it away and assign the rows again; this file"):
        People(tmp_path).progress()
