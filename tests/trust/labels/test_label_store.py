"""Labels beside a ledger: nothing that was said is lost, and the last word counts."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adjudge.core.domain.label import Label
from adjudge.core.ledger.file import LABELS
from adjudge.errors import RunError, SetupError
from adjudge.trust.labels.store import Conflict, LabelStore
from support.labels import identity, label

LATER = 4e9
"""A time after every test."""
TEXTS = st.text(max_size=12)


@pytest.fixture
def store(tmp_path: Path) -> LabelStore:
    return LabelStore(tmp_path)


def test_a_folder_without_labels_has_none_and_gets_no_file(store: LabelStore) -> None:
    assert list(store.current()) == list(store.history()) == list(store.conflicts()) == []
    assert store.last("dates", "ann") is None
    assert not store.path.exists()


def test_the_last_label_of_an_annotator_counts_and_the_others_stay(store: LabelStore) -> None:
    first, second, other = label(option="PASS"), label(option="FAIL"), label(annotator="bob")
    for one in (first, second, other):
        store.add(one)
    assert list(store.current()) == [second, other]
    assert list(store.history()) == [first, second, other]


def test_copies_of_a_text_that_were_labelled_apart_keep_their_own_label(store: LabelStore) -> None:
    one, two, corrected = (
        label(option="PASS", id="q1"),
        label(option="FAIL", id="q7"),
        label(option="FAIL", id="q1"),
    )
    store.add(one, two)
    assert list(store.of_each_copy()) == [one, two]
    store.add(corrected)
    assert list(store.of_each_copy()) == [two, corrected]
    assert list(store.current()) == [corrected]


def test_a_label_without_an_id_and_one_taken_back_are_of_all_copies(store: LabelStore) -> None:
    one, two, all_of_them = (
        label(option="PASS", id="q1"),
        label(option="PASS", id="q7"),
        label(option="FAIL"),
    )
    store.add(one, two, all_of_them)
    assert [found.option for found in store.of_each_copy()] == ["FAIL"]
    store.withdraw(one)
    assert list(store.of_each_copy()) == []
    again = replace(two, at=LATER)
    store.add(again)
    assert list(store.of_each_copy()) == [again]


def test_criteria_are_labelled_apart(store: LabelStore) -> None:
    one, two = label(), label(criteria="kindness", option="FAIL")
    store.add(one, two)
    assert (list(store.current("dates")), list(store.current("kindness"))) == ([one], [two])
    assert list(store.conflicts()) == []


def test_conflicts_between_annotators_are_kept_and_listed(store: LabelStore) -> None:
    store.add(
        label("a"), label("a", "FAIL", annotator="bob"), label("b"), label("b", annotator="bob")
    )
    store.add(label("c"), label("c", None, annotator="bob", state="unsure"))
    (conflict,) = store.conflicts()
    assert (conflict.row, conflict.criteria) == (identity("a"), "dates")
    assert [(one.annotator, one.option) for one in conflict.labels] == [
        ("ann", "PASS"),
        ("bob", "FAIL"),
    ]


def test_a_withdrawn_label_counts_no_more_and_stays_in_the_history(store: LabelStore) -> None:
    store.add(label("a"), label("b"))
    newest = store.last("dates", "ann", chosen=True)
    assert newest == label("b")
    store.withdraw(newest)
    assert store.last("dates", "ann", chosen=True) == label("a")
    assert store.last("dates", "ann") is None
    assert list(store.current()) == [label("a")]
    assert [one.state for one in store.history()] == ["given", "given", "withdrawn"]
    store.add(label("b", "FAIL"))
    assert {one.option for one in store.current()} == {"PASS", "FAIL"}


def test_a_correction_leaves_a_drawn_row_in_the_random_sample(store: LabelStore) -> None:
    """Otherwise whoever looks at a disputed row again takes it out of the sample, and the rest is a
    random one no longer.
    """
    store.add(
        label(design="random", seed=4, drawn_at=9.0),
        label(option="FAIL", design="chosen", note="on second thoughts"),
    )
    (one,) = store.current()
    assert (one.option, one.note, one.design, one.seed, one.drawn_at) == (
        "FAIL",
        "on second thoughts",
        "random",
        4,
        9.0,
    )


def test_a_label_that_was_taken_back_draws_nothing(store: LabelStore) -> None:
    store.add(label(design="random", seed=4))
    store.withdraw(label(design="random", seed=4))
    store.add(label(design="chosen"))
    assert [one.design for one in store.current()] == ["chosen"]


def test_what_an_annotator_says_while_a_label_is_drawn_anew_stands(store: LabelStore) -> None:
    kept, taken_back, changed = (
        label(text, design="random_within_verdict", at=1.0) for text in "abc"
    )
    store.add(kept, taken_back, changed)
    store.withdraw(taken_back)
    store.add(replace(changed, option="FAIL", at=2.0))
    store.draw_anew(*(replace(one, design="random") for one in (kept, taken_back, changed)))
    found = {one.row: (one.design, one.option) for one in store.current()}
    assert found == {kept.row: ("random", "PASS"), changed.row: ("random_within_verdict", "FAIL")}


def test_the_first_draw_is_the_draw_of_all(store: LabelStore) -> None:
    first = store.draw("dates", 7)
    assert store.draw("dates") == store.draw("dates", 7) == first
    assert store.draw("kindness").seed == 0
    with pytest.raises(SetupError, match="drawn with seed 7 for criterion 'dates', not 8"):
        store.draw("dates", 8)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.builds(
        label,
        text=TEXTS,
        option=st.none(),
        annotator=TEXTS.filter(str.strip),
        winner=st.integers(0, 30) | st.just("tie"),
        note=TEXTS,
        at=st.floats(0, 1e10),
        seed=st.none() | st.integers(0, 2**63 - 1),
        judge_visible=st.booleans(),
        kind=st.sampled_from(["human", "expert", "model"]),
        design=st.sampled_from(["random", "random_within_verdict", "chosen"]),
        id=st.none() | TEXTS,
    )
)
def test_every_label_comes_back_as_it_was(tmp_path: Path, one: Label) -> None:
    store = LabelStore(tmp_path)
    store.add(one)
    assert list(store.history())[-1] == one


def test_half_a_surrogate_pair_in_a_note_is_kept_as_its_escape(store: LabelStore) -> None:
    store.add(label(note="\udc80"))
    assert [one.note for one in store.current()] == ["\\udc80"]


WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from adjudge.trust.labels.store import LabelStore
from support.labels import label
store = LabelStore(Path(sys.argv[2]))
for number in range(25):
    store.add(label(f"{number}", annotator=sys.argv[3], note=str(number)))
"""


