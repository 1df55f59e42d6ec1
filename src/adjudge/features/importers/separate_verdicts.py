"""Verdicts that lie in other files than the rows they are about: joined by what both call a row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from adjudge.errors import RunError
from adjudge.features.importers.pairs import BETTER
from adjudge.features.importers.record import NAMED_BY_ID, ImportLog, RecordedRow, RecordedVote
from adjudge.messages import Message


@dataclass
class SeparateVerdicts:
    """What judges said of rows, by the key of each row. They are held while the rows pass."""

    said: dict[Hashable, dict[str, list[RecordedVote]]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    """Key → judge → its votes."""
    by_place: dict[str, int] = field(default_factory=dict)
    """File → how many verdicts it holds, where a verdict is about the row at the same place."""

    def add(self, key: Hashable, judge: str, vote: RecordedVote) -> None:
        """One more; what a judge says again of a row in the same order is a further sample."""
        known = self.said[key].setdefault(judge, [])
        known.append(replace(vote, sample=sum(one.swapped == vote.swapped for one in known)))

    def join(
        self, rows: Iterable[tuple[RecordedRow, tuple[Hashable, ...]]], log: ImportLog
    ) -> Iterator[RecordedRow]:
        """Each row (with its keys) once for every judge of it; as it is where nobody judged it, or
        its own file says who did.
        """
        count = 0
        for row, keys in rows:
            count += 1
            judged = {
                judge: votes for key in keys for judge, votes in self.said.pop(key, {}).items()
            }
            if row.votes and judged:
                yield row
            yield from row.judged_by(judged)
        self._check(count)
        if self.said:
            log.skip(Message("verdict about a row that no file holds"), len(self.said))

    def alone(self, log: ImportLog) -> Iterator[RecordedRow]:
        """The rows by their names, where no file holds them."""
        log.note(NAMED_BY_ID)
        for key, judged in self.said.items():
            response = (f"{key}, response 1", f"{key}, response 2")
            fields = {"instruction": f"{key}", "response": response}
            row = RecordedRow(question=BETTER, fields=fields, id=f"{key}", named_only=True)
            yield from row.judged_by(judged)

    def _check(self, rows: int) -> None:
        for file, count in self.by_place.items():
            if count != rows:
                raise RunError(
                    "{file} holds {count} verdicts for {rows} rows: joined by their place, "
                    "they must be as many",
                    file=file,
                    count=count,
                    rows=rows,
                )
