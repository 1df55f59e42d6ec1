"""``adjudge resume`` of a folder that came from somebody else: nothing is given again that the user
has not seen.
"""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adjudge.aio.files import cache_folder
from adjudge.cli.inputs import command_line, is_ours, signed
from adjudge.cli.main import main
from adjudge.ledger.file import FILE, connect, write_meta
from adjudge.runs.folder import run_info
from support.fake_provider import FakeProvider

Adjudge = Callable[..., tuple[int, str, str]]


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


def foreign(folder: Path, *argv: str, **more: Any) -> Path:
    """A run folder as somebody else could make it."""
    kept = signed(["check", "x"], str(Path.cwd()))  # a signature of ours, for another command
    write_ledger(folder, {**kept, "argv": list(argv), **more})
    return folder


def write_ledger(folder: Path, command: Any) -> None:
    from adjudge import AspectCritic

    AspectCritic("c", "scripted").evaluate(["x"], run=folder)
    with connect(folder / FILE) as ledger:
        ledger.execute("DELETE FROM meta WHERE name = 'configuration'")
        ledger.execute("DELETE FROM votes")
        ledger.execute("DELETE FROM judgments")
    with connect(folder / FILE) as connection:
        write_meta(connection, {"command": command})


def test_local_files_are_not_sent_to_somebodys_address_unseen(
    adjudge: Adjudge, tmp_path: Path, provider: FakeProvider
) -> None:
    (tmp_path / "diary.txt").write_text("REC-00001-Y secret")
    model = f"{provider.base_url('openai')}#m"
    folder = foreign(
        tmp_path / "theirs",
        "check",
        "-f",
        "diary.txt",
        "--criterion",
        "is short",
        "-m",
        model,
        "-o",
        "stolen.csv",
    )
    code, _, said = adjudge("resume", folder)
    assert code == 1
    assert provider.requests == []
    assert not (tmp_path / "stolen.csv").exists()
    for shown in (
        "not made by you",
        f"reads   {tmp_path / 'diary.txt'}",
        f"asks    {model}",
        f"writes  {tmp_path / 'stolen.csv'}",
        "--yes",
    ):
        assert shown in said
    assert "Traceback" not in said


def test_with_yes_it_is_resumed_shown_and_ours_from_then_on(
    adjudge: Adjudge, tmp_path: Path
) -> None:
    folder = foreign(
        tmp_path / "theirs", "check", "-f", "rows.csv", "--criterion", "is short", "-m", "scripted"
    )
    code, _, said = adjudge("resume", folder, "--yes")
    assert code == 0, said
    assert "reads " in said
    assert run_info(folder).rows == 4
    code, _, said = adjudge("resume", folder)
    assert (code, said) == (0, "")


