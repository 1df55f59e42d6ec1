"""Judged rows of a run that its data no longer has.

A run forgets their judgments once all rows have passed, and keeps the rows' names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from adjudge.core.domain.json_types import JsonObject, object_in
from adjudge.core.ledger.file import holds_run, read_meta
from adjudge.core.ledger.rows import storable
from adjudge.messages import Message, plural
from adjudge.runs.report_facts import KEPT

if TYPE_CHECKING:
    from adjudge.core.domain.record import JudgmentRecord
    from adjudge.runs.plan import Plan

_MOST_NAMED = 10
LEFT = "left_rows"
"""The key of these rows in a run folder, among the data of its report."""


class LeftRows:
    """The judged rows of a run folder that have not been seen in the current pass over the data.

    A row is identified by its id, or else by its content. Only one criterion of one judge is
    tracked, which is enough.
    """

    def __init__(self, plan: Plan) -> None:
        self._names: dict[str, str] = {}
        self._left: Counter[str] = Counter()
        self._earlier: set[str] = set()
        """Rows that had left before this pass."""
        self._has_ended = False
        self._is_answered = bool(plan.file.target)
        self._line: tuple[str, str] | None = None
        if plan.folder is None or not holds_run(plan.folder):
            return
        from adjudge.core.ledger.codec import judgment_of  # loaded only if a run is continued
        from adjudge.core.ledger.records import judgment_rows
        from adjudge.runs.folder import reading

        with reading(plan.folder) as ledger:
            for key, name, count in _read_kept(object_in(read_meta(ledger, KEPT).get(KEPT))):
                self._left[key], self._names[key] = count, name
                self._earlier.add(key)
            for row in judgment_rows(ledger, judge=plan.judges[0].label):
                judge, index, id, *_, criterion, _, _, _ = row
                self._line = self._line or (str(judge), str(criterion))
                if (judge, criterion) == self._line:
                    # the rest is decoded only if the id does not name the row
                    key = self._key_of_id(id) or self._key(judgment_of(row))
                    self._left[key] += 1
                    self._earlier.discard(key)
                    self._names[key] = id or str(index + 1)

    def see(self, record: JudgmentRecord) -> None:
        """Strike a row off the list of removed rows, because it is still in the data. Judgments by
        other criteria of the row are ignored.
        """
        self._line = self._line or (record.judge, record.criterion)
        if self._left and (record.judge, record.criterion) == self._line:
            self._left[self._key(record)] -= 1

    def end(self) -> None:
        """Note that all rows have been seen."""
        self._has_ended = True

    def kept(self) -> list[list[str | int]]:
        """Return key, name and count of each removed row, for the run folder.

        Until all rows have been seen, only those removed before this pass are known.
        """
        rows_left = +self._left
        keys = rows_left if self._has_ended else self._earlier & rows_left.keys()
        return [[key, self._names[key], rows_left[key]] for key in keys]

    def _key(self, record: JudgmentRecord) -> str:
        from adjudge.runs.judged_table import is_named

        by_id = self._key_of_id(record.id)
        return by_id or (f"id {record.id}" if is_named(record) else record.identity)

    def _key_of_id(self, id: object) -> str | None:
        """Return a row's key based on its id; None without an id, or if it is only a position."""
        from adjudge.runs.judged_table import is_place

        # the text of a row that a target answers may change while the row stays
        if not isinstance(id, str) or not id or (is_place(id) and not self._is_answered):
            return None
        return f"id {storable(id)}"

    def notes(self) -> list[Message]:
        """Return a note on judged rows that are no longer in the data, naming the first ones.

        Empty until all rows have been seen.
        """
        rows_left = +self._left if self._has_ended else Counter[str]()
        count = rows_left.total()
        if not count:
            return []
        names = ", ".join(self._names[key] for key in islice(rows_left.elements(), _MOST_NAMED))
        return [
            plural(
                "{count:,} judged row is no longer in the data and does not count: {names}",
                "{count:,} judged rows are no longer in the data and do not count: {names}",
                count,
                names=f"{names}, …" if count > _MOST_NAMED else names,
            )
        ]


def _read_kept(facts: JsonObject) -> Iterator[tuple[str, str, int]]:
    """Parse the output of ``LeftRows.kept``. Ignore invalid data, since anyone may have written the
    folder.
    """
    rows = facts.get(LEFT)
    for row in rows if isinstance(rows, list) else ():
        match row:
            case [str(key), str(name), int(count)] if count > 0:
                yield key, name, count
