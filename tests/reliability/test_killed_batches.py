"""Runs in batches that are killed −9 after each step: nothing is lost, and nothing is paid for
twice without a word.

``ADJUDGE_BATCH_KILLS`` says how often after each (``make test-scale``: 20).
"""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from adjudge.core.ledger.pending import BatchState
from adjudge.runs.folder import run_info
from adjudge.runs.results.run_report import report_of_run
from support.asking import marked, truth, wait_until
from support.batching import QUICK, eval_run, exported, judged, news, results
from support.fake_batches import BatchProvider, CutsAfterCreating
from support.fake_provider import KEY
from support.killed_batches import INTERRUPTED, POINTS, Forks, forks

KILLS = int(os.environ.get("ADJUDGE_BATCH_KILLS", "1"))
ROWS, SIZE = 12, 5
ROTATED = "sk-MARKED-of-the-same-account"
INLINE = ("anthropic", "google", "openrouter") if KILLS > 1 else ("anthropic",)
SENDING = ("the batch is in the ledger", "the batch is created", "its id is in the ledger")
ASKED = "the provider is asked"
"""After that nobody can tell what the provider has heard: what becomes of it
has a test of its own.
"""
NOT_THERE = ("the file is uploaded", ASKED)
PAIRS = [
    *((point, "openai") for point in POINTS if point != ASKED),
    *(
        (point, api)
        for api in INLINE
        for point in (SENDING if KILLS == 1 else POINTS)
        if point not in NOT_THERE
    ),
]
"""After what to kill a run, and who answers it; those that take no files have none to upload."""


@pytest.fixture(scope="module")
def children() -> Iterator[Forks]:
    with forks() as running:
        yield running


def order(folder: Path, provider: BatchProvider, api: str) -> dict[str, object]:
    base = provider.batch_url(api).removeprefix(provider.url)
    return {
        "folder": str(folder),
        "url": provider.url,
        "bases": {api: base},
        "api": api,
        "rows": ROWS,
        "size": SIZE,
    }


@pytest.mark.parametrize(("point", "api"), PAIRS)
def test_nothing_is_lost_or_paid_twice_by_a_kill_after(
    tmp_path: Path, batches: BatchProvider, children: Forks, point: str, api: str
) -> None:
    pick = random.Random(f"{point} {api}")
    for kill in range(KILLS):
        folder = tmp_path / str(kill)
        batches.batches.clear()
        once = point == "the round has ended"
        children.start(
            **order(folder, batches, api),
            point=point,
            nth=1 if once or KILLS == 1 else pick.randint(1, 3),
        )
        assert children.wait() == -signal.SIGKILL
        seen = judged(eval_run(folder, batches, api, rows=ROWS), replace(QUICK, most_requests=SIZE))
        assert "twice" not in news(seen)
        assert sum(len(batch.lines) for batch in batches.batches) == ROWS
        assert not batches.requests
        _, rows = exported(folder / "run")
        assert [row["verdict"] for row in rows] == [truth(text) for text in marked(ROWS)]
        spent = results(seen)[-1].spent
        assert spent is not None and spent.calls == ROWS
        assert {batch.state for batch in run_info(folder / "run").batches} == {BatchState.COLLECTED}


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_a_list_that_is_late_after_a_kill_has_nothing_paid_twice(
    tmp_path: Path, batches: BatchProvider, children: Forks, api: str
) -> None:
    """Seen: 600 paid for 300."""
    batches.list_lag = 2
    children.start(**order(tmp_path, batches, api), point="the batch is created", nth=2)
    assert children.wait() == -signal.SIGKILL
    seen = judged(
        eval_run(tmp_path, batches, api, rows=ROWS), replace(QUICK, most_requests=SIZE, search=120)
    )
    assert "searching" in news(seen) and "twice" not in news(seen)
    assert sum(len(batch.lines) for batch in batches.batches) == ROWS
    assert [row["verdict"] for row in exported(tmp_path / "run")[1]] == [
        truth(text) for text in marked(ROWS)
    ]


