"""Rows that a target answers before they are judged: each once, kept, and never an empty answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adjudge.runs.folder import run_info
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


def test_answers_that_a_changed_file_reuses_are_counted(project: Path) -> None:
    """Seen: the run that went on counted the judge's votes alone, and none of the target's."""
    rows(project, CHECKS)
    rows(project, CHECKS.replace("most: 6", "most: 7"))
    first, second = (run_info(project / "runs" / name) for name in ("eval", "eval-2"))
    assert (first.votes, first.failed_votes) == (second.votes, second.failed_votes) == (4, 2)
    (project / "rows.csv").write_text("".join(ROWS.splitlines(keepends=True)[:2]))
    rows(project, CHECKS.replace("most: 6", "most: 8"), code=0)
    third = run_info(project / "runs" / "eval-3")
    assert (third.votes, third.failed_votes) == (1, 0), "what nothing rests on is not counted"


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
        ("target: {name: x}", "a target is one of model, command, url, function and mcp"),
        ("target: {command: a, url: 'http://127.0.0.1'}", "name one"),
        ("target: app.py:nobody", "has no function 'nobody'"),
        ("target: missing.py:f", "is not a file"),
        ("target: scripted", "needs a prompt"),
        ("target: {model: scripted, prompts: none.txt}", "none.txt cannot be read"),
        ("target: [app.py:last, app.py:last]", "two targets are named 'app.py:last'"),
        (
            "target: {function: 'app.py:last', prompts: rows.csv}",
            "prompts has no effect",
        ),
        ("target: {url: 'http://127.0.0.1', headers: {Authorization: abc}}", "contains a key"),
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


def test_an_estimate_of_the_rest_knows_the_answers_of_targets(project: Path) -> None:
    (project / "judge.py").write_text(
        "import json\n\ndef ask(prompt):\n"
        "    if 'It is 6' in prompt:\n        raise RuntimeError('it is down')\n"
        "    return json.dumps({'explanation': 'so', 'selected_option': 'PASS'})\n"
    )
    judges = "judges: [{kind: aspect, name: right, criteria: It is right.}]"
    rows(
        project,
        f"data: rows.csv\ntarget: app.py:last\nmodels: judge.py:ask\nrun: runs/lost\n{judges}\n",
        "--trust",
    )
    before = asked(project)
    flags = ("--dry-run", "--json", "--retry-failed")
    done = adjudge("resume", "runs/lost", "--trust", "--", *flags, cwd=project)
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)["results"]
    # the target's two answers failed, too: both rows are asked again from their beginning
    assert found["calls"]["lower"] == 3
    assert asked(project) == before


def test_a_gate_names_a_check(project: Path) -> None:
    (project / "rows.csv").write_text("id,question,expected\na,what is 4,4\nb,what is 5,6\n")
    rows(project, CHECKS, "--fail-under", "right=0.5", code=0)
    rows(project, CHECKS, "--fail-under", "right=0.6", code=4)


TWO = """
data: rows.csv
target:
  - {name: good, function: app.py:good}
  - {name: bad, function: app.py:bad}
