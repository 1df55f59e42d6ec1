"""Label files that are imported more than once, in any order: the latest label counts."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest

from adjudge.trust.labels.store import LabelStore
from support import commands
from support.labels import judged, label

TEXTS = ["It was built in 1889.", "It is very tall.", "It is in Paris."]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return new_run(tmp_path / "run")


def new_run(folder: Path) -> Path:
    return judged(folder, TEXTS, lambda prompt: "PASS" if "1889" in prompt else "FAIL")


def import_into(run: Path, file: Path) -> str:
    done = commands.adjudge("label", run, "--import", file, "--design", "random")
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def table(path: Path, lines: Iterable[str], written: float | None = None) -> Path:
    path.write_text("\n".join(["id,annotator,label", *lines]), "utf-8")
    if written is not None:
        os.utime(path, (written, written))
    return path


def answers(run: Path) -> dict[str | None, object]:
    return {one.id: one.answer for one in LabelStore(run).current()}


def test_the_last_line_counts_however_often_a_file_is_imported(run: Path, tmp_path: Path) -> None:
    file = table(tmp_path / "twice.csv", ["r0,ann,PASS", "r0,ann,FAIL", "r1,ann,PASS"])
    said = [import_into(run, file) for _ in range(3)]
    assert "2 labels imported" in said[0]
    assert "because a later line of the file labels the same row: 1" in said[0]
    assert all("0 labels imported" in one and "2 existed already" in one for one in said[1:])
    assert answers(run) == {"r0": "FAIL", "r1": "PASS"}
    assert len(list(LabelStore(run).history())) == 2


def test_calibrate_takes_the_last_line_of_a_file(run: Path, tmp_path: Path) -> None:
    file = table(tmp_path / "twice.csv", ["r0,ann,FAIL", "r0,ann,PASS", "r1,ann,PASS"])
    words = ("calibrate", run, "--labels", file, "--design", "random", "--json")
    (found,) = json.loads(commands.adjudge(*words).stdout)["results"]
    assert found["confusion"] == {"PASS": {"FAIL": 1, "PASS": 1}}
    said = "1 label does not count, because its annotator labelled the row again later"
    assert said in found["notes"]


def test_of_files_with_the_same_time_the_one_imported_later_counts(
    run: Path, tmp_path: Path
) -> None:
    passed = table(tmp_path / "one.csv", ["r0,ann,PASS"], 1000.0)
    failed = table(tmp_path / "two.csv", ["r0,ann,FAIL"], 1000.0)
    for folder, order in ((run, [passed, failed]), (new_run(tmp_path / "b"), [failed, passed])):
        for file in order:
            import_into(folder, file)
        assert answers(folder) == {"r0": "FAIL" if order[1] is failed else "PASS"}


def test_lines_of_one_time_that_do_not_count_are_counted(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "times.csv"
    file.write_text("id,annotator,label,at\nr0,ann,PASS,5\nr0,ann,FAIL,5\n", "utf-8")
    said = import_into(run, file)
    assert "because their annotator labelled the row again later: 1" in said
    assert answers(run) == {"r0": "FAIL"}


def test_a_history_can_be_imported_again(run: Path, tmp_path: Path) -> None:
    import_into(run, table(tmp_path / "first.csv", ["r0,ann,PASS", "r1,ann,PASS"], 1000.0))
    import_into(run, table(tmp_path / "second.csv", ["r0,ann,FAIL"], 2000.0))
    history = tmp_path / "history.jsonl"
    commands.adjudge("label", run, "--export", history, "--history")
    other = new_run(tmp_path / "other")
    for _ in range(3):
        import_into(other, history)
        assert answers(other) == {"r0": "FAIL", "r1": "PASS"}
        assert list(LabelStore(other).history()) == list(LabelStore(run).history())


@pytest.mark.parametrize("order", [*permutations(range(3))])
def test_the_latest_file_counts_in_every_order(
    run: Path, tmp_path: Path, order: tuple[int, ...]
) -> None:
    files = [
        table(tmp_path / f"{place}.csv", [f"r0,ann,{answer}"], 1000.0 + place)
        for place, answer in enumerate(("PASS", "FAIL", "PASS"))
    ]
    for place in (*order, *order):
        import_into(run, files[place])
    assert answers(run) == {"r0": "PASS"}
    assert len(list(LabelStore(run).history())) == len({*files})


def test_an_older_export_does_not_overrule_a_correction(run: Path, tmp_path: Path) -> None:
    import_into(run, table(tmp_path / "first.csv", ["r0,ann,PASS"], 1000.0))
    older = tmp_path / "older.jsonl"
    commands.adjudge("label", run, "--export", older)
    import_into(run, table(tmp_path / "second.csv", ["r0,ann,FAIL"], 2000.0))
    assert "0 labels imported" in import_into(run, older)
    assert answers(run) == {"r0": "FAIL"}
    other = new_run(tmp_path / "other")
    import_into(other, tmp_path / "second.csv")
    said = import_into(other, older)
    assert "1 label imported" in said
    assert "do not count, because their annotator labelled the row again later: 1" in said
    assert answers(other) == {"r0": "FAIL"}


def test_a_label_given_now_counts_also_if_the_clock_was_set_back(run: Path) -> None:
    store = LabelStore(run)
    first = label(TEXTS[0], "PASS", id="r0", at=2000.0)
    store.add(first)
    store.add(replace(first, option="FAIL", at=1000.0))
    assert answers(run) == {"r0": "FAIL"}
    last = store.last(first.criteria, first.annotator, chosen=True)
    assert last is not None and last.option == "FAIL"
    store.withdraw(last)
    assert answers(run) == {}


def test_labels_drawn_within_the_verdicts_of_nobody_are_refused(run: Path, tmp_path: Path) -> None:
    file = table(tmp_path / "within.csv", ["r0,ann,PASS"])
    words = ("label", run, "--import", file, "--design", "random_within_verdict")
    done = commands.adjudge(*words)
    assert done.returncode == 1
    assert "needs drawn_under" in done.stderr and "use design random" in done.stderr
    assert not list(LabelStore(run).history())
    file.write_text("id,annotator,label,drawn_under\nr0,ann,PASS,0123456789abcdef\n", "utf-8")
    assert commands.adjudge(*words).returncode == 0
