"""A run's judgments as its JSONL export has them, for tests that look at what users see."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from adjudge.core.ledger.codec import exported_judgment
from adjudge.core.ledger.rows import CHECKSUM_SQL, COLUMNS
from adjudge.runs.folder import records_of


def judgments(folder: str | Path, *, votes: bool = False) -> Iterator[dict[str, Any]]:
    """One object per judgment, by judge and row; on request with its votes."""
    for one in records_of(folder, votes=votes):
        found = json.loads(json.dumps(exported_judgment(one, one.judge_identity)))
        if not votes:
            del found["votes"]
        if one.judge_identity is None:
            del found["judge_identity"]
        yield found


def reseal(ledger: sqlite3.Connection, table: str) -> None:
    """Give rows that were changed the checksums of what they hold now."""
    value = f"{CHECKSUM_SQL}({', '.join(COLUMNS[table])})"
    ledger.execute(f"UPDATE {table} SET checksum = {value}")
