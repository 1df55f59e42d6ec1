"""CPU per judgment of three judges that ask a decision model: adjudge, deepeval and MLflow.

    python benchmarks/decision_peers.py [--deepeval PYTHON] [--mlflow PYTHON] [--rows 20]

PYTHON is an interpreter that has deepeval (4.3.1) or MLflow (3.18.0), and typesafe-sdk. Each tool
asks the same ten yes/no questions about the same texts, of a server on this machine whose CPU is
not counted. deepeval sends the ten in one request (``JevEval``), MLflow a request per question
(``make_judge``), adjudge both ways. A round starts each tool once, in turn; imports and a first row
are not counted.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from decision_cpu import _SERVER

COMMON = """
import sys, time, json
url, rows, way = sys.argv[1], int(sys.argv[2]), sys.argv[3]
texts = [f"Row {number}. " + "The shop opens at nine. " * 20 for number in range(rows)]
questions = [f"Is the text good in way {number}?" for number in range(10)]
def report(judge):
    judge(["A first text."])
    started, begun = time.process_time(), time.perf_counter()
    judge(texts)
    spent, took = time.process_time() - started, time.perf_counter() - begun
    count = rows * len(questions)
    print(json.dumps({"cpu": spent / count * 1e6, "wall": took / count * 1e6}))
"""
ADJUDGE = """
from adjudge import DirectJudge, open_model
judge = DirectJudge(open_model(f"systemone:{url}#jev-1.14.0", api_key="sk-none"))
def ask(given):
    if way == "together":
        judge.evaluate_multi_criteria(given, questions)
    else:
        for question in questions:
            judge.evaluate(given, question)
report(ask)
"""
DEEPEVAL = """
from deepeval.metrics.jev_eval import JevEval
from deepeval.metrics.jev_eval.questions import Noul
from deepeval.models.system_one.typesafe_model import TypeSafeModel
from deepeval.test_case import LLMTestCase, SingleTurnParams
model = TypeSafeModel("jev-1.14.0", api_key="sk-none", base_url=url)
metric = JevEval(
    "good", [SingleTurnParams.ACTUAL_OUTPUT], [Noul(question) for question in questions],
    system_one_model=model, async_mode=False,
)
def ask(given):
    for text in given:
        metric.measure(LLMTestCase(input="-", actual_output=text), _show_indicator=False)
        assert len(metric.score_breakdown) == len(questions)
report(ask)
"""
MLFLOW = """
from mlflow.genai.judges import make_judge
judges = [
    make_judge(
        f"way{number}", instructions=question + " {{ outputs }}", model="typesafe:/jev-1.14.0",
        feedback_value_type=bool, base_url=url,
    )
    for number, question in enumerate(questions)
]
def ask(given):
    for text in given:
        for judge in judges:
            assert judge(outputs=text).value in (True, False)
report(ask)
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--deepeval", help="a Python that has deepeval")
    parser.add_argument("--mlflow", help="a Python that has MLflow")
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=1)
    options = parser.parse_args()
    tools = [
        ("adjudge, one request a row", sys.executable, ADJUDGE, "together"),
        ("deepeval, one request a row", options.deepeval, DEEPEVAL, "together"),
        ("adjudge, a request a question", sys.executable, ADJUDGE, "apart"),
        ("MLflow, a request a question", options.mlflow, MLFLOW, "apart"),
    ]
    tests = Path(__file__).parents[1] / "tests"
    server = subprocess.Popen(
        [sys.executable, "-c", _SERVER, str(tests)], stdout=subprocess.PIPE, text=True
    )
    found: dict[str, list[dict[str, float]]] = {}
    try:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        for _ in range(options.rounds):
            for name, python, script, way in tools:
                if python:
                    answer = measured(python, COMMON + script, [url, str(options.rows), way])
                    found.setdefault(name, []).append(answer)
    finally:
        server.terminate()
    print("| judge | CPU per judgment, µs | seconds per 1,000 judgments |")
    print("|---|--:|--:|")
    for name, answers in found.items():
        cpu, wall = (
            statistics.median(answer[part] for answer in answers) for part in ("cpu", "wall")
        )
        print(f"| {name} | {cpu:,.0f} | {wall / 1000:.1f} |")


def measured(python: str, script: str, words: list[str]) -> dict[str, float]:
    environment = {
        **os.environ,
        "TYPESAFE_API_KEY": "sk-none",
        "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
        "MLFLOW_DISABLE_TELEMETRY": "true",
    }
    if python != sys.executable:
        environment.pop("PYTHONPATH", None)
    done = subprocess.run(
        [python, "-c", script, *words], capture_output=True, text=True, env=environment, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    answer: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return answer


if __name__ == "__main__":
    main()
