"""Verdicts in other files than their rows, joined by the row's key."""

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
    """Judges' verdicts by row key, held in memory while the rows are streamed."""

    votes_by_row: dict[Hashable, dict[str, list[RecordedVote]]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    """Key → judge → its votes."""
    by_place: dict[str, int] = field(default_factory=dict)
    """File → number of its verdicts, if verdicts are joined with rows by their place."""

    def add(self, key: Hashable, judge: str, vote: RecordedVote) -> None:
        """Add a vote, and number it among the judge's votes on the row in the same order."""
        votes = self.votes_by_row[key].setdefault(judge, [])
        votes.append(
            replace(vote, sample=sum(earlier.swapped == vote.swapped for earlier in votes))
        )

    def join(
        self, rows: Iterable[tuple[RecordedRow, tuple[Hashable, ...]]], log: ImportLog
    ) -> Iterator[RecordedRow]:
        """Yield each row once per judge; `rows` pairs each row with its keys.

        A row without verdicts is yielded unchanged; so is, in addition, a row that has votes of its
        own.
        """
        count = 0
        for row, keys in rows:
            count += 1
            votes_by_judge = {
                judge: votes
                for key in keys
                for judge, votes in self.votes_by_row.pop(key, {}).items()
            }
            if row.votes and votes_by_judge:
                yield row
            yield from row.judged_by(votes_by_judge)
        self._check(count)
        if self.votes_by_row:
            log.skip(Message("verdict on a row that is not in any file"), len(self.votes_by_row))

    def alone(self, log: ImportLog) -> Iterator[RecordedRow]:
        """Yield placeholder rows for the verdicts if no file has the rows."""
        log.note(NAMED_BY_ID)
        for key, votes_by_judge in self.votes_by_row.items():
            response = (f"{key}, response 1", f"{key}, response 2")
            fields = {"instruction": f"{key}", "response": response}
            row = RecordedRow(question=BETTER, fields=fields, id=f"{key}", named_only=True)
            yield from row.judged_by(votes_by_judge)

    def _check(self, rows: int) -> None:
        for file, count in self.by_place.items():
            if count != rows:
                raise RunError(
                    "{file} contains {count} verdicts for {rows} rows; they are matched by "
                    "position, so the two numbers must be equal",
                    file=file,
                    count=count,
                    rows=rows,
                )
