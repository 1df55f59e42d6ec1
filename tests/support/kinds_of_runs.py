"""A run of every kind, with as much above its rows as there can be: for tests of what is seen
first.
"""

from __future__ import annotations

import json
from pathlib import Path

from adjudge import (
    DirectJudge,
    Instance,
    MultiCriteria,
    RagEvaluator,
    Request,
    RubricJudge,
    ScriptedModel,
)
from adjudge.core.domain.criteria import yes_no_criteria
from adjudge.core.domain.json_types import JsonDict
from support import commands
from support.agent_runs import agent_run
from support.labels import compared, judged_by_two, model
from support.rag import varied
from support.trust import labelled, labels_of, population, run_of

FILTERS = {
    "one": "verdict=FAIL",
    "two": "criteria=kind&verdict=No",
    "pairs": "q=fine",
    "agents": "tool=search",
    "targets": "where=system+%3D+five",
    "rubric": "status=abstained",
    "rag": "sort=row&min=0&max=1",
    "five": "q=text",
    "labelled": "people=differ",
}
"""Run → a filter that leaves rows in its list."""
CODE = """
import json

def four(question):
    return "Yes. " + question

def five(question):
    if question.endswith("3?"):
        raise RuntimeError("the server is overloaded, and says so at length")
    return "No. " + question

def ask(prompt):
    said = prompt.rsplit("The answer is", 1)[-1]
    if "question 7?" in said:
        raise TimeoutError("the gateway did not answer")
    option = "PASS" if len(said) % 3 else "FAIL"
    return json.dumps({"explanation": "It is polite.", "selected_option": option})
"""
EVAL = """
data: rows.csv
target:
  - {name: four, function: "code.py:four"}
  - {name: five, function: "code.py:five"}
models: code.py:ask
judges: [{kind: aspect, name: answers the question, criteria: It is right., fail_under: 0.6}]
gates: {confidence: 0.95}
run: targets
"""


def make(root: Path) -> None:
    """Make the runs in a folder."""
    run_of(root / "one", population(60))
    labelled(run_of(root / "labelled", population(60)), labels_of(population(60)[:40]))
    judged_by_two(root / "two")
    compared(root / "pairs", [(f"fine {n}", f"other {n}") for n in range(20)])
    agent_run(root / "agents")
    _targets(root)
    _rubric(root / "rubric")
    rows = [
        {"user_input": f"Question {n}?", "contexts": [f"Fact {n}."], "response": f"Fact {n}."}
        for n in range(20)
    ]
    RagEvaluator(varied()).evaluate(rows, run=root / "rag")
    criteria = [
        yes_no_criteria(f"Is the text free of {what}, as the house style demands of every text?")
        for what in ("jargon", "promises", "needless words", "blame", "exclamation marks")
    ]
    DirectJudge(model(lambda text: "Yes" if len(text) % 2 else "No")).evaluate_multi_criteria(
        [Instance({"response": f"text {n}"}, f"r{n}") for n in range(20)],
        MultiCriteria(criteria),
        run=root / "five",
    )


def _targets(root: Path) -> None:
    """Two systems, of which one fails sometimes, and a gate that is undecided for one."""
    root.mkdir(exist_ok=True)
    rows = "".join(f"q{n},question {n}?,{'refund' if n % 3 else 'size'}\n" for n in range(40))
    (root / "rows.csv").write_text(f"id,question,topic\n{rows}")
    (root / "code.py").write_text(CODE)
    (root / "eval.yaml").write_text(EVAL)
    commands.adjudge("run", "eval.yaml", "--trust", cwd=root)


def _rubric(folder: Path) -> None:
    """Rows of which some have no score, since the model cannot tell."""

    def script(request: Request) -> str:
        prompt = request.prompt.text
        hard = "row 3" in prompt or "row 4" in prompt
        return json.dumps(
            {
                "explanation": "It is so.",
                "quote": "",
                "selected_option": "cannot tell" if hard else "met",
            }
        )

    rows: list[JsonDict] = [
        {"response": f"row {n}", "rubric": [{"text": "Says when.", "points": 2}, "Is polite."]}
        for n in range(20)
    ]
    RubricJudge(ScriptedModel(script), per="point").evaluate(rows, run=folder)
