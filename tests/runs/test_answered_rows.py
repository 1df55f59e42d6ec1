"""Rows that a target answers before they are judged: each once, kept, and never an empty answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.commands import adjudge

APP = """
import sys
from pathlib import Path

LOG = Path(__file__).with_name("asked.log")

def note(what):
    with LOG.open("a") as file:
        file.write(what + "\\n")

def last(question):
    note(question)
    if "boom" in question:
        raise ValueError("no idea")
    if "nothing" in question:
        return ""
    return {"answer": f"It is {question[-1]}", "contexts": ["a book"]}

if __name__ == "__main__":
    note(sys.argv[1])
    print("Answer:", sys.argv[1])
"""
ROWS = "id,question,expected\na,what is 4,4\nb,boom 5,5\nc,what is 6,7\nd,nothing,1\n"
CHECKS = """
data: rows.csv
target: app.py:last
judges:
  - kind: check
    checks:
      - {contains: {field: expected}, name: right}
      - words: {most: 6}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "rows.csv").write_text(ROWS)
    return tmp_path


def rows(project: Path, text: str, *flags: str, code: int = 3) -> list[dict[str, object]]:
    (project / "eval.yaml").write_text(text)
    done = adjudge("run", "eval.yaml", "--yes", "--json", *flags, cwd=project)
    assert done.returncode == code, done.stderr
    found: list[dict[str, object]] = json.loads(done.stdout)["results"]
    return found


def asked(project: Path) -> list[str]:
    log = project / "asked.log"
    return log.read_text().splitlines() if log.exists() else []


def test_each_row_is_answered_once_and_a_failure_is_a_reason(project: Path) -> None:
    found = rows(project, CHECKS)
    by_row = {(one["id"], one["criteria"]): one for one in found}
    assert [by_row[name, "right"]["verdict"] for name in ("a", "c")] == ["PASS", "FAIL"]
    assert by_row["a", "right"]["fields"]["response"] == "It is 4"  # type: ignore[index]
    assert by_row["a", "right"]["fields"]["contexts"] == ["a book"]  # type: ignore[index]
    for name, why in (("b", "ValueError: no idea"), ("d", "the answer is empty")):
        one = by_row[name, "checks"]
        assert (one["status"], one["score"]) == ("failed", None)
        assert why in str(one["reason"])
        assert "response" not in one["fields"]  # type: ignore[operator]
    assert sorted(asked(project)) == ["boom 5", "nothing", "what is 4", "what is 6"]
    assert rows(project, CHECKS) == found
    assert sorted(asked(project)[4:]) == ["boom 5", "nothing"], "only what failed is tried again"


def test_what_is_expected_is_not_shown_to_the_target(project: Path) -> None:
    (project / "app.py").write_text("import json\ndef last(row):\n    return json.dumps(row)\n")
    (project / "rows.csv").write_text("id,question,reference,answer\n1,why,because,secret\n")
    text = "data: rows.csv\ntarget: app.py:last\njudges: {kind: check, checks: {words: {least: 1}}}"
    (one,) = rows(project, text, code=0)
    said = json.loads(one["fields"]["response"])  # type: ignore[index]
    assert said == {"id": "1", "question": "why", "user_input": "why"}


def test_systems_and_repeats_are_told_apart(project: Path) -> None:
    (project / "rows.csv").write_text("id,question,expected\na,what is 4,4\n")
    text = CHECKS.replace(
        "target: app.py:last",
        "target:\n  - app.py:last\n  - {name: echo, command: [python3, app.py, '{question}']}\n"
        "repeat: 2",
    )
    found = [one for one in rows(project, text, code=0) if one["criteria"] == "right"]
    assert [one["id"] for one in found] == [
        "a [app.py:last] #1",
        "a [app.py:last] #2",
        "a [echo] #1",
        "a [echo] #2",
    ]
    assert all(one["verdict"] == "PASS" for one in found)
    assert asked(project) == ["what is 4"] * 4


def test_systems_are_compared(project: Path) -> None:
    (project / "rows.csv").write_text("id,question\na,what is 4\n")
    text = (
        "data: rows.csv\ntarget:\n  - {name: short, function: app.py:last}\n"
        "  - {name: long, command: [python3, app.py, '{question}']}\n"
        "models: scripted/A,B\njudges: {kind: pairwise, criteria: The better answer is short.}\n"
    )
    (one,) = rows(project, text, code=0)
    assert one["winner"] == "short"
    assert one["fields"]["response"] == ["It is 4", "Answer: what is 4"]  # type: ignore[index]


def test_a_model_is_shown_the_prompts(project: Path) -> None:
    (project / "rows.csv").write_text("id,question\na,why\n")
    (project / "plain.txt").write_text("Answer: {question} {{no place}}")
    (project / "kind.txt").write_text("Kindly: {question}")
    text = (
        "data: rows.csv\ntarget: scripted/one,two\nprompts: [plain.txt, kind.txt]\n"
        "judges: {kind: check, checks: {contains_any: [one, two]}}\n"
    )
    found = rows(project, text, code=0)
    assert [one["id"] for one in found] == [
        "a [scripted/one,two / plain]",
        "a [scripted/one,two / kind]",
    ]
    assert {one["fields"]["response"] for one in found} == {"one", "two"}  # type: ignore[index]


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("target: {name: x}", "a target is one of model, command, url and function"),
        ("target: {command: a, url: 'http://127.0.0.1'}", "name one"),
        ("target: app.py:nobody", "there is no function 'nobody'"),
        ("target: missing.py:f", "is not a file"),
        ("target: scripted", "needs a prompt"),
        ("target: {model: scripted, prompts: none.txt}", "none.txt cannot be read"),
        ("target: [app.py:last, app.py:last]", "two targets are called 'app.py:last'"),
        ("target: {function: 'app.py:last', prompts: rows.csv}", "prompts are for models"),
        ("target: {url: 'http://127.0.0.1', headers: {Authorization: abc}}", "holds a key"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_asked(
    project: Path, target: str, why: str
) -> None:
    (project / "eval.yaml").write_text(CHECKS.replace("target: app.py:last", target))
    done = adjudge("run", "eval.yaml", "--yes", cwd=project)
    assert done.returncode == 1
    assert why in done.stderr
    assert not asked(project)


def test_a_column_that_a_target_needs_is_missed_by_name(project: Path) -> None:
    text = CHECKS.replace(
        "target: app.py:last", "target: {name: echo, command: [python3, app.py, '{topic}']}"
    )
    (project / "eval.yaml").write_text(text)
    done = adjudge("run", "eval.yaml", "--yes", cwd=project)
    assert "echo needs the column 'topic'" in done.stderr
    assert not asked(project)


def test_a_dry_run_asks_no_target(project: Path) -> None:
    (project / "eval.yaml").write_text(CHECKS)
    done = adjudge("run", "eval.yaml", "--yes", "--dry-run", cwd=project)
    assert done.returncode == 0, done.stderr
    assert "calls: 4" in done.stdout
    assert not asked(project)


def test_a_gate_names_a_check(project: Path) -> None:
    (project / "rows.csv").write_text("id,question,expected\na,what is 4,4\nb,what is 5,6\n")
    rows(project, CHECKS, "--fail-under", "right=0.5", code=0)
    rows(project, CHECKS, "--fail-under", "right=0.6", code=4)
