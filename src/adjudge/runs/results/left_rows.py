"""Judged rows of a run that its data no longer has.

A run forgets them once all rows have passed.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

from adjudge.core.ledger.file import holds_run
from adjudge.messages import Message, plural

if TYPE_CHECKING:
    from adjudge.core.domain.record import JudgmentRecord
    from adjudge.runs.plan import Plan

_MOST_NAMED = 10


class LeftRows:
    """The rows that a run folder held when a pass over the data began, less those seen since.

    A row is known by its id, and without one by its content. One criterion of one judge is enough
    to know it.
    """

    def __init__(self, plan: Plan) -> None:
        self._names: dict[str, str] = {}
        self._left: Counter[str] = Counter()
        self._is_answered = bool(plan.file.target)
        self._line: tuple[str, str] | None = None
        if plan.folder is None or not holds_run(plan.folder):
            return
        from adjudge.core.ledger.records import records  # loaded only if a run is continued
        from adjudge.runs.folder import reading

        with reading(plan.folder) as ledger:
            for record in records(ledger, judge=plan.judges[0].label, trajectory=False):
                self._line = self._line or (record.judge, record.criterion)
                if (record.judge, record.criterion) == self._line:
                    key = self._key(record)
                    self._left[key] += 1
                    self._names[key] = record.name

    def see(self, record: JudgmentRecord) -> None:
        """Strike a row that the data still has."""
        if self._left and (record.judge, record.criterion) == self._line:
            self._left[self._key(record)] -= 1

    def _key(self, record: JudgmentRecord) -> str:
        from adjudge.runs.diff import is_named

        # the text of a row that a target answers may change while the row stays
        if record.id and (self._is_answered or is_named(record)):
            return f"id {record.id}"
        return record.identity

    def notes(self) -> list[Message]:
        """Say how many judged rows the data no longer has, and name the first of them. To be asked
        only once all rows have passed.
        """
        left = +self._left
        count = left.total()
        if not count:
            return []
        names = ", ".join(self._names[key] for key in islice(left.elements(), _MOST_NAMED))
        return [
            plural(
                "{count:,} row that was judged is no longer in the data, and does not count: "
                "{names}",
                "{count:,} rows that were judged are no longer in the data, and do not count: "
                "{names}",
                count,
                names=f"{names}, …" if count > _MOST_NAMED else names,
            )
        ]
