"""A conversation that was held before, wherever it is stored."""

from __future__ import annotations

from typing import NamedTuple

from adjudge.core.domain.json_types import JsonDict
from adjudge.features.conversations.conversation import Conversation
from adjudge.features.conversations.scenario import Scenario


class StoredConversation(NamedTuple):
    """A recorded conversation with its scenario."""

    scenario: Scenario
    conversation: Conversation
    trial: int = 1
    system: str = ""
    passed: bool | None = None
    """The outcome as another tool recorded it."""
    columns: JsonDict = {}  # noqa: RUF012 - never changed
