"""Which answers are to one question: those of several systems, and of several times."""

from __future__ import annotations

from adjudge.core.domain.record import JudgmentRecord

ROW = "answered_row"
"""The column by which an answer says to which row it is."""
TRIAL, TASK = "trial", "task_id"
"""Of runs of agents: for which time, and which task."""


def asked_row(one: JudgmentRecord) -> str | None:
    """The row that was asked, whoever answered it and for whichever time; None where no row is
    answered more than once.
    """
    found = one.input.get(ROW)
    return None if found is None else str(found)


def task_of(one: JudgmentRecord) -> str | None:
    """The task of an agent's run that is one trial of several; None of any other row."""
    is_trial = one.detail.kind == "agent" and {TRIAL, TASK} <= one.input.keys()
    return str(one.input[TASK]) if is_trial else None
