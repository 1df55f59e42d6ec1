"""The real weights, pulled once; tests that need them are skipped with the reason where they cannot be had."""

from __future__ import annotations

from typing import Any

import pytest

from adjudge.errors import SetupError
from adjudge.local.weights.pull import pull

EMBEDDED = "local/smollm2-135m"


@pytest.fixture(scope="session", autouse=True)
def weights() -> Any:
    pytest.importorskip("onnxruntime", reason="the extra adjudge[local] is not installed")
    pytest.importorskip("xllamacpp", reason="the extra adjudge[gguf] is not installed")
    try:
        return pull("smollm2-135m")
    except SetupError as error:
        pytest.skip(f"the embedded weights cannot be had: {error}")
