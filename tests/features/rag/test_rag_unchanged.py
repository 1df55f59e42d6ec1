"""Reports of the example rows, judged without evidence and measures, are the files in ``golden``.

A file that is to change is removed; the next run writes it, to be looked at and committed.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from adjudge.features.rag import RagEvaluator
from adjudge.runs.exporters.pages import write_reports
from adjudge.runs.results.report import judgments_of, report_of
from support.rag import EXAMPLE, varied

GOLDEN = Path(__file__).parent / "golden"
VARYING = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?|(?<=\| )[0-9a-f]{16}(?= \|)|(?<=\| adjudge \| )\S+"
)
"""Dates, the judge's identity, the version."""


@pytest.mark.parametrize("language", ["en", "ru"])
def test_the_example_reports_are_what_they_were(language: str, tmp_path: Path) -> None:
    evaluator = RagEvaluator([varied("one"), varied("two")], language=language)
    results = evaluator.evaluate(evaluator.rows(EXAMPLE).instances)
    report = report_of(evaluator, results, source="rag.csv")
    for path in write_reports(report, judgments_of(evaluator, results), tmp_path):
        if path.suffix == ".html":
            continue
        text = VARYING.sub("…", path.read_bytes().decode())
        golden = GOLDEN / f"report.{language}{path.suffix}"
        if not golden.exists():
            golden.write_bytes(text.encode())
            pytest.fail(f"{golden} was missing and is written: look at it")
        assert text == golden.read_bytes().decode()
