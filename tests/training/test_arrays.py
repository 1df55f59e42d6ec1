"""What needs numpy alone: examples on disk and in batches, pieces of files, ranks of adapters."""

from __future__ import annotations

from pathlib import Path

import pytest

np = pytest.importorskip("numpy", reason="requirements/training.txt is not installed")

from training.data import batches, load, save  # noqa: E402
from training.pieces import join, split  # noqa: E402
from training.ranks import shared_out  # noqa: E402

from support.training_examples import examples  # noqa: E402


def test_examples_come_back_as_they_were_saved(tmp_path: Path) -> None:
    made = examples([3, 5, 4])
    save(tmp_path / "examples.npz", made)
    found = load(tmp_path / "examples.npz")
    assert found.kinds == ("one",) and found.starts.tolist() == [0, 3, 8]
    assert all(
        np.array_equal(getattr(found, name), getattr(made, name))
        for name in ("ids", "lengths", "labels", "truth")
    )


def test_batches_hold_every_example_once_and_keep_to_their_size() -> None:
    lengths = np.random.default_rng(0).integers(5, 60, 300).astype(np.int32)
    found = list(batches(np.arange(300), lengths, 256, seed=1))
    assert sorted(np.concatenate([places for _, places in found]).tolist()) == list(range(300))
    assert all(
        lengths[places].max() <= width and len(places) * width <= 256 for width, places in found
    )


def test_pieces_make_the_file_again_or_nothing(tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    whole.write_bytes(bytes(range(256)) * 10)
    split(whole, tmp_path / "pieces", 1000)
    join(tmp_path / "pieces", tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == whole.read_bytes()
    (tmp_path / "pieces" / "1" / "piece").write_bytes(b"other")
    with pytest.raises(SystemExit, match="do not make the file"):
        join(tmp_path / "pieces", tmp_path / "bad")


def test_the_rank_goes_where_the_change_is_and_the_whole_stays_as_large() -> None:
    strengths = np.geomspace(1, 0.01, 32).astype(np.float32)
    costs, factors = (
        {"much": 100, "little": 100, "wide": 1000},
        {"much": 10, "little": 0.01, "wide": 10},
    )
    ranks = shared_out(
        {name: (factors[name] * strengths, cost) for name, cost in costs.items()}, 17
    )
    assert ranks["much"] > ranks["wide"] > ranks["little"] == 8
    assert all(rank % 8 == 0 for rank in ranks.values())
    assert sum(ranks[name] * cost for name, cost in costs.items()) <= 17 * 1200
