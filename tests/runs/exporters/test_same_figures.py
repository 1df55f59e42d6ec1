"""Every place that shows the figures of a run shows the same ones: report, exports and page."""

from __future__ import annotations

import csv
import html
import json
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import adjudge
from adjudge.core.ledger.figures import figures_of
from adjudge.core.ledger.file import read_judge, read_meta
from adjudge.runs.exporters.export import export
from adjudge.runs.folder import reading
from adjudge.runs.report_facts import grouping_column
from adjudge.runs.results.report import Report
from adjudge.runs.results.run_report import report_of_run
from adjudge.web.library import Library

TURNS = 73


def rows() -> Iterator[dict[str, object]]:
    """Conversations of one to four turns; they are trials of tasks, and some have no topic."""
    for number in range(30):
        messages = [
            {"role": role, "content": f"{role} {number} {turn}"}
            for turn in range(1 + number % 4)
            for role in ("user", "assistant")
        ]
        about = {"about": "refunds"} if number % 5 else {}
        task = {"task_id": f"t{number // 2}", "trial": number % 2} if number > 3 else {}
        yield {"id": f"c{number}", "messages": messages, **about, **task}


def scripted(answered: int, *verdicts: str) -> str:
    """A model that gives these verdicts in turn; after so many, none of its replies can be read."""
    replies = [verdicts[number % len(verdicts)] for number in range(answered)] + ["hm"] * 120
    return f"scripted/{','.join(replies)}"


EVAL = {
    "data": "rows.jsonl",
    "models": [scripted(60, "PASS", "FAIL", "PASS")],
    "judges": [
        {"kind": "aspect", "name": "turns", "criteria": "It is polite.", "per": "turn"},
        {
            "kind": "aspect",
            "name": "whole",
            "criteria": "It is solved.",
            "per": "conversation",
            "rows_with": "about",
            "models": [scripted(18, "PASS", "PASS", "FAIL")],
        },
        {
            "kind": "direct",
            "name": "graded",
            "models": [scripted(50, "Concise", "Wordy", "Bloated")],
            "criteria": ["conciseness"],
            "per": "turn",
        },
    ],
    "gates": {"fail_under": 0.3, "confidence": 0.95},
}


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Report, Path]:
    folder = tmp_path_factory.mktemp("runs")
    text = "\n".join(map(json.dumps, rows()))
    (folder / "rows.jsonl").write_text(text, encoding="utf-8")
    (folder / "eval.yaml").write_text(json.dumps(EVAL), encoding="utf-8")
    return adjudge.run(folder / "eval.yaml", folder=folder / "run"), folder / "run"


def figures(report: Report) -> dict[str, dict[str, Any]]:
    """By judge: the summary as in JSON."""
    return {section.judge: section.to_dict() for section in report.sections}


def test_a_stored_run_has_the_figures_that_it_printed(judged: tuple[Report, Path]) -> None:
    report, folder = judged
    stored = report_of_run(folder)
    assert figures(stored) == figures(report)
    assert stored.gates == report.gates
    assert figures(report)["turns"]["attempted"] == TURNS
    assert all(0 < each["scored"] < each["attempted"] for each in figures(report).values())


def test_the_page_has_the_figures_of_the_report(judged: tuple[Report, Path]) -> None:
    report, folder = judged
    library = Library(folder.parent)
    counted = library.counts(*library.scan())
    with reading(folder) as ledger:
        column = grouping_column(read_meta(ledger))
        for judge, each in figures(report).items():
            shown = figures_of(ledger, judge, read_judge(ledger, judge), column=column)
            listed = counted[judge].means[""]
            for mean in (shown.mean, listed):
                assert mean is not None and mean.interval is not None
                assert mean.value == pytest.approx(each["mean"])
                limits = mean.interval.lower, mean.interval.upper
                expected = each["interval"]["lower"], each["interval"]["upper"]
                assert limits == pytest.approx(expected)
                assert mean.conversations == each.get("of_conversations", 0)
            statuses = Counter(counted[judge].statuses)
            assert statuses == Counter(shown.statuses)
            assert (statuses["scored"], statuses["failed"]) == (each["scored"], each["failed"])


def test_exports_have_the_figures_of_the_report(judged: tuple[Report, Path]) -> None:
    report, folder = judged
    for name in ("a.csv", "a.jsonl", "a.xml", "a.md", "a.html"):
        export(folder, folder / name)
    with (folder / "a.csv").open(encoding="utf-8-sig", newline="") as file:
        table = list(csv.DictReader(file))
    lines = [json.loads(line) for line in (folder / "a.jsonl").read_text("utf-8").splitlines()]
    suites = {
        str(suite.get("name")): suite for suite in ElementTree.parse(folder / "a.xml").getroot()
    }
    pages = [
        html.unescape(re.sub(r"<[^>]+>|\\", "", (folder / name).read_text("utf-8")))
        for name in ("a.md", "a.html")
    ]
    for judge, each in figures(report).items():
        statuses, scores = Counter[str](), defaultdict[str, list[float]](list)
        for row in lines:
            if row["judge"] == judge:
                statuses[row["status"]] += 1
                scores["jsonl"] += [] if row["score"] is None else [row["score"]]
        for cells in table:
            if cells["judge"] == judge and cells["score"]:
                scores["csv"].append(float(cells["score"]))
        assert (statuses["scored"], statuses["failed"]) == (each["scored"], each["failed"])
        for of_file in scores.values():
            assert sum(of_file) / len(of_file) == pytest.approx(each["mean"])
        assert suites[judge].get("errors") == str(each["failed"])
        limits = f"{each['interval']['lower']:.2f}–{each['interval']['upper']:.2f}"
        for page in pages:
            assert limits in page
            assert f"{each['mean']:.3f}" in page
    for gate in report.gates:
        assert all(str(gate.sentence()) in page for page in pages)
