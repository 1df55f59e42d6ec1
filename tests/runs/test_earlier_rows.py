"""``adjudge run --data RUN``: the rows of an earlier or imported run, judged anew."""

from __future__ import annotations

import json
from pathlib import Path

from adjudge.runs.earlier_rows import rows_of_run
from adjudge.runs.folder import run_info
from adjudge.trust.labels.store import LabelStore
from support.commands import adjudge
from support.exported import judgments

SAMPLES = Path(__file__).parent.parent / "samples"
EVAL = """
data: nothing.csv
models: [scripted/{model}]
judges:
  - {{kind: direct, name: tone, criteria: "Is it kind?", strictness: {votes}}}
"""


def write(folder: Path, model: str = "Yes", votes: int = 1) -> None:
    (folder / "eval.yaml").write_text(EVAL.format(model=model, votes=votes))
    (folder / "rows.csv").write_text(
        "question,response\n" + "".join(f"q{place},r{place}\n" for place in range(12))
    )


def test_rows_of_an_imported_run_are_judged_anew(tmp_path: Path) -> None:
    write(tmp_path)
    adjudge(
        "import",
        SAMPLES / "imports" / "deepeval_4.3.1_latest_run_full.json",
        "--run",
        "old",
        cwd=tmp_path,
    )
    done = adjudge("run", "eval.yaml", "--data", "old", "--run", "new", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    before, after = (
        {row["id"]: row["fields"] for row in judgments(tmp_path / run)} for run in ("old", "new")
    )
    assert before == after
    assert "no criterion of old was judged again" in done.stdout


def test_answers_that_still_apply_are_reused_and_the_runs_are_compared(tmp_path: Path) -> None:
    write(tmp_path)
    adjudge("run", "eval.yaml", "--data", "rows.csv", "--run", "old", cwd=tmp_path)
    write(tmp_path, votes=3)
    done = adjudge("run", "eval.yaml", "--data", "old", "--run", "new", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Is it kind?: no difference: mean 1.000, the same on all 12 rows" in done.stdout
    assert str(run_info(tmp_path / "new").facts["forked_from"]).endswith("old")


def test_each_row_of_several_judges_comes_once_and_compared_responses_stay_together(
    tmp_path: Path,
) -> None:
    adjudge("import", SAMPLES / "pandalm.jsonl", "--run", "old", cwd=tmp_path)
    rows = list(rows_of_run(tmp_path / "old"))
    assert (
        len(rows)
        == len({row.identity for row in rows})
        == len((SAMPLES / "pandalm.jsonl").read_text().splitlines())
    )
    labelled = {label.row for label in LabelStore(tmp_path / "old").current()}
    assert labelled <= {row.identity for row in rows}
    assert {len(row.fields["response"]) for row in rows} == {2}


def test_a_pairwise_judge_takes_the_rows_of_an_imported_comparison(tmp_path: Path) -> None:
    adjudge("import", SAMPLES / "pandalm.jsonl", "--run", "old", cwd=tmp_path)
    entry = {
        "kind": "pairwise",
        "criteria": ["Which response follows the instruction better?"],
        "order": "one",
    }
    (tmp_path / "eval.yaml").write_text(
        json.dumps({"data": "x.csv", "models": ["scripted/A"], "judges": [entry]})
    )
    done = adjudge("run", "eval.yaml", "--data", "old", "--run", "new", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert {row["selected_option"] for row in judgments(tmp_path / "new")} == {0}


def test_rows_with_equal_texts_stay_rows(tmp_path: Path) -> None:
    """Eight of ten rows have the same answer: the mean of the run is the mean of its rows."""
    write(tmp_path)
    answers = ["same"] * 8 + ["one", "two"]
    table = "".join(f"r{place},q,{answer}\n" for place, answer in enumerate(answers))
    (tmp_path / "rows.csv").write_text("id,question,response\n" + table)
    adjudge("run", "eval.yaml", "--data", "rows.csv", "--run", "old", cwd=tmp_path)
    done = adjudge("run", "eval.yaml", "--data", "old", "--run", "new", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for run in ("old", "new"):
        assert [row["id"] for row in judgments(tmp_path / run)] == [f"r{n}" for n in range(10)]


def test_rows_without_an_answer_are_not_judged(tmp_path: Path) -> None:
    """The application did not answer half of the rows: their questions are no answers."""
    write(tmp_path)
    (tmp_path / "app.py").write_text(
        "def a(row):\n    if row['id'] in ('r1', 'r3'):\n        raise RuntimeError('down')\n"
        "    return 'An answer.'\n"
    )
    (tmp_path / "asked.csv").write_text("id,question\n" + "".join(f"r{n},q{n}\n" for n in range(4)))
    asked = (tmp_path / "eval.yaml").read_text() + "target: app.py:a\n"
    (tmp_path / "asked.yaml").write_text(asked.replace("nothing.csv", "asked.csv"))
    adjudge("run", "asked.yaml", "--trust", "--run", "old", cwd=tmp_path)
    done = adjudge("run", "eval.yaml", "--data", "old", "--run", "new", cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert "its application did not answer" in done.stderr
    assert [row["id"] for row in judgments(tmp_path / "new")] == ["r0", "r2"]
    again = adjudge("run", "asked.yaml", "--trust", "--data", "old", "--run", "again", cwd=tmp_path)
    assert again.returncode == 3, again.stderr
    assert len([*judgments(tmp_path / "again")]) == 4
