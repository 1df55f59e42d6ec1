"""Claude Code: a session; each line is a piece of a message."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from adjudge.core.reading.foreign_values import (
    Object,
    elapsed_over,
    id_at,
    inner,
    text_at,
    time_at,
)
from adjudge.features.agents.traces.builder import Builder
from adjudge.features.agents.traces.messages import read_turns
from adjudge.features.agents.traces.row import TraceFormat, TraceRow, present
from adjudge.features.agents.traces.turns import TraceTurn

_MAIN = "main"
_COMMANDS = ("<command-name>", "<command-message>", "<local-command-stdout>", "<system-reminder>")
"""What the program itself writes as a user's line."""


def _is_message(line: Object) -> bool:
    spoken = line.get("type") in ("user", "assistant") and isinstance(line.get("message"), Mapping)
    is_line = {"sessionId", "uuid", "parentUuid"} <= line.keys()
    return spoken and is_line and line.get("isMeta") is not True


def _read(documents: Sequence[Object]) -> Iterator[TraceRow]:
    sessions: dict[str, list[Object]] = {}
    for line in documents:
        if _is_message(line):
            sessions.setdefault(str(line["sessionId"]), []).append(line)
    for id, lines in sessions.items():
        yield _row(id, lines)


def _row(id: str, lines: Sequence[Object]) -> TraceRow:
    alone = all(line.get("isSidechain") is True for line in lines)
    last_places = {inner(line, "message", "id"): place for place, line in enumerate(lines)}
    builder = Builder()
    for place, line in enumerate(lines):
        message = line["message"]
        for turn in read_turns({**message, "role": message.get("role") or line["type"]}):
            if last_places.get(message.get("id")) != place:
                turn.usage = None  # a message spans several lines; the last has its usage
            turn.source, turn.started = id_at(line, "uuid"), time_at(line, "timestamp")
            _add(builder, turn, line, alone)
    columns = present(id=id, branch=lines[0].get("gitBranch"), version=lines[0].get("version"))
    return TraceRow(
        replace(builder.trajectory(), seconds=elapsed_over(lines, "timestamp")), columns
    )


def _add(builder: Builder, turn: TraceTurn, line: Object, alone: bool) -> None:
    below = line.get("isSidechain") is True
    turn.depth = 1 if below and not alone else 0
    if line.get("isApiErrorMessage") is True:
        turn.actor, turn.ended = "system", turn.text  # written by the program, not an answer
    elif turn.role == "assistant":
        turn.actor = (text_at(line, "agentId") or "subagent") if below else _MAIN
    elif turn.role == "user" and below and not alone:
        turn.actor = _MAIN
    elif line.get("isCompactSummary") is True or turn.text.lstrip().startswith(_COMMANDS):
        turn.actor = "system"  # written by the program: neither a user's text nor a goal
    builder.add(turn)


CLAUDE_CODE = TraceFormat(
    "claude-code", _read, lines=lambda documents: any(map(_is_message, documents))
)
