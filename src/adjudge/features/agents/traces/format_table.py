"""All formats of traces, in the order they are tried on a file: the first that fits."""

from __future__ import annotations

from collections.abc import Sequence

from adjudge.core.reading.foreign_values import HOSTILE, Object
from adjudge.errors import WrongData
from adjudge.features.agents.traces.formats import adk, chats, crewai, failures, swe_agent, vercel
from adjudge.features.agents.traces.formats.atif import ATIF
from adjudge.features.agents.traces.formats.autogen import AUTOGEN
from adjudge.features.agents.traces.formats.claude_code import CLAUDE_CODE
from adjudge.features.agents.traces.formats.inspect import INSPECT
from adjudge.features.agents.traces.formats.langfuse import LANGFUSE
from adjudge.features.agents.traces.formats.langsmith import LANGSMITH
from adjudge.features.agents.traces.formats.mlflow import MLFLOW
from adjudge.features.agents.traces.formats.openai_agents import OPENAI_AGENTS
from adjudge.features.agents.traces.formats.otlp import OTLP
from adjudge.features.agents.traces.formats.phoenix import PHOENIX
from adjudge.features.agents.traces.formats.tau2 import TAU2
from adjudge.features.agents.traces.formats.tau_bench import TAU_BENCH
from adjudge.features.agents.traces.formats.trail import TRAIL
from adjudge.features.agents.traces.names import TRACE_FORMATS
from adjudge.features.agents.traces.row import TraceFormat

FORMATS: tuple[TraceFormat, ...] = (
    ATIF,
    INSPECT,
    OTLP,
    MLFLOW,
    PHOENIX,
    LANGFUSE,
    LANGSMITH,
    OPENAI_AGENTS,
    TRAIL,
    adk.SESSION,
    adk.EVAL_SET,
    adk.TESTS,
    TAU_BENCH,
    TAU2,
    swe_agent.SWE_AGENT,
    swe_agent.MINI_SWE_AGENT,
    CLAUDE_CODE,
    failures.WHO_AND_WHEN,
    failures.MAST,
    AUTOGEN,
    crewai.CREWAI,
    crewai.CREWAI_LOG,
    vercel.STEPS,
    vercel.SPANS,
    vercel.MESSAGES,
    chats.PYDANTIC,
    chats.LANGCHAIN,
    chats.RESPONSES,
    chats.ANTHROPIC,
    chats.CHAT,
)


def formats_named(name: str) -> tuple[TraceFormat, ...]:
    """Return the formats with this name; raise a WrongData if there is none."""
    matches = tuple(format for format in FORMATS if format.name == name)
    if not matches:
        raise WrongData(
            "unknown trace format {name!r}; known: {formats}",
            name=name,
            formats=", ".join(TRACE_FORMATS),
        )
    return matches


def format_of(
    objects: Sequence[Object], formats: Sequence[TraceFormat] = FORMATS
) -> TraceFormat | None:
    """Return the first format that recognises the objects, each as a document or all together.

    Return None if none does.
    """
    return next((format for format in formats if objects and _knows(format, objects)), None)


def _knows(format: TraceFormat, objects: Sequence[Object]) -> bool:
    try:
        return format.document(objects[0]) or format.lines(objects)
    except HOSTILE:
        return False
