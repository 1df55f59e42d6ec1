"""Verdicts and labels for Langfuse and Phoenix, and back by our own importers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from adjudge import AspectCritic, DirectJudge, PairwiseJudge, ScriptedModel
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.label import Label
from adjudge.features.importers.importing import import_file
from adjudge.runs.cli.runs import export_run
from adjudge.runs.exporters.export import export
from adjudge.trust.labels.store import LabelStore
from support.exported import judgments


def said(*options: str) -> ScriptedModel:
    return ScriptedModel(
        [f'{{"explanation": "so", "selected_option": "{one}"}}' for one in options], name="m"
    )


@pytest.fixture
def run(tmp_path: Path) -> Path:
    rows = [
        Instance({"question": "q", "response": text}, id=text) for text in ("good", "bad", "lost")
    ]
    AspectCritic(
        "It is good.", said("PASS", "FAIL", "nonsense"), max_repairs=0, name="ok"
    ).evaluate(rows, run=tmp_path / "run")
    LabelStore(tmp_path / "run").add(
        Label(
            row=rows[0].identity,
            criteria="ok",
            annotator="ann",
            option="FAIL",
            note="no",
            design="random",
        )
    )
    return tmp_path / "run"


@pytest.mark.parametrize("kind", ["langfuse", "phoenix"])
def test_verdicts_and_labels_come_back_and_a_failure_is_not_there(
    run: Path, tmp_path: Path, kind: str
) -> None:
    export(run, tmp_path / "out.json", kind)
    report = import_file(tmp_path / "out.json", tmp_path / "again")
    assert report.kind == kind
    assert {row["id"]: row["option"] for row in judgments(tmp_path / "again")} == {
        "good": "PASS",
        "bad": "FAIL",
    }
    (label,) = LabelStore(tmp_path / "again").current()
    assert (label.answer, label.annotator, label.note, label.id) == ("FAIL", "ann", "no", "good")


@pytest.mark.parametrize("kind", ["langfuse", "phoenix"])
def test_the_command_says_how_many_failures_are_not_there(
    run: Path, tmp_path: Path, kind: str
) -> None:
    done = CliRunner().invoke(
        export_run, [str(run), "--to", kind, "-o", str(tmp_path / "out.json")]
    )
    assert done.exit_code == 0
    assert (
        f"left out: 1 judgment without a verdict, because {kind} cannot represent failures"
        in done.stderr
    )


def test_bodies_are_what_the_two_document(run: Path, tmp_path: Path) -> None:
    export(run, tmp_path / "langfuse.json", "langfuse")
    scores = json.loads((tmp_path / "langfuse.json").read_text())["data"]
    assert [(one["traceId"], one["value"], one["dataType"], one["source"]) for one in scores] == [
        ("good", 1, "BOOLEAN", "EVAL"),
        ("good", 0, "BOOLEAN", "ANNOTATION"),
        ("bad", 0, "BOOLEAN", "EVAL"),
    ]
    assert len({one["id"] for one in scores}) == 3
    export(run, tmp_path / "phoenix.json", "phoenix")
    first = json.loads((tmp_path / "phoenix.json").read_text())["data"][0]
    assert first.keys() == {"span_id", "name", "annotator_kind", "result", "metadata", "identifier"}
    assert (first["annotator_kind"], first["result"]) == (
        "LLM",
        {"label": "PASS", "score": 1.0, "explanation": "so"},
    )


def test_the_same_export_has_the_same_ids(run: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        export(run, tmp_path / name, "langfuse")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_winner_goes_out_by_its_name(tmp_path: Path) -> None:
    PairwiseJudge(said("B")).evaluate([["a", "b"]], "Which is better?", run=tmp_path / "run")
    export(tmp_path / "run", tmp_path / "out.json", "langfuse")
    (score,) = json.loads((tmp_path / "out.json").read_text())["data"]
    assert (score["value"], score["dataType"]) == ("response 2", "CATEGORICAL")


def test_a_label_by_options_with_scores_is_a_manual_rating_of_promptfoo(tmp_path: Path) -> None:
    row = Instance({"question": "q", "response": "a"}, id="1")
    DirectJudge(said("Yes")).evaluate([row], "Is it good?", run=tmp_path / "run")
    LabelStore(tmp_path / "run").add(
        Label(row=row.identity, criteria="Is it good?", annotator="ann", option="No")
    )
    export(tmp_path / "run", tmp_path / "out.json", "promptfoo")
    (result,) = json.loads((tmp_path / "out.json").read_text())["results"]["results"]
    assert result["prompt"].keys() >= {"raw", "label"}  # promptfoo import refuses a result without
    assert [
        (part["assertion"]["type"], part["pass"])
        for part in result["gradingResult"]["componentResults"]
    ] == [
        ("llm-rubric", True),
        ("human", False),
    ]