def test_several_processes_write_at_once_and_lose_nothing(tmp_path: Path) -> None:
    support = str(Path(__file__).parents[2])
    words = [sys.executable, "-c", WRITER, support, str(tmp_path)]
    processes = [
        subprocess.Popen([*words, name], stderr=subprocess.PIPE)
        for name in ("ann", "bob", "cem", "dee")
    ]
    for process in processes:
        _, errors = process.communicate()
        assert process.returncode == 0, errors.decode()
    assert len(list(LabelStore(tmp_path).history())) == 100
    for name in ("ann", "bob", "cem", "dee"):
        assert [one.note for one in LabelStore(tmp_path).history() if one.annotator == name] == [
            str(number) for number in range(25)
        ]


KILLED = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from adjudge.trust.labels.store import LabelStore
from support.labels import label
store, number = LabelStore(Path(sys.argv[2])), 0
while True:
    store.add(label(f"{number}", note=str(number)))
    print(number, flush=True)
    number += 1
"""


def test_what_was_added_is_there_after_kill_9(tmp_path: Path) -> None:
    words = [sys.executable, "-c", KILLED, str(Path(__file__).parents[2]), str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(6)]
        os.kill(process.pid, signal.SIGKILL)
        said += process.stdout.readlines()
    kept = [one.note for one in LabelStore(tmp_path).history()]
    acknowledged = [line.strip() for line in said if line.endswith("\n")]
    assert len(acknowledged) >= 6
    assert kept[: len(acknowledged)] == acknowledged
    LabelStore(tmp_path).add(label("after"))
    assert len(list(LabelStore(tmp_path).history())) == len(kept) + 1


def test_a_link_in_the_place_of_the_labels_is_refused(tmp_path: Path) -> None:
    """A run folder may come from anybody: what is written into it must land there."""
    target = tmp_path / "elsewhere"
    target.write_text("precious")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / LABELS).symlink_to(target)
    with pytest.raises(RunError, match="symbolic link"):
        LabelStore(tmp_path / "run").add(label())
    with pytest.raises(RunError, match="symbolic link"):
        list(LabelStore(tmp_path / "run").current())
    assert target.read_text() == "precious"


def test_a_changed_label_is_noticed(store: LabelStore) -> None:
    store.add(label())
    with sqlite3.connect(store.path) as connection:
        connection.execute("UPDATE labels SET option = 'FAIL'")
    connection.close()
    with pytest.raises(
        RunError,
        match=r"labels.sqlite: the label of row .* was changed after it was written; it is damaged",
    ):
        list(store.current())


def test_a_trigger_among_the_labels_is_refused(store: LabelStore) -> None:
    store.add(label())
    with sqlite3.connect(store.path) as connection:
        connection.execute(
            "CREATE TRIGGER spy AFTER INSERT ON labels BEGIN DELETE FROM labels; END"
        )
    connection.close()
    with pytest.raises(RunError, match="a trigger, 'spy', that adjudge did not create"):
        store.add(label("b"))


def test_labels_of_a_newer_version_are_not_touched(store: LabelStore) -> None:
    store.add(label())
    with sqlite3.connect(store.path) as connection:
        connection.execute("PRAGMA user_version = 9")
    connection.close()
    with pytest.raises(RunError, match="newer version of adjudge"):
        store.add(label())


def test_a_file_that_is_no_database_is_named(store: LabelStore) -> None:
    store.path.write_text("not a database at all " * 50)
    with pytest.raises(RunError, match=r"labels.sqlite: file is not a database"):
        list(store.current())


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="nowhere is not a folder"):
        LabelStore(tmp_path / "nowhere").add(label())


@pytest.mark.parametrize(
    ("scores", "is_open"),
    [((1, 2), True), ((1, 2, 3), False), ((1, 1, 2), False), ((1, 1, 2, 2), False)],
)
def test_of_numbers_a_third_one_decides(scores: tuple[float, ...], is_open: bool) -> None:
    labels = [
        label("a", None, annotator=f"a{place}", score=score) for place, score in enumerate(scores)
    ]
    assert (
        Conflict(criteria=labels[0].criteria, row=labels[0].row, labels=tuple(labels)).is_open
        is is_open
    )


def test_a_change_after_the_verdict_was_seen_leaves_the_correction(store: LabelStore) -> None:
    blind = label(option="PASS", design="random")
    store.add(blind)
    store.withdraw(blind, judge_visible=True)
    assert list(store.of_each_copy()) == []
    changed = label(option="FAIL", design="random", judge_visible=True, at=LATER)
    store.add(changed)
    assert list(store.current()) == [changed]
    assert list(store.of_each_copy()) == [blind]


def test_a_label_taken_back_before_the_verdict_was_seen_counts_no_more(store: LabelStore) -> None:
    slip = label(option="PASS", design="random")
    store.add(slip)
    store.withdraw(slip)
    later = label(option="FAIL", design="random", judge_visible=True, at=LATER)
    store.add(later)
    assert list(store.of_each_copy()) == [later]


def test_a_row_that_was_only_skipped_before_has_no_other_label(store: LabelStore) -> None:
    seen = label(option="FAIL", design="random", judge_visible=True)
    store.add(label(option=None, state="skipped", design="random"), seen)
    assert list(store.of_each_copy()) == [seen]


def test_labels_of_the_version_without_steps_are_read_and_taken_along(store: LabelStore) -> None:
    kept = label(option="PASS")
    store.add(kept)
    with sqlite3.connect(store.path) as connection:
        for column in ("step", "chance", "drawn_by"):
            connection.execute(f"ALTER TABLE labels DROP COLUMN {column}")
        connection.execute("ALTER TABLE draws DROP COLUMN drawn_by")
        connection.execute("PRAGMA user_version = 1")
    assert list(store.current()) == list(store.history()) == [kept]
    assert store.last("dates", "ann", chosen=True) == kept
    with_step = label(option="FAIL", step=7)
    store.add(with_step)
    assert list(store.history()) == [kept, with_step]
    assert store.last("dates", "ann", chosen=True) == with_step


@pytest.mark.parametrize("step", [0, -1, True, 2.0])
def test_a_step_is_a_number_from_one(step: object) -> None:
    with pytest.raises(SetupError, match="step of a label"):
        label(step=step)


def test_labels_by_a_name_that_has_no_utf8_are_added_once(store: LabelStore) -> None:
    odd = label(annotator="a\udc80")
    store.add(odd)
    assert store.merge(odd) == []
    assert [one.annotator for one in store.history()] == ["a\\udc80"]
