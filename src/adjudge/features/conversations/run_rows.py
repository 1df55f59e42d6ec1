"""Read the conversations in a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from adjudge.features.conversations.record import outcome_detail
from adjudge.features.conversations.scenario import Scenario
from adjudge.features.conversations.stored_conversation import StoredConversation
from adjudge.runs.folder import records_of


def conversations_of_run(folder: Path) -> Iterator[StoredConversation]:
    """Yield the conversations stored in a run, with their scenarios."""
    for record in records_of(folder):
        detail = outcome_detail(record)
        if detail is None or detail.conversation is None or detail.scenario is None:
            continue
        trial = record.input.get("trial")
        yield StoredConversation(
            Scenario.of(detail.scenario, str(record.id)),
            detail.conversation,
            trial if isinstance(trial, int) else 1,
            record.answered_by,
        )
