"""10 % rate limits, 10 % server errors, 5 % malformed, 2 % hangs, 1 % cut connections: all are
scored, none wrong.

``ADJUDGE_RECORDS`` says how many records (``make test-reliability``: 2,000).
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from adjudge import Status
from adjudge.runs.folder import run_info
from support.asking import critic, marked, open_at, truth
from support.fake_provider import CUT_LATE, HANGS, MALFORMED, FakeProvider, Fault
from support.fake_provider import Status as Code

RECORDS = int(os.environ.get("ADJUDGE_RECORDS", "150"))
MIX = (
    (10, Code(429, "slow down", {"Retry-After": "0.01"})),
    (10, Code(500)),
    (5, MALFORMED),
    (2, HANGS),
    (1, CUT_LATE),
)


def fault(record: int, attempt: int) -> Fault | None:
    """By the record and the attempt alone."""
    place = random.Random(f"{record} {attempt}").uniform(0, 100)
    for share, kind in MIX:
        if place < share:
            return kind
        place -= share
    return None


@pytest.mark.usefixtures("fast_retries")
def test_all_are_scored_and_none_wrong(tmp_path: Path, provider: FakeProvider) -> None:
    provider.faults = fault
    texts = marked(RECORDS)
    model = open_at(provider, max_retries=8, timeout=1.5, max_concurrency=32)
    results = critic(model).evaluate(texts, run=tmp_path)
    assert [result.status for result in results] == [Status.SCORED] * RECORDS
    assert [result.verdict for result in results] == [truth(text) for text in texts]
    print(f"\n{RECORDS} records, {len(provider.requests)} requests: all scored, none wrong")
    assert len(provider.requests) > RECORDS * 1.2
    assert run_info(tmp_path).judges == {"AspectCritic": {"scored": RECORDS}}
