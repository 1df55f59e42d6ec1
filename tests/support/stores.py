"""Stores of a shared run, for the tests that every one of them must pass."""

from __future__ import annotations

import asyncio
import os
from contextlib import closing
from pathlib import Path

from adjudge import AspectCritic, Instance, ScriptedModel
from adjudge.domain.vote import Outcome, Vote
from adjudge.ledger.stores.segments import SegmentStore
from adjudge.ledger.stores.shared import Buffer, SharedLedger
from adjudge.ledger.stores.store import Span, Store

STORES = ["segments"]


def opened(kind: str, folder: Path) -> Store:
    """An empty one."""
    assert kind == "segments"
    return SegmentStore(folder / "store")


def keep_for_ever(folder: str, records: int) -> None:
    """Keep vote after vote, and say each time how many are kept."""
    asyncio.run(_keep(SegmentStore(folder), records))


async def _keep(store: Store, records: int) -> None:
    with closing(SharedLedger(store, "a", {"judges": {}}, Buffer(records, 60))) as ledger:
        await ledger.begin(Span(0, 9))
        number, (ballot,) = 0, AspectCritic("It is short.", ScriptedModel()).plan_all(Instance({"response": "x"}))
        while True:
            number += 1
            await ledger.keep(number.to_bytes(16, "big"), Vote(ballot=ballot, outcome=Outcome.UNREADABLE, text="?"))
            os.write(1, f"{number}\n".encode())
