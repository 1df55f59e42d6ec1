"""A run that is killed −9 again and again: every record once, the same results, nothing that was
stored is asked again.

``ADJUDGE_KILLS`` says how often (``make test-reliability``: 50, and 500 records instead of 60);
three votes a record.
"""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from adjudge.core.ledger.file import FILE
from support.asking import asked_or_ended, critic, marked, open_at, truth, wait_until
from support.exported import judgments
from support.fake_provider import KEY, FakeProvider

KILLS = int(os.environ.get("ADJUDGE_KILLS", "3"))
RECORDS = 500 if "ADJUDGE_KILLS" in os.environ else 60
VOTES, AT_ONCE = 3, 8
CHILD = f"""
import sys
from adjudge import AspectCritic, open_model
url, folder, key = sys.argv[1:]
texts = [f"REC-{{number:05}}-{{'N' if number % 3 == 0 else 'Y'}}" for number in range({RECORDS})]
model = open_model("openai/gpt-4o-mini", base_url=url, api_key=key, max_concurrency={AT_ONCE})
critic = AspectCritic("The mark must end in Y.", model, strictness={VOTES}, seed=100)
critic.evaluate(texts, run=folder)
"""


def test_every_record_once_and_nothing_that_was_stored_asked_again(
    tmp_path: Path, provider: FakeProvider
) -> None:
    folder, pick = tmp_path / "run", random.Random(7)
    seconds = _undisturbed(tmp_path / "whole", provider)
    provider.requests.clear()
    in_flight = 0
    for kill in range(KILLS):
        before = len(provider.requests)
        child = _child(provider, folder)
        if not wait_until(asked_or_ended(provider, before, child)):
            raise AssertionError("the child asked nothing")
        time.sleep(pick.uniform(0, 2 * seconds / KILLS))
        child.kill()
        child.communicate()
        stored = _stored(folder)
        in_flight = len(provider.requests) - len(stored)
        assert in_flight <= (kill + 1) * AT_ONCE
        _never_again(provider, stored, len(provider.requests))
    _finish(provider, folder)
    assert len(provider.requests) == RECORDS * VOTES + in_flight
    print(
        f"\n{KILLS} kills, {RECORDS * VOTES} votes: {len(provider.requests)} requests, "
        f"{in_flight} were under way when killed"
    )
    rows = list(judgments(folder))
    assert [row["fields"]["response"] for row in rows] == marked(RECORDS)
    assert [row["verdict"] for row in rows] == [truth(text) for text in marked(RECORDS)]
    undisturbed = list(judgments(tmp_path / "whole"))
    assert rows == undisturbed
    for check in _CHECKS:
        check()
    _CHECKS.clear()


_CHECKS: list[Callable[[], None]] = []


def _never_again(provider: FakeProvider, stored: set[tuple[int, int]], position: int) -> None:
    """Have it checked at the end that none of ``stored`` was asked about after this."""

    def check() -> None:
        later = {
            (request.record, request.body["seed"] - 100) for request in provider.requests[position:]
        }
        assert not later & stored

    _CHECKS.append(check)


def _undisturbed(folder: Path, provider: FakeProvider) -> float:
    provider.latency = 0.01
    started = time.monotonic()
    model = open_at(provider, max_concurrency=AT_ONCE)
    critic(model, strictness=VOTES, seed=100).evaluate(marked(RECORDS), run=folder)
    return time.monotonic() - started


def _child(provider: FakeProvider, folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, provider.base_url("openai"), str(folder), KEY]
    )


def _finish(provider: FakeProvider, folder: Path) -> None:
    child = _child(provider, folder)
    assert child.wait(600) == 0


def _stored(folder: Path) -> set[tuple[int, int]]:
    """(record, sample) of every vote that is in the ledger."""
    if not (folder / FILE).exists():
        return set()
    with closing(sqlite3.connect(folder / FILE)) as connection:
        rows = connection.execute("SELECT explanation, sample FROM votes").fetchall()
    found = {(int(explanation[4:9]), sample) for explanation, sample in rows}
    assert len(found) == len(rows)
    return found
