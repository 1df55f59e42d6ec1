from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).parents[4] / "shared" / "data" / "agents" / "fixtures"


@pytest.fixture
def agent_traces() -> Path:
    if not SHARED.is_dir():
        pytest.skip("the fixtures of traces are not beside this checkout")
    return SHARED
