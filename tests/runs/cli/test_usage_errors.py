"""Mistakes on the command line: exit code 2 and a line that says what to type; nothing is left
behind by what could not run.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adjudge.core.prompts.languages import LANGUAGES
from adjudge.runs.cli.options import LANGUAGE
from adjudge.runs.cli.run import EXAMPLE
from adjudge.runs.eval_file import parse_eval
from adjudge.runs.folder import run_info
from support.asking import marked
from support.commands import adjudge
from support.fake_provider import KEY, FakeProvider

EVAL = """
data: rows.csv
models: openai/gpt-4o
judges:
  - {kind: aspect, criteria: It ends in Y.}
  - {kind: direct, name: question, criteria: ["Does it end in Y?", "Is it short?"]}
outputs: [out.csv]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text("\n".join(["response", *marked(3)]) + "\n")
    (tmp_path / "eval.yaml").write_text(EVAL)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["check", "x"], "nothing to check was given"),
        (["check", "--criterion", "c"], "nothing to judge was given"),
        (["check", "x", "--criterion", "c", "--criterion", "d"], "--criterion is given 2 times"),
        (["check", "x", "--criterion", "c", "--language", "fr"], "'fr' is not one of 'en', 'ru'"),
        (["check", "rows.csv", "--criterion", "c"], "pass its rows with --file rows.csv"),
        (["judge", "x"], "no criteria were given"),
        (["judge", "x", "--criterion", "c", "-o", "out.docx"], ".docx cannot be written here"),
        (
            ["judge", "x", "--criterion", "c", "-o", "out.parquet"],
            "--run FOLDER, then adjudge export FOLDER --to parquet",
        ),
        (
            ["judge", "x", "-c", "Is version 1.5 named?"],
            "pass your own question with --criterion",
        ),
        (
            ["compare", "a", "b", "--criterion", "c", "--contests", "many"],
            "'many' is not one of 'joint', 'pairs'",
        ),
        (["compare", "--criterion", "c"], "nothing to compare was given"),
        (["rag", "--csv", "rows.csv", "--model-provider", "ollama"], "belong together"),
        (
            ["check", "x", "--criterion", "c", "--base-url", "http://127.0.0.1:9/v1"],
            "name one with -m",
        ),
        (
            ["check", "x", "--criterion", "c", "--fail-under", "high"],
            "'high' is not a number from 0 to 1",
        ),
        (
            ["check", "x", "--criterion", "c", "--fail-under", "c="],
            "'' is not a number from 0 to 1",
        ),
        (
            ["check", "x", "--criterion", "c", "--fail-under", "=0.5"],
            "'=0.5' has no name before =",
        ),
        (
            ["check", "x", "--criterion", "c", "--fail-under", "c=0.9", "--fail-under", "c=0.5"],
            "--fail-under is given twice for c, with 0.9 and 0.5: leave one out",
        ),
        (
            ["run", "eval.yaml", "--not-worse-than", "one", "--margin", "nan"],
            "Invalid value for '--margin': a number is expected, not nan",
        ),
        (
            ["check", "x", "--criterion", "c", "-m", "scripted", "--fail-under", "nope=0.5"],
            "unknown name 'nope'; known: 'c",
        ),
        (
            [
                "judge",
                "x",
                "--criterion",
                "c",
                "--criterion",
                "d",
                "-m",
                "scripted",
                "--fail-under",
                "nope=1",
            ],
            "known: 'c, d', 'c', 'd'",
        ),
        (
            ["judge", "x", "-c", "conciseness", "-m", "scripted", "--fail-under", "concisenes=1"],
            "did you mean 'conciseness'?",
        ),
        (
            ["rag", "--csv", "rows.csv", "-m", "scripted", "--fail-under", "nope=0.5"],
            "'answer_relevance', 'clarity'",
        ),
        (
            ["compare", "a", "b", "--criterion", "c", "-m", "scripted", "--fail-under", "nope=1"],
            "known: 'response 1', 'response 2'",
        ),
        (
            ["compare", "a", "b", "--criterion", "c", "-m", "scripted", "--fail-under", "0.5"],
            "name the system whose win rate",
        ),
        (
            ["run", "eval.yaml", "-m", "scripted", "--fail-under", "nope=0.5"],
            "known: 'It ends in Y.', 'question'",
        ),
        (
            ["check", "x", "--criterion", "c", "-m", "scripted", "--confidence", "0.9"],
            "add fail_under or not_worse_than",
        ),
        (["judge", "x", "-c", "concisness"], "did you mean conciseness"),
        (["judge", "x", "-c", "pairwise_conciseness"], "use 'conciseness'"),
        (["check", "x", "--aspect", "harmlesness"], "known: harmlessness"),
        (
            ["check", "-f", "rows.csv", "--criterion", "c", "--encoding", "utf-9"],
            "unknown encoding 'utf-9'",
        ),
        (["run", "eval.yaml", "--encoding", "utf-9"], "unknown encoding 'utf-9'"),
        (["run", "eval.yaml", "-m", "scripted", "-o", "out.docx"], "exported to csv"),
        (["check", "x", "--criterion", "c", "-m", "scripted", "--resume"], "add --run FOLDER"),
        (
            ["compare", "-f", "rows.csv", "--column", "a", "--column", "a", "--criterion", "c"],
            "--column a is given twice",
        ),
        (
            ["check", "-f", "rows.csv", "--column", "a", "--column", "b", "--criterion", "c"],
            "names two columns for response, a and b",
        ),
        (["run"], "name an eval file"),
        (["run", "eval.yaml", "--no-such-option"], "No such option"),
    ],
)
def test_a_mistake_in_usage_exits_with_2(folder: Path, words: list[str], said: str) -> None:
    done = adjudge(*words, cwd=folder)
    assert done.returncode == 2
    assert said in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == ["eval.yaml", "rows.csv"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["label", "kept", "--criteria", "typo"], "kept has no criterion 'typo'; it has 'c'"),
        (
            ["label", "kept", "--criteria", "typo", "--export", "labels.csv"],
            "kept has no criterion 'typo'",
        ),
        (["label", "kept", "--criteria", "typo", "--conflicts"], "kept has no criterion 'typo'"),
        (["calibrate", "kept", "--criteria", "typo"], "kept has no criterion 'typo'"),
        (["export", "kept", "-o", "out.docx"], "exported to csv"),
    ],
)
def test_a_name_that_a_run_does_not_have_exits_with_2(
    folder: Path, words: list[str], said: str
) -> None:
    adjudge("check", "x", "--criterion", "c", "-m", "scripted", "--run", "kept", cwd=folder)
    done = adjudge(*words, cwd=folder)
    assert done.returncode == 2
    assert said in done.stderr
    assert not (folder / "labels.csv").exists()


