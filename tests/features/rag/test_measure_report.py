"""Retriever or generator: the table per row and in sum, on every page and in the terminal."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from html.parser import HTMLParser
from pathlib import Path

import pytest
from click.testing import CliRunner

from adjudge import Instance
from adjudge.features.rag import RagEvaluator, RagResult
from adjudge.features.rag.measures import chosen_measures
from adjudge.features.rag.report import rag_summary
from adjudge.runs.cli.main import app
from adjudge.runs.exporters.export import export
from adjudge.runs.exporters.pages import write_reports
from adjudge.runs.results.report import Report, judgments_of, report_of
from adjudge.runs.results.run_report import report_of_run
from adjudge.runs.view.pages import markdown_page
from adjudge.runs.view.terminal import Screen
from adjudge.runs.view.terminal_report import show_figures
from adjudge.trust.labels.scales import label_scales
from support.rag import gives
from support.summaries import html_page, summarise_rag
from support.tower import ASKED, ROW, knows, says

ROWS = [
    Instance({**ROW, "relevant_ids": "a"}, "good"),
    Instance({**ROW, "relevant_ids": "z", "response": "Ask <b>somebody</b> else [7]."}, "bad"),
    Instance({**ROW, "relevant_ids": ""}, "undefined"),
]


def judged(language: str = "en") -> tuple[RagEvaluator, list[RagResult], Report]:
    evaluator = RagEvaluator(
        says(knows), dimensions=["clarity"], measures=("recall@3", *ASKED), language=language
    )
    results = evaluator.evaluate(ROWS)
    return evaluator, results, report_of(evaluator, results, source="rows.jsonl")


def test_measures_are_summed_up_with_their_reasons() -> None:
    _, results, _ = judged()
    found = summarise_rag(results).measures
    assert found is not None
    recall = found.named("recall@3")
    assert recall and (recall.mean, recall.rows, recall.missing) == (0.5, 2, 1)
    assert dict(recall.reasons) == {"the row has no relevant_ids": 1}
    assert dict(found.blamed) == {
        "retriever": 0,
        "generator": 2,
        "both": 1,
        "neither": 0,
        "unknown": 0,
    }
    agreement = found.named("fragment_agreement")
    assert agreement and (agreement.mean, agreement.rows) == (None, 0)


@pytest.mark.parametrize(
    ("language", "title", "who"),
    [("en", "## Retriever or generator", "both"), ("ru", "## Поиск или генерация", "оба")],
)
def test_the_markdown_has_the_table_in_sum_and_per_row(language: str, title: str, who: str) -> None:
    page = markdown_page(judged(language)[2])
    assert title in page
    rows = page[page.index(title) :]
    assert any(line.startswith("| bad |") and f"| {who} |" in line for line in rows.splitlines())
    assert "Ask \\<b\\>somebody" in rows or "\\<b" in rows, "what an answer says is not a markup"
    assert ("- In the answer, not in the cited fragments:" in page) == (language == "en")


@pytest.mark.parametrize("language", ["en", "ru"])
def test_rows_call_measures_by_their_titles_and_their_table_fits_a_phone(language: str) -> None:
    report = judged(language)[2]
    title = chosen_measures(["recall@3"], {}, language)[0].title
    assert f"<tr><td>{title}</td>" in html_page(report)
    assert f"- {title}: " in markdown_page(report).replace("\\", "")
    assert '<div class="scroll" tabindex="0"><table><thead>' in html_page(report), (
        "a wide table scrolls by itself"
    )


def test_a_bar_on_what_is_better_when_less_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("question,answer,contexts\nq,a,c\n")
    asked = [
        "--dimensions",
        "none",
        "--measures",
        "context_noise",
        "--fail-under",
        "context_noise=0.3",
    ]
    result = CliRunner().invoke(
        app,
        ["rag", "-m", "scripted", "--csv", str(tmp_path / "rows.csv"), *asked, "-o", str(tmp_path)],
    )
    assert (result.exit_code, "because lower values are better" in result.output) == (2, True)


@pytest.mark.parametrize("language", ["en", "ru"])
def test_the_html_is_well_formed_and_holds_no_markup_of_rows(language: str) -> None:
    evaluator, results, report = judged(language)
    page = html_page(report, judgments_of(evaluator, results))
    opened: list[str] = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            opened.append(tag)

        def handle_endtag(self, tag: str) -> None:
            opened.append(f"/{tag}")

    Tags().feed(page)
    for tag in ("table", "tr", "td", "th", "ul", "li", "details"):
        assert opened.count(tag) == opened.count(f"/{tag}"), tag
    assert "<b>somebody" not in page and ("To blame" in page) == (language == "en")


def test_the_csv_has_a_column_for_each_measure_and_its_reason(tmp_path: Path) -> None:
    evaluator, results, report = judged()
    path = write_reports(report, judgments_of(evaluator, results), tmp_path)[1]
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = {row["id"]: row for row in csv.DictReader(file)}
    assert (rows["good"]["recall@3"], rows["bad"]["blame"]) == ("1.0", "both")
    assert (rows["undefined"]["recall@3"], rows["undefined"]["recall@3_reason"]) == (
        "",
        "the row has no relevant_ids",
    )
    assert "parts" not in rows["good"]


def test_the_terminal_shows_the_measures_and_whom_they_blame(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show_figures(judged()[2], Screen())
    said = capsys.readouterr().out
    assert "Context recall" in said and "to blame" in said and "generator" in said


def test_a_run_folder_gives_the_same_tables(tmp_path: Path) -> None:
    evaluator = RagEvaluator(
        says(knows), dimensions="none", measures=["context_recall", "mrr"], weights={"mrr": 2}
    )
    evaluator.evaluate(ROWS, run=tmp_path / "run")
    RagEvaluator(says(knows), dimensions=["clarity"]).evaluate(ROWS, run=tmp_path / "plain")
    RagEvaluator(says(knows), dimensions=["clarity"], measures=["context_recall"]).evaluate(
        ROWS, run=tmp_path / "more"
    )
    assert [one.name for one in label_scales(tmp_path / "more")] == [
        one.name for one in label_scales(tmp_path / "plain")
    ]
    report = report_of_run(tmp_path / "run")
    (section,) = report.sections
    summary = rag_summary(section)
    assert summary and summary.measures
    assert [one.measure.weight for one in summary.measures.each] == [0.0, 2.0]
    assert section.to_dict()["blame"] == {
        "retriever": 0,
        "generator": 0,
        "both": 0,
        "neither": 3,
        "unknown": 0,
    }
    export(tmp_path / "run", tmp_path / "run.html")
    assert "Retriever or generator" in (tmp_path / "run.html").read_text(encoding="utf-8")


def test_nothing_of_it_is_there_where_nothing_is_measured(tmp_path: Path) -> None:
    evaluator = RagEvaluator(gives())
    result = evaluator.evaluate(
        {name: ROW[name] for name in ("user_input", "contexts", "response")}
    )
    report = report_of(evaluator, [result])
    assert "etriever" not in markdown_page(report) + html_page(report) + json.dumps(
        report.to_dict()
    )
    assert not {"measures", "parts", "blame", "votes_on_measures"} & result.to_dict().keys()
    configuration = evaluator.configuration()
    assert "measures" not in configuration
    assert configuration["settings"]["measures"] == []  # type: ignore[index,call-overload]
    assert configuration["criteria"] == []


def test_the_command_measures_ids_without_a_model_and_gates_them(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("id,retrieved_ids,relevant_ids\nq1,a;b,a\nq2,a;b,b\n")
    asked = [
        "rag",
        "--csv",
        str(tmp_path / "rows.csv"),
        "-o",
        str(tmp_path / "out"),
        "--dimensions",
        "none",
        "--measures",
        "mrr,hit@2",
        "--weight",
        "hit@2=1",
        "--json",
    ]
    done = CliRunner().invoke(app, [*asked, "--fail-under", "mrr=0.8"], standalone_mode=False)
    assert done.return_value == 4, done.output
    found = json.loads(done.stdout)
    assert found["criteria"][0]["measures"]["mrr"]["mean"] == 0.75
    assert (found["summary"]["mean"], found["summary"]["calls"], found["gates"][0]["value"]) == (
        1.0,
        0,
        0.75,
    )
    assert [one["measures"]["mrr"]["value"] for one in found["results"]] == [1.0, 0.5]


def test_an_eval_file_names_measures_and_weights(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text(
        json.dumps({"retrieved_context_ids": ["a"], "reference_context_ids": ["b", "a"]}) + "\n"
    )
    (tmp_path / "eval.yaml").write_text(
        "data: rows.jsonl\n"
        "judges:\n  - {kind: rag, dimensions: none, measures: [recall@1, mrr], weights: "
        "{recall@1: 3, mrr: 1}}\n"
    )
    done = CliRunner().invoke(app, ["run", str(tmp_path / "eval.yaml"), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["summary"]["mean"] == (3 * 0.5 + 1) / 4
    (tmp_path / "eval.yaml").write_text(
        "data: rows.jsonl\njudges:\n  - {kind: rag, measures: [recal@1]}\n"
    )
    wrong = CliRunner().invoke(app, ["run", str(tmp_path / "eval.yaml")])
    assert wrong.exit_code == 1 and "did you mean 'recall'" in str(wrong.exception)


def test_rows_that_leave_a_relevant_fragment_unused_can_be_filtered() -> None:
    def nothing_used(check: str, shown: Mapping[str, str]) -> bool:
        return check != "fragment_used" and knows(check, shown)

    evaluator = RagEvaluator(
        says(nothing_used), dimensions="none", measures=["context_precision", "fragment_use"]
    )
    results = evaluator.evaluate(
        [Instance({**ROW, "relevant_ids": "a", "response": "Who knows."}, "idle"), ROWS[0]]
    )
    report = report_of(evaluator, results)
    (section,) = report.sections
    summary = rag_summary(section)
    assert summary and summary.measures and summary.measures.idle == 1
    page = html_page(report, judgments_of(evaluator, results))
    assert (
        page.count('data-idle="1"') == 1
        and 'data-key="idle"' in page
        and 'data-key="blame"' in page
    )
    assert "relevant fragment unused | 1" in markdown_page(report)
