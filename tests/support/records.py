"""Where recorded judgments are: small samples that come with the tests, and the public records
where they are at hand.
"""

from __future__ import annotations

from pathlib import Path

import pytest

SAMPLES = Path(__file__).parents[1] / "samples"
PUBLIC = Path(__file__).parents[3] / "shared" / "data"

without_public = pytest.mark.skipif(
    not PUBLIC.is_dir(), reason="the public records (../shared/data) are not here"
)
folders = pytest.mark.parametrize(
    "records",
    [pytest.param(SAMPLES, id="samples"), pytest.param(PUBLIC, id="public", marks=without_public)],
)
rag_rows = pytest.mark.parametrize(
    ("source", "count"),
    [
        pytest.param(SAMPLES / "rag_evaluation.csv", 5, id="samples"),
        pytest.param(PUBLIC / "rag_evaluation_07_2025.csv", 25, id="public", marks=without_public),
    ],
)
