"""Runs through providers' batch APIs: the same results, half the price, nothing lost and nothing paid twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.batching import MODELS, eval_run, exported, judged, news, results
from support.fake_batches import BatchProvider


@pytest.fixture
def batches() -> Iterator[BatchProvider]:
    with BatchProvider() as running:
        yield running


@pytest.mark.parametrize("api", MODELS)
def test_a_batch_gives_what_asking_one_by_one_gives(tmp_path: Path, batches: BatchProvider, api: str) -> None:
    live = eval_run(tmp_path, batches, api, votes=3, run="live")
    judged(live, None)
    asked = len(batches.requests)
    seen = judged(eval_run(tmp_path, batches, api, votes=3))
    assert len(batches.requests) == asked == 18
    assert [len(batch.lines) for batch in batches.batches] == [18]
    assert exported(tmp_path / "run") == exported(tmp_path / "live")
    assert len(results(seen)) == 6
    assert {"sent", "collected"} <= set(news(seen))
