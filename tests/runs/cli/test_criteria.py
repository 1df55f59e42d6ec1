"""``adjudge criteria`` as a process."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from adjudge.core.catalog.criteria import all_names, criteria, criteria_names, source
from support import commands

GOOD = (
    "name: tone\ndescription: Is it friendly?\ncontext_fields: [user_input]\noptions: [Yes, No]\n"
)
WARNED = GOOD.replace("friendly", "friendly and short")
WRONG = GOOD.replace("[Yes, No]", "[Yes, yes]")


def adjudge(*args: str, columns: int = 120) -> subprocess.CompletedProcess[str]:
    return commands.adjudge("criteria", *args, environment={**os.environ, "COLUMNS": str(columns)})


@pytest.mark.parametrize("columns", [60, 200])
def test_the_list_shows_every_name_whole(columns: int) -> None:
    done = adjudge(columns=columns)
    lines = done.stdout.splitlines()
    assert done.returncode == 0
    assert [line.split()[0] for line in lines] == ["name", *all_names()]
    grounded = next(line for line in lines if line.startswith("groundedness"))
    assert " ".join(grounded.split()).startswith(
        "groundedness direct en ru Supported / Mixed / Baseless Is everything"
    )


def test_the_list_can_be_of_one_kind_and_another_language() -> None:
    done = adjudge("--kind", "pairwise", "--language", "ru")
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["имя", *criteria_names("pairwise", "ru")]
    assert "В каком ответе лучше код" in lines[1]


def test_the_list_as_json_holds_everything() -> None:
    found = json.loads(adjudge("--json", "--kind", "direct").stdout)["results"]
    assert [each["name"] for each in found] == criteria_names()
    first = found[0]
    assert (first["kind"], first["language"], first["languages"]) == ("direct", "en", ["en", "ru"])
    assert first["options"][0]["score"] == 1.0
    assert first["examples"][0]["fields"]["user_input"]


def test_one_is_shown_in_full() -> None:
    done = adjudge("show", "harmfulness")
    shown = " ".join(done.stdout.split())
    assert done.returncode == 0
    assert criteria("harmfulness").description in shown
    for option in criteria("harmfulness").options:
        assert f"{option.name} {option.score:g} {option.description}" in shown
    assert "judges response" in shown
    assert "reads nothing else" in shown
    assert "better less of it" in shown
    assert "Harmful: Somebody who follows it" in shown


def test_one_is_shown_in_russian() -> None:
    shown = " ".join(adjudge("show", "groundedness", "--language", "ru").stdout.split())
    assert "прямой, en ru" in shown
    assert "оценивает response учитывает contexts лучше больше варианты Обосновано 1" in shown


def test_pairwise_criteria_show_both_responses() -> None:
    shown = " ".join(adjudge("show", "pairwise_conciseness").stdout.split())
    assert "compares response" in shown
    assert "response A Nairobi. response B What an interesting question!" in shown


def test_the_file_can_be_had_as_a_start_and_is_accepted_back(tmp_path: Path) -> None:
    done = adjudge("show", "politeness", "--yaml")
    assert done.stdout == source("politeness")
    (tmp_path / "own.yaml").write_text(done.stdout)
    checked = adjudge("check", str(tmp_path / "own.yaml"))
    assert (checked.returncode, checked.stdout.strip()) == (0, "1 criterion checked, no problems.")


def test_one_as_json() -> None:
    (found,) = json.loads(adjudge("show", "refusal", "--json", "--language", "ru").stdout)[
        "results"
    ]
    assert (found["name"], found["language"], found["options"][0]["name"]) == (
        "refusal",
        "ru",
        "Отказ",
    )


@pytest.mark.parametrize(
    ("content", "code", "last"),
    [
        (GOOD, 0, "1 criterion checked, no problems."),
        (WARNED, 0, "1 criterion checked, 1 warning."),
        (WRONG, 1, "1 criterion checked, 1 error."),
        ("- name: x\n- name: y\n", 1, "2 criteria checked, 2 errors."),
    ],
)
def test_errors_are_an_exit_code_warnings_are_not(
    tmp_path: Path, content: str, code: int, last: str
) -> None:
    (tmp_path / "own.yaml").write_text(content)
    done = adjudge("check", str(tmp_path / "own.yaml"))
    assert done.returncode == code
    assert done.stdout.splitlines()[-1] == last
    assert done.stderr == ""


def test_findings_as_json(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(WARNED)
    done = adjudge("check", str(tmp_path / "own.yaml"), "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["summary"]) == (0, {"criteria": 1, "errors": 0, "warnings": 1})
    (finding,) = found["results"]
    assert (finding["severity"], finding["criteria"], finding["field"]) == (
        "warning",
        "tone",
        "description",
    )


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ("user_input,response\na,b\n", 0),
        ("question,answer\na,b\n", 0),
        ("answer,other\nb,c\n", 1),
        ("question,answer\n,b\n", 1),
    ],
)
def test_the_rows_must_have_the_fields(tmp_path: Path, rows: str, code: int) -> None:
    (tmp_path / "own.yaml").write_text(GOOD)
    (tmp_path / "rows.csv").write_text(rows)
    done = adjudge("check", str(tmp_path / "own.yaml"), "--data", str(tmp_path / "rows.csv"))
    assert done.returncode == code
    assert ("no row has 'user_input'" in done.stdout) == (code == 1)


def test_what_a_terminal_would_obey_is_not_printed(tmp_path: Path) -> None:
    (tmp_path / "own.json").write_text(
        json.dumps({"name": "a\x1b[2J", "description": "d", "options": ["[bold]x", "[Bold]X"]})
    )
    done = adjudge("check", str(tmp_path / "own.json"))
    assert "\x1b" not in done.stdout
    assert "[bold]x" in done.stdout


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (("--kind", "single"), 2, "--kind"),
        (("--language", "de"), 1, "in language 'de', only in en, ru"),
        (("show", "groundednes"), 1, "did you mean groundedness"),
        (("show",), 2, "name"),
        (("check",), 2, "file"),
        (("check", "none.yaml"), 1, "none.yaml cannot be read"),
        (("check", "none.txt"), 1, "none.txt cannot be read"),
    ],
)
def test_bad_input_is_one_clear_line(args: tuple[str, ...], code: int, said: str) -> None:
    done = adjudge(*args)
    assert done.returncode == code
    assert done.stdout == ""
    assert done.stderr.startswith("adjudge: ")
    assert len(done.stderr.strip().splitlines()) == 1
    assert said in done.stderr
