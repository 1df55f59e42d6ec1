"""A "no" is certain; a wrong "maybe" is rare."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.core.ledger import ledger
from adjudge.core.ledger.ledger import BloomFilter


def key(number: int) -> bytes:
    return hashlib.sha256(str(number).encode()).digest()[:16]


@given(st.sets(st.binary(min_size=16, max_size=16), max_size=50))
def test_what_was_added_may_be_known(keys: set[bytes]) -> None:
    filter_ = BloomFilter()
    for each in keys:
        filter_.add(each)
    assert all(each in filter_ for each in keys)


def test_what_was_not_added_is_hardly_ever_taken_for_known() -> None:
    filter_ = BloomFilter()
    for number in range(100_000):
        filter_.add(key(number))
    wrong = sum(key(number) in filter_ for number in range(100_000, 200_000))
    assert wrong < 100_000 / 80
    assert key(5) in filter_
    assert key(5) not in BloomFilter()


def test_it_grows_with_the_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "_BITS", 1 << 10)
    monkeypatch.setattr(ledger, "_KEYS", 60)
    filter_ = BloomFilter()
    for number in range(1000):
        filter_.add(key(number))
    assert all(key(number) in filter_ for number in range(1000))
    assert sum(key(number) in filter_ for number in range(1000, 2000)) < 150
