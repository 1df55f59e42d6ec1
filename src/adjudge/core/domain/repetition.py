"""Rows that are not independent: trials of one task, answers to one row, and rows that share a
value in a column. Every interval takes them together by the rule that is decided here.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from adjudge.core.domain.record import JudgmentRecord

ROW = "answered_row"
"""The column by which an answer says to which row it is."""
TRIAL, TASK = "trial", "task_id"
"""Of runs of agents: for which time, and which task."""
TURN = "turn"
"""Of a part of a trial: which question of its conversation was answered. Turns are no trials."""
Unit = tuple[str, ...]
"""What a row shares with the rows that it belongs together with, such as ``("task_id=7",)``; empty
if the row is independent of all others.
"""


def asked_row(one: JudgmentRecord) -> str | None:
    """Return the row that was asked, for any system and any repeat; None if no row is
    answered more than once.
    """
    found = one.input.get(ROW)
    return None if found is None else str(found)


def task_of(one: JudgmentRecord) -> str | None:
    """Return the task of a row that is one of several trials, whatever kind of judge judged it;
    None for any other row.
    """
    task = one.input.get(TASK)
    return None if task is None or TRIAL not in one.input else str(task).strip() or None


def unit_of(one: JudgmentRecord, column: str = "") -> Unit:
    """Return what a row shares with others: its value in ``column``, and its task or the row that
    it answers. A column does not take trials of one task apart.
    """
    if not column and TRIAL not in one.input and ROW not in one.input:
        return ()
    shared = (
        (column, one.group(column) if column else None),
        (TASK, task_of(one)),
        (ROW, asked_row(one)),
    )
    # a column that is the task itself gives the same text, which is kept once
    return tuple(dict.fromkeys(f"{name}={value}" for name, value in shared if value is not None))


class JoinedUnits:
    """Joins what units name together: if a row has two of them, all rows with either are one
    cluster, also through a third row.
    """

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}

    def add(self, unit: Unit) -> None:
        if len(unit) > 1:
            first, *others = map(self.cluster, unit)
            self._parents |= dict.fromkeys(others, first)

    def cluster(self, shared: str) -> str:
        """Return the name of the cluster that ``shared``, one text of a unit, belongs to."""
        while (parent := self._parents.get(shared, shared)) != shared:
            self._parents[shared] = self._parents.get(parent, parent)  # keeps chains short
            shared = parent
        return shared


def clusters_of(units: Sequence[Unit]) -> list[Hashable] | None:
    """Return the cluster of each row; None if all rows are independent."""
    if not any(units):
        return None
    joined = JoinedUnits()
    for unit in units:
        joined.add(unit)
    return [joined.cluster(unit[0]) if unit else place for place, unit in enumerate(units)]
