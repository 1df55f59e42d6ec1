"""A logged conversation as something to judge: each of its turns by itself, or the whole of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, get_args

from adjudge.core.data.columns import (
    CHAT_FIELDS,
    CHATS,
    chat_turns_in,
    column_in,
    holds_chat,
    whole_chat,
)
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.repetition import TRIAL, TURN
from adjudge.errors import SetupError

Per = Literal["row", "turn", "conversation", "trajectory", "step", "point"]
PER: tuple[Per, ...] = get_args(Per)


def parts_of(instance: Instance, per: Per) -> list[Instance]:
    """What is judged of a row's conversation: each of its turns, or the whole; or all that an agent
    did.
    """
    if per == "trajectory":
        return [steps_of(instance)]
    return turns_of(instance) if per == "turn" else [conversation_of(instance)]


def steps_of(instance: Instance) -> Instance:
    """All steps of an agent as ``response``, with their numbers."""
    steps = instance.fields.get("steps")
    if not steps:
        raise SetupError("the row has no steps of an agent: read it as a trace, with data: as")
    numbered = (f"[step {number}] {text}" for number, text in enumerate(steps, 1))
    beside = {name: value for name, value in instance.fields.items() if name != "steps"}
    return replace(instance, fields={**beside, "response": "\n".join(numbered)})


def turns_of(instance: Instance) -> list[Instance]:
    """One instance for each question that was answered: the answer is ``response``, the question
    ``user_input``, and what was said before it, tools included, ``history``. The row's other fields
    are with each.
    """
    column, chat = _chat(instance)
    try:
        turns = chat_turns_in(chat, column)
    except ValueError as error:
        raise SetupError(str(error)) from None
    name, beside = instance.id or "row", _beside(instance)
    row = instance.metadata.get("row")
    trial = row if isinstance(row, Mapping) and TRIAL in row else None
    return [
        replace(
            instance,
            fields={**beside, **fields},
            id=f"{name} turn {number}",
            metadata={
                **instance.metadata,
                "turn": number,
                **({"row": {**trial, TURN: number}} if trial else {}),
            },
        )
        for number, fields in enumerate(turns, 1)
    ]


def conversation_of(instance: Instance) -> Instance:
    """The whole conversation as ``response``, with who says what, tools included."""
    _, chat = _chat(instance)
    return replace(instance, fields={**_beside(instance), "response": whole_chat(chat)})


def _chat(instance: Instance) -> tuple[str, object]:
    row = instance.metadata.get("row")
    held = {**instance.fields, **(row if isinstance(row, Mapping) else {})}
    column = column_in([name for name in held if holds_chat(held[name])], *CHATS)
    if column is None:
        named = ", ".join(CHATS[:4])
        raise SetupError(
            "the row has no conversation, as a list of messages in a column such as {named}",
            named=named,
        )
    return column, held[column]


def _beside(instance: Instance) -> dict[str, str | Sequence[str]]:
    return {
        name: value for name, value in instance.fields.items() if name not in (*CHAT_FIELDS, *CHATS)
    }
