"""What results come to, and the page of a report, made at once."""

from __future__ import annotations

from collections.abc import Iterable

from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.domain.results import Result
from adjudge.features.rag.report import RagSummary, RagTally
from adjudge.features.rag.result import RagResult
from adjudge.runs.results.report import Report
from adjudge.runs.results.summary import Summary, Tally
from adjudge.runs.view.pages import html_parts


def summarise(results: Iterable[Result]) -> Summary:
    tally = Tally()
    for index, result in enumerate(results):
        tally.add(result.record(index=index))
    return tally.summary()


def summarise_rag(results: Iterable[RagResult]) -> RagSummary:
    """What ``results`` of one evaluator come to."""
    found = list(results)
    measures = [one.measure for one in found[0].measured.values()] if found else []
    tally = RagTally(found[0].dimensions if found else (), measures=measures)
    for index, result in enumerate(found):
        tally.add(result.record(index=index))
    return tally.summary()


def html_page(report: Report, judgments: Iterable[JudgmentRecord] | None = None) -> str:
    return "".join(html_parts(report, judgments))
