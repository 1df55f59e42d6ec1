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
