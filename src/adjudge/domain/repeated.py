"""Which rows count as one: answers to one question, trials of one task, copies of one text."""

from __future__ import annotations

from adjudge.domain.record import JudgmentRecord

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


def unit_of(one: JudgmentRecord) -> int:
    """Return a number that rows share if they count as one in every interval: the trials of one
    task, the answers to one row, and otherwise rows with the same content. A text that was judged
    twice says less than two texts.
    """
    named = task_of(one) or asked_row(one)
    if named is not None:
        return hash(named)
    if not one.fields:  # nothing tells whether it is a copy
        return hash(("", one.index))
    return hash(
        tuple(
            (name, value if isinstance(value, str) else tuple(value))
            for name, value in one.fields.items()
        )
    )