def test_answers_that_are_lost_again_and_again_have_nothing_paid_twice(
    tmp_path: Path, batches: BatchProvider
) -> None:
    """Seen: 1,800 paid for 900."""
    batches.list_lag, batches.create_faults = 1, [CutsAfterCreating()] * 3
    seen = judged(
        eval_run(tmp_path, batches, rows=ROWS), replace(QUICK, most_requests=SIZE, search=120)
    )
    assert news(seen).count("searching") == 3 and "twice" not in news(seen)
    assert sum(len(batch.lines) for batch in batches.batches) == ROWS


def test_where_a_kill_leaves_no_trace_at_the_provider_that_is_said(
    tmp_path: Path, batches: BatchProvider, children: Forks
) -> None:
    """The process was about to ask for the batch, and nobody can know whether that was heard."""
    children.start(**order(tmp_path, batches, "openai"), point="the provider is asked", nth=1)
    assert children.wait() == -signal.SIGKILL
    assert not batches.batches
    seen = judged(eval_run(tmp_path, batches, rows=ROWS), replace(QUICK, most_requests=SIZE))
    assert news(seen).count("twice") == 1
    (note,) = report_of_run(tmp_path / "run").notes
    assert note.startswith(f"requests to openai that may have been paid twice: {SIZE};")


@pytest.mark.parametrize(
    "point", ["the batch is in the ledger", "the batch is created", "its id is in the ledger"]
)
@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_a_key_that_was_rotated_after_a_kill_strands_nothing(
    tmp_path: Path, batches: BatchProvider, children: Forks, api: str, point: str
) -> None:
    batches.accounts, batches.tells_accounts = {KEY: "ours", ROTATED: "ours"}, True
    children.start(**order(tmp_path, batches, api), point=point, nth=2)
    assert children.wait() == -signal.SIGKILL
    batches.keys = {ROTATED}
    seen = judged(
        eval_run(tmp_path, batches, api, rows=ROWS, key=ROTATED), replace(QUICK, most_requests=SIZE)
    )
    assert "twice" not in news(seen)
    assert sum(len(batch.lines) for batch in batches.batches) == ROWS
    assert [row["verdict"] for row in exported(tmp_path / "run")[1]] == [
        truth(text) for text in marked(ROWS)
    ]


def test_an_interrupt_leaves_the_batches_to_go_on(
    tmp_path: Path, batches: BatchProvider, children: Forks
) -> None:
    batches.looks_until_end = 10_000
    child = children.start(**order(tmp_path, batches, "openai"))
    assert wait_until(
        lambda: len(batches.batches) == 3 and all(batch.looks for batch in batches.batches)
    )
    os.kill(child, signal.SIGINT)
    assert children.wait() == 1
    assert not any(batch.cancelled for batch in batches.batches)
    assert run_info(tmp_path / "run").state.startswith("batches under way: 3")
    batches.looks_until_end = 1
    judged(eval_run(tmp_path, batches, rows=ROWS))
    assert len(batches.batches) == 3


def test_a_second_interrupt_cancels_them_and_what_was_answered_is_collected(
    tmp_path: Path, batches: BatchProvider, children: Forks
) -> None:
    batches.looks_until_end = 10_000
    child = children.start(**order(tmp_path, batches, "openai"), grace=60)
    assert wait_until(
        lambda: len(batches.batches) == 3 and all(batch.looks for batch in batches.batches)
    )
    os.kill(child, signal.SIGINT)
    assert wait_until((tmp_path / INTERRUPTED).exists)
    os.kill(child, signal.SIGINT)
    assert children.wait() == 130
    assert all(batch.cancelled for batch in batches.batches)
    assert {batch.state for batch in run_info(tmp_path / "run").batches} == {BatchState.CANCELLING}
    batches.outcome = lambda record, attempt: "expired" if record >= 9 else "ok"
    judged(eval_run(tmp_path, batches, rows=ROWS))
    assert len(batches.batches) == 3
    assert sorted(request.record for request in batches.requests) == [9, 10, 11]
