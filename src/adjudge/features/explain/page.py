"""Second opinions on the pages of rows: those that a run stores, and those of ``adjudge explain``
in the run next to it.
"""

from __future__ import annotations

from pathlib import Path

from starlette.requests import Request

from adjudge.core.domain.json_types import JsonDict, object_in
from adjudge.core.domain.record import JudgmentRecord, SecondOpinionRecord, json_ready
from adjudge.core.ledger.file import FILE, holds_run, read_meta
from adjudge.core.ledger.records import records
from adjudge.errors import AdjudgeError
from adjudge.features.explain.opinions import FACT, explained_folder, marked_name
from adjudge.runs.folder import is_inside, reading
from adjudge.web.library import RunPlace
from adjudge.web.page import Page, RowContext, RowPart
from adjudge.web.site import Site

_LOOKED_THROUGH = 20_000_000
"""Bytes of a run of opinions that is looked through while a page waits."""


def _row_data(row: RowContext) -> JsonDict:
    return {"second_opinion": _shown(row.record, row.record.second_opinion)}


def _shown(record: JudgmentRecord, opinion: SecondOpinionRecord | None) -> JsonDict | None:
    if opinion is None:
        return None
    agrees = opinion.agrees_with(record.verdict if record.scored else None)
    return {**object_in(json_ready(opinion)), "agrees": agrees}


def _page_data(
    site: Site,  # noqa: ARG001
    request: Request,  # noqa: ARG001
    place: RunPlace,
    record: JudgmentRecord,
) -> JsonDict:
    """Return the opinion of ``adjudge explain`` about a row; None if it has none."""
    try:
        return {"explained": _shown(record, _opinion_beside(place.folder, record))}
    except AdjudgeError:
        return {"explained": None}  # a damaged run next to this one says so on its own pages


def _opinion_beside(run: Path, record: JudgmentRecord) -> SecondOpinionRecord | None:
    folder = explained_folder(run)
    is_own = holds_run(folder) and is_inside(folder, run.resolve().parent)
    if not is_own or (folder / FILE).stat().st_size > _LOOKED_THROUGH:
        return None
    with reading(folder) as ledger:
        if read_meta(ledger, FACT).get(FACT) != str(run.resolve()):
            return None
        for answer in records(ledger, criterion=marked_name(record.criterion), votes=True):
            if answer.fields == record.fields:
                return SecondOpinionRecord(
                    model=", ".join(dict.fromkeys(vote.model for vote in answer.votes or ())),
                    because="uncertain",
                    verdict=answer.verdict if answer.scored else None,
                    explanation=answer.explanation if answer.scored else None,
                    reason=None if answer.scored else answer.reason,
                    probability=None,
                )
    return None


PAGE = Page(
    name="explain",
    package="adjudge.features.explain",
    row=RowPart(
        data=_row_data,
        page_data=_page_data,
        findings="explain/opinion.html.jinja",
        apart=("second_opinion",),
    ),
)
