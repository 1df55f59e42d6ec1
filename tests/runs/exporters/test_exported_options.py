"""A criterion whose good end is No goes out to another tool and comes back as it was."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from adjudge import Criteria, CriteriaOption, DirectJudge, Instance, RunError
from adjudge.core.domain.label import Label
from adjudge.features.importers.importing import import_file
from adjudge.runs.exporters.export import write_export
from adjudge.runs.folder import records_of, run_facts
from adjudge.trust.labels.store import LabelStore
from support import commands

RUDE = {"name": "rude", "description": "Is it rude?", "options": ["Yes", "No"], "good": "No"}
TOOLS = ["inspect", "langfuse", "phoenix"]


def adjudge(folder: Path, *words: str, code: int = 0) -> str:
    done = commands.adjudge(*words, cwd=folder)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = "".join(f"r{number},reply {number}\n" for number in range(20))
    (tmp_path / "rows.csv").write_text(f"id,response\n{rows}")
    judge = {"kind": "direct", "name": "rude", "criteria": [RUDE]}
    (tmp_path / "eval.yaml").write_text(json.dumps({"data": "rows.csv", "judges": [judge]}))
    adjudge(tmp_path, "run", "eval.yaml", "-m", "scripted/No", "--run", "runs/main")
    return tmp_path


@pytest.mark.parametrize("tool", TOOLS)
def test_the_good_end_comes_back(folder: Path, tool: str) -> None:
    """Twenty replies that are not rude came back as twenty rude ones, and gates were turned
    round.
    """
    adjudge(folder, "export", "runs/main", "--to", tool, "-o", "out.json")
    adjudge(folder, "import", "out.json", "--run", "runs/back")
    shown = json.loads(adjudge(folder, "runs", "show", "runs/back", "--json"))
    assert shown["summary"]["mean"] == 1.0
    assert shown["summary"]["options"] == {"No": 20}
    gate = ("--not-worse-than", "runs/back", "--margin", "0.2")
    words = ("run", "eval.yaml", "-m")
    told = adjudge(folder, *words, "scripted/Yes", "--run", "runs/rude", *gate, code=5)
    assert "change -1.000" in told
    assert "another judge" in told or "difference between the judges" in told
    kind = commands.adjudge(*words, "scripted/No", "--run", "runs/kind", *gate, cwd=folder)
    # An import that does not name its judge is another judge, by which no gate passes.
    assert kind.returncode in (0, 5), kind.stderr
    assert "-1.000" not in kind.stdout + kind.stderr


def test_inspect_itself_counts_the_score(folder: Path) -> None:
    """Inspect takes the word no for 0."""
    adjudge(folder, "export", "runs/main", "--to", "inspect", "-o", "out.json")
    sample = json.loads((folder / "out.json").read_text())["samples"][0]
    score = sample["scores"]["rude"]
    assert (score["value"], score["answer"]) == (1.0, "No")


def test_an_import_whose_options_score_otherwise_is_not_compared(folder: Path) -> None:
    score = {"name": "rude", "value": "No", "dataType": "CATEGORICAL", "source": "EVAL"}
    scores = [{**score, "traceId": f"r{number}"} for number in range(20)]
    (folder / "scores.json").write_text(json.dumps({"data": scores}))
    adjudge(folder, "import", "scores.json", "--run", "runs/foreign")
    told = adjudge(folder, "runs", "diff", "runs/main", "runs/foreign", "--id", "id")
    assert "rude: not comparable: the scores of the options changed" in told


def test_phoenix_says_what_a_label_scores(folder: Path) -> None:
    """No counted as good in the mean, and the line below said that yes does."""
    result = {"label": "No", "score": 1.0}
    notes = [
        {"span_id": f"r{place}", "name": "rude", "annotator_kind": "LLM", "result": result}
        for place in range(20)
    ]
    (folder / "notes.json").write_text(json.dumps({"data": notes}))
    adjudge(folder, "import", "notes.json", "--run", "runs/spans")
    told = adjudge(folder, "runs", "show", "runs/spans")
    assert "1.000" in told or "100%" in told
    assert "yes counts as good" not in told


@pytest.mark.parametrize("tool", ["langfuse", "phoenix", "promptfoo", "evalassist"])
@pytest.mark.parametrize("options", [("Yes", "No"), ("True", "False"), ("PASS", "UNCLEAR", "FAIL")])
def test_labels_come_back_as_the_options_of_the_votes(
    tmp_path: Path, tool: str, options: tuple[str, ...]
) -> None:
    """Votes came back as Yes and labels as yes, so people and the judge never agreed."""
    scores = {word: number / 2 for number, word in enumerate(options)}
    criteria = Criteria(
        "rude", "Is it rude?", [CriteriaOption(word, "", score) for word, score in scores.items()]
    )
    rows = [Instance({"response": f"reply {number}"}, id=f"r{number}") for number in range(12)]

    def model(prompt: str) -> str:
        number = int(re.findall(r"reply (\d+)", prompt)[-1])
        return json.dumps({"explanation": "so", "selected_option": options[number % len(options)]})

    DirectJudge(model).evaluate(rows, criteria, run=tmp_path / "main")
    judgments = [*records_of(tmp_path / "main")]
    LabelStore(tmp_path / "main").add(
        *(
            Label(row=row.identity, id=row.id, criteria="rude", annotator="ann", option=row.verdict)
            for row in judgments
        )
    )
    write_export(tmp_path / "main", tmp_path / "out.json", to=tool)
    import_file(tmp_path / "out.json", tmp_path / "back")
    came_back = {row.identity: row.verdict for row in records_of(tmp_path / "back")}
    labels = [*LabelStore(tmp_path / "back").current()]
    assert len(labels) == 12
    assert {label.row: label.option for label in labels} == came_back
    judges = run_facts(tmp_path / "back").judge_configurations
    (judge,) = judges.values()
    assert judge.option_scores("rude") == scores


def test_an_annotation_made_in_the_tool_is_one_of_the_options(tmp_path: Path) -> None:
    """Annotations that people add there have none of the metadata."""
    about = {"judge": "rude", "criteria": "rude", "models": ["m"], "verdict": "Yes", "score": 0.0}
    about |= {"option_scores": {"Yes": 0.0, "No": 1.0}}
    base = {"traceId": "a", "name": "rude", "dataType": "CATEGORICAL"}
    scores = [
        {**base, "value": "yes", "source": "ANNOTATION"},
        {**base, "value": "Yes", "source": "EVAL", "metadata": about},
        {**base, "value": "maybe", "source": "ANNOTATION"},
    ]
    (tmp_path / "out.json").write_text(json.dumps({"data": scores}))
    report = import_file(tmp_path / "out.json", tmp_path / "back")
    (label,) = LabelStore(tmp_path / "back").current()
    assert label.option == "Yes"
    assert list(report.left.values()) == [1] and "'maybe'" in "".join(report.left)


@pytest.mark.parametrize(
    ("verdicts", "labels"),
    [
        (["Good", "Poor"], ["good", "poor"]),
        (["yes", "no"], ["TRUE", "FALSE"]),
        (["Good", "good"], ["Good", "Good"]),
    ],
)
def test_options_that_people_write_otherwise_are_one_set_or_refused(
    tmp_path: Path, verdicts: list[str], labels: list[str]
) -> None:
    base = {"name": "rude", "dataType": "CATEGORICAL"}
    scores = [
        {**base, "traceId": str(number), "value": word, "source": source}
        for source, words in (("ANNOTATION", labels), ("EVAL", verdicts))
        for number, word in enumerate(words)
    ]
    (tmp_path / "out.json").write_text(json.dumps({"data": scores}))
    with pytest.raises(RunError, match="write each option in one way"):
        import_file(tmp_path / "out.json", tmp_path / "back")


@pytest.mark.parametrize(("edit", "answer"), [(0.0, "Yes"), (1.0, "No"), ("yes", "Yes")])
def test_an_edit_in_inspect_is_one_of_the_options(folder: Path, edit: object, answer: str) -> None:
    """An edited score was an option named 0.0."""
    adjudge(folder, "export", "runs/main", "--to", "inspect", "-o", "out.json")
    log = json.loads((folder / "out.json").read_text())
    score = log["samples"][0]["scores"]["rude"]
    person = {"value": edit, "provenance": {"author": "ann"}}
    log["samples"][0]["scores"]["rude"] = {**score, "value": edit, "history": [score, person]}
    (folder / "out.json").write_text(json.dumps(log))
    import_file(folder / "out.json", folder / "back")
    assert [label.option for label in LabelStore(folder / "back").current()] == [answer]
