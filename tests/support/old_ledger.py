"""Ledgers as version 7 wrote them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from adjudge.core.domain.frozen_mapping import json_text
from adjudge.core.ledger.file import FILE
from adjudge.core.ledger.rows import COLUMNS, insert, json_checksum, select


def row_of_version_7(row: Sequence[Any]) -> tuple[Any, ...]:
    """Return a judgment's row with its id first, its explanation before the reason, its columns
    near the end, and the checksum of its JSON.
    """
    result = json.loads(row[-2])
    stored = {"id": result.pop("id")}
    explanation = result.pop("explanation")
    last = {name: result.pop(name) for name in ("input", "answers") if name in result}
    for name, value in result.items():
        if name == "reason":
            stored["explanation"] = explanation
        stored[name] = value
    values = (*row[:-2], json_text({**stored, **last}))
    return (*values, json_checksum(*values))


def as_version_7(source: Path, target: Path) -> Path:
    """Copy a run folder's ledger in the form of version 7."""
    target.mkdir(parents=True, exist_ok=True)
    with (
        closing(sqlite3.connect(source / FILE)) as whole,
        closing(sqlite3.connect(target / FILE)) as copy,
        copy,
    ):
        whole.backup(copy)
        for table in COLUMNS:
            rows = copy.execute(select(table)).fetchall()
            old = (
                row_of_version_7(row)
                if table == "judgments"
                else (*row[:-1], json_checksum(*row[:-1]))
                for row in rows
            )
            copy.executemany(insert(table), old)
        copy.execute("PRAGMA user_version = 7")
    return target
