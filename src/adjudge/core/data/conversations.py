"""Logged conversations as instances: one per turn, or one for the whole."""

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
    spoken_messages_in,
    whole_chat,
)
from adjudge.core.data.rendering import SpokenMessage
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.repetition import PART_OF, TOPIC_MESSAGES, TRIAL, TURN
from adjudge.errors import SetupError

Per = Literal["row", "turn", "topic", "conversation", "trajectory", "step", "point"]
PER: tuple[Per, ...] = get_args(Per)


def parts_of(instance: Instance, per: Per) -> list[Instance]:
    """Return the instances of a row's conversation: its turns, the whole, or an agent's
    trajectory.
    """
    if per == "trajectory":
        return [steps_of(instance)]
    return turns_of(instance) if per == "turn" else [conversation_of(instance)]


@light_dataclass(frozen=True)
class Topic:
    """Messages of a conversation that belong together."""

    first: int
    """Number of its first message, from 1."""
    last: int | None
    """Number of its last message; None: to the end."""
    opened_by: int | None
    """Number of the message that opens it; None for the whole conversation."""
    problem: str = ""
    """The reason why its bounds are unknown."""


def topic_questions(instance: Instance) -> list[Instance]:
    """Return one instance per message of the user that may open a new topic: all but the first.

    The message is ``response``, and everything before ``history``, with numbers. Its number is in
    the metadata as ``message``.
    """
    messages = _messages(instance)
    asked = [number for number, message in enumerate(messages, 1) if message.is_question]
    name = instance.id or "row"
    return [
        replace(
            instance,
            fields={
                "response": messages[number - 1].text,
                "history": _transcript(messages[: number - 1], 1),
            },
            id=f"{name} message {number}",
            metadata={"message": number},
        )
        for number in asked[1:]
    ]


def topic_of(instance: Instance, topic: Topic, number: int) -> Instance:
    """Return the instance of one topic: its messages, numbered as in the conversation, are
    ``response``, those before it ``history``, and its first question ``user_input``.
    """
    messages = _messages(instance)
    last = topic.last or len(messages)
    inside = messages[topic.first - 1 : last]
    question = next((message.text for message in inside if message.is_question), "")
    before = _transcript(messages[: topic.first - 1], 1)
    whole = topic.opened_by is None
    span = f"{topic.first}–{last}"
    return replace(
        instance,
        fields={
            **_beside(instance),
            **({"user_input": question} if question else {}),
            "history": before or "–",
            "response": _transcript(messages if whole else inside, topic.first),
        },
        id=f"{instance.id or 'row'} topic {number}",
        metadata={
            **instance.metadata,
            "messages": span,
            "row": {**row_of_part(instance, number), TOPIC_MESSAGES: span},
        },
    )


def _messages(instance: Instance) -> list[SpokenMessage]:
    column, chat = _chat(instance)
    try:
        return spoken_messages_in(chat, column)
    except ValueError as error:
        raise SetupError(str(error)) from None


def _transcript(messages: Sequence[SpokenMessage], first: int) -> str:
    """Return messages with their speakers and numbers."""
    return "\n".join(
        f"[{number}] {message.role}: {message.text}"
        for number, message in enumerate(messages, first)
    )


def steps_of(instance: Instance) -> Instance:
    """Return the instance with all steps of an agent, numbered, as ``response``; raise a SetupError
    without steps.
    """
    steps = instance.fields.get("steps")
    if not steps:
        raise SetupError("the row has no agent steps: read it as a trace, with data: as")
    unique_names = (f"[step {number}] {text}" for number, text in enumerate(steps, 1))
    other_fields = {name: value for name, value in instance.fields.items() if name != "steps"}
    return replace(instance, fields={**other_fields, "response": "\n".join(unique_names)})


def turns_of(instance: Instance) -> list[Instance]:
    """Return one instance per answered question.

    The answer is ``response``, the question ``user_input``, and everything before, tools included,
    ``history``. The row's other fields are copied to each.
    """
    column, chat = _chat(instance)
    try:
        turns = chat_turns_in(chat, column)
    except ValueError as error:
        raise SetupError(str(error)) from None
    name, other_fields = instance.id or "row", _beside(instance)
    return [
        replace(
            instance,
            fields={**other_fields, **fields},
            id=f"{name} turn {number}",
            metadata={
                **instance.metadata,
                "turn": number,
                "row": row_of_part(instance, number),
            },
        )
        for number, fields in enumerate(turns, 1)
    ]


def row_of_part(instance: Instance, number: int) -> dict[str, object]:
    """Return the row of a turn or topic: intervals treat the parts of a conversation as one unit,
    and parts of a trial do not count as trials.
    """
    row = instance.metadata.get("row")
    columns = dict(row) if isinstance(row, Mapping) else {}
    part = {PART_OF: instance.id} if instance.id else {}
    return {**columns, **part, **({TURN: number} if TRIAL in columns else {})}


def conversation_of(instance: Instance) -> Instance:
    """Return the instance with the whole conversation as ``response``, with speakers and tools."""
    _, chat = _chat(instance)
    return replace(instance, fields={**_beside(instance), "response": whole_chat(chat)})


def _chat(instance: Instance) -> tuple[str, object]:
    row = instance.metadata.get("row")
    cells = {**instance.fields, **(row if isinstance(row, Mapping) else {})}
    column = column_in([name for name in cells if holds_chat(cells[name])], *CHATS)
    if column is None:
        examples = ", ".join(CHATS[:4])
        raise SetupError(
            "the row has no conversation: put a list of messages into a column such as {named}",
            named=examples,
        )
    return column, cells[column]


def _beside(instance: Instance) -> dict[str, str | Sequence[str]]:
    return {
        name: value for name, value in instance.fields.items() if name not in (*CHAT_FIELDS, *CHATS)
    }
