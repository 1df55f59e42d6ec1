"""The language of help and errors: what was typed, else that of the environment."""

from __future__ import annotations

import os
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from adjudge.messages import render, term
from adjudge.runs.cli.help import help_texts
from adjudge.runs.cli.main import GROUPS, HELP, app
from adjudge.runs.folder import records_of
from support.commands import adjudge

RUSSIAN = {**os.environ, "LC_ALL": "", "LC_MESSAGES": "", "LANG": "ru_RU.UTF-8"}


def test_help_is_in_the_language_of_the_environment() -> None:
    said = adjudge("check", "--help", environment=RUSSIAN).stdout
    assert said.startswith("Использование: ")
    assert " check [ПАРАМЕТРЫ] [text]\n" in said
    assert "\nАргументы:\n  text  Текст, который оценить" in said
    assert "[по умолчанию:" in said
    assert "--column ТЕКСТ" in said
    assert "Показать эту справку и выйти." in said


def test_the_list_of_commands_is_in_russian_too() -> None:
    said = adjudge("--help", environment=RUSSIAN).stdout
    assert "\nСудить:\n  " in said
    assert "Показать результаты прогона" in adjudge("runs", environment=RUSSIAN).stderr


def test_what_is_typed_goes_before_the_environment() -> None:
    assert adjudge("check", "--language", "ru", "--help").stdout.startswith("Использование:")
    assert adjudge("check", "--language=en", "--help", environment=RUSSIAN).stdout == (
        adjudge("check", "--help").stdout
    )


@pytest.mark.parametrize(
    ("changed", "russian"),
    [
        ({"LC_ALL": "ru_RU.UTF-8", "LANG": "C"}, True),
        ({"LC_MESSAGES": "ru", "LANG": "de_DE"}, True),
        ({"LC_ALL": "C.UTF-8", "LANG": "ru_RU.UTF-8"}, False),
        ({"LANG": "de_DE.UTF-8"}, False),
        ({"LANG": ""}, False),
    ],
)
def test_which_variable_counts(changed: dict[str, str], russian: bool) -> None:
    said = adjudge("check", "--nothing", environment={**RUSSIAN, **changed}).stderr
    assert said.startswith("adjudge: такого параметра нет" if russian else "adjudge: No such")


def test_what_is_printed_has_the_readers_language_and_what_is_kept_its_own(tmp_path: Path) -> None:
    """Prompts, written reports and JSON are those of the command, the project or the eval file."""
    words = ("check", "a text", "--criterion", "It is good.", "-m", "scripted/PASS")
    plain, russian = (
        adjudge(*words, "--run", tmp_path / name, environment=environment)
        for name, environment in (("one", None), ("two", RUSSIAN))
    )
    assert plain.returncode == russian.returncode == 0
    assert plain.stdout.startswith("criterion: It is good.")
    assert russian.stdout.startswith("критерий: It is good.")
    asked = [
        [vote.text for one in records_of(tmp_path / name, votes=True) for vote in one.votes or ()]
        for name in ("one", "two")
    ]
    assert asked[0] == asked[1]
    printed = [adjudge(*words, "--json", environment=one).stdout for one in (None, RUSSIAN)]
    assert printed[0] == printed[1]
    failed = adjudge(*words[:-1], "nobody/nothing", environment=RUSSIAN)
    assert "неизвестная модель" in failed.stderr


def test_no_text_of_the_help_is_left_in_english() -> None:
    context = click.Context(app, info_name="adjudge")
    texts = {*GROUPS, *HELP.values(), *help_texts(app, context)}
    same = {text for text in texts if render(term("help", text), "ru") == text}
    assert same == {"github:OWNER/REPOSITORY@TAG/PATH.yaml."}


def test_a_command_of_the_list_is_not_loaded_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adjudge.runs.cli.main.COMMANDS", {})
    assert "check" in CliRunner().invoke(app, ["--help"]).output


def test_what_a_command_prints_follows_the_environment_and_prompts_do_not(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("id,response\na,one\nb,two\n")
    (tmp_path / "eval.yaml").write_text(
        "data: rows.csv\nmodels: scripted/PASS\noutputs: report.md\n"
        "judges: {kind: aspect, criteria: conciseness}\n"
    )
    done = adjudge("run", "eval.yaml", environment=RUSSIAN, cwd=tmp_path)
    assert "Стоимость" in done.stdout
    assert "## Summary" in (tmp_path / "report.md").read_text(), "files are in the eval file's"
    english = adjudge("run", "eval.yaml", "--language", "en", environment=RUSSIAN, cwd=tmp_path)
    assert "no request was sent" in english.stdout, "the prompts are the same"
    found = adjudge("runs", "show", "runs/eval", "--json", environment=RUSSIAN, cwd=tmp_path)
    assert found.stdout == adjudge("runs", "show", "runs/eval", "--json", cwd=tmp_path).stdout
