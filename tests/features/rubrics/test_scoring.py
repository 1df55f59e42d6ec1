"""Scores for programs, and HealthBench's labels of physicians."""

from __future__ import annotations

import json
from pathlib import Path

from adjudge import RubricJudge
from adjudge.core.domain.json_types import JsonDict, JsonValue
from adjudge.features.rubrics.scoring import score_rows
from features.rubrics.test_judge import ROW, entry, labels_in, reply
from support.commands import adjudge


def test_rows_are_scored_in_their_order_with_bounds() -> None:
    def model(prompt: str) -> str:
        verdict = "cannot tell" if "row 1" in prompt else "met" if "row 0" in prompt else "not met"
        return reply(*(entry(label, verdict) for label in labels_in(prompt)))

    rubric: list[JsonValue] = ["Says how many.", {"text": "Says when.", "required": True}]
    rows: list[JsonDict] = [{**ROW, "response": f"row {n}", "rubric": rubric} for n in range(3)]
    scored = score_rows(RubricJudge(model), rows)
    assert [one.score for one in scored] == [1.0, None, 0.0]
    assert (scored[1].lower, scored[1].upper, scored[1].missing) == (0.0, 1.0, ("1", "2"))
    assert scored[2].failed_gates == ("2",)
    assert score_rows(RubricJudge(model), []) == []


META = {
    "prompt": [{"role": "user", "content": "My head aches."}],
    "completion": "Rest.",
    "rubric": "Asks how long.",
    "category": "context_seeking",
    "binary_labels": [False, True, False],
    "anonymized_physician_ids": ["p1", "p2", "p3"],
    "prompt_id": "x",
}


def test_physicians_labels_are_imported_one_by_one(tmp_path: Path) -> None:
    path = tmp_path / "meta.jsonl"
    path.write_text(json.dumps(META) + "\n", encoding="utf-8")
    done = adjudge("import", path, "--run", tmp_path / "run")
    assert done.returncode in (0, 3), done.stderr
    assert "healthbench-meta" in done.stdout + done.stderr
    assert "3 labels" in done.stdout + done.stderr
