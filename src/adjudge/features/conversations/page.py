"""Additions to the page of a row: a conversation as a chat, next to its scenario."""

from __future__ import annotations

from collections.abc import Collection
from importlib.resources import files

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.record import JudgmentRecord
from adjudge.features.conversations.chat import chat_html
from adjudge.features.conversations.record import conversation_detail
from adjudge.web.page import Page, RowContext, RowPart

_SHOWN = ("fault", "validity", "reason_of_fault", "fault_turn", "user_faults", "ended")
_FIELDS = ("response", "scenario", "user_input", "steps")


def _style() -> str:
    folder = files("adjudge.features.conversations") / "report_templates"
    return (folder / "chat.css").read_text(encoding="utf-8")


def _row_data(row: RowContext) -> JsonDict:
    """Return who is at fault; the record itself holds the messages."""
    if conversation_detail(row.record) is None:
        return {"chat": None}
    return {"chat": {name: row.data.get(name) for name in _SHOWN}}


def _hidden(record: JudgmentRecord) -> Collection[str]:
    detail = conversation_detail(record)
    return _FIELDS if detail and detail.conversation is not None else ()


PAGE = Page(
    name="conversations",
    package="adjudge.features.conversations",
    style=_style,
    row=RowPart(
        data=_row_data,
        findings="conversations/chat.html.jinja",
        functions={"chat": chat_html},
        apart=("conversation", "scenario", "user_faults"),
        hidden_fields=_hidden,
    ),
)
