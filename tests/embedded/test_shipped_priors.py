"""The priors that come with the package: a first RAG evaluation asks about its rows alone."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from adjudge import Reply, Request
from adjudge.core.catalog.criteria import languages
from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.features.local.provider import LocalModel
from adjudge.features.local.weights.adapters import shipped_priors
from adjudge.features.local.weights.store import KNOWN, read_manifest
from adjudge.features.rag import RagEvaluator
from support.rag import EXAMPLE

NAME = "smollm2-135m"


@pytest.fixture
def nothing_kept(tmp_path: Path, weights: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    manifest = read_manifest(NAME)
    if manifest is None or manifest.sha256 != KNOWN[NAME].sha256:
        pytest.skip(
            "an earlier version has converted the weights in this cache folder: they have "
            "priors of their own"
        )
    (tmp_path / "weights").symlink_to(weights.parents[1])
    monkeypatch.setenv("ADJUDGE_CACHE", str(tmp_path))
    return tmp_path


def evaluated(language: str) -> RagEvaluator:
    """The first row of the example."""
    evaluator = RagEvaluator(LocalModel(f"local/{NAME}"), language=language)
    evaluator.evaluate(evaluator.rows(EXAMPLE, limit=1).instances)
    return evaluator


@pytest.mark.parametrize("language", languages())
@pytest.mark.usefixtures("nothing_kept")
def test_nothing_but_the_row_is_asked_about(monkeypatch: pytest.MonkeyPatch, language: str) -> None:
    asked: list[Request] = []

    async def complete(_model: LocalModel, request: Request) -> Reply:
        asked.append(request)
        return Reply(request.labels[0], logprobs=(FrozenDict(dict.fromkeys(request.labels, -1.0)),))

    monkeypatch.setattr(LocalModel, "complete", complete)
    dimensions = len(evaluated(language).scored)
    assert len(asked) == dimensions, "the weights or the prompts have changed: make priors"


@pytest.mark.skipif(
    "ADJUDGE_LOCAL_JUDGMENTS" not in os.environ, reason="takes long: make test-embedded"
)
@pytest.mark.parametrize("language", languages())
def test_they_are_what_the_model_says(
    nothing_kept: Path, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    monkeypatch.setattr("adjudge.features.local.priors.shipped_priors", dict)
    evaluated(language)
    found = {
        file.stem: json.loads(file.read_bytes())
        for file in (nothing_kept / "priors").rglob("*.json")
    }
    assert found
    assert {key: pytest.approx(prior, abs=0.01) for key, prior in found.items()} == {
        key: shipped_priors()[key] for key in found
    }
