"""Names of the trace formats, separate from their readers."""

from __future__ import annotations

TRACE_FORMATS = (
    *("atif", "inspect", "otlp", "mlflow", "phoenix", "langfuse", "langsmith", "openai-agents"),
    *("trail", "adk", "tau-bench", "tau2", "swe-agent", "mini-swe-agent", "claude-code"),
    *("who-and-when", "mast", "autogen", "crewai", "vercel", "pydantic-ai", "langchain"),
    *("responses", "anthropic", "chat"),
)
"""What may stand after ``as:``, in the order in which a file is tried."""
TRACE_FILES = (".json", ".jsonl", ".ndjson", ".eval", ".traj", ".csv", ".log", ".sse", ".txt")
"""How the names of files with traces end; each may be packed as .gz."""
