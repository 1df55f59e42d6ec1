"""Rubrics on the page: the points of a row as a checklist with quotes; ``/run/ID/rubric``: the
scores, how well the points work, and figures corrected by labels; and points and categories of two
runs compared.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.domain.judge_criterion import of_system
from adjudge.core.domain.record import JudgmentRecord, VoteRecord
from adjudge.core.domain.vote import Ballot
from adjudge.core.ledger.file import read_judge, read_meta
from adjudge.core.ledger.record_browser import judges_in
from adjudge.errors import AdjudgeError, RunError
from adjudge.features.rubrics.audit import audit
from adjudge.features.rubrics.comparison import compare
from adjudge.features.rubrics.corrected import correct
from adjudge.features.rubrics.labels import PointLabels, holds_labels, read_labels
from adjudge.features.rubrics.record import rubric_detail
from adjudge.features.rubrics.report import (
    RubricSummary,
    RubricTally,
    answer_title,
    between,
    cells_of,
    class_of,
    sign_of,
    worth_of,
)
from adjudge.features.rubrics.run_records import rubric_records
from adjudge.features.rubrics.settings import RUBRIC_FIELDS
from adjudge.features.rubrics.texts import (
    change_title,
    comparison_notes,
    corrected_text,
    correction_notes,
    rate_title,
)
from adjudge.messages import Message, join
from adjudge.runs.folder import reading
from adjudge.runs.report_facts import grouping_column
from adjudge.runs.results.summary import GateConfidence
from adjudge.web.home import FoundFile, data_files, find_file
from adjudge.web.library import Library, RunPlace, is_large
from adjudge.web.page import ComparisonPart, ListPart, Page, RowContext, RowPart
from adjudge.web.site import Site, place_of, site_of

_JUDGE = "RubricJudge"
_MOST_SHOWN = 50
_SHOWN = ("points", "lower", "upper", "failed_gates", "open_gates", "categories")


def _row_data(row: RowContext) -> JsonDict:
    detail = rubric_detail(row.record)
    return {"rubric": {name: row.data.get(name) for name in _SHOWN} if detail else None}


def _hidden_fields(record: JudgmentRecord) -> tuple[str, ...]:
    """Return the rubric's fields, which need not be shown next to the checklist."""
    return RUBRIC_FIELDS if rubric_detail(record) else ()


def _ballots(
    configuration: JudgeConfiguration, record: JudgmentRecord, vote: VoteRecord
) -> Iterator[tuple[Ballot, str]]:
    """Yield the ballots that may have brought a vote on points."""
    if rubric_detail(record):
        # the judge is loaded only for its own rows
        from adjudge.features.rubrics.prompts import ballots_on_points

        yield from ballots_on_points(configuration, record, vote)


def _style() -> str:
    folder = Path(__file__).parent / "report_templates"
    return (folder / "style.css").read_text(encoding="utf-8")


# -- /run/ID/rubric ------------------------------------------------------------------------


def show(request: Request) -> Response:
    """Show how well a run's points work, and its figures corrected using a file of labels."""
    site, place = site_of(request), place_of(request)
    if site.must_wait(request, place, "rubric points"):
        return site.answer_first(request, {"title": Message("Rubric")})
    name = request.query_params.get("labels", "")
    files = _label_files(site)
    labels, problem, correction = None, "", None
    if name:
        file = find_file(files, name, Message("file of labels"))
        try:
            labels = read_labels(file.path, file.name)
        except AdjudgeError as error:
            problem = error.message
        else:
            correction = _correction(site.library, place, file, labels)
    data = {
        "run": place.link,
        "files": [*files],
        "labels": name,
        "problem": problem,
        "correction": correction,
        "scored": [
            _score_data(name, figures)
            for (_, name), figures in _summaries(site.library, place).items()
        ],
        **_points(site.library, place, files.get(name), labels),
    }
    return site.answer(request, "rubrics/run.html.jinja", data)


def _label_files(site: Site) -> dict[str, FoundFile]:
    """Return the files below the page's folder that hold labels of points."""
    return {name: file for name, file in data_files(site.home).items() if holds_labels(file.path)}


def _correction(
    library: Library, place: RunPlace, file: FoundFile, labels: PointLabels
) -> JsonDict:
    """Return the rates as ``adjudge rubric calibrate`` prints them."""

    def make() -> JsonDict:
        correction = correct(rubric_records(place.folder), labels)
        return {
            "judges": [
                {
                    "name": judge,
                    "rates": [
                        {
                            "title": rate_title(rate),
                            "text": corrected_text(rate),
                            **rate.to_dict(),
                            "value": rate.value,
                        }
                        for rate in correction.rates
                        if rate.judge == judge
                    ],
                }
                for judge in correction.judges
            ],
            "notes": correction_notes(correction),
            "is_corrected": correction.is_corrected,
        }

    return library.get_or_compute(place, f"rubric rates {file.name} {file.version}", make)


