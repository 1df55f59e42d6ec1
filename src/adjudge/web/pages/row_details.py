"""``/run/ID/row/NUMBER/more``: the differences between two systems' answers, another run's judgment
of the same row, and the row for copying.
"""

from __future__ import annotations

import json
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from adjudge.core.catalog.criteria_file import as_file
from adjudge.core.catalog.entry import CatalogEntry
from adjudge.core.domain.frozen_mapping import some_of
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.ledger.record_browser import judges_in, row_of_id
from adjudge.core.ledger.records import records
from adjudge.runs.folder import reading
from adjudge.trust.labels.scales import scales_in
from adjudge.web.library import RunPlace
from adjudge.web.page import Page
from adjudge.web.pages.row import begins, row_record
from adjudge.web.site import Site, place_of, site_of
from adjudge.web.text_differences import are_unrelated, word_difference

_LONGEST = 12_000
"""Characters of a text whose words are compared."""
_MOST_RUNS = 50


def show(request: Request) -> Response:
    """Show details that are fetched only when opened."""
    site, query = site_of(request), request.query_params
    place, row = place_of(request), request.path_params["row"]
    judge = query.get("judge", "")
    record = row_record(place, judge, row)
    other_runs = [run for run in site.library.scan() if run != place][:_MOST_RUNS]
    other_run = site.library.find(query["other"]) if query.get("other") else None
    site.sessions.mark_seen(record.identity)
    data = {
        "run": place.link,
        "judge": judge,
        "row": row,
        "answers": _answers(record),
        "others": [run.link for run in other_runs],
        "other": other_run.id if other_run else "",
        "against": _against(site, record, other_run) if other_run else None,
        "eval_row": json.dumps(
            {"id": record.id or str(row), **_fields(record)}, ensure_ascii=False
        ),
        "curl": _curl(place.folder, record),
    }
    is_part = request.headers.get("hx-request")
    return site.answer(
        request, "row_more.html.jinja" if is_part else "row_more_page.html.jinja", data
    )


def _answers(record: JudgmentRecord) -> JsonDict | None:
    """Return the differences between two systems' answers; None unless the row compares two."""
    texts = next((value for value in record.fields.values() if not isinstance(value, str)), ())
    if len(record.systems) != 2 or len(texts) != 2:
        return None
    return {"systems": list(record.systems), **_difference(*texts)}


def _difference(old_text: str, new_text: str) -> JsonDict:
    """Compare two texts word by word; texts that have little in common stand side by side.

    ``parts`` is None for such texts, and for texts that are too long.
    """
    parts = (
        word_difference(old_text, new_text) if len(old_text) + len(new_text) <= _LONGEST else None
    )
    if parts is not None and are_unrelated(parts):
        return {"parts": None, "beside": [old_text, new_text]}
    return {"parts": None if parts is None else [[*part] for part in parts], "beside": None}


def _against(site: Site, record: JudgmentRecord, other: RunPlace) -> JsonDict:
    """Compare the row with the same row in another run."""
    match = _same_row(record, other)
    if match is None:
        return {"name": other.name, "found": None}
    site.sessions.mark_seen(match.identity)
    return {
        "name": other.name,
        "id": other.id,
        "found": [outcome_of(record), outcome_of(match)],
        "same": (record.status, record.verdict, record.score)
        == (match.status, match.verdict, match.score),
        "texts": text_differences(record, match),
    }


def text_differences(record_a: JudgmentRecord, record_b: JudgmentRecord) -> list[JsonDict]:
    """Return the texts that differ, word by word. A text in only one record is new or gone."""
    both = (
        (name, text_of(record_a, name), text_of(record_b, name))
        for name in dict.fromkeys((*record_a.fields, *record_b.fields))
    )
    return [
        {"field": name, **_difference(text_a, text_b)}
        for name, text_a, text_b in both
        if text_a != text_b
    ]


def text_of(record: JudgmentRecord, name: str) -> str:
    """Return a text of the row. Lists, e.g. of contexts, are joined by blank lines."""
    value = record.fields.get(name, "")
    return value if isinstance(value, str) else "\n\n".join(value)


def outcome_of(record: JudgmentRecord) -> JsonDict:
    outcome = some_of(record, "row", "judge", "status", "verdict", "score")
    return {**outcome, "explanation": begins(record.explanation) or ""}


def _same_row(record: JudgmentRecord, other: RunPlace) -> JudgmentRecord | None:
    """Return the same row in another run; None if there is none.

    Rows are matched by id, or without one by number if their content is equal.
    """
    with reading(other.folder) as connection:
        judges = judges_in(connection)
        for judge in sorted(judges, key=lambda name: name != record.judge):
            index = (
                row_of_id(connection, judge, record.id, record.criterion)
                if record.id
                else record.index
            )
            if index is None:
                continue
            match = next(records(connection, judge=judge, index=index), None)
            if (
                match
                and match.criterion == record.criterion
                and (record.id or match.identity == record.identity)
            ):
                return match
    return None


def _fields(record: JudgmentRecord) -> dict[str, str | list[str]]:
    return {
        name: value if isinstance(value, str) else list(value)
        for name, value in record.fields.items()
    }


def _curl(folder: Path, record: JudgmentRecord) -> str:
    """Return a curl command for ``adjudge serve`` that judges this row.

    Empty if its criterion is not stored or the row has no response.
    """
    scale = next((one for one in scales_in(folder) if one.name == record.criterion), None)
    fields = _fields(record)
    response = fields.pop("response", None)
    if scale is None or response is None:
        return ""
    compares = scale.scale.compares
    entry = CatalogEntry(scale.scale.criteria, "pairwise" if compares else "direct")
    body: JsonDict = {
        "criteria": as_file(entry),
        "responses" if compares else "response": response,
        **({"fields": fields} if fields else {}),
    }
    text = json.dumps(body, ensure_ascii=False).replace("'", "'\\''")
    name = "compare" if compares else "judge"
    return (
        f'curl http://127.0.0.1:8765/v1/{name} -H "Authorization: Bearer $KEY" '
        f"-H 'Content-Type: application/json' -d '{text}'"
    )


PAGE = Page(name="row-more", routes=(Route("/run/{run}/row/{row:int}/more", show),))
