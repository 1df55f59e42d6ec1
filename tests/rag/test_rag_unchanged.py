"""Reports of rows that are judged without evidence and measures are those of the time before there
were any.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from adjudge.rag import RagEvaluator
from adjudge.reports.pages import write_reports
from adjudge.reports.report import judgments_of, report_of
from support.rag import EXAMPLE, varied

BEFORE = {
    ("en", ".csv"): "8520f7b4a1caa725",
    ("en", ".md"): "0531492b9918c659",
    ("ru", ".csv"): "6d7478bba133c5c1",
    ("ru", ".md"): "27e524c0514aec22",
}
"""Digests of what the commit before the first one about evidence wrote of the example rows."""
OF_THE_DAY = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?|\d[.,]\d+–\d[.,]\d+|\| [0-9a-f]{16} \|"
)
"""Dates, intervals of means, and the judge's identity: how these are reckoned has changed since."""


@pytest.mark.parametrize("language", ["en", "ru"])
def test_the_example_reports_are_what_they_were(language: str, tmp_path: Path) -> None:
    evaluator = RagEvaluator([varied("one"), varied("two")], language=language)
    results = evaluator.evaluate(evaluator.rows(EXAMPLE).instances)
    written = write_reports(
        report_of(evaluator, results, source="rag.csv"), judgments_of(evaluator, results), tmp_path
    )
    texts = {
        path.suffix: OF_THE_DAY.sub("", path.read_text(encoding="utf-8"))
        for path in written
        if path.suffix != ".html"
    }
    assert {(language, suffix): digest(text) for suffix, text in texts.items()} == {
        key: value for key, value in BEFORE.items() if key[0] == language
    }


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
