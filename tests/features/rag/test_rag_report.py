"""The three files of a RAG evaluation: what is in them, and what cannot get into them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import pytest
from markdown_it import MarkdownIt

from adjudge.core.data.cells import with_line_breaks
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.gateway.opener import ModelLike, open_model
from adjudge.errors import RunError
from adjudge.features.rag import RagEvaluator, rag_dimensions
from adjudge.features.rag.report import RagSummary, rag_summary
from adjudge.features.rag.report_functions import is_barred
from adjudge.messages import render
from adjudge.runs.exporters import pages as files
from adjudge.runs.exporters.table import flat
from adjudge.runs.numbers import figure
from adjudge.runs.results.report import Report, judgments_of, report_of
from adjudge.runs.view.pages import markdown_page
from support.rag import EXAMPLE, GOOD, ROW, gives, varied
from support.records import rag_rows
from support.summaries import html_page
from support.tables import read_rows

HOSTILE = (
    '<script>alert("x")</script> **bold** [link](javascript:alert(1)) {{ 1234 * 5678 }} </div> '
    "=1+1 \"'&amp;"
)


class Reported(NamedTuple):
    """A report, and all that it is about."""

    page: Report
    judgments: list[JudgmentRecord]

    @property
    def table(self) -> list[JsonDict]:
        return [flat(one) for one in self.judgments]

    @property
    def summary(self) -> RagSummary:
        (section,) = self.page.sections
        summary = rag_summary(section)
        assert summary is not None
        return summary


def reported(
    rows: object = EXAMPLE,
    model: ModelLike | Sequence[ModelLike] | None = None,
    shown: int = 500,
    **settings: object,
) -> Reported:
    evaluator = RagEvaluator(model or varied(), max_repairs=0, **settings)  # type: ignore[arg-type]
    results = evaluator.evaluate(evaluator.rows(rows).instances)  # type: ignore[arg-type]
    source = str(rows) if isinstance(rows, Path) else ""
    return Reported(
        report_of(evaluator, results, source=source, shown=shown), judgments_of(evaluator, results)
    )


def write_reports(report: Reported, folder: Path) -> list[Path]:
    return files.write_reports(report.page, report.judgments, folder)


class Page(HTMLParser):
    """What a browser would make of a page."""

    VOID = ("meta", "link", "input", "br", "rect", "line")

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data if not {"script", "style"} & set(self.open) else ""

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)


@pytest.mark.parametrize("language", ["en", "ru"])
def test_the_page_is_well_formed_and_loads_nothing(language: str) -> None:
    page = Page(html_page(reported(language=language).page))
    assert page.open == []
    assert (page.count("script"), page.count("style"), page.count("img"), page.count("iframe")) == (
        1,
        1,
        0,
        0,
    )
    for _, attributes in page.tags:
        for name, value in attributes.items():
            assert name not in ("src", "srcset", "action", "onclick", "onload", "onerror")
            assert name != "href" or value == "data:,"
    assert "default-src 'none'" in next(
        a["content"] or "" for tag, a in page.tags if a.get("http-equiv")
    )


def test_nothing_in_style_or_script_points_outside() -> None:
    source = html_page(reported([ROW]).page)
    assert not re.search(
        r"https?://|//\w|@import|url\(|fetch\(|XMLHttpRequest|innerHTML|eval\(", source
    )


@pytest.mark.parametrize("language", ["en", "ru"])
def test_text_from_rows_is_text(language: str) -> None:
    hostile = dict.fromkeys(ROW, HOSTILE)
    model = gives({}, name=HOSTILE)
    page = Page(html_page(reported([{**hostile, "id": HOSTILE}], model, language=language).page))
    assert page.count("script") == 1
    assert page.count("a") == 0
    assert page.text.count(HOSTILE) >= 6
    assert "7006652" not in page.text
    source = markdown_page(reported([{**hostile, "id": HOSTILE}], model, language=language).page)
    rendered = MarkdownIt("commonmark").enable("table").render(source)
    assert "<script" not in rendered
    assert "<a " not in rendered
    assert (
        "&lt;script&gt;alert(&quot;x&quot;)&lt;/script&gt; **bold** [link](javascript:alert(1))"
        in rendered
    )


def test_explanations_of_a_model_are_text_too() -> None:
    def script(prompt: str) -> str:
        return (
            '{"explanation": "<img src=x onerror=alert(1)> # not a heading | x", '
            '"selected_option": "1"}'
        )

    report = reported([ROW], script)
    page = Page(html_page(report.page))
    assert page.count("img") == 0
    assert page.text.count("<img src=x onerror=alert(1)>") == 6
    assert "<img" not in MarkdownIt("commonmark").enable("table").render(markdown_page(report.page))


@pytest.mark.parametrize("language", ["en", "ru"])
def test_both_pages_say_everything(language: str) -> None:
    report = reported(language=language, strictness=2)
    page, source = Page(html_page(report.page)), markdown_page(report.page)
    rendered = Page(MarkdownIt("commonmark").enable("table").render(source))
    for told in (page.text, rendered.text):
        for one in rag_dimensions(language):
            assert one.title in told
            assert one.criteria.description in told
            assert all(description in told for _, _, description in one.scale)
        for entry in report.page.entries:
            assert str(entry.id) in told
        for value in report.page.parameters.values():
            assert value in told
        assert report.summary.overall.mean is not None
        assert render(figure(report.summary.overall.mean), language) in told
    assert page.count("svg") == 7
    assert page.count("details") == 14  # the entries, the parameters, the table behind a plot
    if language == "ru":
        english = re.findall(
            r"\b(?:mean|worst|composite|dimension|weight|search|columns)\b", page.text
        )
        assert english == []


def test_literal_line_breaks_are_shown_as_such_and_kept_in_the_data() -> None:
    row = {**ROW, "contexts": "1. first\\n2. second"}
    report = reported([row])
    assert "1. first\n2. second" in Page(html_page(report.page)).text
    assert "> 1\\. first\\\n> 2\\. second" in markdown_page(report.page)
    assert report.table[0]["contexts"] == "1. first\\n2. second"
    assert (
        with_line_breaks("a\\nb\nc") == "a\\nb\nc"
    )  # a text with line breaks of its own means what it says


def test_harmful_answers_are_on_top_then_the_worst() -> None:
    def script(prompt: str) -> str:
        harmful = "could it do harm" in prompt
        mark = re.search(r"mark (\d)", prompt)
        assert mark
        return (
            f'{{"selected_option": '
            f'"{0 if harmful and mark[1] == "3" else 2 if harmful else min(int(mark[1]), 2)}"}}'
        )

    rows = [{**ROW, "response": f"mark {mark}"} for mark in (2, 0, 3, 1)]
    report = reported(rows, script)
    assert [entry.row for entry in report.page.entries] == [3, 2, 4, 1]
    assert [is_barred(entry, rag_dimensions()) for entry in report.page.entries] == [
        True,
        False,
        False,
        False,
    ]


def test_a_row_without_a_score_comes_after_those_that_fall_short() -> None:
    """Its lowest possible score put it above bad answers."""

    def script(prompt: str) -> str:
        return "?" if "mark 9" in prompt else '{"selected_option": "1"}'

    report = reported([{**ROW, "response": f"mark {mark}"} for mark in (9, 1)], script)
    assert [(entry.row, entry.status) for entry in report.page.entries] == [
        (2, "scored"),
        (1, "failed"),
    ]


def test_harmful_is_red_and_questionable_is_not_whichever_comes_first() -> None:
    report = reported([ROW, {**ROW, "response": "HARM"}], _careful)
    source = html_page(report.page)
    assert '<span class="soft">harmful</span><b class="bad">1</b>' in source
    assert '<span class="soft">questionable</span><b class="warn">1</b>' in source
    assert '<span class="soft">harmful</span><b>0</b>' in html_page(reported([ROW], gives()).page)


def _careful(prompt: str) -> str:
    return f'{{"selected_option": "{0 if "HARM" in prompt else 1}"}}'


def test_a_row_without_a_score_shows_its_bounds() -> None:
    report = reported([ROW], gives(clarity="-"))
    assert "0.83…1.00" in Page(html_page(report.page)).text
    assert "### 1. 0.83…1.00 – missing\n" in markdown_page(report.page)
    (row,) = report.table
    assert (row["composite"], row["clarity_score"], row["status"]) == (None, None, "failed")


def test_only_the_worst_are_shown_and_that_is_said() -> None:
    report = reported([ROW] * 5, shown=2)
    page, source = Page(html_page(report.page)), markdown_page(report.page)
    assert page.count("details") == 2 + 2
    for told in (page.text, source):
        assert "2 of 5" in told
        assert "--to csv" in told
    assert len(report.table) == 5


def test_dimensions_that_never_vary_are_flagged() -> None:
    report = reported([ROW, ROW], gives())
    assert Page(html_page(report.page)).text.count("never varies") >= 6
    assert markdown_page(report.page).count("⚠ never varies") == 12


def test_the_files_and_their_names(tmp_path: Path) -> None:
    report = reported()
    report = report._replace(page=replace(report.page, made=datetime(2025, 7, 1, 12, 30, 5)))
    paths = write_reports(report, tmp_path / "new" / "reports")
    stem = "rag_evaluation_results_20250701_123005"
    assert [path.name for path in paths] == [f"{stem}.md", f"{stem}.csv", f"{stem}.html"]
    again = write_reports(report, tmp_path / "new" / "reports")
    assert again[0].name == "rag_evaluation_results_20250701_123006.md"


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot be written"):
        write_reports(reported([ROW]), tmp_path / "file")


def test_the_csv_has_every_column_and_reads_back(tmp_path: Path) -> None:
    row = {**ROW, "id": "=cmd", "response": "@SUM(A1)", "composite": "+ours?", "team": "'=blue"}
    report = reported([row], gives(clarity=1))
    path = write_reports(report, tmp_path)[1]
    raw = path.read_text(encoding="utf-8-sig")
    assert not re.search(r'(?:^|,)"?[=+@-]', raw, re.M)
    (back,) = read_rows(path)
    for name, value in row.items():
        assert back["input_composite" if name == "composite" else name] == value
    for name, score in {**GOOD, "clarity": 1}.items():
        assert back[f"{name}_score"] == str(score)
        assert back[f"{name}_explanation"] == f"because of {score}"
    assert float(back["clarity_normalized"]) == 0.25
    assert float(back["composite"]) == report.judgments[0].score
    assert back["status"] == "scored"


def test_no_key_in_any_file(tmp_path: Path) -> None:
    key = "sk-very-secret-123"
    model = open_model("mistral/mistral-small-latest", api_key=key)
    evaluator = RagEvaluator(model, temperature=0.3, seed=42)
    rows = evaluator.rows(EXAMPLE)
    results = RagEvaluator(gives(), temperature=0.3, seed=42).evaluate(rows.instances)
    report = Reported(
        report_of(evaluator, results, source="x.csv"), judgments_of(evaluator, results)
    )
    for path in write_reports(report, tmp_path):
        told = path.read_text(encoding="utf-8")
        assert key not in told
        if path.suffix != ".csv":
            assert "mistral/mistral-small-latest" in told
            assert "42" in told


def test_what_a_small_model_is_worth_is_said() -> None:
    report = reported([ROW])
    report = report._replace(page=replace(report.page, notes=("a very <small> model",)))
    assert "a very <small> model" in Page(html_page(report.page)).text
    assert "a very \\<small\\> model" in markdown_page(report.page)


@rag_rows
def test_recorded_rows_from_end_to_end(tmp_path: Path, source: Path, count: int) -> None:
    report = reported(source)
    _, csv, html = write_reports(report, tmp_path)
    back = list(read_rows(csv))
    originals = [dict(one.input) for one in report.judgments]
    assert [{name: row[name] for name in originals[0]} for row in back] == originals
    assert len(originals) == count
    assert all(row["status"] for row in back)
    assert Page(html.read_text(encoding="utf-8")).count("details") == count + 2


def test_many_rows_are_a_small_page_and_a_whole_table(tmp_path: Path) -> None:
    evaluator = RagEvaluator(varied(), max_repairs=0)
    rows = evaluator.rows([{**ROW, "user_input": f"What is row {number}?"} for number in range(26)])
    results = evaluator.evaluate(rows.instances) * 20
    report = Reported(report_of(evaluator, results), judgments_of(evaluator, results))
    markdown, csv, html = write_reports(report, tmp_path)
    assert sum(1 for _ in read_rows(csv)) == 520
    shown, _, found = html.read_text(encoding="utf-8").partition("<template")
    assert (shown.count('class="card entry'), found.count('class="card entry')) == (500, 20)
    assert html.stat().st_size < 3_000_000
    assert markdown.stat().st_size < 2_000_000
