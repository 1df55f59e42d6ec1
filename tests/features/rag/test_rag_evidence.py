"""RAG answers with their evidence: groundedness by sentences, reports that mark them, and nothing
changed where it is off.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from adjudge.core.domain.message import Request
from adjudge.core.gateway.providers.scripted import ScriptedModel
from adjudge.core.ledger.codec import record_of
from adjudge.errors import SetupError
from adjudge.features.evidence.marked_text import evidence_of
from adjudge.features.importers.importing import import_file
from adjudge.features.rag import RagEvaluator, RagResult
from adjudge.plugins import OURS
from adjudge.runs.eval_file import parse_eval
from adjudge.runs.exporters.export import export
from adjudge.runs.exporters.pages import write_reports
from adjudge.runs.results.report import Report, judgments_of, report_of
from adjudge.runs.view.pages import markdown_page
from support.rag import EXAMPLE, asked_about, varied
from support.summaries import html_page
from support.tables import read_rows

MADE = datetime(2026, 1, 2)
ROW = {
    "user_input": "How tall is it?",
    "contexts": [
        "The tower was finished in 1889 <script>alert(1)</script>.",
        "It is 330 metres tall.",
        "Nobody lives there.",
    ],
    "response": "Hello! The tower was finished in 1889. It is 400 metres tall. It is red.",
}


def reply(option: str, fragment: int = 0, quote: str = "") -> str:
    evidence = [{"fragment": fragment, "quote": quote}] if quote else []
    return json.dumps({"explanation": "as told", "evidence": evidence, "selected_option": option})


def model(name: str = "scripted") -> ScriptedModel:
    """Gives every dimension 2, and every sentence what it deserves; of red ones it lies."""

    def script(request: Request) -> str:
        user = request.prompt.messages[1].content
        if 'field="sentence"' not in user:
            asked_about(request)
            return json.dumps({"explanation": "fine", "selected_option": "2"})
        sentence = user.rsplit('field="sentence">', 1)[-1]
        if "1889" in sentence:
            return reply("supported", 1, "finished in 1889")
        return (
            reply("contradicted", 2, "330 metres tall")
            if "400" in sentence
            else reply("supported", 3, "It is red")
        )

    return ScriptedModel(script, name)


def judged(**settings: object) -> tuple[RagEvaluator, list[RagResult]]:
    evaluator = RagEvaluator(model(), evidence="each", max_repairs=1, **settings)  # type: ignore[arg-type]
    return evaluator, evaluator.evaluate([ROW])


def reported(language: str = "en") -> Report:
    evaluator, results = judged(language=language)
    return report_of(evaluator, results, source="rows.csv")


def test_sentences_decide_groundedness_and_it_is_not_asked_about() -> None:
    _, (result,) = judged()
    assert result.scores["groundedness"] == 0
    assert result.explanations["groundedness"] == "1 of 3 supported, 1 contradicted, 1 not found"
    assert {vote.ballot.criteria.name for vote in result.votes} == {
        *("answer_relevance", "clarity", "completeness", "conciseness", "harmfulness", "support")
    }
    assert result.evidence is not None
    assert result.evidence.invented == {"scripted": 2}


def test_rules_leave_groundedness_to_the_model() -> None:
    (result,) = RagEvaluator(model(), evidence="rules").evaluate([ROW])
    assert result.scores["groundedness"] == 2
    assert result.evidence is not None
    assert [one.by_rule for one in result.evidence.claims] == [False, True, False]
    assert len(result.votes) == 6


def test_a_panel_says_what_each_model_makes_of_the_composite() -> None:
    (result,) = RagEvaluator([model("one"), model("two")], evidence="each").evaluate([ROW])
    assert result.model_scores.keys() == {"one", "two"}
    assert result.evidence is not None
    assert result.evidence.model_scales == {"one": 0, "two": 0}


def test_evidence_alone_is_refused_with_the_way_out() -> None:
    with pytest.raises(SetupError, match="add groundedness"):
        RagEvaluator(model(), dimensions="none", evidence="each")


def test_claims_need_a_model() -> None:
    with pytest.raises(SetupError, match="looking up claims takes a model"):
        RagEvaluator(model(), evidence="rules", claims=True)


def test_without_evidence_results_say_nothing_of_it() -> None:
    (result,) = RagEvaluator(varied()).evaluate([ROW])
    assert "evidence" not in result.to_dict()


def test_an_eval_file_asks_for_it() -> None:
    judges = (
        "[{kind: rag, evidence: joint}, {kind: evidence, method: rules, source_field: documents}]"
    )
    file = parse_eval(f"data: rows.csv\njudges: {judges}\n")
    assert [
        getattr(one, "evidence", None) or getattr(one, "method", None) for one in file.judges
    ] == ["joint", "rules"]


# --- reports
# --------------------------------------------------------------------------------------------------


def test_the_page_marks_sentences_and_shows_quotes_without_colour_alone() -> None:
    page = html_page(reported())
    for mark in ("✓1", "✗2", "?3"):
        assert f"<sup>{mark}</sup>" in page
    assert "The tower was <mark>finished in 1889</mark> &lt;script&gt;" in page
    assert "<script>alert" not in page
    assert 'data-unsupported="1"' in page
    assert 'data-contradicted="1"' in page
    assert 'data-key="unsupported"' in page
    assert re.search(r"used by: 1\b", page)
    assert "unused" in page
    assert "It is red</mark>" not in page


def test_the_markdown_has_footnotes() -> None:
    text = markdown_page(reported())
    assert "The tower was finished in 1889. ✓[^1-1]" in text
    assert (
        "[^1-2]: contradicted; fragment 2: “330 metres tall”; is in no fragment: 400 metres" in text
    )


def test_the_pages_are_in_russian_too() -> None:
    page = html_page(reported("ru"))
    for said in (
        "Ответ по предложениям",
        "подтверждено",
        "противоречит",
        "не найдено",
        "не использован",
    ):
        assert said in page


def test_the_table_has_the_counts(tmp_path: Path) -> None:
    evaluator, results = judged()
    paths = write_reports(
        report_of(evaluator, results, source="x"), judgments_of(evaluator, results), tmp_path
    )
    (row,) = read_rows(next(path for path in paths if path.suffix == ".csv"))
    assert (row["evidence_supported"], row["evidence_contradicted"], row["evidence_not_found"]) == (
        "1",
        "1",
        "1",
    )
    assert json.loads(row["evidence_sentences"])[1]["support"] == "supported"


def test_a_ledger_that_was_tampered_with_shows_no_quote_that_is_not_there() -> None:
    _, (result,) = judged()
    kept = json.loads(json.dumps(result.record("rag").to_dict()))
    kept["evidence"]["sentences"][1]["evidence"][0]["quote"] = "finished in 1888"
    kept["evidence"]["sentences"][2]["evidence"][0]["fragment"] = 1
    found = evidence_of(record_of({**kept, "index": 0}))
    assert found is not None
    assert [one.quotes for one in found.sentences] == [(), (), ()]
    assert [fragment.used_by for fragment in found.fragments] == [(), (), ()]


@pytest.mark.parametrize("suffix", ["html", "md"])
def test_where_evidence_is_off_the_report_is_the_same_to_the_byte(
    suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The section about evidence is taken away: the page must not change."""
    evaluator = RagEvaluator(varied())
    results = evaluator.evaluate(evaluator.rows(EXAMPLE).instances)
    pages = []
    for _ in range(2):
        report = replace(report_of(evaluator, results, source="rag.csv"), made=MADE)
        pages.append((html_page if suffix == "html" else markdown_page)(report))
        sections = {name: target for name, target in OURS["sections"].items() if name == "rag"}
        monkeypatch.setitem(OURS, "sections", sections)
    assert pages[0] == pages[1]


def test_an_imported_run_has_the_same_table_as_the_run_itself(tmp_path: Path) -> None:
    RagEvaluator(model(), evidence="each").evaluate([ROW], run=tmp_path / "run")
    export(tmp_path / "run", tmp_path / "run.jsonl")
    import_file(tmp_path / "run.jsonl", tmp_path / "imported")
    for name in ("run", "imported"):
        export(tmp_path / name, tmp_path / f"{name}.csv")
    table = (tmp_path / "imported.csv").read_text(encoding="utf-8-sig")
    assert "groundedness_score,groundedness_normalized,groundedness_explanation" in table
    assert table == (tmp_path / "run.csv").read_text(encoding="utf-8-sig")
