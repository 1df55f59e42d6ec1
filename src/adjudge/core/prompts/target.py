"""What a target is shown: a prompt of the user's with a row's values in it, or the row as JSON."""

from __future__ import annotations

import json

from adjudge.core.domain.message import ChatMessage, Prompt
from adjudge.core.domain.vote import Ballot
from adjudge.core.reading.places import filled_text

ROW, PROMPT = "target_row", "target_prompt"
"""What ballots to targets are filed under."""
FIELD = "row"
"""The field of such a ballot that holds the row."""


def asks_target(ballot: Ballot) -> bool:
    """Whether an answer is wanted, and no verdict."""
    return ballot.template in (ROW, PROMPT)


def render_target(ballot: Ballot) -> Prompt:
    row = str(ballot.instance.fields[FIELD])
    text = filled_text(ballot.criteria.description, json.loads(row))
    return Prompt((ChatMessage("user", text if ballot.template == PROMPT else row),))