def test_the_kept_command_does_not_grow_with_every_resume(adjudge: Adjudge, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    adjudge("check", "-f", "rows.csv", "--criterion", "is short", "-m", "scripted", "--run=run")
    for _ in range(3):
        assert adjudge("resume", folder)[0] == 0
    argv = run_info(folder).facts["command"]["argv"]
    assert argv == [
        "check",
        "-f",
        "rows.csv",
        "--criterion",
        "is short",
        "-m",
        "scripted",
        "--run",
        str(folder),
    ]


def test_an_eval_file_shows_its_data_models_and_outputs(adjudge: Adjudge, tmp_path: Path) -> None:
    (tmp_path / "eval.yaml").write_text(
        "data: rows.csv\noutputs: [../out.csv]\nmodels: [{model: openai/m, base_url: "
        "'http://evil.example/v1'}]\n"
        "judges: [{kind: aspect, criteria: conciseness, models: [http://other.example/v1#n]}]\n"
    )
    code, _, said = adjudge("resume", foreign(tmp_path / "theirs", "run", "eval.yaml"))
    assert code == 1
    for shown in (
        "rows.csv",
        "out.csv",
        "openai/m at http://evil.example/v1",
        "http://other.example/v1#n",
    ):
        assert shown in said


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        (
            ("judge", "-f", "rows.csv", "--criterion", "q?", "-m", "scripted"),
            "reads   {here}/rows.csv",
        ),
        (("judge", "x", "-c", "own.yaml", "-m", "scripted"), "reads   {here}/own.yaml"),
        (
            ("compare", "a", "b", "--criterion", "q?", "-m", "http://evil.example/v1#m"),
            "asks    http://evil.example/v1#m",
        ),
        (("rag", "--csv", "rag.csv", "-o", "out", "--config", "c.yaml"), "writes  {here}/out"),
        (
            ("rag", "--csv", "rag.csv", "--model-provider", "ollama", "--model-name", "m"),
            "asks    ollama",
        ),
        (("run", "eval.yaml", "--prices", "p.yaml", "--fork", "other"), "reads   {here}/other"),
        (
            ("generate", "a task", "--judge", "http://evil.example/v1#m"),
            "asks    http://evil.example/v1#m",
        ),
        (
            ("generate", "a task", "-m", "scripted", "-o", "x.json"),
            "runs    code that the models write, in a sandbox",
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
def test_whatever_a_command_reads_writes_and_asks_is_shown(
    adjudge: Adjudge, tmp_path: Path, argv: tuple[str, ...], shown: str
) -> None:
    code, _, said = adjudge("resume", foreign(tmp_path / "theirs", *argv))
    assert code == 1
    assert shown.format(here=tmp_path) in said
    assert "add --yes to resume it" in said


@pytest.mark.parametrize(
    "argv",
    [
        ("runs", "gc", "--older-than", "0", "--yes"),
        ("resume", "elsewhere", "--yes"),
        ("export", "elsewhere", "-o", "x.csv"),
        ("serve-model", "x"),
        ("--version",),
        ("models", "pull", "x"),
        ("criteria", "check", "x.yaml"),
        ("criteria improve", "x.yaml"),
        ("\x1b[2Jrun",),
    ],
)
@pytest.mark.parametrize("flags", [(), ("--yes",)])
def test_commands_that_make_no_run_are_never_given(
    adjudge: Adjudge, tmp_path: Path, argv: tuple[str, ...], flags: tuple[str, ...]
) -> None:
    folder = foreign(tmp_path / "theirs", *argv)
    code, out, said = adjudge("resume", folder, *flags)
    assert (code, out) == (1, "")
    assert (
        "only run, check, judge, compare, rag, generate, bench, criteria improve are resumed"
        in said
    )
    assert "\x1b" not in said


@pytest.mark.parametrize("flags", [(), ("--yes",)])
def test_somebody_elses_command_never_runs_code_without_a_sandbox(
    adjudge: Adjudge, tmp_path: Path, flags: tuple[str, ...]
) -> None:
    folder = foreign(
        tmp_path / "theirs", "generate", "a task", "--sandbox", "none", "-m", "scripted/output = 1"
    )
    code, out, said = adjudge("resume", folder, *flags)
    assert (code, out) == (1, "")
    assert "runs code without a sandbox: it is not resumed" in said


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (("--max-calls", "100"), ("--max-calls", "200")),
        (("--max-calls=100",), ("--max-calls", "200")),
        (("-qj", "4"), ("-q", "-j5")),
        (("--max-usd", "1", "--seed", "-1"), ("--seed", "-1", "--max-usd=2")),
        (("--stop-at-bad-row",), ("--skip-bad-rows",)),
    ],
)
def test_options_of_a_resume_take_the_place_of_earlier_ones(
    adjudge: Adjudge, tmp_path: Path, first: tuple[str, ...], then: tuple[str, ...]
) -> None:
    prices = ("--prices", str(tmp_path / "prices.yaml"))
    (tmp_path / "prices.yaml").write_text("scripted: {input: 0, output: 0}\n")
    check = ("check", "-f", "rows.csv", "--criterion", "--max-calls", "-m", "scripted", *prices)
    adjudge(*check, *first, "--run", "run")
    for _ in range(2):
        adjudge("resume", "run", "--", *then)
    assert run_info(tmp_path / "run").facts["command"]["argv"] == [
        *check,
        "--run",
        str(tmp_path / "run"),
        *then,
    ]


@pytest.mark.parametrize(
    "command",
    [
        "run eval.yaml",
        ["run"],
        {"argv": "run", "cwd": "/"},
        {"argv": ["run", 1], "cwd": "/"},
        {"argv": []},
    ],
)
def test_a_command_that_is_none_is_an_error_in_a_line(
    adjudge: Adjudge, tmp_path: Path, command: Any
) -> None:
    write_ledger(tmp_path / "theirs", command)
    code, _, said = adjudge("resume", tmp_path / "theirs", "--yes")
    assert code == 1
    assert said.count("\n") == 1
    assert "a command that adjudge did not write" in said


