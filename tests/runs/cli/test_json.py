"""Every ``--json`` is one document of the schema that ``adjudge schema results`` publishes."""

from __future__ import annotations

import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from adjudge.runs.cli.main import app
from support.commands import adjudge
from support.published_schema import validate_output

ROOT = Path(__file__).parents[3]
TEXT = ("x", "--criterion", "Is it good?", "-m", "scripted")
COMMANDS: dict[str, tuple[str, ...]] = {
    "check": ("check", *TEXT),
    "check of a panel": ("check", *TEXT, "-m", "scripted/huh", "--strictness", "3"),
    "check of rows": ("check", "-f", "rows.csv", *TEXT[1:], "--fail-under", "0.9"),
    "judge": ("judge", *TEXT),
    "a dry run": ("judge", *TEXT, "--dry-run"),
    "judge by several": (
        "judge",
        "-f",
        "rows.csv",
        *TEXT[1:],
        "--criterion",
        "Is it long?",
        "--check-positional-bias",
    ),
    "judge without a verdict": ("judge", "x", "--criterion", "Is it good?", "-m", "scripted/huh"),
    "compare": (
        "compare",
        "-f",
        "pairs.csv",
        "--criterion",
        "Which?",
        "-m",
        "scripted/A",
        "--check-positional-bias",
    ),
    "rag": ("rag", "-f", "rag.csv", "-m", "scripted/2"),
    "rag without a verdict": ("rag", "-f", "rag.csv", "-m", "scripted/huh"),
    "run": ("run", "eval.yaml", "-o", "out.html", "-o", "out.csv"),
    "runs list": ("runs", "list"),
    "runs show": ("runs", "show", "runs/one"),
    "runs diff": ("runs", "diff", "runs/one", "runs/two"),
    "models": ("models",),
    "plugins": ("plugins",),
    "doctor": ("doctor", "-m", "scripted"),
    "doctor without a model": ("doctor",),
    "criteria": ("criteria",),
    "criteria show": ("criteria", "show", "toxicity"),
    "criteria check": ("criteria", "check", "mine.yaml"),
    "generate": (
        "generate",
        "Give 4.",
        "-m",
        "scripted/output = 4",
        "--sandbox",
        "none",
        "-n",
        "1",
    ),
    "calibrate": (
        "calibrate",
        "runs/one",
        "--labels",
        "labels.csv",
        "--design",
        "random",
        "--criteria",
        "Is it good?",
    ),
    "rank": ("rank", "runs/pairs", "--draws", "100"),
    "import": ("import", "grades.json", "--run", "runs/imported"),
    "label": ("label", "runs/one", "--conflicts"),
    "bench": (
        "bench",
        "labelled.csv",
        "--human",
        "human",
        "--criterion",
        "Is it good?",
        "-m",
        "scripted/Yes",
        "-m",
        "scripted/huh",
    ),
    "published": ("bench", "--published"),
    "plan": ("plan", "--rate", "0.9", "--width", "0.1"),
    "attack": (
        "attack",
        "--rows",
        "labelled.csv",
        "--criterion",
        "Is it good?",
        "-m",
        "scripted/No",
        "--fail-over",
        "0.05",
    ),
    "drift": (
        *("drift", "check", "anchors.jsonl"),
        *("--criterion", "Is it good?", "-m", "scripted/Yes"),
    ),
    "agent": ("agent", "trace.json", "--measure", "steps", "--measure", "ended"),
    "follow": ("follow", "checked.yaml", "--from", "traffic.jsonl", "--once"),
    "rubric check": ("rubric", "check", "rubric.yaml"),
    "criteria improve": (
        *(
            "criteria",
            "improve",
            "good.yaml",
            "--labels",
            "labelled.csv",
            "--human",
            "human",
            "-m",
            "scripted/Yes",
        ),
        *("--writer", 'scripted/{"description": "Is it very good?"}'),
    ),
}
EVAL = (
    "data: rows.csv\nmodels: scripted\njudges: [{kind: direct, criteria: ['Is it good?', 'Is it "
    "long?']}]\nrun: runs/own\n"
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files and runs, made once."""
    tmp_path = tmp_path_factory.mktemp("made")
    (tmp_path / "rows.csv").write_text("id,answer\na,one\nb,two\nc,\n")
    (tmp_path / "pairs.csv").write_text(
        "question,response_a,response_b\nCapital?,Paris,London\n2+2?,5,4\n"
    )
    (tmp_path / "rag.csv").write_text("question,answer,contexts\nWhy?,So.,Because.\n")
    (tmp_path / "mine.yaml").write_text(
        "name: tone\ndescription: Is it kind and short?\noptions: [{name: Yes, score: 1}]\n"
    )
    (tmp_path / "eval.yaml").write_text(EVAL)
    (tmp_path / "grades.json").write_bytes(
        (ROOT / "tests/samples/imports/inspect_0.3.285.json").read_bytes()
    )
    (tmp_path / "rubric.yaml").write_text("- Says how many.\n- Is good.\n")
    (tmp_path / "good.yaml").write_text(
        "name: good\ndescription: Is it good?\noptions: [{name: Yes, score: 1}, {name: No, "
        "score: 0}]\n"
    )
    said = [{"role": "user", "content": "Hi?"}, {"role": "assistant", "content": "Hello."}]
    (tmp_path / "trace.json").write_text(json.dumps(said))
    (tmp_path / "checked.yaml").write_text(
        "judges: [{kind: check, name: polite, checks: [{contains: please}]}]\n"
        "gates: {fail_under: {polite: 0.5}}\n"
    )
    (tmp_path / "traffic.jsonl").write_text('{"id": "a", "response": "please"}\n{broken\n')
    labelled = "".join(f"text {number},{'Yes' if number % 2 else 'No'}\n" for number in range(20))
    (tmp_path / "labelled.csv").write_text(f"answer,human\n{labelled}")
    for name, model in (("one", "scripted/Yes"), ("two", "scripted/No")):
        adjudge("run", "eval.yaml", "--run", f"runs/{name}", "-m", model, "-q", cwd=tmp_path)
    adjudge("drift", "init", "runs/one", "-o", "anchors.jsonl", cwd=tmp_path)
    (tmp_path / "labels.csv").write_text("id,label,annotator\na,Yes,ann\nb,No,ann\n")
    compared = (
        "compare",
        "-f",
        "pairs.csv",
        "--criterion",
        "Which?",
        "-m",
        "scripted/A",
        "--run",
        "runs/pairs",
    )
    adjudge(*compared, cwd=tmp_path)
    return tmp_path


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    """A copy of them for each test."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


@cache
def schema() -> dict[str, object]:
    found: dict[str, object] = json.loads(adjudge("schema", "results").stdout)
    return found


@cache
def validator() -> Any:
    """Of all documents."""
    made = jsonschema.validators.validator_for(schema())
    made.check_schema(schema())
    return made(schema())


def document(*words: str, cwd: Path) -> dict[str, object]:
    """What a command printed, checked against what is published for its kind."""
    done = adjudge(*words, "--json", cwd=cwd)
    assert done.stdout, done.stderr
    validate_output(done.stdout)
    found: dict[str, object] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_what_is_printed_fits_the_published_schema(folder: Path, name: str) -> None:
    found = document(*COMMANDS[name], cwd=folder)
    validator().validate(found)
    assert found["schema"] == "adjudge.results/1"


def test_a_document_with_something_missing_does_not_fit() -> None:
    with pytest.raises(jsonschema.ValidationError):
        validator().validate(
            {"schema": "adjudge.results/1", "kind": "models", "summary": {}, "results": []}
        )


def test_the_file_in_the_docs_is_what_the_command_prints() -> None:
    assert (ROOT / "docs/results.schema.json").read_text(encoding="utf-8") == adjudge(
        "schema", "results"
    ).stdout


CHECKED_ELSEWHERE = ("rubric", "conversations", "learn", "explain")
"""By the tests of their features."""


def test_no_json_of_a_command_is_forgotten() -> None:
    context = app.make_context("adjudge", [], resilient_parsing=True)
    known = {
        words[0] if words[0] not in ("runs", "criteria") else " ".join(words[:2])
        for words in COMMANDS.values()
    }
    for name in app.list_commands(context):
        command = app.get_command(context, name)
        inner = getattr(command, "commands", {})
        for path, one in {
            name: command,
            **{f"{name} {each}": sub for each, sub in inner.items()},
        }.items():
            if any("--json" in option.opts for option in one.params):
                words = {path, path.split()[0]}
                assert words & {*known, *CHECKED_ELSEWHERE}, path


def test_money_is_a_number(folder: Path) -> None:
    summary = document("run", "eval.yaml", cwd=folder)["summary"]
    assert isinstance(summary, dict)
    assert (summary["cost_usd"], summary["unpriced_models"]) == (0.0, [])


def test_a_run_prints_and_writes_what_was_asked_for(folder: Path) -> None:
    found = document("run", "eval.yaml", "-o", "out.csv", cwd=folder)
    assert found["files"] == ["out.csv"]
    assert (folder / "out.csv").read_text(encoding="utf-8-sig").count(",Is it long?,") == 3
    assert [one["criteria"] for one in found["criteria"]] == ["Is it good?", "Is it long?"]  # type: ignore[attr-defined]


def test_a_run_reads_rows_in_another_encoding(folder: Path) -> None:
    (folder / "rows.csv").write_bytes("answer\nПривет\n".encode("cp1251"))
    assert adjudge("run", "eval.yaml", "--run", "new", cwd=folder).returncode == 1
    found = document("run", "eval.yaml", "--run", "new", "--encoding", "cp1251", cwd=folder)
    assert found["results"][0]["fields"] == {"response": "Привет"}  # type: ignore[index]


def test_a_rag_evaluation_says_which_reports_it_wrote(folder: Path) -> None:
    found = document("rag", "-f", "rag.csv", "-m", "scripted/2", cwd=folder)
    assert [Path(str(name)).suffix for name in found["files"]] == [".md", ".csv", ".html"]  # type: ignore[attr-defined]
    assert all((folder / str(name)).is_file() for name in found["files"])  # type: ignore[attr-defined]
