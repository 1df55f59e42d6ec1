"""What commands say at the end: a line per criteria, who won, why rows have no score, how the gates
came out.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
from pathlib import Path

import pytest

from support import commands
from support.fake_provider import KEY, FakeProvider, Says

EXAMPLES = Path(__file__).parents[3] / "examples"
THREE = ("--criterion", "Is it kind?", "--criterion", "Is it long?", "-c", "conciseness")


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    path.write_text(
        "id,question,answer,human\n"
        + "".join(f"r{row},Q{row}?,Answer {row}.,yes\n" for row in range(30))
    )
    return path


def adjudge(folder: Path, *args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return commands.adjudge(
        *args,
        cwd=folder,
        environment={
            **os.environ,
            "COLUMNS": "120",
            "ADJUDGE_CACHE": str(folder / "cache"),
            **environment,
        },
    )


@pytest.mark.parametrize("command", ["judge", "check"])
def test_results_are_written_as_a_page_without_a_run_that_is_kept(rows: Path, command: str) -> None:
    more = ("--criterion", "Is it kind?", "-m", "scripted")
    done = adjudge(
        rows.parent,
        command,
        "-f",
        "rows.csv",
        *more,
        "-o",
        "out.html" if command == "judge" else "out.md",
    )
    assert done.returncode in (0, 3), done.stderr
    page = next(rows.parent.glob("out.*")).read_text(encoding="utf-8")
    assert "Is it kind?" in page and "Answer 29." in page
    assert page.startswith("<!doctype html>" if command == "judge" else "# ")


def test_many_rows_end_with_a_line_per_criteria_and_say_where_the_rows_are(rows: Path) -> None:
    done = adjudge(
        rows.parent, "judge", "-f", "rows.csv", *THREE, "-m", "scripted", "-o", "out.csv"
    )
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0] == ["30", "rows", "judged", "by", "3", "criteria."]
    mean = ["mean", "1.000", "0.87–1.00", "30"]
    assert lines[3] == ["Is", "it", "kind?", *mean, "Yes", "30"]
    assert lines[5] == ["conciseness", *mean, "Concise", "30"]
    assert " ".join(lines[6]) == "Is it kind?: Yes counts as good."
    assert len(lines) <= 11
    assert ["Report", "out.csv"] in lines
    with (rows.parent / "out.csv").open(encoding="utf-8-sig", newline="") as file:
        written = list(csv.DictReader(file))
    assert len(written) == 90
    assert {row["criteria"] for row in written} == {"Is it kind?", "Is it long?", "conciseness"}
    wanted = (
        "question",
        "answer",
        "human",
        "id",
        "option",
        "score",
        "explanation",
        "agreement",
        "status",
    )
    assert [written[0][name] for name in wanted] == [
        "Q0?",
        "Answer 0.",
        "yes",
        "r0",
        "Yes",
        "1.0",
        "scripted",
        "1.0",
        "scored",
    ]


def test_a_run_keeps_the_columns_of_the_input(rows: Path) -> None:
    adjudge(rows.parent, "judge", "-f", "rows.csv", *THREE, "-m", "scripted", "--run", "kept", "-q")
    for ending in ("csv", "jsonl"):
        adjudge(rows.parent, "export", "kept", "--to", ending)
    first = json.loads((rows.parent / "kept/results.jsonl").read_text().splitlines()[0])
    assert first["input"] == {"id": "r0", "question": "Q0?", "answer": "Answer 0.", "human": "yes"}
    with (rows.parent / "kept/results.csv").open(encoding="utf-8-sig", newline="") as file:
        assert {row["human"] for row in csv.DictReader(file)} == {"yes"}


def test_a_report_is_in_the_language_that_was_typed_or_in_the_judges(rows: Path) -> None:
    adjudge(rows.parent, "judge", "-f", "rows.csv", *THREE, "-m", "scripted", "--run", "kept", "-q")
    for to in ("md", "github"):
        told = adjudge(rows.parent, "report", "kept", "--to", to, "-o", "-", "--language", "ru")
        assert "средняя оценка" in told.stdout and "mean" not in told.stdout
        own = adjudge(rows.parent, "report", "kept", "--to", to, "-o", "-", LANG="ru_RU.UTF-8")
        assert "mean" in own.stdout


GATES = [
    (
        ("--fail-under", "0.5"),
        "scripted/No",
        4,
        "Gate failed: mean score of Is it kind?",
        "missed by 0.500",
    ),
    (
        ("--fail-under", "0.5"),
        "scripted/huh",
        5,
        "Gate undecided: mean score of Is it kind?",
        "30 of 30 rows have no score",
    ),
    (
        ("--fail-under", "Is it kind?=0.5"),
        "scripted/Yes",
        0,
        "Gate passed: mean score of Is it kind?",
        "0.500 to spare",
    ),
]


@pytest.mark.parametrize(("gate", "model", "code", "said", "more"), GATES)
def test_a_gate_speaks_in_every_output(
    rows: Path, gate: tuple[str, ...], model: str, code: int, said: str, more: str
) -> None:
    asked = (
        "judge",
        "-f",
        "rows.csv",
        "--criterion",
        "Is it kind?",
        "-m",
        model,
        *gate,
        "--run",
        "kept",
    )
    shown = adjudge(rows.parent, *asked)
    assert shown.returncode == code
    found = json.loads(adjudge(rows.parent, *asked, "--json").stdout)["gates"]
    assert len(found) == 1
    told = {"terminal": shown.stderr, "json": found[0]["message"]}
    for ending in ("md", "html"):
        adjudge(rows.parent, "export", "kept", "--to", ending)
        told[ending] = (rows.parent / f"kept/results.{ending}").read_text()
    for where, text in told.items():
        assert said in text, where
        assert more in text, where


def test_a_gate_may_be_on_one_of_three_criteria(rows: Path) -> None:
    asked = ("judge", "-f", "rows.csv", *THREE, "-m", "scripted/No", "--json")
    done = adjudge(rows.parent, *asked, "--fail-under", "Is it long?=0.9")
    assert done.returncode == 4
    assert [(gate["name"], gate["verdict"]) for gate in json.loads(done.stdout)["gates"]] == [
        ("Is it long?", "failed")
    ]
    unknown = adjudge(
        rows.parent, *asked, "--fail-under", "conciseness=0.5", "--fail-under", "concise=0.5"
    )
    assert unknown.returncode == 2
    assert "did you mean 'conciseness'" in unknown.stderr


def test_eval_files_have_gates_by_name(rows: Path) -> None:
    judge = {
        "kind": "direct",
        "name": "quality",
        "criteria": ["Is it kind?", "Is it long?"],
        "fail_under": {"Is it long?": 0.9},
    }
    content = {
        "data": "rows.csv",
        "models": ["scripted/No"],
        "judges": [judge],
        "outputs": ["report.md"],
    }
    (rows.parent / "eval.yaml").write_text(json.dumps(content))
    done = adjudge(rows.parent, "run", "eval.yaml")
    assert done.returncode == 4
    sentence = (
        "Gate failed: mean score of Is it long? (judge quality) is 0.000, the bar is 0.900: "
        "missed by 0.900."
    )
    assert done.stderr.count("Gate") == 1
    assert sentence in done.stderr
    assert sentence in (rows.parent / "report.md").read_text()


def test_why_it_failed_is_counted_once_and_skipped_rows_are_in_every_report(
    rows: Path, provider: FakeProvider
) -> None:
    with rows.open("a") as file:
        file.write("bad,row,with,too,many,cells\n")
    provider.faults = lambda record, attempt: Says(lambda right: "I would rather not say.")
    server = {"OPENAI_BASE_URL": provider.base_url("openai"), "OPENAI_API_KEY": KEY}
    asked = (
        "judge",
        "-f",
        "rows.csv",
        "--criterion",
        "Is it kind?",
        "-m",
        "openai/gpt-4o-mini",
        "--run",
        "kept",
        "--no-cache",
    )
    done = adjudge(rows.parent, *asked, **server)
    assert done.returncode == 3
    told = [line for line in done.stderr.splitlines() if line.startswith("no score: ")]
    assert len(told) == 1
    assert told[0].endswith(": 30 rows")
    reason = told[0].removeprefix("no score: ").removesuffix(": 30 rows")
    found = json.loads(adjudge(rows.parent, *asked, "--json", **server).stdout)
    assert found["reasons"] == {reason: 30}
    assert found["skipped"]["rows"] == 1
    for ending in ("md", "html"):
        adjudge(rows.parent, "export", "kept", "--to", ending)
        page = (rows.parent / f"kept/results.{ending}").read_text()
        assert "rows.csv, line 32" in page
        assert "30" in page
        assert "kipped rows: the row has 6 cells; expected 4 columns" in page


def test_a_comparison_ends_with_who_won(tmp_path: Path) -> None:
    systems = ("--column", "old", "--column", "new", "--criterion", "Which is more helpful?")
    asked = (
        "compare",
        "-f",
        str(EXAMPLES / "pairs.csv"),
        *systems,
        "-m",
        "scripted/B",
        "--order",
        "one",
        "--run",
        "kept",
    )
    done = adjudge(
        tmp_path, *asked, "-o", "out.csv", "--fail-under", "new=0.6", "--fail-under", "old=0.6"
    )
    assert done.returncode == 4
    lines = [line.split() for line in done.stdout.splitlines()]
    assert ["new", "12", "0", "0", "1.00", "0.72–1.00"] in lines
    assert ["old", "0", "0", "12", "0.00", "0.00–0.28"] in lines
    assert "Gate passed: win rate of new" in done.stderr
    assert (
        "Gate failed: win rate of old (judge PairwiseJudge) is 0.000, the bar is 0.600: "
        "missed by 0.600."
    ) in done.stderr
    with (tmp_path / "out.csv").open(encoding="utf-8-sig", newline="") as file:
        assert {row["winner"] for row in csv.DictReader(file)} == {"new"}
    found = json.loads(adjudge(tmp_path, *asked, "--json").stdout)
    (criteria,) = found["criteria"]
    assert [(one["system"], one["wins"], one["losses"]) for one in criteria["systems"]] == [
        ("new", 12, 0),
        ("old", 0, 12),
    ]
    assert {one["winner"] for one in found["results"]} == {"new"}


def test_position_bias_comes_with_its_noise_floor(tmp_path: Path) -> None:
    asked = (
        "compare",
        "-f",
        str(EXAMPLES / "pairs.csv"),
        "--column",
        "old",
        "--column",
        "new",
        "--criterion",
        "Which?",
    )
    once = adjudge(tmp_path, *asked, "-m", "scripted/A", "--check-positional-bias")
    assert "Position bias: the winner flips with the order in 12 of 12 rows." in once.stdout
    assert "Noise floor not measured" in " ".join(once.stdout.split())
    often = adjudge(
        tmp_path, *asked, "-m", "scripted/A", "--check-positional-bias", "--self-consistency", "2"
    )
    assert "Votes that change with the order: 1.00" in often.stdout
    assert "Noise floor (within one order): 0.00" in " ".join(often.stdout.split())


def test_a_gate_names_a_system_that_is_compared(tmp_path: Path) -> None:
    asked = (
        "compare",
        "-f",
        str(EXAMPLES / "pairs.csv"),
        "--column",
        "old",
        "--column",
        "new",
        "--criterion",
        "Which?",
    )
    done = adjudge(tmp_path, *asked, "-m", "scripted/A", "--fail-under", "newer=0.5")
    assert done.returncode == 2
    assert "unknown name 'newer'" in done.stderr


def test_a_gate_finds_a_system_as_its_column_was_found(tmp_path: Path) -> None:
    asked = (
        "compare",
        "-f",
        str(EXAMPLES / "pairs.csv"),
        "--column",
        "OLD",
        "--column",
        "new",
        "--criterion",
        "Which?",
    )
    done = adjudge(
        tmp_path, *asked, "-m", "scripted/A", "--order", "one", "--fail-under", "OLD=0.5"
    )
    assert done.returncode == 0
    assert "Gate passed: win rate of old (judge PairwiseJudge) is 1.000" in done.stderr


def test_a_rag_run_and_its_export_say_the_same(tmp_path: Path) -> None:
    gates = ("--fail-under", "0.9", "--fail-under", "groundedness=0.3")
    asked = ("rag", "--csv", str(EXAMPLES / "rag.csv"), "-m", "scripted/1", "--run", "kept", *gates)
    done = adjudge(tmp_path, *asked)
    assert done.returncode == 4
    assert "Gate failed: mean composite of rag" in done.stderr
    assert "Gate passed: mean score of groundedness" in done.stderr
    adjudge(tmp_path, "export", "kept", "--to", "md")
    (written,) = (tmp_path / "reports").glob("*.md")
    pages = [written.read_text(), (tmp_path / "kept/results.md").read_text()]
    for page in pages:
        assert page.startswith("# RAG evaluation\n\n**Not ready: ")
    same = [page[page.index("## Summary") : page.index("## Parameters")] for page in pages]
    assert same[0] == same[1]
