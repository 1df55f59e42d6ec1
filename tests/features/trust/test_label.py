"""``adjudge label`` as a person at a terminal and a script see it."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from adjudge import DirectJudge, Instance, ScriptedModel
from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.features.trust.label_screen import screen
from adjudge.trust.labels.session import Annotator, labelling
from adjudge.trust.labels.store import LabelStore
from support import commands
from support.labels import compared, identity, judged, label

TEXTS = ["It was built in 1889.", "It is very tall.", "It is in Paris.", "It opened in May 1889."]
_LONGEST = 60


def adjudge(*words: str | Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return commands.adjudge(
        "label", *words, stdin=stdin, environment={**os.environ, "COLUMNS": "80"}
    )


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return judged(tmp_path / "run", TEXTS, lambda prompt: "PASS" if "1889" in prompt else "FAIL")


def answers(run: Path, annotator: str | None = None) -> dict[str | None, object]:
    return {
        one.id: one.answer
        for one in LabelStore(run).current()
        if annotator in (None, one.annotator)
    }


# -- a pipe -------------------------------------------------------------------


def test_answers_come_in_a_line_each(run: Path) -> None:
    done = adjudge(run, "--annotator", "ann", stdin="1\nFAIL\npass\n2\n")
    assert (done.returncode, done.stderr) == (0, f"Next  adjudge calibrate {run}\n")
    assert "0 of 4 labelled" in done.stdout
    assert "4 of 4 labelled; no rows are left." in done.stdout
    assert list(answers(run).values()).count("PASS") == 2
    assert {one.annotator for one in LabelStore(run).current()} == {"ann"}
    assert {one.design for one in LabelStore(run).current()} == {"random"}


def test_the_same_command_goes_on(run: Path) -> None:
    first = adjudge(run, "--annotator", "ann", stdin="1\n1\nq\n")
    assert "2 of 4 labelled. Every answer is saved; the same command continues." in first.stdout
    second = adjudge(run, "--annotator", "ann", stdin="2\n")
    assert "3 of 4 labelled. Every answer is saved" in second.stdout
    assert len(answers(run)) == 3


def test_a_note_stays_with_its_row_when_a_label_is_taken_back(run: Path) -> None:
    done = adjudge(run, "--annotator", "ann", stdin="1\nn hard to say\nu\n2\n1\nu\n2\nq\n")
    assert done.returncode == 0, done.stderr
    labels = [one for one in LabelStore(run).history() if one.state == "given"]
    assert [one.note for one in labels] == ["", "", "hard to say", "hard to say"]
    assert done.stdout.count("The note goes with your answer to this row.") == 3


def test_undo_skip_unsure_and_notes(run: Path) -> None:
    done = adjudge(run, "--annotator", "ann", stdin="1\nu\n2\nn hard to say\n?\ns\n1\n")
    assert done.returncode == 0, done.stderr
    labels = list(LabelStore(run).history())
    assert [one.state for one in labels] == [
        "given",
        "withdrawn",
        "given",
        "unsure",
        "skipped",
        "given",
    ]
    assert labels[0].row == labels[1].row == labels[2].row
    assert labels[3].note == "hard to say"
    assert labels[5].note == ""
    assert "3 of 4 labelled; the rest was skipped" in done.stdout


def test_a_key_that_means_nothing_is_said_and_nothing_is_kept(run: Path) -> None:
    done = adjudge(run, stdin="7\nperhaps\n\n")
    assert "Unknown key '7'." in done.stdout
    assert "Unknown key 'perhaps'." in done.stdout
    assert list(LabelStore(run).history()) == []


def test_undo_without_a_label_says_so(run: Path) -> None:
    assert "There is nothing to undo." in adjudge(run, stdin="u\n").stdout


def flipped(prompt: str) -> str:
    return "FAIL" if "1889" in prompt else "PASS"


@pytest.mark.parametrize(
    "verdict", [flipped, lambda _: "PASS", lambda _: ""], ids=["flipped", "all pass", "all failed"]
)
@pytest.mark.parametrize(
    "keys", ["1\n2\n1\n2\n", "n a note\n?\ns\nu\n1\nq\n"], ids=["answers", "the rest"]
)
def test_the_screen_is_the_same_whatever_the_judge_said(
    run: Path, tmp_path: Path, verdict: Callable[[str], str], keys: str
) -> None:
    """Byte by byte, through a whole session."""
    other = judged(tmp_path / "other", TEXTS, verdict)
    one, two = (adjudge(folder, "--annotator", "ann", stdin=keys).stdout for folder in (run, other))
    assert one == two


def test_a_pass_row_and_a_fail_row_differ_in_their_own_text_alone(tmp_path: Path) -> None:
    run = judged(
        tmp_path / "run",
        ["It was in 1889.", "It was in Paris"],
        lambda prompt: "PASS" if "1889" in prompt else "FAIL",
    )
    first = adjudge(run, "--annotator", "ann", stdin="q\n").stdout
    adjudge(run, "--annotator", "ann", stdin="s\n")
    second = adjudge(run, "--annotator", "ann", stdin="q\n").stdout
    assert first != second
    assert first.replace("It was in 1889.", "X").replace("It was in Paris", "X") == second.replace(
        "It was in 1889.", "X"
    ).replace("It was in Paris", "X")


def test_the_screen_does_not_tell_how_a_row_was_drawn(run: Path) -> None:
    """Rows that were drawn within a verdict would tell it; so would the name and the place of a
    row.
    """
    work = labelling(run, Annotator("ann"))
    shown = work.next()
    assert shown is not None
    told = shown.queued._replace(
        design="random_within_verdict", id="FAIL-7", judge="another", number=99
    )
    screens = [
        screen(one, work.judged.scale, work.progress(), "en")
        for one in (shown, shown._replace(queued=told))
    ]
    assert screens[0] == screens[1]


def test_what_a_terminal_would_obey_does_not_reach_it(tmp_path: Path) -> None:
    """Evaluated text is data: colours, cursor movement, titles, bells, C1 codes, text that runs
    backwards.
    """
    hostile = "\x1b[2J\x1b]0;owned\x07 \x9b31m \u202eevil\x00 \r\n  1  PASS\x1b[1A"
    run = judged(tmp_path / "run", [hostile], lambda _: "PASS", "Is \x1b[31mit\x1b[0m a date?")
    done = adjudge(run, "--annotator", "a\x1b[1mnn", stdin="\x1b[A\n1\n")
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", done.stdout)
    assert "| " in done.stdout
    assert "\n  1  PASS\n" in done.stdout  # ours
    assert "\n|   1  PASS" in done.stdout  # theirs, behind its bar


def test_every_line_fits_in_80_columns_and_none_has_colour(tmp_path: Path) -> None:
    options = [
        CriteriaOption("Good", "It says what it means and means what it says. " * 4),
        CriteriaOption("Bad"),
    ]
    criteria = Criteria(
        "clarity",
        "Is every sentence of it clear to somebody who reads it for the first time? " * 3,
        options,
    )
    long = "word " * 200 + "x" * 300
    instance = Instance({"user_input": long, "contexts": [long, "short"], "response": long})
    DirectJudge(ScriptedModel()).evaluate([instance], criteria, run=tmp_path)
    shown = adjudge(tmp_path, stdin="q\n").stdout
    assert max(map(len, shown.splitlines())) < 80
    assert "\x1b" not in shown
    assert "contexts 1" in shown


def test_only_what_the_criteria_reads_is_shown(tmp_path: Path) -> None:
    criteria = Criteria(
        "kind",
        "Is it kind?",
        [CriteriaOption("Yes"), CriteriaOption("No")],
        context_fields=["question"],
    )
    DirectJudge(ScriptedModel()).evaluate(
        [Instance({"question": "Q?", "gold": "the secret", "response": "R."})],
        criteria,
        run=tmp_path,
    )
    shown = adjudge(tmp_path, stdin="q\n").stdout
    assert "the secret" not in shown
    assert shown.index("| Q?") < shown.index("| R.")


def test_digits_are_their_own_keys(tmp_path: Path) -> None:
    criteria = Criteria(
        "stars", "How good is it?", [CriteriaOption(str(number)) for number in range(4)]
    )
    DirectJudge(ScriptedModel()).evaluate(["a"], criteria, run=tmp_path)
    adjudge(tmp_path, stdin="0\n")
    assert [one.option for one in LabelStore(tmp_path).current()] == ["0"]


def test_the_screen_is_russian_where_that_is_asked_for(run: Path) -> None:
    done = adjudge(run, "--language", "ru", "--annotator", "аня", stdin="1\nг\n1\nй\n")
    assert "Размечено 0 из 4" in done.stdout
    assert "не знаю" in done.stdout
    assert "Последняя отметка снята" in done.stdout  # г is the key u
    assert "Размечено 1 из 4. Все ответы сохранены" in done.stdout  # й is the key q
    assert len(answers(run, "аня")) == 1


def test_chosen_rows_say_that_they_do_not_move_the_number(tmp_path: Path) -> None:
    run = judged(tmp_path / "run", TEXTS, lambda prompt: "" if "Paris" in prompt else "PASS")
    done = adjudge(run, "--queue", "failed", stdin="1\n")
    assert "they do not move the corrected rate" in done.stdout
    (one,) = LabelStore(run).current()
    assert (one.row, one.design, one.seed) == (identity("It is in Paris."), "chosen", None)
    assert (
        "There is nothing to label in this queue." in adjudge(run, "--queue", "disagreement").stdout
    )


def test_sides_are_put_back(tmp_path: Path) -> None:
    run = compared(tmp_path / "run", [(f"good {number}", f"bad {number}") for number in range(12)])
    shown = adjudge(run, "--annotator", "ann", stdin="q\n").stdout
    assert "Response A" in shown
    keys = ""
    for _ in range(12):
        shown = adjudge(run, "--annotator", "ann", stdin=f"{keys}q\n").stdout
        screen = shown.rsplit("labelled\n", 1)[-1]
        keys = "1\n" if screen.index("| good") < screen.index("| bad") else "2\n"
    adjudge(run, "--annotator", "ann", stdin=keys)
    assert [one.winner for one in LabelStore(run).current()] == [0] * 12


def test_a_seed_of_one_s_own_holds_for_all(run: Path) -> None:
    adjudge(run, "--seed", "5", "--annotator", "ann", stdin="1\n")
    assert {one.seed for one in LabelStore(run).current()} == {5}
    other = adjudge(run, "--seed", "6", "--annotator", "bob", stdin="1\n")
    assert other.returncode == 1
    assert "drawn with seed 5" in other.stderr


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("--criteria", "tone"), 2, "has no criterion 'tone'; it has 'dates'"),
        (("--annotator", " "), 2, "--annotator is empty"),
        (("--annotator", "a", "--annotator", "b"), 2, "one annotator labels at a time"),
        (("--queue", "mine"), 2, "mine"),
        (("--language", "de"), 2, "'de' is not one of"),
        (("--conflicts", "--export", "x.csv"), 2, "use only one of"),
    ],
)
def test_what_cannot_be_done_is_said(
    run: Path, words: tuple[str, ...], code: int, says: str
) -> None:
    done = adjudge(run, *words)
    assert (done.returncode, says in done.stderr) == (code, True), done.stderr


def test_a_folder_without_a_run_gets_no_labels(tmp_path: Path) -> None:
    done = adjudge(tmp_path, stdin="1\n")
    assert (done.returncode, "is not a run folder" in done.stderr) == (1, True)
    assert list(tmp_path.iterdir()) == []


# -- files --------------------------------------------------------------------


def test_labels_go_out_and_into_another_run(run: Path, tmp_path: Path) -> None:
    adjudge(run, "--annotator", "ann", stdin="1\n2\n?\ns\n")
    assert "4 labels written to" in adjudge(run, "--export", tmp_path / "labels.jsonl").stdout
    other = judged(tmp_path / "other", TEXTS[::-1], lambda _: "PASS")
    done = adjudge(other, "--import", tmp_path / "labels.jsonl")
    assert "4 labels imported" in done.stdout
    assert "chosen rows" not in done.stdout
    assert {one.row: one.answer for one in LabelStore(other).current()} == {
        one.row: one.answer for one in LabelStore(run).current()
    }
    again = adjudge(other, "--import", tmp_path / "labels.jsonl")
    assert "0 labels imported" in again.stdout
    assert "4 existed already" in again.stdout
    assert len(list(LabelStore(other).history())) == 4


def test_a_spreadsheet_with_a_column_per_annotator_comes_in(run: Path, tmp_path: Path) -> None:
    (tmp_path / "sheet.csv").write_text("id,ann,bob\nr0,PASS,FAIL\nr1,FAIL,FAIL\n")
    done = adjudge(run, "--import", tmp_path / "sheet.csv")
    assert "4 labels imported" in done.stdout
    assert "4 of them are for chosen rows, so they do not affect the corrected rate" in done.stdout
    listed = adjudge(run, "--conflicts")
    assert listed.stdout.splitlines() == [
        "dates, row r0: ann PASS, bob FAIL",
        "annotators differ on 1 row",
    ]
    (conflict,) = json.loads(adjudge(run, "--conflicts", "--json").stdout)["results"]
    assert [one["annotator"] for one in conflict["labels"]] == ["ann", "bob"]
    adjudge(run, "--export", tmp_path / "wide.csv", "--wide")
    assert "r0,dates,PASS,FAIL" in (tmp_path / "wide.csv").read_text(encoding="utf-8-sig")


def test_labels_may_name_the_systems_of_the_run(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("id,question,old,new\nr1,How?,So.,Thus.\nr2,Why?,No.,Yes.\n")
    (tmp_path / "eval.yaml").write_text(
        "data: {path: rows.csv, responses: [old, new]}\nmodels: [scripted/A]\n"
        "judges: [{kind: pairwise, name: better, criteria: It is better.}]\n"
    )
    done = commands.adjudge("run", "eval.yaml", "--run", "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (tmp_path / "labels.csv").write_text("id,label\nr1,new\nr2,Old\n")
    done = adjudge(tmp_path / "run", "--import", tmp_path / "labels.csv", "--annotator", "ann")
    assert done.returncode == 0, done.stderr
    assert answers(tmp_path / "run") == {"r1": 1, "r2": 0}
    (tmp_path / "labels.csv").write_text("id,label\nr1,newer\n")
    done = adjudge(tmp_path / "run", "--import", tmp_path / "labels.csv", "--annotator", "ann")
    assert "A, B, old, new, tie" in " ".join(done.stderr.split())


def test_nothing_is_imported_from_a_file_with_a_wrong_row(run: Path, tmp_path: Path) -> None:
    (tmp_path / "sheet.csv").write_text("id,label\nr0,PASS\nr1,Maybe\n")
    done = adjudge(run, "--import", tmp_path / "sheet.csv", "--annotator", "ann")
    assert done.returncode == 1
    assert (
        "sheet.csv, line 3, column 'label': 'Maybe' is not an option of criterion 'dates': "
        "PASS, FAIL"
    ) in done.stderr
    assert answers(run) == {}
    skipped = adjudge(
        run,
        "--import",
        tmp_path / "sheet.csv",
        "--annotator",
        "ann",
        "--skip-bad-rows",
        "--design",
        "random",
    )
    assert (skipped.returncode, "1 label imported" in skipped.stdout) == (3, True)
    assert "skipped" in skipped.stderr
    assert [one.design for one in LabelStore(run).current()] == ["random"]


def test_rows_of_a_sheet_in_which_nobody_answered_are_told_of(run: Path, tmp_path: Path) -> None:
    (tmp_path / "sheet.csv").write_text("id,ann,bob\nr0,PASS,\nr1,,\nr2,,FAIL\nr3,,\n")
    done = adjudge(run, "--import", tmp_path / "sheet.csv", "--design", "random")
    assert (done.returncode, done.stdout.splitlines()[0]) == (
        0,
        f"2 labels imported from {tmp_path / 'sheet.csv'}",
    )
    assert "2 rows of the file have no answer: if they were drawn" in done.stderr


def test_the_history_can_be_written_out(run: Path, tmp_path: Path) -> None:
    adjudge(run, "--annotator", "ann", stdin="1\nu\n2\n")
    adjudge(run, "--export", tmp_path / "all.jsonl", "--history")
    rows = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text().splitlines()]
    assert [(row["state"], row["option"]) for row in rows] == [
        ("given", "PASS"),
        ("withdrawn", None),
        ("given", "FAIL"),
    ]


def test_old_runs_with_labels_are_not_thrown_away(run: Path) -> None:
    LabelStore(run).add(label(TEXTS[0]))
    done = commands.adjudge("runs", "gc", run.parent, "--older-than", "0", "--yes")
    assert "kept" in done.stdout
    assert "human labels: export them with 'adjudge label RUN --export FILE'" in done.stdout
    assert (run / "ledger.sqlite").exists()
    (run / "labels.sqlite").unlink()
    commands.adjudge("runs", "gc", run.parent, "--older-than", "0", "--yes")
    assert not run.exists()


# -- a terminal ---------------------------------------------------------------


class Tty:
    """``adjudge label`` in a terminal of its own."""

    def __init__(self, process: commands.Started, master: int) -> None:
        self.process = process
        self._master = master
        self.seen = ""

    def press(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def wait_for(self, text: str) -> str:
        """Read until ``text`` was shown since the last time; gives what was read."""
        place = self.seen.find(text)
        while place < 0:
            assert select.select([self._master], [], [], _LONGEST)[0], (
                f"{text!r} did not come: {self.seen!r}"
            )
            self.seen += self._read()
            place = self.seen.find(text)
        shown, self.seen = self.seen[: place + len(text)], self.seen[place + len(text) :]
        return shown

    def _read(self) -> str:
        try:
            data = os.read(self._master, 65536)
        except OSError:  # the other end is closed
            data = b""
        assert data, f"it ended: {self.seen!r}"
        return data.decode("utf-8", "replace").replace("\r\n", "\n")


@contextmanager
def terminal(*words: str | Path) -> Iterator[Tty]:
    master, slave = pty.openpty()
    environment = {**os.environ, "TERM": "dumb", "NO_COLOR": "1"}
    try:
        with commands.start(
            "label", *words, environment=environment, terminal=os.ttyname(slave)
        ) as process:
            os.close(slave)
            try:
                yield Tty(process, master)
            finally:
                process.kill()
    finally:
        os.close(master)


def test_one_key_is_one_answer_in_a_terminal(run: Path) -> None:
    with terminal(run, "--annotator", "ann") as tty:
        tty.wait_for("0 of 4 labelled")
        tty.wait_for("q quit")
        tty.press("1")
        tty.wait_for("1 of 4 labelled")
        tty.press("\x1b[A?")  # an arrow means nothing
        tty.wait_for("2 of 4 labelled")
        tty.press("nq, it is dоubtful\x7f\n2")  # a note may hold letters that are keys
        tty.wait_for("3 of 4 labelled")
        tty.press("u")
        tty.wait_for("removed")
        tty.press("q")
        tty.wait_for("2 of 4 labelled. Every answer is saved")
        assert tty.process.wait(_LONGEST) == 0
    labels = list(LabelStore(run).history())
    assert [one.state for one in labels] == ["given", "unsure", "given", "withdrawn"]
    assert labels[2].note == "q, it is dоubtfu"


def test_keys_that_are_pressed_ahead_are_not_lost(run: Path) -> None:
    with terminal(run, "--annotator", "ann") as tty:
        tty.wait_for("q quit")
        tty.press("1212")
        tty.wait_for("4 of 4 labelled; no rows are left.")
        assert tty.process.wait(_LONGEST) == 0
    assert sorted(map(str, answers(run).values())) == ["FAIL", "FAIL", "PASS", "PASS"]


def test_every_answer_survives_kill_9(run: Path) -> None:
    with terminal(run, "--annotator", "ann") as tty:
        tty.wait_for("q quit")
        tty.press("12")
        tty.wait_for("2 of 4 labelled")
        os.kill(tty.process.pid, signal.SIGKILL)
        tty.process.wait()
    assert len(answers(run)) == 2
    with terminal(run, "--annotator", "ann") as tty:
        tty.wait_for("2 of 4 labelled")
        tty.press("11")
        tty.wait_for("4 of 4 labelled; no rows are left.")
        tty.process.wait(_LONGEST)
    assert len(answers(run)) == 4


def test_ctrl_c_keeps_what_there_is_and_gives_the_terminal_back(run: Path) -> None:
    with terminal(run, "--annotator", "ann") as tty:
        tty.wait_for("q quit")
        tty.press("1")
        tty.wait_for("1 of 4 labelled")
        tty.wait_for("q quit")
        os.kill(tty.process.pid, signal.SIGINT)
        tty.wait_for("interrupted")
        assert tty.process.wait(_LONGEST) == 130
    assert len(answers(run)) == 1


def test_two_annotators_label_at_once(run: Path) -> None:
    with terminal(run, "--annotator", "ann") as ann, terminal(run, "--annotator", "bob") as bob:
        for tty in (ann, bob):
            tty.wait_for("q quit")
        ann.press("1111")
        bob.press("2222")
        for tty in (ann, bob):
            tty.wait_for("4 of 4 labelled; no rows are left.")
    assert set(answers(run, "ann").values()) == {"PASS"}
    assert set(answers(run, "bob").values()) == {"FAIL"}
    assert len(list(LabelStore(run).conflicts())) == 4


def test_labels_come_in_by_a_column_of_any_name(run: Path, tmp_path: Path) -> None:
    (tmp_path / "sheet.csv").write_text("Ticket,label\nr0,PASS\nr1,FAIL\n")
    done = adjudge(run, "--import", tmp_path / "sheet.csv", "--id", "ticket", "--annotator", "ann")
    assert "2 labels imported" in done.stdout, done.stderr
    wrong = adjudge(run, "--import", tmp_path / "sheet.csv", "--id", "case", "--annotator", "ann")
    assert "there is no column named 'case'; the columns are Ticket, label" in wrong.stderr
    (tmp_path / "two.csv").write_text("Ticket,ticket,label\nx,r2,PASS\ny,r3,FAIL\n")
    exact = adjudge(run, "--import", tmp_path / "two.csv", "--id", "ticket", "--annotator", "ann")
    assert "2 labels imported" in exact.stdout, exact.stderr


def test_rows_are_assigned_and_a_terminal_shows_whose_they_are(run: Path) -> None:
    told = adjudge(run, "--assign", "ann", "--assign", "bob")
    assert told.returncode == 0, told.stderr
    totals = {line.split()[1]: int(line.split()[-1]) for line in told.stdout.splitlines()}
    assert set(totals) == {"ann:", "bob:"} and abs(totals["ann:"] - totals["bob:"]) <= 1
    said = adjudge(run, "--annotator", "ann", stdin="1\n")
    assert f"0 of {totals['ann:']} labelled" in said.stdout
    listed = adjudge(run, "--assigned").stdout
    assert f"dates, ann: 1 of {totals['ann:']}" in listed
    assert "assigned to ann, bob" in adjudge(run, "--annotator", "eve").stderr
    assert "anyone can label" in adjudge(run, "--unassign").stdout


def test_an_import_about_drawn_rows_does_not_say_that_it_moves_nothing(
    run: Path, tmp_path: Path
) -> None:
    (tmp_path / "drawn.csv").write_text("id,ann\nr0,PASS\nr1,FAIL\n")
    adjudge(run, "--import", tmp_path / "drawn.csv", "--design", "random")
    (tmp_path / "more.csv").write_text("id,ann,bob\nr0,FAIL,PASS\nr2,FAIL,\n")
    done = adjudge(run, "--import", tmp_path / "more.csv")
    assert "1 of them are for chosen rows, so they do not affect the corrected rate" in done.stdout
    assert "2 of them are for rows that were already drawn, so they count in" in done.stdout


def test_a_question_mark_in_a_file_is_unsure_and_goes_out_as_one(run: Path, tmp_path: Path) -> None:
    (tmp_path / "sheet.csv").write_text("id,ann,bob\nr0,PASS,?\nr1,FAIL,\n")
    done = adjudge(run, "--import", tmp_path / "sheet.csv", "--design", "random")
    assert done.returncode == 0, done.stderr
    states = [(label.annotator, label.state) for label in LabelStore(run).current()]
    assert sorted(states) == [("ann", "given"), ("ann", "given"), ("bob", "unsure")]
    adjudge(run, "--export", tmp_path / "wide.csv", "--wide")
    text = (tmp_path / "wide.csv").read_text(encoding="utf-8-sig")
    assert "r0,dates,PASS,?" in text and "r1,dates,FAIL,\n" in text.replace("\r", "")


def test_drawn_rows_that_an_import_leaves_out_are_said_to_be_in_no_interval(
    run: Path, tmp_path: Path
) -> None:
    (tmp_path / "sheet.csv").write_text("id,ann\nr0,PASS\nr1,maybe\n")
    options = ("--import", tmp_path / "sheet.csv", "--skip-bad-rows")
    drawn = adjudge(run, *options, "--design", "random")
    assert drawn.returncode == 3
    assert "1 row of the file is left out. If it was drawn" in drawn.stderr
    assert "no interval allows" not in adjudge(run, *options).stderr
