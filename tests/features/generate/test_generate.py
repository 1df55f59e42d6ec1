"""``adjudge generate`` as a person and a script see it: a real process, and the code in one of its
own.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click import UsageError

from adjudge.errors import SetupError
from adjudge.runs.cli.output_schema import schema_from
from support import commands
from support.fake_provider import KEY, FakeProvider


def program(code: str) -> str:
    return f"```python\n{code}\n```"


def adjudge(*args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return commands.adjudge(
        "generate", *args, environment={**os.environ, "COLUMNS": "200", **environment}
    )


def scripted(body: Any) -> str:
    """The code ``output = 4`` costs 2, all other code 6; code with a comment does not pass."""
    shape, text = json.dumps(body.get("response_format", {})), body["messages"][-1]["content"]
    if '"score"' in shape:
        return json.dumps({"explanation": "Counted.", "score": 2 if "output = 4\n" in text else 6})
    if '"selected_option"' in shape:
        bad = "#" in text
        return json.dumps(
            {
                "explanation": "A comment." if bad else "Clean.",
                "selected_option": "FAIL" if bad else "PASS",
            }
        )
    return program({5: "output = 2 + 2", 6: "output = 4", 7: "output = 4  # four"}[body["seed"]])


@pytest.fixture
def server(provider: FakeProvider) -> Iterator[dict[str, str]]:
    provider.answer = scripted
    yield {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": provider.base_url("openai")}


FOUR = (
    "Give four.",
    "-m",
    "gpt-4o-mini",
    "--sandbox",
    "none",
    "--output-schema",
    "int",
    "--seed",
    "5",
    "-n",
    "3",
)
JUDGED = ("--verify", "It has no comments.", "--cost", "How long is it?", "--max-iterations", "1")


def test_candidates_are_shown_with_code_votes_cost_and_why_then_the_result(
    server: dict[str, str],
) -> None:
    done = adjudge(*FOUR, *JUDGED, "--samples", "3", **server)
    assert done.returncode == 0, done.stderr
    for part in (
        "candidate 1 lost: cost 6; candidate 2 has 2",
        "output = 2 + 2",
        "candidate 2 won: cost 2, the lowest of 2",
        "It has no comments.: PASS (3 passed, 2 needed, 3/3 valid) – Clean.",
        "How long is it?: 2 (avg of 2, 2, 2, spread 0, 3/3 valid) – Counted.",
        "candidate 3 failed: It has no comments. – A comment.",
        "result: 4",
        "candidate 2 of 3; cost 2, the lowest of 2, spread 2.8",
    ):
        assert part in done.stdout
    assert done.stdout.strip().splitlines()[-2] == "result: 4"


def test_the_result_is_shown_where_it_cannot_be_written(server: dict[str, str]) -> None:
    done = adjudge(*FOUR, "-o", "/dev/full", **server)
    assert (done.returncode, done.stderr) == (
        1,
        "adjudge: /dev/full cannot be written: No space left on device\n",
    )
    assert "result: 4" in done.stdout


def test_json_is_one_document_with_every_vote(server: dict[str, str], tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    done = adjudge(*FOUR, *JUDGED, "--fresh-samples", "2", "--json", "-o", str(out), **server)
    (found,) = json.loads(done.stdout)["results"]
    assert found == json.loads(out.read_text())
    assert (found["output"], found["winner"], found["cost"], found["compared"]) == (4, 2, 2.0, 2)
    assert found["fresh"] == {"cost": 2.0, "reason": None}
    assert [one["state"] for one in found["candidates"]] == ["lost", "won", "failed"]
    assert found["candidates"][1]["tries"][0]["results"][1]["votes"][0]["number"] == 2.0


@pytest.mark.parametrize("way", ["--json", "-o", "terminal"])
def test_half_a_character_in_a_reply_does_not_break_the_output(
    server: dict[str, str], provider: FakeProvider, tmp_path: Path, way: str
) -> None:
    provider.answer = lambda body: program("output = 4  # \ud83d")
    out = tmp_path / "out.json"
    done = adjudge(
        *FOUR, *{"--json": ("--json",), "-o": ("-o", str(out)), "terminal": ()}[way], **server
    )
    assert (done.returncode, done.stderr) == (
        3,
        "",
    )  # it is not Python, and that is all that is wrong
    if way != "terminal":
        found = (
            json.loads(done.stdout)["results"][0]
            if way == "--json"
            else json.loads(out.read_text(encoding="utf-8"))
        )
        assert found["candidates"][0]["code"] == "output = 4  # \ud83d"


def test_no_candidate_is_exit_code_3_with_the_reasons(server: dict[str, str]) -> None:
    done = adjudge(*FOUR[:-4], "--seed", "7", "-n", "1", *JUDGED, **server)
    assert done.returncode == 3
    assert "candidate 1 failed: It has no comments. – A comment." in done.stdout
    assert "no result" in done.stdout


def test_retries_are_shown() -> None:
    done = adjudge(
        "Give one.",
        "-m",
        "scripted/output = (",
        "--sandbox",
        "none",
        "-n",
        "1",
        "--max-iterations",
        "2",
    )
    assert done.returncode == 3
    assert "try 1 failed: line 1: not valid Python" in done.stdout


def test_inputs_are_given_as_json() -> None:
    model = f"scripted/{program('output = sum(numbers)')}"
    done = adjudge(
        "Add.", "-m", model, "--sandbox", "none", "-n", "1", "--input", "numbers=[1, 2]", "--json"
    )
    assert json.loads(done.stdout)["results"][0]["output"] == 3, done.stderr


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("x", "-m", "scripted", "--sandbox", "jail"), 1, "unknown sandbox 'jail'"),
        (
            ("x", "-m", "scripted", "--sandbox", "none", "--output-schema", "number"),
            2,
            "--output-schema 'number'",
        ),
        (
            ("x", "-m", "scripted", "--sandbox", "none", "--verify", "v", "--min-pass", "2"),
            1,
            "min_pass=2 can never",
        ),
        (("x", "-m", "scripted", "--sandbox", "none", "--input", "numbers"), 2, "is not NAME=JSON"),
    ],
)
def test_bad_input_is_one_clear_line(args: tuple[str, ...], code: int, said: str) -> None:
    done = adjudge(*args)
    assert done.returncode == code
    assert len(done.stderr.strip().splitlines()) == 1
    assert said in done.stderr


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        ("int", int),
        ("any", None),
        ("None", type(None)),
        (" list[int] ", list[int]),
        ("dict[str, list[float]]", dict[str, list[float]]),
        ("int | None", int | None),
        ('{"type": "integer"}', {"type": "integer"}),
    ],
)
def test_types_are_read_as_python_writes_them(text: str, schema: Any) -> None:
    assert schema_from(text) == schema


@pytest.mark.parametrize(
    "text",
    [
        "",
        "list[",
        "__import__('os')",
        "list[int, int]",
        "dict[int, int]",
        "int and str",
        '{"type": ',
        "[1]",
    ],
)
def test_other_texts_are_no_types(text: str) -> None:
    with pytest.raises(UsageError, match="--output-schema"):
        schema_from(text)


def test_a_json_schema_may_be_a_file(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text('{"type": "integer"}')
    assert schema_from(str(tmp_path / "s.json")) == {"type": "integer"}
    (tmp_path / "bad.json").write_text("[1]")
    with pytest.raises(SetupError, match="not a JSON schema"):
        schema_from(str(tmp_path / "bad.json"))
    with pytest.raises(SetupError, match="cannot be read"):
        schema_from(str(tmp_path / "none.json"))
