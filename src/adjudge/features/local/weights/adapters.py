"""The package's adapters: small changes to pulled weights, and how to read their probabilities."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.domain.message import LogprobCalibration

RAW = "-raw"
"""Suffix of a name: the weights without the adapter that comes with them."""
FOR_TEXT_FIRST = "-text-first"
"""Suffix of a name: the weights with the adapter for prompts that show the text first."""
_FOLDER = Path(__file__).parent / "adapter"
PRIORS = _FOLDER / "priors.json"
"""The file that ``make priors`` writes."""


def base_of(name: str) -> str:
    """Return the name of the weights without the ending that selects an adapter."""
    return name.removesuffix(RAW if name.endswith(RAW) else FOR_TEXT_FIRST)


def adapter_for(name: str) -> Path | None:
    """Return the package's adapter for the weights called ``name``, if there is one."""
    path = _FOLDER / f"{name}.gguf"
    return path if path.is_file() else None


def calibration_for(name: str) -> FrozenDict[LogprobCalibration]:
    """Return the calibration per kind of label for the package's adapter; empty without one."""
    if adapter_for(name) is None:
        return FrozenDict()
    data = json.loads((_FOLDER / f"{name}.json").read_bytes())
    return FrozenDict({kind: LogprobCalibration(**values) for kind, values in data.items()})


@lru_cache(maxsize=1)
def shipped_priors() -> Mapping[str, Mapping[str, float]]:
    """Return the embedded model's answers to neutral texts under the RAG evaluator's criteria.

    The keys are hashes of the questions, in English and Russian.
    """
    priors: dict[str, dict[str, float]] = (
        json.loads(PRIORS.read_bytes()) if PRIORS.is_file() else {}
    )
    return priors