"""


@pytest.fixture
def two_systems(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text(
        "def good(question):\n    return 'yes'\n"
        "def bad(question):\n"
        "    if question == 'q3': raise ValueError('broken')\n"
        "    return 'yes' if question in ('q1', 'q2') else 'no'\n"
    )
    lines = [f"r{number},q{number}" for number in range(1, 11)]
    (tmp_path / "rows.csv").write_text("id,question\n" + "\n".join(lines) + "\n")
    return tmp_path


def answered(project: Path, text: str, *flags: str, code: int) -> dict[str, Any]:
    (project / "eval.yaml").write_text(text)
    done = adjudge("run", "eval.yaml", "--yes", "--json", *flags, cwd=project)
    assert done.returncode == code, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_each_system_has_its_own_results(two_systems: Path) -> None:
    found = answered(two_systems, TWO + "checks: {contains: 'yes'}\n", code=3)
    good, bad = found["criteria"]
    assert (good["system"], good["mean"], good["attempted"]) == ("good", 1.0, 10)
    assert (bad["system"], bad["mean"], bad["failed"]) == ("bad", pytest.approx(2 / 9), 1)
    assert "mean" not in found["summary"], "of two systems together it says nothing"
    shown = adjudge("runs", "show", "runs/eval", cwd=two_systems).stdout
    assert "contains 'yes' [good]" in shown
    assert "contains 'yes' [bad]" in shown
    for kind in ("md", "html"):
        adjudge("report", "runs/eval", "--to", kind, cwd=two_systems)
        page = (two_systems / "runs" / "eval" / f"results.{kind}").read_text()
        assert "[bad]" in page.replace("\\", "")


@pytest.mark.parametrize(
    ("bar", "code"),
    [("good=0.9", 3), ("bad=0.9", 4), ("bad=0.1", 3), ("bad=0.25", 5), ("0.5", 4)],
)
def test_a_gate_names_a_system(two_systems: Path, bar: str, code: int) -> None:
    text = TWO + "checks: {contains: 'yes'}\n"
    found = answered(two_systems, text, "--fail-under", bar, code=code)
    gates = [(one["system"], one["rows"]) for one in found["gates"]]
    wanted = ["good", "bad"] if "=" not in bar else [bar.partition("=")[0]]
    assert gates == [(name, 10) for name in wanted], "each system is held to it by itself"


def test_a_gate_of_a_judge_names_a_system(two_systems: Path) -> None:
    text = TWO + "judges: {kind: check, checks: {contains: 'yes'}, fail_under: {bad: 0.9}}\n"
    (gate,) = answered(two_systems, text, code=4)["gates"]
    assert (gate["name"], gate["system"]) == ("contains 'yes'", "bad")
    done = adjudge("run", "eval.yaml", "--yes", "--fail-under", "god=1", cwd=two_systems)
    assert "did you mean 'good'?" in done.stderr


def test_compared_systems_are_gated_by_name_and_repeats_are_no_further_rows(
    two_systems: Path,
) -> None:
    text = (
        TWO
        + "repeat: 3\nmodels: scripted/A\n"
        + "judges: {kind: pairwise, criteria: The better one., order: one}\n"
    )
    (two_systems / "app.py").write_text(
        "def good(question):\n    return 'yes'\ndef bad(question):\n    return 'no'\n"
    )
    found = answered(two_systems, text, "--fail-under", "good=0.9", code=0)
    (section,) = found["criteria"]
    good = next(one for one in section["systems"] if one["system"] == "good")
    once = answered(two_systems, text.replace("repeat: 3", "repeat: 1"), code=0)
    (alone,) = once["criteria"]
    single = next(one for one in alone["systems"] if one["system"] == "good")
    assert good["wins"] == 30
    assert single["wins"] == 10
    exact = pytest.approx(0.025 ** (1 / 10), abs=1e-6)
    assert good["interval"]["lower"] == exact, "the bound of 10 of 10; 30 of 30 would be 0.884"
    assert single["interval"]["lower"] == pytest.approx(good["interval"]["lower"], abs=0.02)
    done = adjudge("run", "eval.yaml", "--yes", "--fail-under", "nice=1", cwd=two_systems)
    assert "known: 'good', 'bad'" in done.stderr


def test_a_column_of_the_users_is_not_a_system(tmp_path: Path) -> None:
    lines = [f"r{number},{'yes' if number % 2 else 'no'}" for number in range(1, 13)]
    (tmp_path / "plain.csv").write_text("id,response\n" + "\n".join(lines) + "\n")
    named = [f"{line},{'ab'[number % 2]},1" for number, line in enumerate(lines)]
    (tmp_path / "named.csv").write_text("id,response,system,repeat\n" + "\n".join(named) + "\n")
    found = []
    for name in ("plain", "named"):
        done = adjudge(
            "check", "--contains", "yes", "--file", f"{name}.csv", "--json", cwd=tmp_path
        )
        (section,) = json.loads(done.stdout)["criteria"]
        assert "system" not in section
        assert "repeats" not in section
        found.append(section["interval"])
    assert found[0] == found[1] is not None


def test_rows_of_one_id_or_of_one_text_stay_apart(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("def app(question):\n    return 'yes'\n")
    (tmp_path / "rows.csv").write_text("id,question\n1,a\n1,b\n1,b\n")
    text = "data: rows.csv\ntarget: app.py:app\nrepeat: 2\nchecks: {contains: 'yes'}\n"
    (section,) = answered(tmp_path, text, code=0)["criteria"]
    (repeats,) = section["repeats"]
    assert (repeats["rows"], repeats["incomplete"]) == (3, 0)
    assert list(repeats["pass_all"]) == ["1", "2"]


def test_two_runs_pair_each_system_with_itself(two_systems: Path) -> None:
    text = TWO.replace("rows.csv", "{path: rows.csv, id: id}") + "checks: {contains: 'yes'}\n"
    answered(two_systems, text, "--run", "one", code=3)
    answered(two_systems, text, "--run", "two", "--not-worse-than", "one", code=5)
    done = adjudge("runs", "diff", "one", "two", "--json", cwd=two_systems)
    good, bad = json.loads(done.stdout)["comparisons"]
    assert (good["system"], good["means"], good["rows"]) == ("good", [1.0, 1.0], 10)
    assert (bad["system"], bad["means"], bad["rows"]) == ("bad", [pytest.approx(2 / 9)] * 2, 9)
    assert good["difference"]["value"] == bad["difference"]["value"] == 0


def test_a_gate_against_another_run_holds_each_system_to_itself(two_systems: Path) -> None:
    """Seen: one system got worse, another better by as much, and together nothing had changed."""
    text = TWO.replace("rows.csv", "{path: rows.csv, id: id}") + "checks: {contains: 'yes'}\n"
    answered(two_systems, text, "--run", "one", code=3)
    app = two_systems / "app.py"
    swapped = app.read_text().replace("good", "x").replace("bad", "good").replace("x(", "bad(")
    app.write_text(swapped)
    flags = ("--run", "two", "--not-worse-than", "one")
    gates = answered(two_systems, text, *flags, code=5)["gates"]
    assert [(one["system"], one["verdict"]) for one in gates] == [
        ("good", "inconclusive"),
        ("bad", "inconclusive"),  # one of its ten rows has no answer, and may have got worse
    ]
    shown = adjudge("runs", "diff", "one", "two", cwd=two_systems).stdout
    assert "[good]" in shown and "[bad]" in shown


def test_labels_correct_each_system_by_its_own(two_systems: Path) -> None:
    text = TWO.replace("rows.csv", "{path: rows.csv, id: id}") + "checks: {contains: 'yes'}\n"
    answered(two_systems, text, code=3)
    rows = "".join(f"r{number} [good],ann,PASS\n" for number in range(1, 11))
    (two_systems / "labels.csv").write_text("id,annotator,label\n" + rows)
    done = adjudge(
        "label", "runs/eval", "--import", "labels.csv", "--design", "random", cwd=two_systems
    )
    assert done.returncode == 0, done.stderr
    done = adjudge("calibrate", "runs/eval", "--json", cwd=two_systems)
    made = json.loads(done.stdout)["results"]
    assert [(one["system"], one["rows"], one["labels"]["n"]) for one in made] == [
        ("good", 10, 10),
        ("bad", 10, 0),  # a label of a file counts for its own row
    ]


def test_a_failed_answer_counts_once_and_leaves_no_old_one_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("id,question,response\n1,a,old\n2,b,old\n3,c,old\n")
    (tmp_path / "app.py").write_text(
        "def answer(question):\n    return 'fine' if question == 'a' else [1, 'no answer ' * 20]\n"
        "def asked(text, row):\n    return row.fields['question'] == 'a'\n"
    )
    (tmp_path / "eval.yaml").write_text(
        "data: rows.csv\ntarget: app.py:answer\n"
        "checks: [{contains: fine}, {python: 'app.py:asked'}]\n"
    )
    done = adjudge("run", "eval.yaml", "--yes", cwd=tmp_path)
    shown = adjudge("runs", "show", "runs/eval", cwd=tmp_path)
    for said in (done, shown):
        assert "3 rows judged by 3 criteria; 6 judgments without a score." in said.stdout
        assert "1 call · 0 tokens · 2 votes without an answer" in said.stdout
        assert "adjudge resume runs/eval" in said.stdout
    assert ": 6 judgments" in done.stderr
    adjudge("export", "runs/eval", "--to", "csv", "-o", "all.csv", cwd=tmp_path)
    text = (tmp_path / "all.csv").read_text()
    assert "fine" in text
    assert "old" not in text
    (tmp_path / "eval.yaml").write_text(
        "data: rows.csv\ntarget: app.py:answer\nchecks: [{contains: fine}]\n"
    )
    shown = adjudge("run", "eval.yaml", "--yes", cwd=tmp_path)
    assert "1     ✓ PASS" in shown.stdout, "long reasons do not push rows and verdicts out"


def test_systems_stand_in_the_order_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("id,question\n1,a\n2,b\n")
    (tmp_path / "app.py").write_text(
        "import time\ndef slow(question):\n    time.sleep(0.3)\n    return 'x'\n"
        "def quick(question):\n    return 'x'\n"
    )
    (tmp_path / "eval.yaml").write_text(
        "data: rows.csv\ntarget: [{name: z, function: 'app.py:slow'}, {name: a, function: "
        "'app.py:quick'}]\nchecks: [{contains: x}]\n"
    )
    done = adjudge("run", "eval.yaml", "--yes", "--json", cwd=tmp_path)
    assert [one["system"] for one in json.loads(done.stdout)["criteria"]] == ["z", "a"]
