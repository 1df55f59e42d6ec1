"""Pieces of agents' traces that look like rows. Read as rows, a tool's result would be judged as an
answer.
"""

from __future__ import annotations

from collections.abc import Mapping

from adjudge.core.data.sources.row import Cells
from adjudge.messages import Message

_INSPECT = Message("samples of an Inspect log")
_PROMPTFOO = Message("results of promptfoo")
_DEEPEVAL = Message("a test run of DeepEval")
_RAGAS = Message("annotations of Ragas")
# Results of other tools, which can be imported.
_IMPORTED = (_INSPECT, _PROMPTFOO, _DEEPEVAL, _RAGAS)
# Sets of keys that no user's row has together.
_SIGNS = (
    (frozenset({"traceId", "parentObservationId"}), Message("observations of Langfuse")),
    (frozenset({"trace_id", "parent_observation_id"}), Message("observations of Langfuse")),
    (frozenset({"raw", "tasks_output"}), Message("outputs of CrewAI")),
    (frozenset({"raw", "agent", "output_format", "expected_output"}), Message("outputs of CrewAI")),
    (frozenset({"timestamp", "task_name", "task", "agent", "status"}), Message("a log of CrewAI")),
    (
        frozenset({"toolCalls", "toolResults", "finishReason"}),
        Message("steps of the Vercel AI SDK"),
    ),
    (frozenset({"action", "observation", "thought", "state"}), Message("steps of SWE-agent")),
    (frozenset({"epoch", "target", "output", "messages", "model_usage"}), _INSPECT),
    (frozenset({"promptIdx", "testIdx"}), _PROMPTFOO),
    (frozenset({"gradingResult", "vars", "success"}), _PROMPTFOO),
    (frozenset({"evalId", "results", "config"}), _PROMPTFOO),
    (frozenset({"actualOutput", "metricsData"}), _DEEPEVAL),
    (frozenset({"actual_output", "metrics_data"}), _DEEPEVAL),
    (frozenset({"testRunData"}), _DEEPEVAL),
    (frozenset({"metric_input", "is_accepted"}), _RAGAS),
)
_LANGFUSE_TYPES = (
    *("SPAN", "GENERATION", "EVENT", "AGENT", "TOOL", "CHAIN"),
    *("RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL"),
)
_RESPONSES = Message("items of OpenAI's Responses API")
_RESPONSES_TEXTS = ("input_text", "output_text")


def trace_of(cells: Cells) -> str | None:
    """Return the kind of trace that a row is a piece of, for messages; None for a real row."""
    keys = cells.keys()
    if "type" in keys or "object" in keys:
        if _is_responses_item(cells):
            return _RESPONSES
        if cells.get("type") in _LANGFUSE_TYPES and {"traceId", "startTime"} <= keys:
            return Message("observations of Langfuse")
    return next((name for signs, name in _SIGNS if signs <= keys), None)


def refusal_of(name: str, trace: str) -> str:
    """Return the error message for a source of trace pieces."""
    if trace in _IMPORTED:
        return Message(
            "{name} contains {trace}: import the whole file with adjudge import FILE --run RUN, "
            "and judge its rows with adjudge run EVAL.yaml --data RUN",
            name=name,
            trace=trace,
        )
    return Message(
        "{name} contains {trace}: steps of an agent's run, not rows to judge. Read them as "
        "trajectories: adjudge judge --file FILE, data: FILE in an eval file, or "
        "Trajectory.of(…) in Python",
        name=name,
        trace=trace,
    )


def _is_responses_item(cells: Cells) -> bool:
    kind, content = cells.get("type"), cells.get("content")
    if cells.get("object") == "response":
        return isinstance(cells.get("output"), list)
    if isinstance(kind, str) and kind.startswith("function_call"):
        return "call_id" in cells
    if kind == "reasoning":
        return isinstance(cells.get("summary"), list)
    part = content[0] if kind == "message" and isinstance(content, list) and content else None
    return isinstance(part, Mapping) and part.get("type") in _RESPONSES_TEXTS
