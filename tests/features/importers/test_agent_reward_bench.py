"""What people say of agents' runs in AgentRewardBench, as labels."""

from __future__ import annotations

from pathlib import Path

from support.commands import adjudge

HEAD = (
    "annotator_name,benchmark,task_id,model_name,exp_name,trajectory_success,"
    "trajectory_side_effect,trajectory_optimality,trajectory_looping\n"
)


def test_each_annotation_is_four_labels_and_unsure_is_none(tmp_path: Path) -> None:
    rows = (
        "A,web,web.1,m,m_on_web,Successful,No,4. Completely Optimal,No",
        '" H",web,web.1,m,m_on_web,Unsuccessful,No,2. Suboptimal,Yes',
        "B,web,web.2,m,m_on_web,Unsure,Yes,1. Complete Failure,Yes",
    )
    (tmp_path / "annotations.csv").write_text(HEAD + "\n".join(rows), encoding="utf-8")
    done = adjudge("import", str(tmp_path / "annotations.csv"), "--run", str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    assert "11 labels" in done.stdout
    assert "'Unsure' is not a valid answer (1)" in done.stdout
    adjudge("export", str(tmp_path / "run"), "--to", "jsonl", "-o", str(tmp_path / "out.jsonl"))
    kept = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    found = {name for name in ("goal", "side_effect", "loop", "optimality") if name in str(kept)}
    assert (len(kept), len(found)) == (7, 4)


def test_expected_calls_of_bfcl_are_named_as_what_they_are(tmp_path: Path) -> None:
    line = '{"id": "multi_turn_base_0", "ground_truth": [["ls(a=True)"]]}\n'
    (tmp_path / "bfcl.json").write_text(line * 2, encoding="utf-8")
    done = adjudge("import", str(tmp_path / "bfcl.json"), "--run", str(tmp_path / "run"))
    assert done.returncode == 1
    assert "give it as expect" in done.stderr