def test_the_languages_that_can_be_typed_are_those_there_are() -> None:
    assert list(LANGUAGE.choices) == list(LANGUAGES)


def test_run_without_a_file_shows_one_that_is_right(tmp_path: Path) -> None:
    assert EXAMPLE in adjudge("run", cwd=tmp_path).stderr
    assert len(parse_eval(EXAMPLE).judges) == 1


@pytest.mark.parametrize(
    "words",
    [
        ["check", "-f", "none.csv", "--criterion", "c", "-m", "scripted", "--run", "kept"],
        ["compare", "-f", "none.csv", "--criterion", "c", "-m", "scripted", "--run", "kept"],
        ["rag", "--csv", "none.csv", "-m", "scripted", "--run", "kept"],
        ["run", "eval.yaml"],
    ],
)
def test_a_missing_data_file_leaves_nothing_behind(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / "eval.yaml").write_text(
        EVAL.replace("rows.csv", "none.csv").replace("out.csv", "a/b/out.csv")
    )
    done = adjudge(*words, "-m", "scripted", cwd=tmp_path)
    assert done.returncode == 1
    assert "none.csv cannot be read: No such file or directory" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["eval.yaml"]


def test_a_run_that_stopped_does_not_claim_the_output_of_another(folder: Path) -> None:
    (folder / "out.csv").write_text("of another run\n")
    done = adjudge("run", "eval.yaml", "-m", "scripted", "--max-calls", "1", cwd=folder)
    assert done.returncode == 1
    assert "out.csv" not in done.stdout
    assert (folder / "out.csv").read_text() == "of another run\n"
    assert "out.csv" in adjudge("run", "eval.yaml", "-m", "scripted", cwd=folder).stdout


