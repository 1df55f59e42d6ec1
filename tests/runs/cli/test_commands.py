"""The command line as a person and a script see it: a real process each time."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from adjudge import DirectJudge, ScriptedModel
from adjudge.errors import RunError
from adjudge.features.doctor.command import embedded_weights, extras
from adjudge.runs.cli.execute import JudgmentSpool
from adjudge.runs.execute import JudgmentDone
from support import commands

KEYS = (
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "MISTRAL_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "WATSONX_API_KEY",
)


def adjudge(*args: str, stdin: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name not in KEYS}
    return commands.adjudge(
        *args, stdin=stdin, environment=clean | {"COLUMNS": "120"} | environment
    )


CHECK = ("check", "--criterion", "has a date", "-m", "scripted")


def test_a_text_given_as_argument_is_judged() -> None:
    done = adjudge(*CHECK, "Built in 1889.")
    assert done.returncode == 0
    assert "PASS" in done.stdout
    assert "has a date" in done.stdout


def in_a_terminal(*words: str) -> str:
    """What a person's terminal is sent, escape sequences included."""
    ours, theirs = pty.openpty()
    plain = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "CI")}
    environment = plain | {"TERM": "xterm-256color", "COLUMNS": "120"}
    shown = b""
    with commands.start(*words, environment=environment, terminal=os.ttyname(theirs)):
        os.close(theirs)
        with suppress(OSError):  # the other end is closed
            while data := os.read(ours, 65536):
                shown += data
    os.close(ours)
    return shown.decode()


@pytest.mark.parametrize(("verdict", "colour"), [("PASS", "\x1b[1;32m"), ("FAIL", "\x1b[1;31m")])
def test_pass_is_green_and_fail_is_red_in_a_terminal(verdict: str, colour: str) -> None:
    shown = in_a_terminal(
        "check", "Built in 1889.", "--criterion", "has a date", "-m", f"scripted/{verdict}"
    )
    assert f"{colour}{'✓' if verdict == 'PASS' else '✗'} {verdict}" in shown


def test_text_comes_from_a_file_or_standard_input(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Built in 1889.")
    assert adjudge(*CHECK, "--file", str(tmp_path / "a.txt")).returncode == 0
    assert adjudge(*CHECK, "-", stdin="Built in 1889.").returncode == 0


def test_json_is_one_document_with_votes_models_and_reasons() -> None:
    done = adjudge(
        "check",
        "x",
        "--criterion",
        "c",
        "-m",
        "scripted/PASS,FAIL,PASS",
        "-m",
        "scripted/huh",
        "--votes",
        "3",
        "--json",
    )
    (found,) = json.loads(done.stdout)["results"]
    assert found["verdict"] == "PASS"
    assert found["score"] == 1.0
    assert found["model_scores"] == {"scripted/PASS,FAIL,PASS": 1.0}
    assert "unreadable" in found["excluded_models"]["scripted/huh"]
    assert found["votes_requested"] == 6
    assert [vote["outcome"] for vote in found["votes"]].count("ok") == 3


def test_rows_of_a_csv_are_judged_one_by_one(tmp_path: Path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("id,answer\na,one\nb,two\nc,three\n")
    done = adjudge(
        "check",
        "--file",
        str(rows),
        "--criterion",
        "c",
        "-m",
        "scripted/PASS,FAIL",
        "--json",
        "-j",
        "1",
        "--limit",
        "2",
    )
    found = json.loads(done.stdout)
    assert [(row["id"], row["verdict"]) for row in found["results"]] == [
        ("a", "PASS"),
        ("b", "FAIL"),
    ]
    assert found["summary"]["attempted"] == found["summary"]["scored"] == 2


def test_results_are_also_written_where_asked(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    assert adjudge(*CHECK, "x", "-o", str(out)).returncode == 0
    assert json.loads(out.read_text())["verdict"] == "PASS"


def test_the_russian_report_is_russian() -> None:
    done = adjudge("check", "x", "--aspect", "conciseness", "-m", "scripted", "--language", "ru")
    assert "критерий: Ответ краток" in done.stdout
    assert "Стоимость  $0 · 1 вызов" in done.stdout


def test_an_excluded_model_is_named_with_its_reason_and_leaves_no_score_behind() -> None:
    done = adjudge("check", "x", "--criterion", "c", "-m", "scripted/huh")
    assert done.returncode == 3
    assert "no score" in done.stdout
    assert "excluded scripted/huh: unreadable" in done.stdout
    assert "0.0" not in done.stdout


def test_what_a_terminal_would_obey_is_not_printed() -> None:
    done = adjudge("check", "x", "--criterion", "c\x1b]0;owned\x07", "-m", "scripted/PASS\x1b[2J")
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("check", "x", "--criterion", "c", "-m", "gtp-4o"), 1, "did you mean openai/gpt-4o-mini"),
        (("check", "x", "--criterion", "c", "-m", "openai/gpt-4o"), 1, "set OPENAI_API_KEY"),
        (("check", "x", "--criterion", " ", "-m", "scripted"), 1, "criterion is empty"),
        (("check", "x", "--aspect", "beauty", "-m", "scripted"), 2, "known: harmlessness"),
        (("check", "x", "-m", "scripted"), 2, "--criterion"),
        (
            ("check", "x", "--criterion", "c", "--aspect", "coherence", "-m", "scripted"),
            2,
            "use --criterion",
        ),
        (("check", "--criterion", "c", "-m", "scripted"), 2, "nothing to judge was given"),
        (
            ("check", "x", "--criterion", "c", "-m", "scripted", "--language", "xx"),
            2,
            "not one of 'en', 'ru'",
        ),
        (
            ("check", "--file", "none.csv", "--criterion", "c", "-m", "scripted"),
            1,
            "none.csv cannot be read",
        ),
        (
            ("check", "--file", "none.txt", "--criterion", "c", "-m", "scripted"),
            1,
            "none.txt cannot be read",
        ),
        (
            ("check", "x", "--criterion", "c", "-m", "scripted", "-o", "no/such/folder.jsonl"),
            1,
            "cannot be written",
        ),
        (
            ("check", "x", "--criterion", "c", "-m", "scripted", "--votes", "0"),
            2,
            "--votes",
        ),
        (
            ("check", "x", "--criterion", "c", "-m", "scripted", "--no-such-flag"),
            2,
            "--no-such-flag",
        ),
        (("chek",), 2, "chek"),
    ],
)
def test_bad_input_is_one_clear_line(args: tuple[str, ...], code: int, said: str) -> None:
    done = adjudge(*args)
    assert done.returncode == code
    assert done.stdout == ""
    assert done.stderr.startswith("adjudge: ")
    assert len(done.stderr.strip().splitlines()) == 1
    assert said in done.stderr


