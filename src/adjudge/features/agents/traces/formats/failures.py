"""Who&When and MAST: logs of several agents, with what people found wrong in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from adjudge.core.reading.foreign_values import (
    Object,
    as_text,
    first_of,
    inner,
    inner_object,
    number,
    objects,
    text_at,
)
from adjudge.features.agents.traces.builder import built
from adjudge.features.agents.traces.row import TraceFormat, TraceRow, present
from adjudge.features.agents.traces.turns import Said, Thought, Turn, TurnPart

_ADDENDUM = re.compile(r"\s*\((.*)\)\s*$")
_PEOPLE = ("human", "user")


def speaker_of(message: Object) -> str:
    """Who speaks: the name; else the role, which in logs of Magentic-One is one, with an addendum
    in brackets.
    """
    name = text_at(message, "name", "agent", "source")
    return name or _ADDENDUM.sub("", text_at(message, "role"))


def _turn(message: Object) -> Turn:
    """Each message is one step, so that the steps people named are those that are shown."""
    role, text = text_at(message, "role"), as_text(message.get("content"))
    note = _ADDENDUM.search(role)
    part: TurnPart = Thought(text) if note is not None and note[1] == "thought" else Said(text)
    actor = speaker_of(message)
    by_user = actor.lower() in _PEOPLE
    return Turn("user" if by_user else "assistant", [part], "" if by_user else actor)


def _read_when(given: Sequence[Object]) -> Iterator[TraceRow]:
    for one in given:
        question = text_at(one, "question")
        turns = [_turn(message) for message in objects(one["history"])]
        step = number(one, "mistake_step")
        made = built(turns)
        yield TraceRow(
            replace(made, goal=question or made.goal),
            present(
                id=first_of(one, "question_ID", "question_id", "id"),
                reference=first_of(one, "ground_truth", "groundtruth"),
                level=one.get("level"),
                mistake_agent=one.get("mistake_agent"),
                mistake_step=None if step is None else int(step),
                mistake_reason=one.get("mistake_reason"),
            ),
        )


WHO_AND_WHEN = TraceFormat(
    "who-and-when",
    _read_when,
    lambda one: (
        isinstance(one.get("history"), list) and {"mistake_agent", "mistake_step"} <= one.keys()
    ),
)


def _read_mast(given: Sequence[Object]) -> Iterator[TraceRow]:
    for one in given:
        listed = one["trajectory"]
        lines = [line for line in listed if isinstance(line, str)]
        turns = (
            [Turn("assistant", [Said("\n".join(lines))])]  # a line of a log is not a step
            if lines
            else [_turn(message) for message in objects(listed)]
        )
        asked = first_of(one, "problem_statement", "question", "task")
        goal = "\n".join(map(str, asked)) if isinstance(asked, list) else as_text(asked)
        made = built(turns)
        yield TraceRow(
            replace(made, goal=goal or made.goal, answer=None if lines else made.answer),
            present(
                id=first_of(one, "instance_id", "id", "trace_id"),
                labels=dict(inner_object(one, "note", "options")) or None,
                note=inner(one, "note", "text") or None,
            ),
        )


MAST = TraceFormat(
    "mast",
    _read_mast,
    lambda one: (
        isinstance(one.get("trajectory"), list)
        and isinstance(inner(one, "note", "options"), Mapping)
    ),
)
