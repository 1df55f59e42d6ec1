"""Who&When and MAST: logs of several agents, with the failures that people found in them."""

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
from adjudge.features.agents.traces.builder import build_trajectory
from adjudge.features.agents.traces.row import TraceFormat, TraceRow, present
from adjudge.features.agents.traces.turns import Said, Thought, TraceTurn, TurnPart

_ADDENDUM = re.compile(r"\s*\((.*)\)\s*$")
_PEOPLE = ("human", "user")


def speaker_of(message: Object) -> str:
    """Return the speaker's name; else the role, without its addendum in brackets.

    Magentic-One logs use the role as a name.
    """
    name = text_at(message, "name", "agent", "source")
    return name or _ADDENDUM.sub("", text_at(message, "role"))


def _turn(message: Object) -> TraceTurn:
    """Convert a message to one step, so that step numbers match those of the human annotations."""
    role, text = text_at(message, "role"), as_text(message.get("content"))
    note = _ADDENDUM.search(role)
    part: TurnPart = Thought(text) if note is not None and note[1] == "thought" else Said(text)
    actor = speaker_of(message)
    by_user = actor.lower() in _PEOPLE
    return TraceTurn("user" if by_user else "assistant", [part], "" if by_user else actor)


def _read_when(documents: Sequence[Object]) -> Iterator[TraceRow]:
    for document in documents:
        question = text_at(document, "question")
        turns = [_turn(message) for message in objects(document["history"])]
        step = number(document, "mistake_step")
        trajectory = build_trajectory(turns)
        yield TraceRow(
            replace(trajectory, goal=question or trajectory.goal),
            present(
                id=first_of(document, "question_ID", "question_id", "id"),
                reference=first_of(document, "ground_truth", "groundtruth"),
                level=document.get("level"),
                mistake_agent=document.get("mistake_agent"),
                mistake_step=None if step is None else int(step),
                mistake_reason=document.get("mistake_reason"),
            ),
        )


WHO_AND_WHEN = TraceFormat(
    "who-and-when",
    _read_when,
    lambda document: (
        isinstance(document.get("history"), list)
        and {"mistake_agent", "mistake_step"} <= document.keys()
    ),
)


def _read_mast(documents: Sequence[Object]) -> Iterator[TraceRow]:
    for document in documents:
        listed = document["trajectory"]
        lines = [line for line in listed if isinstance(line, str)]
        turns = (
            [TraceTurn("assistant", [Said("\n".join(lines))])]  # a line of a log is not a step
            if lines
            else [_turn(message) for message in objects(listed)]
        )
        question = first_of(document, "problem_statement", "question", "task")
        goal = "\n".join(map(str, question)) if isinstance(question, list) else as_text(question)
        trajectory = build_trajectory(turns)
        yield TraceRow(
            replace(
                trajectory,
                goal=goal or trajectory.goal,
                answer=None if lines else trajectory.answer,
            ),
            present(
                id=first_of(document, "instance_id", "id", "trace_id"),
                labels=dict(inner_object(document, "note", "options")) or None,
                note=inner(document, "note", "text") or None,
            ),
        )


MAST = TraceFormat(
    "mast",
    _read_mast,
    lambda document: (
        isinstance(document.get("trajectory"), list)
        and isinstance(inner(document, "note", "options"), Mapping)
    ),
)
