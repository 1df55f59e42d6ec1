"""``adjudge resume`` of a folder that came from somebody else: nothing is given again that the user
has not seen.
"""

from __future__ import annotations

import io
import json
import os
import pty
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adjudge.core.aio.files import cache_folder
from adjudge.core.domain.json_types import JsonDict, JsonValue
from adjudge.core.ledger.file import FILE, connect, write_meta
from adjudge.runs.cli.main import main
from adjudge.runs.cli.stored_options import is_known, without_password
from adjudge.runs.criteria_entry import CriteriaEntry
from adjudge.runs.eval_file import AspectEntry, DataEntry, EvalFile
from adjudge.runs.folder import run_info
from adjudge.runs.project import ModelEntry
from adjudge.runs.stored_eval import read_eval, write_eval
from support import commands
from support.fake_provider import FakeProvider

Adjudge = Callable[..., tuple[int, str, str]]
RAG_CONFIG = "- {name: clarity, weight: 2}\n"


@pytest.fixture
def adjudge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Adjudge:
    """A command, in this process: (exit code, what it printed, what it complained of)."""
    (tmp_path / "rows.csv").write_text(
        "id,answer\n" + "".join(f"r{number},text {number}\n" for number in range(4))
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ADJUDGE_CACHE", str(tmp_path / "cache"))

    def run(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["adjudge", *map(str, words)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return run


def foreign(adjudge: Adjudge, folder: Path, *words: str, cache: str = "theirs") -> Path:
    """A run folder that somebody else began with a command, and that asked nothing yet."""
    ours = os.environ["ADJUDGE_CACHE"]
    os.environ["ADJUDGE_CACHE"] = str(Path(ours).with_name(cache))
    try:
        adjudge(*words, "--run", folder, "--max-calls", 0, "--no-cache")
    finally:
        os.environ["ADJUDGE_CACHE"] = ours
    assert kept_in(folder)
    return folder


def kept_in(folder: Path) -> dict[str, Any]:
    kept = run_info(folder).facts["resume"]
    assert isinstance(kept, dict)
    return kept


def keep(folder: Path, record: JsonValue) -> Path:
    """The folder, as somebody could have changed it."""
    with connect(folder / FILE) as connection:
        write_meta(connection, {"resume": record})
    return folder


def test_local_files_are_not_sent_to_somebodys_address_unseen(
    adjudge: Adjudge, tmp_path: Path, provider: FakeProvider
) -> None:
    (tmp_path / "diary.csv").write_text("answer\nREC-00001-Y secret\n")
    model = f"{provider.base_url('openai')}#m"
    folder = foreign(
        adjudge,
        tmp_path / "theirs-run",
        *("check", "-f", "diary.csv", "--criterion", "is short", "-m", model, "-o", "stolen.csv"),
    )
    code, _, said = adjudge("resume", folder)
    assert code == 1
    assert provider.requests == []
    assert not (tmp_path / "stolen.csv").exists()
    for shown in (
        "not created by you",
        f"reads   {tmp_path / 'diary.csv'}",
        f"asks    {model}",
        f"writes  {tmp_path / 'stolen.csv'}",
        "judges  aspect: is short",
        "spends  at most max_calls=0",
        "--trust",
    ):
        assert shown in said
    assert "Traceback" not in said


def test_with_yes_it_is_resumed_shown_and_ours_from_then_on(
    adjudge: Adjudge, tmp_path: Path
) -> None:
    words = ("check", "-f", "rows.csv", "--criterion", "is short", "-m", "scripted", "-o", "o.csv")
    folder = foreign(adjudge, tmp_path / "run", *words)
    code, _, said = adjudge("resume", folder, "--yes", "--", "--max-calls", 4)
    assert code == 0, said
    assert "reads " in said
    assert run_info(folder).rows == 4
    assert len((tmp_path / "o.csv").read_text().splitlines()) == 5
    code, _, said = adjudge("resume", folder)
    assert (code, said) == (0, "")


@pytest.mark.parametrize(
    "words",
    [
        ("check", "-f", "rows.csv", "--criterion", " is short ", "-m", "scripted"),
        ("check", "-", "--criterion", "is short", "-m", "scripted", "--strictness", "3"),
        ("check", "a text", "--aspect", "conciseness", "-m", "scripted", "--strictness", "2"),
        ("judge", "-f", "rows.csv", "--criterion", "kind?", "-c", "conciseness", "-m", "scripted"),
        ("judge", "-f", "rows.csv", "-c", "own.yaml", "-m", "scripted", "--limit", "2"),
        ("compare", "a", "b", "--criterion", "Which is better?", "-m", "scripted/A"),
        ("compare", "a", "b", "--criterion", "Better?", "-m", "scripted/A", "--contests", "pairs"),
        ("rag", "--csv", "rag.csv", "-m", "scripted", "--config", "weights.yaml"),
        ("run", "deep/eval.yaml"),
        ("run", "deep/eval.yaml", "-m", "scripted", "-m", "scripted/1", "--id", "id"),
    ],
)
def test_a_run_goes_on_from_anywhere_with_the_same_judges_and_rows(
    adjudge: Adjudge, tmp_path: Path, words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own.yaml").write_text(
        "- {name: r, description: is it short, options: [{name: A, score: 1}, {name: B, score: 0}],"
        " examples: [{fields: {response: x}, option: A}]}\n"
    )
    (tmp_path / "rag.csv").write_text("question,answer,contexts\nq,a,c\n")
    (tmp_path / "weights.yaml").write_text(RAG_CONFIG)
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "eval.yaml").write_text(
        "data: ../rows.csv\nmodels: scripted\noutputs: out.jsonl\n"
        "judges:\n  - {kind: aspect, criteria: [conciseness, {name: n, description: is it}]}\n"
        "  - {kind: direct, criteria: [../own.yaml, 'Is it kind?'], strictness: 2}\n"
    )
    monkeypatch.setattr(sys, "stdin", io.StringIO("typed"))
    whole = adjudge(*words, "--run", "whole", "--no-cache")[0]
    assert whole == (3 if "scripted/1" in words else 0)
    monkeypatch.setattr(sys, "stdin", io.StringIO("typed"))
    assert adjudge(*words, "--run", "run", "--max-calls", 1, "--no-cache")[0] == 1
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setattr(sys, "stdin", None)
    code, _, said = adjudge("resume", "../run", "--", "--max-calls", 1000)
    assert code == whole, said
    one, two = run_info(tmp_path / "whole"), run_info(tmp_path / "run")
    assert (one.judges, one.configuration) == (two.judges, two.configuration)
    assert one.votes == two.votes
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_resume_writes_and_gates_what_the_command_would_have(
    adjudge: Adjudge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("check", "-f", "rows.csv", "--criterion", "is short", "-m", "scripted/FAIL", "--json")
    gate = ("--fail-under", "0.5", "-o", "out")
    adjudge(*words, *gate, "--run", "run", "--max-calls", 1, "--no-cache")
    monkeypatch.chdir("/")
    code, out, _ = adjudge("resume", tmp_path / "run", "--", "--max-calls", 9)
    assert code == 4
    assert json.loads(out)["gates"][0]["verdict"] == "failed"
    assert len((tmp_path / "out").read_text().splitlines()) == 4


def test_a_run_with_a_bar_is_resumed_again_and_again(adjudge: Adjudge, tmp_path: Path) -> None:
    words = ("check", "-f", "rows.csv", "--criterion", "is short", "-m", "scripted/FAIL")
    adjudge(*words, "--fail-under", "0.5", "--run", "run", "--no-cache")
    for _ in range(3):
        code, _, said = adjudge("resume", tmp_path / "run")
        assert code == 4, said


def test_a_resume_names_paths_and_criteria_as_the_first_run_did(
    adjudge: Adjudge, tmp_path: Path
) -> None:
    (tmp_path / "eval.yaml").write_text(
        "data: rows.csv\nmodels: scripted\noutputs: [report.md]\njudges:\n"
        "  - {kind: direct, criteria: [politeness, conciseness]}\n"
    )
    _, first, _ = adjudge("run", "eval.yaml", "--run", "runs/one")
    code, again, _ = adjudge("resume", "runs/one")
    assert code == 0
    assert str(tmp_path) not in again
    assert re.search(r"Report +report\.md\nRun +runs/one\nNext +adjudge view runs/one\n", again)
    assert first.splitlines()[0] == again.splitlines()[0]
    assert first.splitlines()[0].split() == ["row", "politeness", "conciseness"]


def test_what_is_kept_does_not_grow_with_every_resume(adjudge: Adjudge, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    adjudge("check", "-f", "rows.csv", "--criterion", "is short", "-m", "scripted", "--run=run")
    before = kept_in(folder)
    for _ in range(3):
        assert adjudge("resume", folder)[0] == 0
    assert kept_in(folder) == before


def test_an_eval_file_shows_its_data_models_and_outputs(adjudge: Adjudge, tmp_path: Path) -> None:
    (tmp_path / "eval.yaml").write_text(
        "data: rows.csv\noutputs: [../out.csv]\nmodels: [{model: openai/m, "
        "base_url: 'http://evil.example/v1'}]\n"
        "judges: [{kind: aspect, criteria: conciseness, models: [http://other.example/v1#n]}]\n"
    )
    code, _, said = adjudge(
        "resume", foreign(adjudge, tmp_path / "run", "run", "eval.yaml", "--yes")
    )
    assert code == 1
    for shown in (
        "rows.csv",
        "out.csv",
        "openai/m at http://evil.example/v1",
        "http://other.example/v1#n",
    ):
        assert shown in said


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (
            ("judge", "-f", "rows.csv", "--criterion", "q?", "-m", "scripted"),
            "reads   {here}/rows.csv",
        ),
        (
            ("compare", "a", "b", "--criterion", "q?", "-m", "http://evil.example/v1#m"),
            "asks    http://evil.example/v1#m",
        ),
        (
            ("rag", "--csv", "rag.csv", "-o", "out", "--config", "c.yaml", "-m", "scripted"),
            "writes  {here}/out",
        ),
        (
            ("rag", "--csv", "rag.csv", "--config", "c.yaml", "-m", "scripted"),
            "reads   {here}/c.yaml",
        ),
        (
            ("rag", "--csv", "rag.csv", "--model-provider", "ollama", "--model-name", "m"),
            "asks    ollama/m",
        ),
        (("run", "eval.yaml", "--prices", "p.yaml"), "reads   {here}/p.yaml"),
        (("run", "eval.yaml"), "spends  at most max_calls=0"),
        (
            ("generate", "a task", "--judge", "http://evil.example/v1#m", "-m", "scripted"),
            "asks    http://evil.example/v1#m",
        ),
        (
            ("generate", "a task", "-m", "scripted", "-o", "x.json"),
            "runs    code written by models, in a sandbox",
        ),
        (
            ("generate", "a task", "-m", "scripted", "--output-schema", "s.json"),
            "reads   {here}/s.json",
        ),
        (
            (
                "check",
                "x",
                "--criterion",
                "c\n  asks    scripted",
                "-m",
                "http://evil.example/v1#m",
            ),
            "c�  asks    scripted",
        ),
    ],
)
def test_whatever_a_run_reads_writes_and_asks_is_shown(
    adjudge: Adjudge, tmp_path: Path, words: tuple[str, ...], shown: str
) -> None:
    (tmp_path / "rag.csv").write_text("question,answer,contexts\nq,a,c\n")
    (tmp_path / "c.yaml").write_text(RAG_CONFIG)
    (tmp_path / "s.json").write_text('{"type": "integer"}')
    (tmp_path / "p.yaml").write_text("scripted: {input: 0, output: 0}\n")
    (tmp_path / "eval.yaml").write_text(
        "data: rows.csv\nmodels: scripted\njudges: [{kind: aspect, criteria: conciseness}]\n"
    )
    code, _, said = adjudge("resume", foreign(adjudge, tmp_path / "run", *words))
    assert code == 1
    assert shown.format(here=tmp_path) in said
    assert "add --trust to resume it" in said


@pytest.mark.parametrize(
    "command", ["runs", "resume", "export", "serve-model", "\x1b[2Jrun", "run"]
)
@pytest.mark.parametrize("flags", [(), ("--yes",)])
def test_commands_that_make_no_run_are_never_given(
    adjudge: Adjudge, tmp_path: Path, command: str, flags: tuple[str, ...]
) -> None:
    folder = foreign(adjudge, tmp_path / "run", "check", "x", "--criterion", "c", "-m", "scripted")
    keep(folder, {"command": command, "options": {}, "project": {}})
    code, out, said = adjudge("resume", folder, *flags)
    assert (code, out) == (1, "")
    assert "that adjudge did not write" in said
    assert "\x1b" not in said


@pytest.mark.parametrize("flags", [(), ("--yes",)])
def test_nobody_elses_run_gets_code_run_without_a_sandbox(
    adjudge: Adjudge, tmp_path: Path, flags: tuple[str, ...]
) -> None:
    words = ("generate", "a task", "--sandbox", "none", "-m", "scripted/output = 1")
    folder = foreign(adjudge, tmp_path / "run", *words)
    code, out, said = adjudge("resume", folder, *flags)
    assert (code, out) == (1, "")
    assert "runs code without a sandbox, so it is not resumed" in said


@pytest.mark.parametrize(
    ("first", "then", "kept"),
    [
        (("--max-calls", "100"), ("--max-calls", "200"), {"max_calls": 200}),
        (("--max-calls=100",), ("--max-calls", "200"), {"max_calls": 200}),
        (("-qj", "4"), ("-q", "-j5"), {"quiet": True, "max_concurrency": 5}),
        (("--max-usd", "1", "--seed", "-1"), ("--max-usd=2",), {"max_usd": 2}),
        (("--stop-at-bad-row",), ("--skip-bad-rows",), {"stop_at_bad_row": False}),
    ],
)
def test_options_of_a_resume_take_the_place_of_earlier_ones(
    adjudge: Adjudge,
    tmp_path: Path,
    first: tuple[str, ...],
    then: tuple[str, ...],
    kept: dict[str, object],
) -> None:
    prices = ("--prices", str(tmp_path / "prices.yaml"))
    (tmp_path / "prices.yaml").write_text("scripted: {input: 0, output: 0}\n")
    check = ("check", "-f", "rows.csv", "--criterion", "--max-calls", "-m", "scripted", *prices)
    adjudge(*check, *first, "--run", "run")
    for _ in range(2):
        assert adjudge("resume", "run", "--", *then)[0] == 0
    assert kept_in(tmp_path / "run")["options"] == {"prices": prices[1], **kept}


@pytest.mark.parametrize(
    "record",
    [
        "run eval.yaml",
        ["run"],
        {"options": {}, "project": {}},
        {"options": {}, "project": {}, "eval": {}},
        {"options": {}, "project": {}, "eval": {"path": "x", "file": 7}},
        {"options": {"file": "x"}, "project": {}, "eval": {}},
        {"options": [], "project": {}, "command": "bench"},
        {"options": {"api_key": "x"}, "project": {}, "command": "generate"},
    ],
)
def test_what_adjudge_did_not_write_is_an_error_in_a_line(
    adjudge: Adjudge, tmp_path: Path, record: JsonValue
) -> None:
    folder = foreign(adjudge, tmp_path / "run", "check", "x", "--criterion", "c", "-m", "scripted")
    code, _, said = adjudge("resume", keep(folder, record), "--yes")
    assert code == 1
    assert said.count("\n") == 1
    assert "adjudge did not write" in said or "is damaged or was not written by adjudge" in said


@pytest.mark.parametrize(
    "change",
    [
        {"path": "/elsewhere/eval.yaml"},
        {"rows": [{"response": "y"}]},
        {"criteria": [[{"name": "c", "definition": "d"}]]},
    ],
)
def test_what_was_changed_is_not_ours(adjudge: Adjudge, tmp_path: Path, change: JsonDict) -> None:
    folder = tmp_path / "run"
    check = ("check", "x", "--criterion", "c", "-m", "scripted", "--run", folder)
    assert adjudge(*check)[0] == 0
    kept = kept_in(folder)
    assert is_known(kept)
    keep(folder, {**kept, "eval": {**kept["eval"], **change}})
    assert "was not created by you" in adjudge("resume", folder)[2]
    keep(folder, {**kept, "options": {"output": ["/elsewhere/x.csv"]}})
    assert "was not created by you" in adjudge("resume", folder)[2]


def test_only_the_user_says_what_is_theirs(adjudge: Adjudge, tmp_path: Path) -> None:
    adjudge("check", "x", "--criterion", "c", "-m", "scripted", "--run", "run")
    kept, (mark,) = kept_in(tmp_path / "run"), (cache_folder() / "begun").iterdir()
    assert is_known(kept)
    mark.rename(tmp_path / "moved")
    assert not is_known(kept)
    mark.symlink_to(tmp_path / "moved")
    assert not is_known(kept)


def test_without_a_cache_folder_a_run_is_made_and_is_confirmed(
    adjudge: Adjudge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "no folder").write_text("")
    monkeypatch.setenv("ADJUDGE_CACHE", str(tmp_path / "no folder"))
    check = (
        "check",
        "-f",
        "rows.csv",
        "--criterion",
        "c",
        "-m",
        "scripted",
        "--run",
        "kept",
        "--no-cache",
    )
    assert adjudge(*check)[0] == 0
    assert "was not created by you" in adjudge("resume", "kept")[2]


@pytest.mark.parametrize(("answer", "code", "rows"), [("y", 0, 4), ("n", 1, 0), ("", 1, 0)])
def test_a_person_at_a_terminal_is_asked(
    adjudge: Adjudge, tmp_path: Path, answer: str, code: int, rows: int
) -> None:
    words = ("check", "-f", "rows.csv", "--criterion", "c", "-m", "scripted")
    folder = foreign(adjudge, tmp_path / "run", *words)
    ours, theirs = pty.openpty()
    try:
        os.write(ours, f"{answer}\n".encode())
        done = commands.adjudge(
            *("resume", str(folder), "--", "--max-calls", "9"), terminal=os.ttyname(theirs)
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.returncode == code, done.stderr
    assert "Resume it?" in done.stderr
    assert run_info(folder).rows == rows


@pytest.mark.parametrize(
    "name",
    [FILE, f"{FILE}-wal", f"{FILE}-shm", "ledger.lock", "ledger.recovered", "ledger.damaged"],
)
def test_a_run_folder_with_links_in_it_is_not_written_to(
    adjudge: Adjudge, tmp_path: Path, name: str
) -> None:
    check = ("check", "-f", "rows.csv", "--criterion", "c", "-m", "scripted", "--run", "kept")
    assert adjudge(*check)[0] == 0
    link, theirs = tmp_path / "kept" / name, tmp_path / "theirs"
    theirs.write_bytes(link.read_bytes() if link.exists() else b"theirs")
    before = theirs.read_bytes()
    link.unlink(missing_ok=True)
    link.symlink_to(theirs)
    for command in (check, ("resume", "kept"), ("runs", "recover", "kept")):
        code, _, said = adjudge(*command)
        assert code == 1
        assert "is a symbolic link" in said
    assert theirs.read_bytes() == before


def test_no_password_of_a_model_is_kept() -> None:
    judge = AspectEntry(kind="aspect", criteria=(CriteriaEntry("conciseness"),))
    model = ModelEntry(model="http://me:secret@host/v1#m", base_url="http://k@host/v1")
    file = EvalFile(data=DataEntry(path="rows.csv"), judges=(judge,), models=(model,))
    kept = json.loads(json.dumps(write_eval(file)))
    assert kept["file"]["models"] == [{"model": "http://host/v1#m", "base_url": "http://host/v1"}]
    (read,) = read_eval(kept, "it").models
    assert read.model == "http://host/v1#m"


def test_no_key_is_kept(adjudge: Adjudge, tmp_path: Path) -> None:
    (tmp_path / "rag.csv").write_text("question,answer,contexts\nq,a,c\n")
    words = ("rag", "--csv", "rag.csv", "-m", "scripted", "--api-key", "sk-secret", "--run", "run")
    assert adjudge(*words)[0] == 0
    assert b"sk-secret" not in (tmp_path / "run" / FILE).read_bytes()


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("postgresql://me:pass@host:5432/db#run", "postgresql://me@host:5432/db#run"),
        (
            "postgresql://host:5432/db?user=me&password=pass#run",
            "postgresql://host:5432/db?user=me#run",
        ),
        ("postgresql://host/db?password=pass&user=me#run", "postgresql://host/db?user=me#run"),
        ("postgresql://me@host:5432/db#run", "postgresql://me@host:5432/db#run"),
        ("http://user:p@ss@host:80/v1#m", "http://host:80/v1#m"),
        ("mail me@home, see http://a/b@c", "mail me@home, see http://a/b@c"),
    ],
)
def test_the_password_in_an_address_is_not_kept(typed: str, kept: str) -> None:
    assert without_password(typed) == kept
