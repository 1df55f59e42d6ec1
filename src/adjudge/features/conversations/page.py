"""Additions to the page of a row: a conversation as a chat, next to its scenario."""

from __future__ import annotations

from collections.abc import Collection
from importlib.resources import files

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.record import JudgmentRecord
from adjudge.features.conversations.chat import chat_html
from adjudge.features.conversations.record import ConversationDetail
from adjudge.web.page import Page, RowContext, RowPart

_SHOWN = ("fault", "validity", "reason_of_fault", "fault_turn", "user_faults", "ended")
_FIELDS = ("response", "scenario", "user_input", "steps")


def _style() -> str:
    folder = files("adjudge.features.conversations") / "report_templates"
    return (folder / "chat.css").read_text(encoding="utf-8")


def _row_data(row: RowContext) -> JsonDict:
    """Return whose fault the conversation is; its messages are in the record itself."""
    detail = row.record.detail
    if not isinstance(detail, ConversationDetail):
        return {"chat": None}
    return {"chat": {name: row.data.get(name) for name in _SHOWN}}


def _hidden(record: JudgmentRecord) -> Collection[str]:
    detail = record.detail
    is_drawn = isinstance(detail, ConversationDetail) and detail.conversation is not None
    return _FIELDS if is_drawn else ()


PAGE = Page(
    name="conversations",
    package="adjudge.features.conversations",
    style=_style,
    row=RowPart(
        data=_row_data,
        findings="conversations/chat.html.jinja",
        functions={"chat": lambda record, language: chat_html(record.detail, language)},
        apart=("conversation", "scenario", "user_faults"),
        hidden_fields=_hidden,
    ),
)
