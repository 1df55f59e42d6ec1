"""The votes of a run folder, for estimates: stored answers need not be asked again."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, ClassVar
from weakref import finalize

from adjudge.core.domain.vote import Ballot, Outcome, Vote
from adjudge.core.engine.estimate import Known
from adjudge.core.ledger.failed_rows import ballots_failed_for
from adjudge.core.ledger.file import FILE, connect, ledger_error
from adjudge.core.ledger.ledger import BloomFilter
from adjudge.core.ledger.pending import asked_in
from adjudge.core.ledger.rows import checked_key, wordings_in
from adjudge.runs.folder import reading, run_facts

_ANSWERED = (
    "SELECT ballot, outcome, option, text, more FROM votes WHERE ballot IN ({}){} ORDER BY number"
)
_REPLIED = " AND outcome <> 'model_error'"


class KnownVotes(Known):
    """The votes stored in a run folder; empty before the run has started."""

    once: ClassVar[bool] = True

    def __init__(
        self,
        folder: str | Path,
        *,
        retry_failed: bool = False,
        retry_reason: str | None = None,
    ) -> None:
        super().__init__()
        self._path = Path(folder) / FILE
        self._retry_failed = retry_failed
        self._retry_reason = retry_reason
        self._retry_only: frozenset[bytes] | None = None
        self._maybe = BloomFilter()
        self._ledger: sqlite3.Connection | None = None
        if self._path.is_file():
            self._open(Path(folder))

    def recall(self, ballots: Sequence[Ballot], keys: Sequence[bytes]) -> list[Vote | None]:
        """Return the last stored vote on each ballot, reduced to what a plan needs; None if there
        is none.

        With ``retry_failed``, invalid votes count as missing; with ``retry_reason``, those of its
        rows alone.
        """
        # the filter holds every stored key: most ballots of a new plan need no query
        likely = [key for key in keys if key in self._maybe]
        votes = {row[0]: row[1:] for row in self._rows(likely)} if likely else {}
        recalled = [
            _vote(ballot, *votes[key]) if key in votes else None
            for ballot, key in zip(ballots, keys, strict=True)
        ]
        return [
            vote if vote and (vote.valid or not self._is_asked_again(key)) else None
            for key, vote in zip(keys, recalled, strict=True)
        ]

    def _is_asked_again(self, key: bytes) -> bool:
        return self._retry_failed if self._retry_only is None else key in self._retry_only

    def asked(self, keys: Sequence[bytes]) -> set[bytes]:
        """Return those keys that are in open batches."""
        return set() if self._ledger is None else asked_in(self._ledger, keys)

    def _open(self, folder: Path) -> None:
        self.wordings = wordings_in(run_facts(folder).configuration)
        with reading(folder) as connection:
            if self._retry_reason is not None:
                self._retry_only = ballots_failed_for(connection.execute, self._retry_reason)
            for (key,) in connection.execute(
                f"SELECT ballot FROM votes WHERE true{self._replied}"  # noqa: S608
            ):
                self._maybe.add(checked_key(key))
        connections = ExitStack()
        self._ledger = connections.enter_context(connect(self._path, writable=False))
        finalize(self, connections.close)

    @property
    def _replied(self) -> str:
        # a failed call is asked again, unless only rows with another reason are
        return _REPLIED if self._retry_only is None else ""

    def _rows(self, keys: Sequence[bytes]) -> list[tuple[Any, ...]]:
        if self._ledger is None:
            return []
        try:
            return self._ledger.execute(
                _ANSWERED.format(",".join("?" * len(keys)), self._replied), keys
            ).fetchall()
        except sqlite3.Error as error:
            raise ledger_error(self._path, error) from error


def _vote(
    ballot: Ballot, outcome: str, option: str | None, text: str | None, more: str | None
) -> Vote | None:
    more_values = json.loads(more or "{}")
    if more_values.get("unfinished"):
        return None
    verdict = None if option is None else ballot.question.restore(option, None, more_values)
    return Vote(
        ballot=ballot,
        outcome=Outcome(outcome),
        verdict=verdict,
        text=text,  # the answer of a target, which the judge is asked about
        distribution=more_values.get("distribution"),
    )