def test_a_fork_of_nothing_leaves_nothing_behind(folder: Path) -> None:
    done = adjudge(
        "run", "eval.yaml", "-m", "scripted", "--run", "new", "--fork", "nope", cwd=folder
    )
    assert done.returncode == 1
    assert "nope contains no run to fork" in done.stderr
    assert not (folder / "new").exists()


def test_a_limit_takes_no_judged_rows_from_a_run(folder: Path) -> None:
    asked = ["run", "eval.yaml", "-m", "scripted", "--run", "kept"]
    assert adjudge(*asked, "--limit", "2", cwd=folder).returncode == 0
    assert adjudge(*asked, cwd=folder).returncode == 0
    before = run_info(folder / "kept").judges
    done = adjudge(*asked, "--limit", "1", cwd=folder)
    assert done.returncode == 0
    assert "kept already contains 3 judged rows, more than the limit of 1" in done.stderr
    assert "3 rows judged" in done.stdout
    assert "no request was sent" in done.stdout
    assert run_info(folder / "kept").judges == before
    assert adjudge(*asked, "--limit", "3", cwd=folder).returncode == 0


def test_only_a_command_that_can_fork_says_so(folder: Path) -> None:
    check = ["check", "x", "-m", "scripted", "--run", "one", "--criterion"]
    adjudge(*check, "c", cwd=folder)
    other = adjudge(*check, "d", cwd=folder)
    assert other.returncode == 1
    assert other.stderr.endswith("restore the settings, or use another folder\n")
    adjudge("run", "eval.yaml", "-m", "scripted", "--run", "two", cwd=folder)
    (folder / "eval.yaml").write_text(EVAL.replace("Is it short?", "Is it long?"))
    changed = adjudge("run", "eval.yaml", "-m", "scripted", "--run", "two", cwd=folder)
    assert changed.returncode == 1
    assert "; --run OTHER --fork two reuses the answers that still apply" in changed.stderr


# -- run -m ------------------------------------------------------------------------------------


def at(provider: FakeProvider) -> list[str]:
    return [
        "--base-url",
        provider.base_url("company"),
        "--header",
        "X-Gateway-Key: $GATEWAY_KEY",
        "--header",
        "X-Team: a",
    ]


def test_one_model_stands_in_for_those_of_the_file(
    provider: FakeProvider, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATEWAY_KEY", KEY)
    done = adjudge(
        "run", "eval.yaml", "-m", "openai/gpt-4o-mini", *at(provider), "--no-cache", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    assert {body["model"] for body in provider.bodies} == {"gpt-4o-mini"}
    assert "[openai" not in done.stdout


def test_several_models_are_a_matrix_of_judges_and_models(
    provider: FakeProvider, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATEWAY_KEY", KEY)
    asked = [
        "run",
        "eval.yaml",
        "-m",
        "openai/gpt-4o-mini",
        "-m",
        "openai/gpt-4o",
        *at(provider),
        "--no-cache",
    ]
    done = adjudge(*asked, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert len(provider.requests) == 2 * 3 * 3  # models, rows, one aspect and two questions
    shown = adjudge("runs", "show", "runs/eval", "--json", cwd=folder)
    judges = json.loads(shown.stdout)["run"]["configuration"]["judges"]
    assert set(judges) == {
        f"{judge} [{model}]"
        for judge in ("It ends in Y.", "question")
        for model in ("openai/gpt-4o-mini", "openai/gpt-4o")
    }
    assert [list(one["models"]) for one in judges.values()] == 2 * [
        ["openai/gpt-4o-mini"],
        ["openai/gpt-4o"],
    ]
    again = adjudge(*asked, cwd=folder)
    assert again.returncode == 0
    assert len(provider.requests) == 2 * 3 * 3
