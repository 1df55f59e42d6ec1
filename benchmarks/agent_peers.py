"""Calls and tokens of each measure of an agent, beside other tools, on the same ten trajectories.

    python benchmarks/agent_peers.py [--data FILE] [--deepeval PYTHON] [--ragas PYTHON] [--runs 10]

PYTHON is the interpreter of an environment that has the peer. All of them ask one server on
loopback, which fills in the schema it is asked for (lists get two items) and counts: requests, and
one token for every four characters of messages, tools, schemas and replies. What it answers is no
judgment: only calls and tokens are compared, each measure with the settings that its tool has by
itself. The trajectories are the first of tau-bench's, with its expected calls as reference.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

from evidence_peers import Counter, Filled

from adjudge.core.domain.json_types import JsonDict
from adjudge.features.agents.expectation import Expectations, shown
from adjudge.features.agents.traces.files import read_traces
from adjudge.features.agents.trajectory import Trajectory

DATA = Path("../shared/data/agents/tau-bench-gpt-4o-airline.json.gz")
ADJUDGE_MEASURES = (
    *("(all rules)", "goal", "policy", "tool_choice", "reported_truly", "side_effect", "loop"),
    *("solved", "remembered", "in_role", "frustrated", "blame"),
)
DEEPEVAL_MEASURES = (
    *("ToolCorrectness", "ArgumentCorrectness", "TaskCompletion", "StepEfficiency"),
    *("PlanAdherence", "PlanQuality", "AgentLoopDetection"),
    *("ConversationCompleteness", "RoleAdherence", "TurnRelevancy", "KnowledgeRetention"),
    *("GoalAccuracy", "ToolUse"),
)
RAGAS_MEASURES = (
    *("ToolCallAccuracy", "ToolCallF1", "AgentGoalAccuracyWithoutReference"),
    *("AgentGoalAccuracyWithReference", "TopicAdherence"),
)
ADJUDGE = """
import json, os, sys
from pathlib import Path
from adjudge import AgentEvaluator
from adjudge.features.agents.rules import RULES
from adjudge.features.agents.traces.files import read_traces
measure, path, count = sys.argv[1:]
rows = [row.instance(str(place)) for place, row in enumerate(read_traces(Path(path)))][: int(count)]
names = [*RULES] if measure == "(all rules)" else [measure]
model = None if measure == "(all rules)" else os.environ["BASE"] + "#m"
results = AgentEvaluator(model, measures=names, mode="generate").evaluate(rows)
assert len(results) == int(count)
judged = [one for result in results for one in result.results.values()]
failed = [one.reason for one in judged if one.status == "failed"]
assert not failed, failed[0]
"""
RAGAS = """
import asyncio, json, os, sys, warnings
warnings.filterwarnings("ignore")
from openai import AsyncOpenAI
from ragas.llms import llm_factory
from ragas.messages import AIMessage, HumanMessage, ToolCall, ToolMessage
from ragas.metrics import collections
llm = llm_factory("gpt-4o-mini", client=AsyncOpenAI(api_key="none", base_url=os.environ["BASE"]))
name = sys.argv[1]
def messages(row):
    for kind, text, call in row["steps"]:
        if kind == "user":
            yield HumanMessage(content=text)
        elif call is None:
            yield AIMessage(content=text)
        else:
            made = ToolCall(name=call["name"], args=call["arguments"])
            yield AIMessage(content="", tool_calls=[made])
            yield ToolMessage(content=call["result"])
async def main():
    metric = getattr(collections, name)
    metric = metric() if name.startswith("ToolCall") else metric(llm=llm)
    for row in json.load(sys.stdin):
        given = dict(user_input=[*messages(row)])
        if name.startswith("ToolCall"):
            given["reference_tool_calls"] = [
                ToolCall(name=call["name"], args=call["arguments"]) for call in row["expected"]
            ]
        elif name.endswith("WithReference"):
            given["reference"] = row["goal"]
        elif name.startswith("Topic"):
            given["reference_topics"] = ["flights", "reservations"]
        await metric.ascore(**given)
asyncio.run(main())
"""
DEEPEVAL = """
import json, os, sys
os.environ.update(OPENAI_API_KEY="none", DEEPEVAL_TELEMETRY_OPT_OUT="YES")
from deepeval import metrics
from deepeval.models import OpenAIModel
from deepeval.test_case import ConversationalTestCase, LLMTestCase, ToolCall, Turn
from deepeval.tracing import observe, update_current_trace
name = sys.argv[1]
model = OpenAIModel(model="gpt-4o-mini", base_url=os.environ["BASE"], api_key="none")
def calls(given):
    return [
        ToolCall(name=one["name"], input_parameters=one["arguments"], output=one.get("result"))
        for one in given
    ]
