"""What ``adjudge init`` writes runs as it is, and takes nobody's place."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from adjudge.features.starters.command import starters
from support.commands import adjudge

ROOT = Path(__file__).parents[3]
KINDS = ("chat", "rag", "pairwise")


@pytest.mark.parametrize("kind", KINDS)
def test_an_eval_file_runs_at_once(tmp_path: Path, kind: str) -> None:
    done = adjudge("init", kind, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Now:\n  adjudge " in done.stdout
    ran = adjudge("run", "eval.yaml", "-m", "scripted", "--no-cache", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "report.md").is_file()
    for file in tmp_path.glob("criteria/*.yaml"):
        checked = adjudge("criteria", "check", file)
        assert checked.returncode == 0, checked.stdout


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "eval.yaml").write_text("mine", encoding="utf-8")
    done = adjudge("init", cwd=tmp_path)
    assert done.returncode == 0
    assert "kept eval.yaml, which already exists" in done.stdout
    assert (tmp_path / "data" / "example.csv").is_file()
    assert adjudge("init", "--force", cwd=tmp_path).returncode == 0
    assert (tmp_path / "eval.yaml").read_text(encoding="utf-8") == "mine"
    assert "judges:" in (tmp_path / "eval.yaml.new").read_text(encoding="utf-8")
    again = adjudge("init", "--force", cwd=tmp_path)
    assert again.returncode == 1
    assert "cannot be written: File exists" in again.stderr


def test_it_says_what_it_wrote_and_kept_in_russian(tmp_path: Path) -> None:
    first, again = (
        adjudge("init", "rag", "--language", "ru", cwd=tmp_path).stdout for _ in range(2)
    )
    assert "записан eval.yaml\nзаписан adjudge.toml\n\nТеперь:\n" in first
    assert "language: ru" in (tmp_path / "eval.yaml").read_text(encoding="utf-8")
    ran = adjudge("run", "eval.yaml", "-m", "scripted", "--no-cache", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "# Оценка RAG" in (tmp_path / "report.md").read_text(encoding="utf-8")
    assert "eval.yaml оставлен без изменений: он уже есть" in again
    assert '\nadjudge.toml оставлен без изменений: там уже есть language = "ru"\n' in again


def test_who_begins_in_russian_is_spoken_to_in_russian(tmp_path: Path) -> None:
    adjudge("init", "rag", "--language", "ru", cwd=tmp_path)
    adjudge("run", "eval.yaml", "-m", "scripted", "--no-cache", cwd=tmp_path)
    shown = adjudge("runs", "show", "runs/eval", cwd=tmp_path)
    assert shown.stdout.startswith("runs/eval: завершён")
    assert "## Что оценивает" in adjudge("card", "runs/eval", cwd=tmp_path).stdout
    assert "такого параметра нет" in adjudge("runs", "show", "--nope", cwd=tmp_path).stderr
    assert "Работа с папками прогонов" in adjudge("runs", "--help", cwd=tmp_path).stdout
    in_english = adjudge("runs", "show", "runs/eval", "--language", "en", cwd=tmp_path)
    assert in_english.stdout.startswith("runs/eval: complete")


def test_the_language_goes_into_no_file_of_the_project(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.adjudge]\nmodel = "scripted"\n')
    done = adjudge("init", "chat", "--language", "ru", "--folder", "evals", cwd=tmp_path)
    assert 'добавьте туда language = "ru"' in done.stdout
    assert not (tmp_path / "evals" / "adjudge.toml").exists()  # it would hide the model
    environment = {**os.environ, "LC_ALL": "", "LANG": "ru_RU.UTF-8"}
    for kind, written in (("examples", "examples/eval.yaml"), ("rag", "eval.yaml")):
        by_lang = adjudge("init", kind, cwd=tmp_path, environment=environment)
        assert f"записан {written}" in by_lang.stdout
        assert "adjudge.toml" not in by_lang.stdout and "pyproject.toml" not in by_lang.stdout


def test_each_kind_has_the_same_files_in_both_languages(tmp_path: Path) -> None:
    for kind in (*KINDS, "pytest", "github"):
        english, russian = (
            {str(path): content for path, content in starters(kind, one)} for one in ("en", "ru")
        )
        assert russian.keys() == english.keys()
        assert all(any("а" <= sign <= "я" for sign in russian[path].decode()) for path in english)
    for kind in ("chat", "pairwise"):
        adjudge("init", kind, "--language", "ru", "--folder", tmp_path / kind)
        assert (
            adjudge(
                "run", "eval.yaml", "-m", "scripted", "--no-cache", cwd=tmp_path / kind
            ).returncode
            == 0
        )
        for file in (tmp_path / kind / "criteria").iterdir():
            assert adjudge("criteria", "check", file).returncode == 0


def test_a_file_in_the_way_of_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("mine", encoding="utf-8")
    done = adjudge("init", "rag", cwd=tmp_path)
    assert (done.returncode, "data is a file, but a folder is needed there" in done.stderr) == (
        1,
        True,
    )


def test_a_link_that_leads_elsewhere_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "eval.yaml").symlink_to(tmp_path / "elsewhere.yaml")
    assert adjudge("init", cwd=tmp_path).returncode == 0
    assert not (tmp_path / "elsewhere.yaml").exists()


def test_a_hidden_folder_is_not_a_link_and_a_link_is(tmp_path: Path) -> None:
    """It said that .github led elsewhere by a link, in an empty folder."""
    environment = {name: one for name, one in os.environ.items() if name != "ADJUDGE_TRUST"}
    for more in ((), ("--folder", "sub")):
        done = adjudge("init", "github", *more, cwd=tmp_path, environment=environment)
        assert done.returncode == 0, done.stderr
        assert (tmp_path.joinpath(*more[1:]) / ".github/workflows/adjudge.yml").is_file()
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / ".github").symlink_to(tmp_path / "sub")
    done = adjudge("init", "github", cwd=linked, environment=environment)
    assert done.returncode == 1
    assert "is a link to" in done.stderr
    assert not (linked / "eval.yaml").exists()


def test_the_workflow_gives_the_action_inputs_that_it_has(tmp_path: Path) -> None:
    adjudge("init", "github", cwd=tmp_path)
    workflow = yaml.safe_load(
        (tmp_path / ".github" / "workflows" / "adjudge.yml").read_text(encoding="utf-8")
    )
    declared = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["inputs"]
    (step,) = (step for step in workflow["jobs"]["judge"]["steps"] if "with" in step)
    assert step["with"].keys() <= declared.keys()
    assert (tmp_path / step["with"]["eval-file"]).is_file()


def test_the_test_file_is_a_test_file() -> None:
    written = {str(path): content for path, content in starters("pytest")}
    assert written.keys() == {"tests/test_answers.py", "data/example.csv"}
    compile(written["tests/test_answers.py"], "test_answers.py", "exec")


def test_the_examples_that_the_pages_name_are_written(tmp_path: Path) -> None:
    done = adjudge("init", "examples", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for command in done.stdout.split("Now:\n")[1].splitlines():
        assert (tmp_path / next(word for word in command.split() if "/" in word)).is_file()
    names = {path.relative_to(ROOT) for path in (ROOT / "examples").rglob("*.yaml")}
    assert names == {path.relative_to(tmp_path) for path in tmp_path.rglob("*.yaml")}
