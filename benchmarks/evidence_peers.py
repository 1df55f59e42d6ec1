"""Calls and tokens of evidence beside the usual chain of other tools: faithfulness, context
precision and context recall.

    python benchmarks/evidence_peers.py --data FOLDER [--ragas PYTHON] [--deepeval PYTHON] [--rows
    25]

PYTHON is the interpreter of an environment that has the peer. All of them ask one server on
loopback, which fills in the schema it is asked for (lists get two items) and counts: requests, and
one token for every four characters of messages, tools, schemas and replies. The rows are those of
the RAG set whose answers state something, with the answer as its own reference: what is counted
does not depend on it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from adjudge.features.evidence.sentences import sentences

Schema = Mapping[str, object]

RAGAS = """
import asyncio, json, os, sys, warnings
warnings.filterwarnings("ignore")
from openai import AsyncOpenAI
from ragas.llms import llm_factory
from ragas.metrics.collections import ContextPrecision, ContextRecall, Faithfulness
llm = llm_factory("gpt-4o-mini", client=AsyncOpenAI(api_key="none", base_url=os.environ["BASE"]))
async def main():
    for row in json.load(sys.stdin):
        given = dict(user_input=row["question"], retrieved_contexts=row["contexts"])
        await Faithfulness(llm=llm).ascore(**given, response=row["response"])
        await ContextPrecision(llm=llm).ascore(**given, reference=row["response"])
        await ContextRecall(llm=llm).ascore(**given, reference=row["response"])
asyncio.run(main())
"""
DEEPEVAL = """
import json, os, sys
os.environ.update(OPENAI_API_KEY="none", DEEPEVAL_TELEMETRY_OPT_OUT="YES")
from deepeval.metrics import ContextualPrecisionMetric, ContextualRecallMetric, FaithfulnessMetric
from deepeval.models import OpenAIModel
from deepeval.test_case import LLMTestCase
model = OpenAIModel(model="gpt-4o-mini", base_url=os.environ["BASE"], api_key="none")
for row in json.load(sys.stdin):
    said = row["response"]
    case = LLMTestCase(
        input=row["question"],
        actual_output=said,
        expected_output=said,
        retrieval_context=row["contexts"],
    )
    for metric in (FaithfulnessMetric, ContextualPrecisionMetric, ContextualRecallMetric):
        metric(model=model, async_mode=False).measure(case, _show_indicator=False)
"""
ADJUDGE = """
import json, os, sys
from adjudge import RagEvaluator
measures = ["context_precision", "context_recall"]
rag = RagEvaluator(
    os.environ["BASE"] + "#m",
    dimensions="none",
    evidence="joint",
    measures=measures,
    checks="joint",
    mode="generate",
)
rows = json.load(sys.stdin)
for row in rows:
    row.update(user_input=row.pop("question"), reference=row["response"])
for result in rag.evaluate(rows):
    assert result.status == "scored", result