def _points(
    library: Library, place: RunPlace, file: FoundFile | None, labels: PointLabels | None
) -> JsonDict:
    """Return the findings that ``adjudge rubric check RUN`` prints."""

    def make() -> JsonDict:
        figures = audit(rubric_records(place.folder), labels)
        points = sorted(figures.points, key=lambda point: -point.rows)
        return {
            "points": [{**point.to_dict(), "met": point.met} for point in points[:_MOST_SHOWN]],
            "findings": [remark.to_dict() for remark in figures.remarks[:_MOST_SHOWN]],
            "summary": {
                "points": len(points),
                "findings": len(figures.remarks),
                "in_few_rows": figures.single,
                "judges": len(figures.judges),
            },
        }

    about = f" {file.name} {file.version}" if file and labels else ""
    return library.get_or_compute(place, f"rubric points{about}", make)


def _summaries(library: Library, place: RunPlace) -> dict[tuple[str, str], RubricSummary]:
    """Return judge and name, which includes the target, with the figures that reports print."""

    def make() -> dict[tuple[str, str], RubricSummary]:
        with reading(place.folder) as connection:
            sureness = GateConfidence(cluster=grouping_column(read_meta(connection)))
        tallies: dict[tuple[str, str], RubricTally] = {}
        for record in rubric_records(place.folder):
            key = record.judge, of_system(record.judge, record.answered_by)
            tallies.setdefault(key, RubricTally(sureness)).add(record)
        return {key: figures for key, tally in tallies.items() if (figures := tally.summary())}

    return library.get_or_compute(place, "rubric scores", make)


def _score_data(name: str, summary: RubricSummary) -> JsonDict:
    titled_scores = [
        (Message("all rows"), summary.total),
        *(
            (join(": ", (title, name)), scores)
            for title, scores_by_name in summary.parts
            for name, scores in scores_by_name.items()
        ),
    ]
    return {
        "name": name,
        "notes": list(summary.remarks),
        "scores": [
            {"title": title, "cells": list(cells_of(scores)), **scores.to_dict()}
            for title, scores in titled_scores[:_MOST_SHOWN]
        ],
        "of": len(titled_scores),
    }


def _link_data(
    library: Library,
    place: RunPlace,
    judge: str,
    query: Mapping[str, str],  # noqa: ARG001
    remaining: Callable[[], Collection[int] | None],  # noqa: ARG001
) -> JsonDict:
    """Offer the page if the judge judges by rubrics, and say what its mean leaves out."""
    if not _is_by_rubric(place, judge):
        return {"has_rubric": False}
    # Of a large run only the rubric's own page says it, so that the list need not wait.
    notes = [] if is_large(place) else _notes(library, place, judge)
    return {"has_rubric": True, "rubric_notes": notes}


def _notes(library: Library, place: RunPlace, judge: str) -> list[Message]:
    try:
        summaries = _summaries(library, place)
    except RunError:  # no row is judged yet
        return []
    return [
        remark
        for (name, _), figures in summaries.items()
        if name == judge
        for remark in figures.remarks
    ]


def _is_by_rubric(place: RunPlace, judge: str) -> bool:
    with reading(place.folder) as connection:
        return read_judge(connection, judge).kind == _JUDGE


# -- /compare ------------------------------------------------------------------------------


def _changes(library: Library, run_a: RunPlace, run_b: RunPlace) -> JsonDict:
    """Return the changes as ``adjudge rubric diff`` prints them."""

    def make() -> JsonDict | None:
        if not all(_has_rubric(place) for place in (run_a, run_b)):
            return None
        comparison = compare(
            run_a.folder,
            run_b.folder,
            rubric_records(run_a.folder),
            rubric_records(run_b.folder),
        )
        changes = comparison.shown
        return {
            "judges": [
                {
                    "name": judge,
                    "changes": [
                        {"title": change_title(change), **change.to_dict()}
                        for change in changes
                        if change.judge == judge
                    ][:_MOST_SHOWN],
                    "of": sum(change.judge == judge for change in changes),
                }
                for judge in comparison.judges
            ],
            "notes": comparison_notes(comparison),
        }

    what = f"rubric changes {run_b.id} {library.version(run_b)}"
    return {"rubric": library.get_or_compute(run_a, what, make)}


def _has_rubric(place: RunPlace) -> bool:
    with reading(place.folder) as connection:
        judges = [read_judge(connection, name) for name in judges_in(connection)]
    return any(judge.kind == _JUDGE for judge in judges)


PAGE = Page(
    name="rubrics",
    routes=(Route("/run/{run}/rubric", show),),
    package="adjudge.features.rubrics",
    style=_style,
    row=RowPart(
        data=_row_data,
        findings="rubrics/checklist.html.jinja",
        functions={
            "detail": rubric_detail,
            "sign": sign_of,
            "side": class_of,
            "worth": worth_of,
            "answer": answer_title,
            "between": between,
        },
        apart=_SHOWN,
        hidden_fields=_hidden_fields,
        ballots=_ballots,
    ),
    rows=ListPart(filters="rubrics/link.html.jinja", filter_data=_link_data),
    comparison=ComparisonPart(data=_changes, content="rubrics/changes.html.jinja"),
)