def turns(row):
    for kind, text, call in row["steps"]:
        if kind == "user":
            yield Turn(role="user", content=text)
        elif call is None:
            yield Turn(role="assistant", content=text)
        else:
            yield Turn(role="assistant", content="", tools_called=calls([call]))
CONVERSATION = (
    "ConversationCompleteness", "RoleAdherence", "TurnRelevancy", "KnowledgeRetention",
    "GoalAccuracy", "ToolUse",
)
kind = getattr(metrics, name + "Metric")
for row in json.load(sys.stdin):
    made = calls([call for _, _, call in row["steps"] if call])
    options = {} if name in ("ToolCorrectness", "AgentLoopDetection") else {"async_mode": False}
    if name != "AgentLoopDetection":
        options["model"] = model
    if name == "ToolUse":
        options["available_tools"] = [ToolCall(name=one) for one in row["tools"]]
    metric = kind(**options)
    if name in CONVERSATION:
        case = ConversationalTestCase(
            turns=[*turns(row)], chatbot_role="An airline's agent.", scenario=row["goal"]
        )
    else:
        case = LLMTestCase(
            input=row["goal"], actual_output=row["answer"], tools_called=made,
            expected_tools=calls(row["expected"]),
        )
    case._trace_dict = {
        "name": "agent", "type": "agent", "input": row["goal"], "output": row["answer"],
        "children": [
            {"name": one.name, "type": "tool", "input": one.input_parameters, "output": one.output,
             "children": []}
            for one in made
        ],
    }
    metric.measure(case, _show_indicator=False)
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--measure", action="append", help="only this one; may be repeated")
    parser.add_argument("--ragas", help="a Python that has ragas")
    parser.add_argument("--deepeval", help="a Python that has deepeval")
    args = parser.parse_args()
    rows = _rows(args.data, args.runs)
    jobs = (
        ("adjudge", sys.executable, ADJUDGE, ADJUDGE_MEASURES, [str(args.data), str(args.runs)]),
        ("deepeval", args.deepeval, DEEPEVAL, DEEPEVAL_MEASURES, []),
        ("ragas", args.ragas, RAGAS, RAGAS_MEASURES, []),
    )
    print(f"{len(rows)} trajectories; a trajectory takes")
    for tool, python, job, measures, more in jobs:
        for measure in measures if python else ():
            if args.measure and measure not in args.measure:
                continue
            found = _counted(python, job, [measure, *more], rows)
            print(f"{tool:10}{measure:36}{found}", flush=True)


def _rows(data: Path, count: int) -> list[JsonDict]:
    found = []
    for row in read_traces(data):
        expected = Expectations().of(row.columns) or ()
        calls: list[JsonDict] = [
            {
                "name": call.name,
                "arguments": {name: shown(one) for name, one in (call.arguments or {}).items()},
            }
            for call in expected
        ]
        found.append(_plain(row.trajectory, calls))
        if len(found) == count:
            break
    return found


def _plain(run: Trajectory, expected: list[JsonDict]) -> JsonDict:
    steps: list[tuple[str, str, JsonDict | None]] = []
    for step in run.steps:
        call = step.call
        made: JsonDict | None = None
        if call is not None:
            made = {"name": call.name, "arguments": call.arguments, "result": call.result or ""}
        steps.append(("user" if step.actor == "user" else "agent", step.text, made))
    tools = sorted({step.call.name for step in run.calls if step.call is not None})
    return {
        "goal": run.goal,
        "answer": run.answer or "(none)",  # deepeval takes no run without one
        "steps": steps,  # type: ignore[dict-item]
        "expected": expected,
        "tools": tools,
    }


def _counted(python: str, job: str, words: list[str], rows: list[JsonDict]) -> str:
    with Counter(("127.0.0.1", 0), Filled) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_address[1]}/v1"
        done = subprocess.run(
            [python, "-c", job, *words],
            input=json.dumps(rows),
            text=True,
            check=False,
            capture_output=True,
            env={**os.environ, "BASE": base},
        )
        server.shutdown()
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [""])[-1]
        return f"failed after {server.calls} calls: {last[:120]}"
    calls, tokens = server.calls / len(rows), server.characters / 4 / len(rows)
    return f"{calls:6.1f} calls {tokens:9,.0f} tokens"


if __name__ == "__main__":
    main()
