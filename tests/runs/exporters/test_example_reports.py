"""The sample reports in the examples are what the program writes today: ``make example-reports``
writes them anew.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

from adjudge.features.rag import RagEvaluator, rag_dimensions
from adjudge.runs.exporters.pages import write_reports
from adjudge.runs.results.report import judgments_of, report_of
from adjudge.runs.view import pages
from support.rag import EXAMPLE, varied

SAMPLES = {path.suffix: path for path in (EXAMPLE.parent / "reports").iterdir()}
TEMPLATES = Path(pages.__file__).parent / "templates"
HEADINGS = {
    ".md": re.compile(r"^##? (.*)$", re.M),
    ".html": re.compile(r"<h[12][^>]*>(.*?)</h[12]>"),
}


def of_today(folder: Path) -> dict[str, Path]:
    evaluator = RagEvaluator(varied())
    results = evaluator.evaluate(evaluator.rows(EXAMPLE).instances)
    written = write_reports(
        report_of(evaluator, results, source="rag.csv"), judgments_of(evaluator, results), folder
    )
    return {path.suffix: path for path in written}


def columns(path: Path) -> list[str]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return next(csv.reader(file))


def test_they_have_the_parts_and_columns_of_a_report_of_today(tmp_path: Path) -> None:
    today = of_today(tmp_path)
    assert SAMPLES.keys() == today.keys() == {".md", ".csv", ".html"}
    assert columns(SAMPLES[".csv"]) == columns(today[".csv"])
    for suffix, heading in HEADINGS.items():
        assert heading.findall(SAMPLES[suffix].read_text()) == heading.findall(
            today[suffix].read_text()
        )


def test_they_look_and_work_as_a_report_of_today() -> None:
    page = SAMPLES[".html"].read_text()
    for name in ("report.css", "report.js"):
        assert (TEMPLATES / name).read_text().strip() in page, name


def test_they_show_the_scales_of_today() -> None:
    for suffix in (".md", ".html"):
        text = SAMPLES[suffix].read_text().replace("\\", "")
        assert [
            said for one in rag_dimensions() for _, _, said in one.scale if said not in text
        ] == []
