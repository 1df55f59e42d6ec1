"""Render the prompts of targets: a user's prompt with a row's values in it, the row as JSON, or a
chat.
"""

from __future__ import annotations

import json

from adjudge.core.domain.message import ChatMessage, Prompt
from adjudge.core.domain.vote import Ballot
from adjudge.core.prompts.fence import neutral
from adjudge.core.reading.places import fill_text

ROW, PROMPT, CHAT = "target_row", "target_prompt", "target_chat"
"""Templates of ballots to targets."""
SYSTEM, MESSAGES = "system", "messages"
"""The keys of the row of a chat: the system prompt, and the turns with ``role`` and ``content``."""
FIELD = "row"
"""The field of such a ballot that holds the row."""


def asks_target(ballot: Ballot) -> bool:
    """Return True if the ballot asks a target for an answer, not a judge for a verdict."""
    return ballot.template in (ROW, PROMPT, CHAT)


def render_target(ballot: Ballot) -> Prompt:
    row = str(ballot.instance.fields[FIELD])
    if ballot.template == CHAT:
        chat = json.loads(row)
        turns = [ChatMessage(turn["role"], neutral(turn["content"])) for turn in chat[MESSAGES]]
        return Prompt((ChatMessage("system", chat[SYSTEM]), *turns))
    text = fill_text(ballot.criteria.description, json.loads(row))
    return Prompt((ChatMessage("user", text if ballot.template == PROMPT else row),))