@pytest.mark.parametrize(
    "change",
    [
        {"cwd": "/"},
        {"signature": None},
        {"signature": "0" * 64},
        {"signature": "é"},
        {"signature": 7},
    ],
)
def test_a_command_that_was_changed_is_not_ours(
    adjudge: Adjudge, tmp_path: Path, change: dict[str, Any]
) -> None:
    argv = ["check", "x", "--criterion", "c", "-m", "scripted"]
    kept = signed(argv, str(tmp_path))
    assert is_ours(kept)
    assert not is_ours({**kept, **change})
    assert not is_ours({**kept, "argv": [*argv, "-o", "x"]})
    write_ledger(tmp_path / "theirs", {**kept, **change})
    assert "was not made by you" in adjudge("resume", tmp_path / "theirs")[2]


def test_a_run_of_the_first_edition_has_no_signature_and_is_confirmed(
    adjudge: Adjudge, tmp_path: Path
) -> None:
    command = {
        "argv": ["check", "-f", "rows.csv", "--criterion", "c", "-m", "scripted"],
        "cwd": str(tmp_path),
    }
    write_ledger(tmp_path / "old", command)
    assert adjudge("resume", "old")[0] == 1
    assert adjudge("resume", "old", "--yes")[0] == 0


def test_the_secret_is_the_users_alone(adjudge: Adjudge, tmp_path: Path) -> None:
    kept, secret = signed(["check"], "/"), cache_folder() / "origin.key"
    assert is_ours(kept)
    assert secret.stat().st_mode & 0o777 == 0o600
    secret.chmod(0o644)
    assert not is_ours(kept)
    secret.rename(tmp_path / "moved")
    (tmp_path / "moved").chmod(0o600)
    secret.symlink_to(tmp_path / "moved")
    assert not is_ours(kept)
    secret.unlink()
    assert not is_ours(kept)
    secret.write_bytes(b"")
    secret.chmod(0o600)
    assert not is_ours({**kept, "signature": signed(["check"], "/").get("signature")})


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
    assert "was not made by you" in adjudge("resume", "kept")[2]


@pytest.mark.parametrize(("answer", "code", "rows"), [("y", 0, 4), ("n", 1, 0), ("", 1, 0)])
def test_a_person_at_a_terminal_is_asked(
    adjudge: Adjudge, tmp_path: Path, answer: str, code: int, rows: int
) -> None:
    folder = foreign(
        tmp_path / "theirs", "check", "-f", "rows.csv", "--criterion", "c", "-m", "scripted"
    )
    ours, theirs = pty.openpty()
    try:
        os.write(ours, f"{answer}\n".encode())
        command = [sys.executable, "-m", "adjudge", "resume", str(folder)]
        done = subprocess.run(
            command, check=False, stdin=theirs, capture_output=True, text=True, timeout=60
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


def test_the_signature_is_not_shown_as_anything_but_itself(adjudge: Adjudge) -> None:
    adjudge("check", "x", "--criterion", "c", "-m", "scripted", "--run", "kept")
    command = json.loads(adjudge("runs", "show", "kept", "--json")[1])["run"]["command"]
    assert command["argv"][:2] == ["check", "x"]
    assert set(command) == {"argv", "cwd", "signature"}


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("postgresql://me:pass@host:5432/db#run", "postgresql://me@host:5432/db#run"),
        ("--on=postgres://me:pass@host/db#run", "--on=postgres://me@host/db#run"),
        (
            "postgresql://host:5432/db?user=me&password=pass#run",
            "postgresql://host:5432/db?user=me#run",
        ),
        ("postgresql://host/db?password=pass&user=me#run", "postgresql://host/db?user=me#run"),
        ("postgresql://me@host:5432/db#run", "postgresql://me@host:5432/db#run"),
    ],
)
def test_the_password_of_a_postgres_server_is_not_kept(
    monkeypatch: pytest.MonkeyPatch, typed: str, kept: str
) -> None:
    monkeypatch.setattr(sys, "argv", ["adjudge", "run", "eval.yaml", typed])
    assert command_line()["argv"] == ["run", "eval.yaml", kept]
