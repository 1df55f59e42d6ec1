"""A judgment of a kind that no installed package brings is kept whole, and counts as no number."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from adjudge.core.domain.record import Detail, JudgmentRecord, UnknownDetail
from adjudge.core.ledger.codec import (
    exported_judgment,
    judgment_of,
    judgment_row,
    read_exported_judgment,
)
from adjudge.core.ledger.rows import verify_row
from adjudge.messages import render
from support.plain_record import plain_record

RESULT = 10


@dataclass(frozen=True, kw_only=True)
class PriceDetail(Detail):
    """A price, which is not a share of anything."""

    kind: ClassVar[str] = "price"

    verdict: str
    euros: float
    notes_of_seller: tuple[str, ...] = ()

    @property
    def chosen(self) -> str:
        return self.verdict


def stored(score: float = 250.0) -> tuple[object, ...]:
    """Return the row that the package of PriceDetail wrote."""
    detail = PriceDetail(verdict="dear", euros=score, notes_of_seller=("as new",))
    return judgment_row(plain_record(detail, score=score), b"0123456789abcdef")


def read(row: tuple[object, ...]) -> JudgmentRecord:
    return judgment_of(verify_row("judgments", row))


def test_it_has_failed_with_the_reason_and_without_a_number() -> None:
    record = read(stored())
    assert (record.status, record.score, record.verdict, record.choice) == ("failed", None) + (
        None,
    ) * 2
    assert record.reason == "unknown kind price: install the package that provides it"
    assert render(record.reason, "ru") == (
        "неизвестный вид price: установите пакет, в котором он есть"
    )
    assert record.fields == {"response": "x"}
    shown = record.to_dict()
    assert (shown["status"], shown["score"]) == ("failed", None)


def test_nothing_is_lost_when_it_is_written_again() -> None:
    assert judgment_row(read(stored()), b"0123456789abcdef")[RESULT] == stored()[RESULT]
    assert judgment_row(read(stored()), b"0123456789abcdef")[5:7] == ("scored", 250.0)


def test_an_export_made_without_the_package_loses_nothing() -> None:
    exported = json.loads(json.dumps(exported_judgment(read(stored()), None)))
    assert (exported["status"], exported["score"]) == ("failed", None)
    again = read_exported_judgment(exported)
    assert isinstance(again.detail, UnknownDetail)
    assert again.reason == "unknown kind price: install the package that provides it"
    assert judgment_row(again, b"0123456789abcdef")[RESULT] == stored()[RESULT]


def test_an_export_names_a_kind_that_is_not_built_in() -> None:
    detail = PriceDetail(verdict="dear", euros=250.0)
    exported = exported_judgment(plain_record(detail, score=250.0), None)
    assert exported["kind"] == "price"
    assert read_exported_judgment(exported).score is None


def test_a_tag_that_is_not_a_text_is_an_unknown_kind() -> None:
    *others, result, _ = stored()
    changed = json.dumps({**json.loads(str(result)), "kind": ["x"]})
    assert "unknown kind" in str(judgment_of([*others, changed]).reason)


@pytest.mark.parametrize("change", [{"status": 7}, {"score": "much"}, {"reason": []}])
def test_what_it_keeps_to_itself_is_checked_too(change: dict[str, object]) -> None:
    *others, result, _ = stored()
    changed = json.dumps({**json.loads(str(result)), **change})
    with pytest.raises(sqlite3.DatabaseError, match="is damaged or was not written by adjudge"):
        judgment_of([*others, changed])


def test_an_export_cannot_move_a_judgment_to_another_row() -> None:
    exported = json.loads(json.dumps(exported_judgment(read(stored()), None)))
    exported["unknown_kind"] |= {"judge": "other", "row": 9}
    record = read_exported_judgment(exported)
    assert (record.judge, record.row) == ("judge", 1)


def test_records_of_core_are_read_without_loading_a_feature() -> None:
    code = (
        "import sys\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "from adjudge.core.domain.record import AspectDetail\n"
        "from adjudge.core.ledger.codec import judgment_of, judgment_row\n"
        "from support.plain_record import plain_record\n"
        "row = judgment_row(plain_record(AspectDetail(verdict='PASS', model_scores={})), b'')\n"
        "assert judgment_of(row[:-1]).verdict == 'PASS'\n"
        "old = row[10].replace(', \"kind\": \"aspect\"', '')\n"
        "assert old != row[10]\n"
        "assert judgment_of((*row[:10], old)).verdict == 'PASS'\n"
        "print([name for name in sys.modules if name.startswith('adjudge.features.')])\n"
    )
    command = [sys.executable, "-c", code, str(Path(__file__).parents[2])]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