@pytest.mark.parametrize(("script", "code"), [("PASS", 0), ("PASS,FAIL", 4), ("huh", 5)])
def test_the_gate_is_the_exit_code(tmp_path: Path, script: str, code: int) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("answer\none\ntwo\n")
    done = adjudge(
        "check",
        "--file",
        str(rows),
        "--criterion",
        "c",
        "-m",
        f"scripted/{script}",
        "--fail-under",
        "0.9",
    )
    assert done.returncode == code


def test_models_lists_every_provider_and_whether_its_key_is_set_but_never_the_key() -> None:
    done = adjudge("models", OPENAI_API_KEY="sk-MARKED-0123456789", COLUMNS="200")
    assert done.returncode == 0
    for provider in (
        "openai",
        "anthropic",
        "mistral",
        "google",
        "ollama",
        "watsonx",
        "openrouter",
        "together",
        "groq",
    ):
        assert provider in done.stdout
    assert "OPENAI_API_KEY (set)" in done.stdout
    assert "MARKED" not in done.stdout + done.stderr


def test_the_doctor_reaches_for_a_model_and_says_what_is_wrong_without_the_key() -> None:
    done = adjudge(
        "doctor",
        "-m",
        "openai/gpt-4o-mini",
        OPENAI_API_KEY="sk-MARKED-0123456789",
        OPENAI_BASE_URL="http://127.0.0.1:9/v1",
    )
    assert done.returncode == 1
    assert "the connection failed" in done.stdout
    assert "MARKED" not in done.stdout + done.stderr


def test_the_doctor_without_keys_has_nothing_to_reach() -> None:
    done = adjudge("doctor", OLLAMA_HOST="")
    assert done.returncode == 0
    assert "nothing to reach" in done.stdout


def test_the_doctor_says_where_the_embedded_model_is_or_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = embedded_weights()
    if found.path is not None:
        assert found.precision == "int8" and found.path in found.message
        assert f"{Path(found.path).stat().st_size / 1e6:.0f} MB" in found.message
    monkeypatch.setenv("ADJUDGE_CACHE", str(tmp_path))
    gone = embedded_weights()
    assert "adjudge models pull smollm2-135m" in gone.message and gone.path is None
    monkeypatch.setenv("ADJUDGE_LOCAL_PRECISION", "int2")
    assert "int2" in embedded_weights().message


def test_the_doctor_knows_pytest_without_its_plugin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adjudge.features.doctor.command.entry_points", lambda: ())
    assert not extras()["pytest"]


def test_version_and_help_are_there() -> None:
    assert adjudge("--version").stdout.startswith("adjudge 1.")
    assert "check" in adjudge().stdout
    assert "--votes" in adjudge("check", "--help").stdout


def test_half_a_character_in_a_row_costs_no_report(tmp_path: Path) -> None:
    rows, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    rows.write_text(2 * (r"""{"id": "row \ud83d", "response": "so \ud83d"}""" + "\n"))
    for shown in ((), ("--json",)):
        done = adjudge(
            "check",
            "--file",
            str(rows),
            "--criterion",
            "c",
            "-m",
            "scripted",
            "-o",
            str(out),
            *shown,
        )
        assert done.returncode == 0, done.stderr
        assert "row" in done.stdout
    assert [json.loads(line)["verdict"] for line in out.read_text().splitlines()] == [
        "PASS",
        "PASS",
    ]


def test_what_was_paid_for_is_shown_where_the_disk_is_full(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("response\n1889\n1890\n")
    done = adjudge(*CHECK, "-f", str(tmp_path / "rows.csv"), "-o", "/dev/full", "--json")
    assert (done.returncode, done.stderr) == (
        1,
        "adjudge: /dev/full cannot be written: No space left on device\n",
    )
    assert json.loads(done.stdout)["summary"]["scored"] == 2


def test_a_full_disk_behind_standard_output_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "adjudge", *CHECK, "x", "--json"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, "adjudge: No space left on device\n")


def test_judgments_that_find_no_room_to_wait_in_are_an_error_in_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judgments = JudgmentSpool()
    (result,) = DirectJudge(ScriptedModel(["Yes"])).evaluate(["x"], "Is it?")
    with (
        Path("/dev/full").open("wb", buffering=0) as full,
        pytest.raises(RunError, match="No space left on device; set TMPDIR"),
    ):
        monkeypatch.setattr(judgments, "_file", full)
        judgments.add(JudgmentDone("judge", 0, result, 0))
