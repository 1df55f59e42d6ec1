"""Find rows that are not independent: trials of one task, answers to one row, turns and topics of
one conversation, rows with the same value in a column.

Every interval groups them by these rules.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from adjudge.core.domain.record import JudgmentRecord

ROW = "answered_row"
"""The column of an answer that names the row it answers."""
TRIAL, TASK = "trial", "task_id"
"""Columns of agent runs: the number of the trial, and the task."""
TURN = "turn"
"""Column of a part of a trial: the question of its conversation. Turns are not trials."""
PART_OF = "part_of"
"""The column of a turn or topic that names the row with its conversation."""
TOPIC_MESSAGES = "topic_messages"
"""The column of a topic with the numbers of its first and last message, as ``5–8``."""
REPEAT = "repeat"
"""The column of an answer with its number, if a system answered a row several times."""
RELATED = (TRIAL, ROW, PART_OF, REPEAT)
"""Columns of rows that belong together."""
Unit = tuple[str, ...]
"""The values that a row shares with its related rows, such as ``("task_id=7",)``; empty if the row
is independent of all others.
"""


def asked_row(one: JudgmentRecord) -> str | None:
    """Return the row that this one answers, whichever system or repeat it is; None if it does not
    say.
    """
    row = one.input.get(ROW)
    return None if row is None else str(row)


def task_of(one: JudgmentRecord) -> str | None:
    """Return the task of a row that is one of several trials, for any kind of judge; None for other
    rows.
    """
    task = one.input.get(TASK)
    return None if task is None or TRIAL not in one.input else str(task).strip() or None


def unit_of(one: JudgmentRecord, column: str = "") -> Unit:
    """Return the unit of a row: its value in ``column``, its task, the row that it answers and the
    row that it is part of; empty if there are none.
    """
    columns = one.input
    if not column and TRIAL not in columns and ROW not in columns and PART_OF not in columns:
        return ()
    whole = columns.get(PART_OF)
    # The task is added even to a column, so that a column does not separate trials of one task.
    shared = (
        (column, one.group(column) if column else None),
        (TASK, task_of(one)),
        (ROW, asked_row(one)),
        (PART_OF, None if whole is None else str(whole)),
    )
    # a column that is the task itself gives the same text, which is kept once
    return tuple(dict.fromkeys(f"{name}={value}" for name, value in shared if value is not None))


class JoinedUnits:
    """Joins rows into clusters: units that share a value become one cluster, also through a third
    unit.
    """

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}

    def add(self, unit: Unit) -> None:
        if len(unit) > 1:
            cluster, *merged_clusters = map(self.cluster, unit)
            self._parents |= dict.fromkeys(merged_clusters, cluster)

    def cluster(self, shared: str) -> str:
        """Return the name of the cluster that contains ``shared``, a value of a unit."""
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
    return [joined.cluster(unit[0]) if unit else index for index, unit in enumerate(units)]