"""


class Counter(ThreadingHTTPServer):
    """Counts what it is asked."""

    calls = characters = 0


class Filled(BaseHTTPRequestHandler):
    """Answers with whatever the asked schema allows."""

    server: Counter
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        message = _message(asked)
        counted = [asked["messages"], asked.get("tools"), asked.get("response_format"), message]
        self.server.calls += 1
        self.server.characters += len(
            json.dumps([one for one in counted if one], ensure_ascii=False)
        )
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        made = {
            "id": "x",
            "object": "chat.completion",
            "created": 1,
            "model": asked["model"],
            "usage": usage,
            "choices": [choice],
        }
        body = json.dumps(made).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _message(asked: Schema) -> dict[str, object]:
    tools = asked.get("tools")
    if isinstance(tools, list):
        function = tools[0]["function"]
        call = {"name": function["name"], "arguments": json.dumps(_filled(function["parameters"]))}
        return {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": call}],
        }
    schema = _schema(asked)
    if schema is None:  # it wants a sentence
        return {"role": "assistant", "content": "It is said so in the text."}
    made = _filled(schema)
    return {"role": "assistant", "content": json.dumps(_as_many(made, _numbered(_text(asked))))}


def _text(asked: Schema) -> str:
    return "\n".join(str(one["content"]) for one in asked["messages"])  # type: ignore[attr-defined]


def _numbered(text: str) -> list[int]:
    """How many parts a prompt of ours numbers, field by field, where it does."""
    fields = re.findall(r'every one of the fields "(.+?) 1"', text)
    return [len(re.findall(rf'field="{re.escape(field)} \d+"', text)) for field in fields]


def _as_many(made: object, counts: list[int]) -> object:
    """One entry for each number, as a model that follows the prompt gives them."""
    if not counts or not isinstance(made, dict):
        return made
    lists = zip(made.items(), counts, strict=True)
    return {
        name: [{**first, "number": place} for place in range(1, count + 1)]
        for (name, (first, *_)), count in lists
    }


def _schema(asked: Schema) -> Schema | None:
    wanted = asked.get("response_format")
    if isinstance(wanted, Mapping) and isinstance(wanted.get("json_schema"), Mapping):
        found: Schema = wanted["json_schema"]["schema"]
        return found
    text = _text(asked)
    for place in re.finditer(r"\{", text):
        try:
            said, _ = json.JSONDecoder().raw_decode(text, place.start())
        except ValueError:
            continue
        if isinstance(said, dict) and "properties" in said:
            return said
    return None


def _filled(schema: Schema, root: Schema | None = None) -> object:
    root = root or schema
    if "$ref" in schema:
        *_, name = str(schema["$ref"]).split("/")
        known = root.get("$defs") or root.get("definitions")
        return _filled(known[name], root)  # type: ignore[index]
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][-1]  # type: ignore[index]
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return _filled(schema[several][0], root)  # type: ignore[index]
    return _of_type(schema, root)


def _of_type(schema: Schema, root: Schema) -> object:
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) else kind
    if kind == "object":
        return {name: _filled(one, root) for name, one in schema.get("properties", {}).items()}  # type: ignore[attr-defined]
    if kind == "array":
        first = schema.get("prefixItems")
        if isinstance(first, list):
            return [_filled(one, root) for one in first]
        least = schema.get("minItems", min(2, schema.get("maxItems", 2)))  # type: ignore[call-overload]
        return [_filled(schema["items"], root) for _ in range(least)]  # type: ignore[arg-type]
    return {"integer": 1, "number": 1, "boolean": True}.get(str(kind), "It is said so in the text.")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--rows", type=int, default=25)
    parser.add_argument("--ragas", help="a Python that has ragas")
    parser.add_argument("--deepeval", help="a Python that has deepeval")
    args = parser.parse_args()
    rows = _rows(args.data, args.rows)
    print(f"{len(rows)} answers, {sum(len(row['contexts']) for row in rows)} fragments")  # type: ignore[arg-type]
    jobs = (
        ("adjudge", sys.executable, ADJUDGE),
        ("ragas", args.ragas, RAGAS),
        ("deepeval", args.deepeval, DEEPEVAL),
    )
    for name, python, job in jobs:
        if python:
            print(name, *_counted(python, job, rows), flush=True)


def _rows(data: Path, count: int) -> list[dict[str, object]]:
    lines = (data / "rag25.jsonl").read_text(encoding="utf-8").splitlines()
    known = [
        row
        for row in map(json.loads, lines)
        if any(one.is_claim for one in sentences(row["response"]))
    ]
    found = known[:count]
    parts = [
        (row, re.split(r"(?:^|\n)\s*\d+\.\s+", row["context"].replace("\\n", "\n")))
        for row in found
    ]
    asked = [
        (
            {name: row[name] for name in ("question", "response")},
            [one.strip() for one in some if one.strip()],
        )
        for row, some in parts
    ]
    return [{**row, "contexts": some} for row, some in asked]


def _counted(python: str, job: str, rows: list[dict[str, object]]) -> tuple[str, str]:
    with Counter(("127.0.0.1", 0), Filled) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_address[1]}/v1"
        subprocess.run(
            [python, "-c", job],
            input=json.dumps(rows),
            text=True,
            check=True,
            env={**os.environ, "BASE": base},
        )
        server.shutdown()
        return f"{server.calls} calls", f"{server.characters // 4} tokens"


if __name__ == "__main__":
    main()
