"""Answers of a local model to neutral texts, kept on disk so that the next process need not ask
again.

The embedded model's answers under the RAG evaluator's criteria come with the package.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from adjudge.core.aio.files import cache_folder, written_whole
from adjudge.errors import SetupError
from adjudge.features.local.weights.adapters import shipped_priors


@dataclass(frozen=True)
class PriorsOnDisk:
    """Priors of a model whose weights are identified."""

    weights: str

    def read(self, key: str, options: Sequence[str]) -> Mapping[str, float] | None:
        """Return the log-probability of each of ``options``.

        Return None if neither the cache nor the package has a usable prior under ``key``.
        """
        return _usable(_on_disk(key), options) or _usable(shipped_priors().get(key), options)

    def keep(self, key: str, prior: Mapping[str, float]) -> None:
        """Store a prior if possible."""
        # In a read-only folder the model is simply asked again.
        with suppress(OSError, SetupError):
            path = _path(key)
            path.parent.mkdir(parents=True, exist_ok=True)
            with written_whole(path) as file:
                file.write(json.dumps(dict(prior)).encode())


def _on_disk(key: str) -> object:
    try:
        return json.loads(_path(key).read_bytes())
    except (OSError, ValueError, SetupError):
        return None


def _usable(stored: object, options: Sequence[str]) -> Mapping[str, float] | None:
    try:
        prior = (
            {option: float(stored[option]) for option in options}
            if isinstance(stored, Mapping)
            else {}
        )
    except (ValueError, TypeError, KeyError):
        return None
    return prior if prior and all(-math.inf < value <= 0 for value in prior.values()) else None


def _path(key: str) -> Path:
    return cache_folder() / "priors" / key[:2] / f"{key}.json"
