"""Judged rows of a run that its data no longer has.

A run forgets them once all rows have passed.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING

from adjudge.core.ledger.file import holds_run
from adjudge.core.ledger.rows import storable
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
        from adjudge.core.ledger.codec import judgment_of  # loaded only if a run is continued
        from adjudge.core.ledger.records import judgment_rows
        from adjudge.runs.folder import reading

        with reading(plan.folder) as ledger:
            for row in judgment_rows(ledger, judge=plan.judges[0].label):
                judge, index, id, *_, criterion, _, _, _ = row
                self._line = self._line or (str(judge), str(criterion))
                if (judge, criterion) == self._line:
                    # the rest is decoded only if the id does not name the row
                    key = self._key_of_id(id) or self._key(judgment_of(row))
                    self._left[key] += 1
                    self._names[key] = id or str(index + 1)

    def see(self, record: JudgmentRecord) -> None:
        """Strike a row that the data still has."""
        if self._left and (record.judge, record.criterion) == self._line:
            self._left[self._key(record)] -= 1

    def _key(self, record: JudgmentRecord) -> str:
        from adjudge.runs.diff import is_named

        by_id = self._key_of_id(record.id)
        return by_id or (f"id {record.id}" if is_named(record) else record.identity)

    def _key_of_id(self, id: object) -> str | None:
        """Return the key of a row that its id names, whatever the row holds; otherwise None."""
        from adjudge.runs.diff import is_place

        # the text of a row that a target answers may change while the row stays
        if not isinstance(id, str) or not id or (is_place(id) and not self._is_answered):
            return None
        return f"id {storable(id)}"

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
