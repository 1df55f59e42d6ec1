"""What commands do with run folders that are damaged, moved, shared or under way, and with outputs
that cannot be written.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from adjudge.core.aio.files import locked
from adjudge.core.domain.results import Result
from adjudge.core.gateway.layers.account import Spent
from adjudge.core.gateway.prices import VARIABLE, PriceTable
from adjudge.core.ledger.rows import COLUMNS, insert, with_checksum
from adjudge.runs.cli.main import main
from adjudge.runs.cli.watch import ProgressWatch
from adjudge.runs.folder import run_info

EVAL = (
    "data: rows.csv\nmodels: [scripted]\nrun: runs/one\njudges:\n  - {{kind: aspect, criteria: "
    "conciseness{judge}}}\n{more}"
)
PAIRWISE = (
    "data: pairs.csv\nmodels: [scripted]\njudges: [{kind: pairwise, criteria: 'Which is "
    "better?', fail_under: 0.5}]\n"
)
OPTIONS = (
    "data: rows.csv\nmodels: [scripted]\njudges:\n  - kind: direct\n    name: register\n"
    "    criteria: {{name: r, description: How formal, options: {options}}}\n"
)
Adjudge = Callable[..., tuple[int, str, str]]


@pytest.fixture
def adjudge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Adjudge:
    """A command, in this process: (exit code, what it printed, what it complained of)."""
    (tmp_path / "rows.csv").write_text(
        "id,answer\n" + "".join(f"r{number},text {number}\n" for number in range(4))
    )
    (tmp_path / "pairs.csv").write_text("response_1,response_2\na,b\n")
    (tmp_path / "eval.yaml").write_text(EVAL.format(judge="", more=""))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "250")
    monkeypatch.setenv(VARIABLE, "")
    monkeypatch.delenv(VARIABLE)

    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["adjudge", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return run


def one_line(said: str, *parts: str) -> bool:
    return (
        said.startswith("adjudge: ")
        and said.count("\n") == 1
        and all(part in said for part in parts)
    )


def test_gc_deletes_a_runs_own_files_and_nothing_else(adjudge: Adjudge) -> None:
    for folder in ("runs/alone", "runs/shared"):
        adjudge("run", "eval.yaml", "--run", folder)
        adjudge("export", folder)
    Path("runs/shared/notes.txt").write_text("mine")
    Path("runs/shared/below").mkdir()
    code, said, _ = adjudge("runs", "gc", "--older-than", 0, "--yes")
    assert code == 0
    assert not Path("runs/alone").exists()
    assert sorted(path.name for path in Path("runs/shared").iterdir()) == [
        "below",
        "notes.txt",
        "results.csv",
    ]
    assert "deleted runs/shared, except for files in it that do not belong to the run" in said


@pytest.mark.parametrize("flags", [(), ("--yes",)])
def test_gc_leaves_a_run_that_is_under_way(adjudge: Adjudge, flags: tuple[str, ...]) -> None:
    adjudge("run", "eval.yaml")
    with locked(Path("runs/one/ledger.lock"), wait=False) as held:
        assert held
        assert (
            "kept runs/one: the run runs/one is under way"
            in adjudge("runs", "gc", "--older-than", 0, *flags)[1]
        )
    assert run_info("runs/one").rows == 4


@pytest.mark.parametrize("link", ["runs/link", "runs/deeper"])
def test_gc_leaves_what_a_link_leads_to(adjudge: Adjudge, link: str) -> None:
    adjudge("run", "eval.yaml", "--run", "elsewhere/one")
    Path("runs").mkdir()
    Path(link).symlink_to(Path("elsewhere/one" if link == "runs/link" else "elsewhere").absolute())
    for flags in ((), ("--yes",)):
        code, said, _ = adjudge("runs", "gc", "--older-than", 0, *flags)
        assert code == 0
        assert said.startswith(f"kept {link}")
        assert "deleted" not in said.replace("delete it at its real path", "")
    assert run_info("elsewhere/one").rows == 4


def test_gc_counts_the_days_since_anything_was_written(adjudge: Adjudge) -> None:
    adjudge("run", "eval.yaml")
    os.utime("runs/one/ledger.sqlite", (1, 1))
    log = Path("runs/one/ledger.sqlite-wal")
    log.write_bytes(b"just written")
    assert "nothing to delete" in adjudge("runs", "gc")[1]
    log.write_bytes(b"")  # as readers leave it
    assert "would delete runs/one" in adjudge("runs", "gc")[1]
    Path("runs/new").mkdir()
    Path("runs/new/ledger.sqlite").touch()
    assert "runs/new" not in adjudge("runs", "gc")[1]


def test_skipped_rows_are_no_judgments_in_the_list(adjudge: Adjudge) -> None:
    Path("rows.csv").write_text("id,answer,about\na,text,x\nb,text,\nc,text,\n")
    Path("eval.yaml").write_text(EVAL.format(judge=", rows_with: about", more=""))
    adjudge("run", "eval.yaml")
    assert re.search(r"runs/one +\S+ \S+ +1 +0 ", adjudge("runs", "list")[1])


def test_a_gate_on_a_win_rate_names_its_criterion_if_there_are_several(adjudge: Adjudge) -> None:
    Path("pairs.yaml").write_text(
        "data: pairs.csv\nmodels: [scripted]\ngates: {fail_under: {response_1: 0.2}}\njudges: "
        "[{kind: pairwise, name: better, criteria: ['Which is shorter?', 'Which is nicer?']}]\n"
    )
    errors = adjudge("run", "pairs.yaml", "--run", "runs/pairs")[2]
    assert "win rate of response_1 by Which is shorter? (judge better)" in errors
    assert "win rate of response_1 by Which is nicer? (judge better)" in errors


def test_one_damaged_run_does_not_hide_the_others(adjudge: Adjudge) -> None:
    adjudge("run", "eval.yaml")
    for name, content in (("empty", b""), ("noise", b"no database at all" * 100)):
        Path("runs", name).mkdir()
        Path("runs", name, "ledger.sqlite").write_bytes(content)
    code, said, _ = adjudge("runs", "list")
    assert code == 0
    assert "complete" in said
    assert said.count("unreadable: the ledger") == 2
    states = {
        one["folder"]: one["state"]
        for one in json.loads(adjudge("runs", "list", "--json")[1])["results"]
    }
    assert states == {
        "runs/one": "complete",
        "runs/empty": "unreadable",
        "runs/noise": "unreadable",
    }


def test_a_folder_named_like_markup_is_only_a_name(adjudge: Adjudge) -> None:
    assert adjudge("runs", "list", "[/x]")[:2] == (0, "there are no runs in [/x]\n")


def test_recover_says_in_a_line_what_it_cannot_do(adjudge: Adjudge) -> None:
    Path("empty").mkdir()
    for folder in ("empty", "nowhere"):
        code, _, complaint = adjudge("runs", "recover", folder)
        assert code == 1
        assert one_line(complaint, "is not a run folder")
    assert not Path("nowhere").exists()
    adjudge("run", "eval.yaml")
    with locked(Path("runs/one/ledger.lock"), wait=False):
        assert one_line(
            adjudge("runs", "recover", "runs/one")[2], "is under way in another process"
        )
    assert adjudge("runs", "recover", "runs/one")[1].startswith("saved 4 votes and 4 judgments")


def test_a_flipped_bit_in_a_score_is_told_by_every_command_and_mended_by_recover(
    adjudge: Adjudge,
) -> None:
    adjudge("run", "eval.yaml")
    adjudge("export", "runs/one", "-o", "before.csv")
    ledger = Path("runs/one/ledger.sqlite")
    content = ledger.read_bytes()
    assert content.count(b'"score": 1.0') >= 4
    ledger.write_bytes(content.replace(b'"score": 1.0', b'"score": 0.0', 1))
    for command in (
        ("run", "eval.yaml"),
        ("resume", "runs/one"),
        ("runs", "show", "runs/one"),
        ("export", "runs/one"),
    ):
        code, _, complaint = adjudge(*command)
        assert code == 1
        assert one_line(
            complaint, "checksum mismatch in table judgments", "'adjudge runs recover RUN'"
        )
    assert adjudge("runs", "recover", "runs/one")[1].startswith("saved 4 votes and 3 judgments")
    assert adjudge("resume", "runs/one")[0] == 0
    adjudge("export", "runs/one", "-o", "after.csv")
    assert Path("after.csv").read_text() == Path("before.csv").read_text()


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ("rows.csv/x.csv", "rows.csv/x.csv cannot be written: "),
        ("folder.csv", "folder.csv cannot be written: it is a folder"),
        pytest.param("x.parquet", "pip install 'adjudge[parquet]'"),
    ],
)
def test_outputs_that_cannot_be_written_are_told_of_before_anything_is_asked(
    adjudge: Adjudge, monkeypatch: pytest.MonkeyPatch, output: str, why: str
) -> None:
    monkeypatch.setattr("adjudge.runs.exporters.export.find_spec", lambda name: None)
    Path("folder.csv").mkdir()
    Path("eval.yaml").write_text(EVAL.format(judge="", more=f"outputs: [{output}]"))
    code, _, complaint = adjudge("run", "eval.yaml")
    assert code == 1
    assert one_line(complaint, why)
    assert not Path("runs").exists()


def test_export_goes_by_the_ending_whatever_its_case(adjudge: Adjudge) -> None:
    adjudge("run", "eval.yaml")
    assert adjudge("export", "runs/one", "-o", "X.CSV")[0] == 0
    assert Path("X.CSV").read_text(encoding="utf-8-sig").startswith("answer,"), (
        "the columns of the input keep their names"
    )
    Path("folder.csv").mkdir()
    assert one_line(
        adjudge("export", "runs/one", "-o", "folder.csv")[2],
        "folder.csv cannot be written: it is a folder",
    )
    Path("results.d").mkdir()
    assert one_line(
        adjudge("export", "runs/one", "-o", "results.d/none/x.csv")[2], "its folder does not exist"
    )


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (PAIRWISE, "it compares responses, which gives no score"),
        (
            OPTIONS.format(options="[Formal, Casual]") + "    fail_under: 0.5",
            "the option 'Formal' of criteria 'r' has no score",
        ),
        (
            OPTIONS.format(options="[{name: A, score: 1}, {name: B, score: 5}]")
            + "gates: {fail_under: 0.5}",
            "'B' .* scores 5",
        ),
    ],
)
def test_a_gate_that_cannot_hold_is_refused_before_anything_is_asked(
    adjudge: Adjudge, content: str, why: str
) -> None:
    Path("eval.yaml").write_text(content)
    code, _, complaint = adjudge("run", "eval.yaml")
    assert code == 1
    assert one_line(complaint, "fail_under cannot be used for")
    assert re.search(why, complaint)
    assert not Path("runs").exists()


def test_outcomes_that_are_no_numbers_are_counted_and_have_no_mean(adjudge: Adjudge) -> None:
    Path("eval.yaml").write_text(OPTIONS.format(options="[Formal, Casual]"))
    code, said, _ = adjudge("run", "eval.yaml")
    assert code == 0
    line = next(line for line in said.splitlines() if line.rstrip().endswith("Formal 4"))
    assert line.split()[-5:] == ["–", "–", "4", "Formal", "4"]


def test_judge_refuses_a_gate_for_scores_beyond_it(adjudge: Adjudge) -> None:
    Path("own.yaml").write_text(
        "name: r\ndescription: How good\noptions: [{name: A, score: 1}, {name: B, score: 5}]\n"
    )
    judge = ("judge", "x", "-c", "own.yaml", "-m", "scripted")
    assert adjudge(*judge)[0] == 0
    assert one_line(
        adjudge(*judge, "--fail-under", 0.5)[2],
        "fail_under cannot be used for 'r'",
        "'B' of criteria 'r' scores 5",
    )


def test_resume_goes_on_in_the_folder_it_is_told(adjudge: Adjudge) -> None:
    adjudge("run", "eval.yaml", "--max-calls", 1)
    shutil.move("runs/one", "moved")
    code, _, complaint = adjudge("resume", "moved", "--", "--max-calls", 100)
    assert code == 0, complaint
    assert run_info("moved").rows == 4
    assert not Path("runs/one").exists()


def test_resume_adds_options_before_what_is_none(adjudge: Adjudge) -> None:
    command = (
        "check",
        "--criterion",
        "is short",
        "-m",
        "scripted",
        "--run",
        "kept",
        "--max-calls",
        0,
        "--",
        "-text",
    )
    assert adjudge(*command)[0] == 1
    code, _, complaint = adjudge("resume", "kept", "--", "--max-calls", 9)
    assert code == 0, complaint


def test_resume_says_which_rows_are_gone(adjudge: Adjudge, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    shutil.copy("rows.csv", "project")
    shutil.copy("eval.yaml", "project")
    os.chdir("project")
    adjudge("run", "eval.yaml", "--run", tmp_path / "kept", "--max-calls", 1)
    os.chdir(tmp_path)
    shutil.move("project", "elsewhere")
    code, _, complaint = adjudge("resume", "kept")
    assert code == 1
    assert one_line(complaint, str(tmp_path / "project" / "rows.csv"))


@pytest.mark.parametrize(
    "command",
    [
        ("check", "x", "--criterion", "is short"),
        ("judge", "x", "--criterion", "Is it short?"),
        ("compare", "x", "y", "--criterion", "Is it short?"),
        ("rag", "--csv", "rag.csv"),
    ],
)
def test_own_prices_count_in_a_dry_run(adjudge: Adjudge, command: tuple[str, ...]) -> None:
    Path("rag.csv").write_text("question,answer,context\nq,a,c\n")
    Path("prices.yaml").write_text("'http://127.0.0.1:9/*': {input: 1, output: 1}")
    code, said, complaint = adjudge(
        *command, "-m", "http://127.0.0.1:9/v1#m", "--dry-run", "--prices", "prices.yaml"
    )
    assert code == 0, complaint
    assert "cost: $0.0" in said


def test_the_projects_prices_count_in_an_attack(adjudge: Adjudge) -> None:
    Path("prices.yaml").write_text("'http://127.0.0.1:9/*': {input: 1, output: 1}")
    Path("adjudge.toml").write_text("prices = 'prices.yaml'\n")
    asked = ("--rows", "rows.csv", "--criterion", "Is it short?", "-m", "http://127.0.0.1:9/v1#m")
    code, said, complaint = adjudge("attack", *asked, "--dry-run")
    assert code == 0, complaint
    assert "cost: $0.0" in said


def test_a_run_is_watched_with_its_total_and_its_true_spending(
    adjudge: Adjudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    totals, spendings = [], []

    class Seen(ProgressWatch):
        def on_result(self, result: Result, spent: Spent | None = None) -> None:
            totals.append(self.total)
            spendings.append(spent)
            super().on_result(result, spent)

    monkeypatch.setattr("adjudge.runs.cli.execute.ProgressWatch", Seen)
    direct = "  - {kind: direct, criteria: ['Is it kind?', 'Is it short?'], name: d}\n"
    Path("eval.yaml").write_text(EVAL.format(judge="", more=direct))
    assert adjudge("run", "eval.yaml", "--limit", 3)[0] == 0
    assert totals == [9] * 9
    assert spendings[-1] is not None
    assert spendings[-1].calls == 9


def test_the_money_shown_is_the_whole_runs() -> None:
    from adjudge import AspectCritic

    (result,) = AspectCritic("c", "scripted").evaluate(["x"])
    watch = ProgressWatch(lambda: 2, PriceTable.load(), quiet=True)
    watch.on_result(result, Spent(calls=7, usd=2.5))
    watch.on_result(result, Spent(calls=8, usd=2.75, unpriced=1))
    assert "$2.7500, price unknown" in watch.note()


@pytest.mark.parametrize("name", ["ledger.lock", "ledger.sqlite-journal", "ledger.sqlite-wal"])
def test_a_pipe_in_a_run_folder_from_somebody_else_does_not_hang_a_command(
    adjudge: Adjudge, name: str
) -> None:
    adjudge("run", "eval.yaml")
    Path("runs/one", name).unlink(missing_ok=True)
    os.mkfifo(Path("runs/one", name))
    for words in (
        ("runs", "show", "runs/one"),
        ("export", "runs/one"),
        ("run", "eval.yaml"),
        ("runs", "recover", "runs/one"),
    ):
        code, _, complaint = adjudge(*words)
        assert code == 1
        assert one_line(complaint, f"runs/one/{name} is not a plain file")
    assert "is not a plain file" in adjudge("runs", "list")[1]
    assert "kept runs/one" in adjudge("runs", "gc", "--older-than", 0)[1]


def test_an_export_takes_the_place_of_a_pipe_that_came_with_a_run_folder(adjudge: Adjudge) -> None:
    adjudge("run", "eval.yaml")
    os.mkfifo("runs/one/results.csv")
    assert adjudge("export", "runs/one")[0] == 0
    assert Path("runs/one/results.csv").is_file()


_ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
STRANGE = {
    "view": "ALTER TABLE judgments RENAME TO kept; CREATE VIEW judgments AS "
    f"{_ENDLESS} SELECT 'j' judge, i number, '' id, '{{}}' instance, x'' ballots, '' "
    f"status, 1.0 score, '{{}}' result, "
    "0 checksum FROM n",
    "trigger": "CREATE TRIGGER more AFTER INSERT ON meta BEGIN DELETE FROM votes; END",
    "computed": (
        "DROP TABLE meta; CREATE TABLE meta (name TEXT, value TEXT, checksum INTEGER AS "
        "(length(hex(zeroblob(9)))))"
    ),
}


@pytest.mark.parametrize("kind", STRANGE)
def test_a_ledger_that_computes_what_is_read_from_it_is_not_used(
    adjudge: Adjudge, kind: str
) -> None:
    adjudge("run", "eval.yaml")
    with closing(sqlite3.connect("runs/one/ledger.sqlite")) as ledger:
        ledger.executescript(STRANGE[kind])
    for words in (
        *(
            ("runs", "show", "runs/one"),
            ("export", "runs/one"),
            ("export", "runs/one", "--to", "jsonl"),
        ),
        *(
            ("run", "eval.yaml"),
            ("runs", "recover", "runs/one"),
            ("run", "eval.yaml", "--run", "two", "--fork", "runs/one"),
        ),
    ):
        code, _, complaint = adjudge(*words)
        assert code == 1
        assert one_line(complaint, "is not used")


def test_a_complaint_obeys_no_control_characters_of_the_data(adjudge: Adjudge) -> None:
    Path("odd.csv").write_text("q\x9b2J,\u202eb\n1,2\n")
    for words in (
        ("check", "-f", "odd.csv", "--criterion", "is short", "-m", "scripted"),
        ("rag", "--csv", "odd.csv", "-m", "scripted"),
        ("runs", "show", "no\x9brun"),
    ):
        code, said, complaint = adjudge(*words)
        assert code == 1
        assert "\ufffd" in complaint
        assert not {"\x9b", "\u202e"} & {*said, *complaint}


def test_a_run_is_shown_without_control_characters_of_its_settings(adjudge: Adjudge) -> None:
    Path("eval.yaml").write_text(EVAL.format(judge=', name: "a\\x9bb\\u202e"', more=""))
    adjudge("run", "eval.yaml")
    code, said, _ = adjudge("runs", "show", "runs/one")
    assert code == 0
    assert not {"\x9b", "\u202e"} & {*said}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("started", '"s"'),
        ("started", "1e300"),
        ("configuration", "[]"),
        ("spending", "3"),
        ("configuration", "[" * 9000 + "]" * 9000),
    ],
)
def test_a_fact_that_adjudge_did_not_write_is_a_damaged_ledger_and_no_traceback(
    adjudge: Adjudge, name: str, value: str
) -> None:
    adjudge("run", "eval.yaml")
    with closing(sqlite3.connect("runs/one/ledger.sqlite")) as ledger:
        ledger.execute(insert("meta"), with_checksum(name, value))
        ledger.commit()
    for words in (
        ("runs", "show", "runs/one"),
        ("export", "runs/one", "--to", "md"),
        ("run", "eval.yaml"),
    ):
        code, _, complaint = adjudge(*words)
        assert code == 1
        assert one_line(complaint, "the ledger runs/one/ledger.sqlite", "runs recover")
    assert "unreadable" in adjudge("runs", "list")[1]


@pytest.mark.parametrize("column", ["instance", "result"])
@pytest.mark.parametrize("value", ["null", "[]", "3", '"text"'])
def test_a_judgment_that_adjudge_did_not_write_is_a_damaged_ledger_and_no_traceback(
    adjudge: Adjudge, column: str, value: str
) -> None:
    adjudge("run", "eval.yaml")
    with closing(sqlite3.connect("runs/one/ledger.sqlite")) as ledger:
        rows = ledger.execute(f"SELECT {', '.join(COLUMNS['judgments'])} FROM judgments").fetchall()
        for row in rows:
            forged = {**dict(zip(COLUMNS["judgments"], row, strict=True)), column: value}
            ledger.execute(insert("judgments"), with_checksum(*forged.values()))
        ledger.commit()
    for words in (
        *(("export", "runs/one", "--to", to) for to in ("csv", "jsonl", "html")),
        ("runs", "diff", "runs/one", "runs/one"),
    ):
        code, _, complaint = adjudge(*words)
        assert code == 1
        assert one_line(complaint, "instead of an object")


def test_an_export_of_no_run_says_that_there_is_none(adjudge: Adjudge) -> None:
    code, _, complaint = adjudge("export", "runs/nothing")
    assert code == 1
    assert one_line(complaint, "runs/nothing is not a run folder")


def test_a_finished_run_costs_nothing_because_it_is_answered(adjudge: Adjudge) -> None:
    adjudge("run", "eval.yaml")
    _, said, _ = adjudge("run", "eval.yaml", "--dry-run")
    assert "calls: 0\n" in said
    assert "cost: $0 (every answer is already stored)" in said


def test_one_call_is_said_to_be_one(adjudge: Adjudge) -> None:
    check = ("check", "x", "--criterion", "is short", "-m", "scripted")
    assert "1 call · " in adjudge(*check)[1]
    assert "1 вызов · " in adjudge(*check, "--language", "ru")[1]
    assert "2 вызова · " in adjudge(*check, "--language", "ru", "--strictness", 2)[1]


def test_each_criteria_of_a_run_has_its_own_mean(adjudge: Adjudge) -> None:
    Path("eval.yaml").write_text(
        "data: rows.csv\nmodels: ['scripted/Yes,No']\nrun: runs/one\n"
        "judges: [{kind: direct, name: tone, criteria: ['Is it kind?', 'Is it short?']}]\n"
    )
    adjudge("run", "eval.yaml")
    _, said, _ = adjudge("runs", "show", "runs/one")
    lines = [line.split()[:5] for line in said.splitlines()]
    assert ["Is", "it", "kind?", "mean", "1.000"] in lines
    assert ["Is", "it", "short?", "mean", "0.000"] in lines


TWO = (
    "data: rows.csv\nmodels: [scripted]\nrun: runs/two\njudges:\n  - kind: direct\n"
    "    name: register\n    criteria:\n"
    "      - {{name: alpha, description: Good, options: [{{name: Good, score: 1}}, "
    "{{name: Bad, score: 0}}]}}\n"
    "      - {{name: rude, description: Rude, options: [{{name: Rude, score: 0}}, "
    "{{name: Kind, score: 1}}]}}\n{more}"
)


def bars_in(printed: str) -> dict[str, float]:
    return {one["name"]: one["bar"] for one in json.loads(printed)["gates"]}


@pytest.mark.parametrize(
    ("gates", "typed", "bars", "code"),
    [
        ("gates: {fail_under: {rude: 0.9}}", "alpha=0.7", {"rude": 0.9, "alpha": 0.7}, 4),
        ("    fail_under: {rude: 0.9}", "alpha=0.7", {"rude": 0.9, "alpha": 0.7}, 4),
        ("gates: {fail_under: 0.9}", "alpha=0.7", {"rude": 0.9, "alpha": 0.7}, 4),
        ("gates: {fail_under: {rude: 0.9}}", "0.5", {"rude": 0.9, "alpha": 0.5}, 4),
        ("gates: {fail_under: {rude: 0.9, alpha: 0.8}}", "rude=0", {"rude": 0, "alpha": 0.8}, 0),
        ("gates: {fail_under: 0.9}", "rude=0", {"rude": 0, "alpha": 0.9}, 0),
        ("    fail_under: 0.9", "0", {"rude": 0, "alpha": 0}, 0),
        ("    fail_under: 0.9", "register=0", {"rude": 0, "alpha": 0}, 0),
    ],
)
def test_a_typed_bar_replaces_only_the_one_of_its_name(
    adjudge: Adjudge, gates: str, typed: str, bars: dict[str, float], code: int
) -> None:
    Path("two.yaml").write_text(TWO.format(more=gates))
    ended, printed, complaint = adjudge("run", "two.yaml", "--json", "--fail-under", typed)
    assert (ended, bars_in(printed)) == (code, bars), complaint


def test_resume_keeps_the_bars_that_are_not_typed_again(adjudge: Adjudge) -> None:
    Path("two.yaml").write_text(TWO.format(more=""))
    begun = ("--fail-under", "rude=0.9", "--fail-under", "alpha=0.7", "--max-calls", 1)
    assert adjudge("run", "two.yaml", *begun)[0] == 1
    more = ("--max-calls", 100, "--json", "--fail-under", "rude=0")
    code, printed, complaint = adjudge("resume", "runs/two", "--", *more)
    assert (code, bars_in(printed)) == (0, {"rude": 0, "alpha": 0.7}), complaint


def test_the_setup_of_a_run_with_checks_is_shown(adjudge: Adjudge) -> None:
    Path("eval.yaml").write_text(
        "data: rows.csv\nrun: runs/checks\nchecks:\n  - contains: a\n  - {words: {most: 5}}\n"
    )
    adjudge("run", "eval.yaml")
    code, shown, error = adjudge("runs", "show", "runs/checks", "--config")
    assert (code, error) == (0, "")
    assert "name: contains 'a'" in shown
    _, shown, _ = adjudge("runs", "show", "runs/checks", "--config", "--language", "ru")
    assert "description: Все проверки вместе." in shown
