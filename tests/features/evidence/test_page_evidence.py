"""The row of a run whose sentences were looked up shows them marked, with the fragments they rest
on.
"""

from __future__ import annotations

import json
from pathlib import Path

from adjudge import EvidenceJudge, RagEvaluator
from adjudge.core.domain.message import Request
from adjudge.core.gateway.providers.scripted import ScriptedModel
from support.page import served

ROW = {
    "contexts": ["The tower was finished in 1889.", "It is 330 metres tall."],
    "response": "It was finished in 1889. It is 400 metres tall.",
}


def script(request: Request) -> str:
    sentence = request.prompt.messages[1].content.rsplit('field="sentence">', 1)[-1]
    said = (
        ("supported", 1, "finished in 1889")
        if "1889" in sentence
        else ("contradicted", 2, "330 metres")
    )
    return json.dumps(
        {
            "explanation": "so it is",
            "evidence": [{"fragment": said[1], "quote": said[2]}],
            "selected_option": said[0],
        }
    )


def test_the_row_view_marks_sentences_and_quotes(tmp_path: Path) -> None:
    EvidenceJudge(ScriptedModel(script)).evaluate([ROW], run=tmp_path / "looked")
    RagEvaluator(ScriptedModel(script), dimensions=["groundedness"], evidence="each").evaluate(
        [{"user_input": "?", **ROW}], run=tmp_path / "rag"
    )
    with served(tmp_path) as page:
        for name in ("looked", "rag"):
            shown = page.get(f"{page.run(name)}/row/1").text
            assert "<sup>✓1</sup>" in shown
            assert "<sup>✗2</sup>" in shown
            assert "It is <mark>330 metres</mark> tall." in shown
            data = page.data(f"{page.run(name)}/row/1")["chosen"]["evidence"]["evidence"]
            assert (data["supported"], data["contradicted"]) == (1, 1)
