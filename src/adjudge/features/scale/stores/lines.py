"""Records as lines of JSON."""

from __future__ import annotations

import json

from adjudge.core.domain.json_writer import json_writer
from adjudge.core.ledger.rows import COLUMNS
from adjudge.features.scale.stores.store import (
    AccountRecord,
    Record,
    StoredJudgment,
    StoredVote,
    Values,
)

_BALLOT, _BALLOTS = COLUMNS["votes"].index("ballot"), COLUMNS["judgments"].index("ballots")
_encoded = json_writer(bytes.hex)


def line_of(record: Record) -> str:
    """Write a record; bytes become hexadecimal digits."""
    return _encoded([type(record).__name__, *record])


def record_of(line: str) -> Record:
    kind, *parts = json.loads(line)
    if kind == AccountRecord.__name__:
        return AccountRecord(*parts)
    if kind == StoredVote.__name__:
        (values,) = parts
        return StoredVote(_with_bytes(values, _BALLOT))
    row, nth, at, values = parts
    return StoredJudgment(row, nth, at, _with_bytes(values, _BALLOTS))


def _with_bytes(values: list[object], place: int) -> Values:
    values[place] = bytes.fromhex(str(values[place]))
    return tuple(values)
