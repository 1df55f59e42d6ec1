"""The row of a run with measures says whom they blame, and what became of each fragment."""

from __future__ import annotations

from pathlib import Path

from adjudge.features.rag import RagEvaluator
from support.page import served
from support.tower import ROW, knows, says


def test_the_row_view_shows_measures_fragments_and_missing_statements(tmp_path: Path) -> None:
    row = {**ROW, "response": "It is made of <b>iron</b> [2]."}
    RagEvaluator(
        says(knows), dimensions="none", measures=["context_precision", "citations"]
    ).evaluate(row, run=tmp_path / "run")
    with served(tmp_path) as page:
        shown = page.get(f"{page.run('run')}/row/1").text
        assert "To blame: generator" in shown
        assert "In the answer, not in the cited fragments:" in shown and "<b>iron" not in shown
        assert (
            page.data(f"{page.run('run')}/row/1")["chosen"]["measures"]["measures"][
                "context_precision"
            ]["value"]
            == 1.0
        )
