"""Claude Code: a session, a line a piece of a message."""

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
from adjudge.features.agents.traces.turns import Turn

_MAIN = "main"
_COMMANDS = ("<command-name>", "<command-message>", "<local-command-stdout>", "<system-reminder>")
"""What the program itself writes as a user's line."""


def _is_message(one: Object) -> bool:
    spoken = one.get("type") in ("user", "assistant") and isinstance(one.get("message"), Mapping)
    is_line = {"sessionId", "uuid", "parentUuid"} <= one.keys()
    return spoken and is_line and one.get("isMeta") is not True


def _read(given: Sequence[Object]) -> Iterator[TraceRow]:
    sessions: dict[str, list[Object]] = {}
    for one in given:
        if _is_message(one):
            sessions.setdefault(str(one["sessionId"]), []).append(one)
    for id, lines in sessions.items():
        yield _row(id, lines)


def _row(id: str, lines: Sequence[Object]) -> TraceRow:
    alone = all(one.get("isSidechain") is True for one in lines)
    last = {inner(one, "message", "id"): place for place, one in enumerate(lines)}
    builder = Builder()
    for place, one in enumerate(lines):
        message = one["message"]
        for turn in read_turns({**message, "role": message.get("role") or one["type"]}):
            if last.get(message.get("id")) != place:
                turn.usage = None  # of one message on several lines the last one counts
            turn.source, turn.started = id_at(one, "uuid"), time_at(one, "timestamp")
            _add(builder, turn, one, alone)
    columns = present(id=id, branch=lines[0].get("gitBranch"), version=lines[0].get("version"))
    return TraceRow(
        replace(builder.trajectory(), seconds=elapsed_over(lines, "timestamp")), columns
    )


def _add(builder: Builder, turn: Turn, line: Object, alone: bool) -> None:
    below = line.get("isSidechain") is True
    turn.depth = 1 if below and not alone else 0
    if line.get("isApiErrorMessage") is True:
        turn.actor, turn.ended = "system", turn.text  # the program's word, and no answer
    elif turn.role == "assistant":
        turn.actor = (text_at(line, "agentId") or "subagent") if below else _MAIN
    elif turn.role == "user" and below and not alone:
        turn.actor = _MAIN
    elif line.get("isCompactSummary") is True or turn.text.lstrip().startswith(_COMMANDS):
        turn.actor = "system"  # a line that nobody wrote: no word of the user, and no goal
    builder.add(turn)


CLAUDE_CODE = TraceFormat("claude-code", _read, lines=lambda given: any(map(_is_message, given)))
