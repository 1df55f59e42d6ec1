"""Runs as files of other tools: what goes out comes in again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adjudge import AspectCritic, DirectJudge, PairwiseJudge, ScriptedModel
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.label import Label
from adjudge.errors import SetupError
from adjudge.features.importers.importing import import_file
from adjudge.runs.exporters.export import export
from adjudge.trust.labels.store import LabelStore
from support.exported import judgments


def said(*options: str) -> ScriptedModel:
    return ScriptedModel(
        [f'{{"explanation": "so", "selected_option": "{one}"}}' for one in options], name="m"
    )


def came_back(run: Path, kind: str, tmp_path: Path) -> Path:
    export(run, tmp_path / "out.json", kind)
    report = import_file(tmp_path / "out.json", tmp_path / "again")
    assert report.kind == kind
    return tmp_path / "again"


def label(run: Path, row: Instance, criteria: str, answer: str) -> None:
    LabelStore(run).add(Label(row=row.identity, criteria=criteria, annotator="ann", option=answer))


@pytest.mark.parametrize("kind", ["evalassist", "promptfoo", "inspect"])
def test_verdicts_failures_and_texts_come_back(tmp_path: Path, kind: str) -> None:
    rows = [Instance({"question": "q", "response": text}, id=text) for text in ("a", "b", "c")]
    model = said("PASS", "FAIL", "nonsense")
    AspectCritic("It is good.", model, max_repairs=0).evaluate(rows, run=tmp_path / "run")
    again = {
        row["fields"]["response"]: row
        for row in judgments(came_back(tmp_path / "run", kind, tmp_path))
    }
    before = {row["fields"]["response"]: row for row in judgments(tmp_path / "run")}
    assert {text: row["score"] for text, row in again.items()} == {
        text: row["score"] for text, row in before.items()
    }
    assert sorted(row["status"] for row in again.values()) == ["failed", "scored", "scored"]


def test_promptfoo_gets_the_counts_of_its_results(tmp_path: Path) -> None:
    model = said("PASS", "FAIL", "nonsense", "PASS", "FAIL", "PASS")
    judge = AspectCritic("It is good.", model, max_repairs=0)
    judge.evaluate(["a", "b", "c", "d", "e", "f"], run=tmp_path / "run")
    export(tmp_path / "run", tmp_path / "out.json", "promptfoo")
    results = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["results"]
    stats = {name: results["stats"][name] for name in ("successes", "failures", "errors")}
    assert stats == {"successes": 3, "failures": 2, "errors": 1}
    assert [one["failureReason"] for one in results["results"]] == [0, 1, 2, 0, 1, 0]


def test_labels_go_to_evalassist_as_expected_results(tmp_path: Path) -> None:
    row = Instance({"question": "q", "response": "a"}, id="1")
    DirectJudge(said("Yes")).evaluate([row], "Is it good?", run=tmp_path / "run")
    label(tmp_path / "run", row, "Is it good?", "No")
    (found,) = LabelStore(came_back(tmp_path / "run", "evalassist", tmp_path)).current()
    assert (found.answer, found.row) == ("No", row.identity)


def test_comparisons_go_to_evalassist_and_nowhere_else(tmp_path: Path) -> None:
    PairwiseJudge(said("B")).evaluate([["a", "b"]], "Which is better?", run=tmp_path / "run")
    (row,) = judgments(came_back(tmp_path / "run", "evalassist", tmp_path))
    assert (row["selected_option"], row["fields"]["response"]) == (1, ["a", "b"])
    for kind in ("promptfoo", "inspect"):
        with pytest.raises(SetupError, match="cannot represent comparisons"):
            export(tmp_path / "run", tmp_path / f"{kind}.json", kind)
        assert not (tmp_path / f"{kind}.json").exists()


def test_several_criteria_are_no_test_case(tmp_path: Path) -> None:
    DirectJudge(said("Yes")).evaluate(
        ["a", "b"], ["Is it good?", "Is it short?"], run=tmp_path / "run"
    )
    with pytest.raises(SetupError, match="one judge with one criterion"):
        export(tmp_path / "run", tmp_path / "out.json", "evalassist")


def test_a_pass_with_a_low_score_stays_a_pass(tmp_path: Path) -> None:
    """One of two assertions is enough by the test's threshold: it passes with 0.5."""

    def result(place: int, good: bool) -> dict[str, object]:
        graded = {"pass": good, "score": 0.5, "reason": ""}
        parts = [
            {"pass": first, "score": float(first), "assertion": {"type": kind}}
            for kind, first in (("contains", True), ("not-contains", False))
        ]
        return {
            "testIdx": place,
            "vars": {"q": f"q{place}"},
            "provider": {"id": "openai:gpt-a"},
            "response": {"output": f"out {place}"},
            "success": good,
            "score": 0.5,
            "gradingResult": {**graded, "componentResults": parts},
        }

    results = [result(place, place < 3) for place in range(5)]
    whole = {"version": 3, "prompts": [], "results": results}
    (tmp_path / "out.json").write_text(json.dumps({"evalId": "e", "results": whole}))
    import_file(tmp_path / "out.json", tmp_path / "run")
    export(tmp_path / "run", tmp_path / "run.xml", "junit")
    suite = (tmp_path / "run.xml").read_text().partition('<testsuite name="all assertions"')[2]
    assert suite.startswith(' tests="5" failures="2"'), suite[:80]
    export(tmp_path / "run", tmp_path / "again.json", "promptfoo")
    again = json.loads((tmp_path / "again.json").read_text())["results"]["results"]
    overall = [one for one in again if one["testCase"]["assert"][0]["value"] == "overall"]
    assert [one["success"] for one in overall] == [True, True, True, False, False]
