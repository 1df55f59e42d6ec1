"""Sheets, nested logs, files of other tools, and commands as other tools call them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from support.commands import adjudge

CHECK = ["--criterion", "It is good.", "-m", "scripted/PASS", "--no-cache", "-q"]
ROWS = "Key,answer\nk1,One.\nk2,Two.\n"
LOGGED = {"meta": {"uid": "u1"}, "out": [{"text": "draft"}, {"text": "Final."}]}
EVAL = """\
data: {data}
models: scripted/PASS
judges:
  - kind: aspect
    criteria: It is good.
"""


def ids(done: object) -> list[str]:
    return [row["id"] for row in json.loads(done.stdout)["results"]]  # type: ignore[attr-defined]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rows.csv").write_text(ROWS)
    (tmp_path / "log.jsonl").write_text(json.dumps(LOGGED))
    return tmp_path


def test_a_sheet_is_named_on_the_command_line_and_in_an_eval_file(folder: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.title = "Notes"
    book.active.append(["text"])
    book.active.append(["a note"])
    for row in (["Report"], ["Key", "answer"], ["k1", "One."]):
        (book["May"] if "May" in book else book.create_sheet("May")).append(row)
    book.save(folder / "book.xlsx")
    said = adjudge("check", "-f", "book.xlsx", *CHECK, cwd=folder)
    assert "the sheet 'Notes' is read; there are also 'May' (--sheet NAME)" in said.stderr
    named = ["--sheet", "May", "--header-row", "2", "--id", "Key", "--json"]
    assert ids(adjudge("check", "-f", "book.xlsx", *CHECK, *named, cwd=folder)) == ["k1"]
    data = "{path: book.xlsx, sheet: May, header_row: 2, columns: {id: Key}}"
    (folder / "eval.yaml").write_text(EVAL.format(data=data))
    assert ids(adjudge("run", "eval.yaml", "--json", "-q", cwd=folder)) == ["k1"]
    assert adjudge("resume", "runs/eval", cwd=folder).returncode == 0


def test_paths_are_columns_on_the_command_line_and_in_an_eval_file(folder: Path) -> None:
    typed = ["--column", "out[-1].text", "--column", "id=meta.uid", "--json"]
    done = adjudge("check", "-f", "log.jsonl", *CHECK, *typed, cwd=folder)
    assert ids(done) == ["u1"]
    assert json.loads(done.stdout)["results"][0]["fields"] == {"response": "Final."}
    data = "{path: log.jsonl, columns: {response: 'out[-1].text'}, id: meta.uid}"
    (folder / "eval.yaml").write_text(EVAL.format(data=data))
    assert ids(adjudge("run", "eval.yaml", "--json", "-q", cwd=folder)) == ["u1"]


def test_benchmarks_take_the_names_of_rows(folder: Path) -> None:
    rows = "".join(f"k{n},Answer {n}.,{'Yes' if n % 2 else 'No'}\n" for n in range(20))
    (folder / "labelled.csv").write_text(f"Key,answer,human\n{rows}")
    asked = ["--criterion", "Is it good?", "-m", "scripted/Yes", "--no-cache", "-q", "--json"]
    done = adjudge(
        *("bench", "labelled.csv", "--human", "human"),
        *asked,
        *("--id", "Key", "--only", "k1*"),
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    refused = adjudge("bench", "labelled.csv", *asked, "--id", "Key", cwd=folder)
    assert (refused.returncode, "--human COLUMN" in refused.stderr) == (2, True)


@pytest.mark.parametrize("way", ["rows.csv", "../{folder}/rows.csv", "link.csv", "hard.csv"])
@pytest.mark.parametrize("in_eval_file", [False, True])
def test_what_is_read_is_not_overwritten(folder: Path, way: str, in_eval_file: bool) -> None:
    (folder / "link.csv").symlink_to("rows.csv")
    os.link(folder / "rows.csv", folder / "hard.csv")
    output = way.format(folder=folder.name)
    if in_eval_file:
        (folder / "eval.yaml").write_text(EVAL.format(data="rows.csv") + f"outputs: ['{output}']\n")
        done = adjudge("run", "eval.yaml", cwd=folder)
    else:
        done = adjudge("check", "-f", "rows.csv", *CHECK, "-o", output, cwd=folder)
    assert done.returncode == (1 if in_eval_file else 2)
    assert "is read by this command and would be overwritten: name another file" in done.stderr
    assert (folder / "rows.csv").read_text() == ROWS


def test_criteria_that_are_read_are_not_overwritten_either(folder: Path) -> None:
    (folder / "own.jsonl").write_text("{}")
    done = adjudge("judge", "-f", "rows.csv", "-c", "own.jsonl", "-o", "./own.jsonl", cwd=folder)
    assert (done.returncode, "would be overwritten" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("a.pdf", "a PDF document: save its text as .txt"),
        ("a.docx", "a Word document: save its text as .txt"),
        ("a.xls", "an old Excel workbook: save the table as .xlsx"),
    ],
)
def test_documents_are_refused_by_name(folder: Path, name: str, what: str) -> None:
    (folder / name).write_bytes(b"%PDF-1.7")
    for given in (["-f", name], [name]):
        done = adjudge("check", *given, *CHECK, cwd=folder)
        assert (done.returncode, f"{name} is {what}" in done.stderr) == (1, True), done.stderr


def test_a_pdf_by_another_name_is_known_by_its_first_bytes(folder: Path) -> None:
    (folder / "a.txt").write_bytes(b"%PDF-1.7\n\xff")
    done = adjudge("check", "-f", "a.txt", *CHECK, cwd=folder)
    assert "a.txt is a PDF document" in done.stderr


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        (
            "out.json",
            {"evalId": "e", "results": {"version": 3, "results": []}, "config": {}},
            "results of promptfoo",
        ),
        ("out.jsonl", {"promptIdx": 0, "testIdx": 1, "response": {}}, "results of promptfoo"),
        ("run.json", {"testRunData": {"testCases": []}}, "a test run of DeepEval"),
        (
            "cases.json",
            {"testCases": [{"input": "q", "actualOutput": "a", "metricsData": []}]},
            "a test run of DeepEval",
        ),
        ("marks.jsonl", {"metric_input": {}, "is_accepted": True}, "annotations of Ragas"),
    ],
)
def test_files_of_other_tools_are_known_and_imported(
    folder: Path, name: str, content: object, what: str
) -> None:
    (folder / name).write_text(json.dumps(content))
    done = adjudge("check", "-f", name, *CHECK, cwd=folder)
    assert f"{name} contains {what}: import the whole file with adjudge import" in done.stderr


def test_a_test_set_has_no_answers(folder: Path) -> None:
    row = {"user_input": "q", "reference": "a", "synthesizer_name": "single_hop"}
    (folder / "set.jsonl").write_text(json.dumps(row))
    done = adjudge("check", "-f", "set.jsonl", *CHECK, cwd=folder)
    assert "is a Ragas test set: questions without answers" in done.stderr


def test_a_configuration_of_promptfoo_is_known(folder: Path) -> None:
    config = {"prompts": ["a.txt"], "providers": ["openai:gpt-4o"], "tests": [{"vars": {"x": 1}}]}
    (folder / "promptfooconfig.yaml").write_text(json.dumps(config))
    done = adjudge("run", "promptfooconfig.yaml", cwd=folder)
    assert done.returncode == 1
    assert "promptfoo configuration" in done.stderr
    assert "adjudge import results.json --run RUN" in done.stderr


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("eval", "run"), ("evaluate", "run"), ("test", "run"), ("ls", "runs list"), ("ui", "view")],
)
def test_a_command_as_other_tools_call_it_names_ours(folder: Path, typed: str, meant: str) -> None:
    done = adjudge(typed, "eval.yaml", cwd=folder)
    assert done.returncode == 2
    assert f"No such command '{typed}'. Did you mean '{meant}'?" in done.stderr
