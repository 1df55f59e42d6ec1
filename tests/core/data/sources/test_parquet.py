"""Parquet files, which need pyarrow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adjudge.core.data.dataset import read_instances

pyarrow: Any = pytest.importorskip("pyarrow")
parquet: Any = pytest.importorskip("pyarrow.parquet")


def test_integers_with_missing_values_are_integers(tmp_path: Path) -> None:
    """pandas writes them as floats: the expected answer 2 became "2.0"."""
    columns = {
        "answer": ["a", "b", "c"],
        "expected": [2.0, None, 4.0],
        "share": [0.5, None, 1.0],
        "rate": [1.0, 2.0, 3.0],
    }
    parquet.write_table(pyarrow.table(columns), tmp_path / "rows.parquet")
    rows: list[Any] = [row.metadata["row"] for row in read_instances(tmp_path / "rows.parquet")]
    assert [row["expected"] for row in rows] == [2, None, 4]
    assert [type(row["expected"]) for row in rows] == [int, type(None), int]
    assert [row["share"] for row in rows] == [0.5, None, 1.0]
    assert [str(row["rate"]) for row in rows] == ["1.0", "2.0", "3.0"]
