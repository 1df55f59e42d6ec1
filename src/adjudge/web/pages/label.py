"""``/run/ID/label``: people answer the judge's questions about rows. Nothing that is sent depends
on what the judge answered.
"""

from __future__ import annotations

import getpass
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from starlette.datastructures import QueryParams
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from adjudge.core.domain.instance import STEPS
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.label import LabelScale, labels
from adjudge.errors import SetupError
from adjudge.messages import Message
from adjudge.trust.label_progress import labels_so_far
from adjudge.trust.labels.criteria_notes import add_note
from adjudge.trust.labels.people import is_name
from adjudge.trust.labels.queue import FIRST, QUEUES, Queue, is_drawn
from adjudge.trust.labels.scales import keys_of, label_scales, read_fields
from adjudge.trust.labels.session import Annotator, Labelling, ShownRow
from adjudge.web.annotators import assigned_rows
from adjudge.web.audit import note
from adjudge.web.forms import row_count, rows_in, whole, with_form
from adjudge.web.library import RunPlace
from adjudge.web.page import Page
from adjudge.web.page_registry import row_parts
from adjudge.web.pages.row import LONGEST, quoted_in, row_number, text_data
from adjudge.web.roles import RoleRoute, person_of
from adjudge.web.site import Site, asked_for, place_of, site_of

ANNOTATOR_COOKIE = "adjudge_annotator"
_MOST_ROWS = 5_000
_OF_STEPS = ("steps", "contexts", "tools")
"""Fields that the list of steps shows."""


class _Desk(NamedTuple):
    place: RunPlace
    criteria: str
    who: Annotator


def labelled_run(request: Request) -> RunPlace:
    """Return the run named by the address. Raises an HTTPException if the page is read-only."""
    place = place_of(request)
    site_of(request).refuse_read_only(
        Message("the page was started with --read-only: nothing can be labelled")
    )
    return place


def show(request: Request) -> Response:
    """Show the next row, or a form that asks who labels and by which criteria."""
    site, place, query = site_of(request), labelled_run(request), request.query_params
    names = _criteria(place)
    assigned = assigned_rows(place)
    data: JsonDict = {
        "run": place.link,
        "criteria_names": names,
        "queues": [*QUEUES, *(["listed"] if query.get("rows") else [])],
        "asked": {**_defaults(request, assigned, names), **asked_for(request)},
        "work": None,
        "assigned": assigned,
        "drawn_queues": [name for name in QUEUES if is_drawn(name)],
    }
    if query.get("annotator"):
        desk = _desk(request, place)
        if not site.sessions.is_open(*desk) and site.must_wait(request, place, "label"):
            heading = {"title": place.name, "run": data["run"], "at": "label"}
            return site.answer_first(request, heading)
        with site.sessions.lock(place):
            data |= _work_data(request, desk, site.sessions.work(*desk))
    answer = site.answer(request, "label.html.jinja", data)
    if query.get("annotator") and not person_of(request).user:
        answer.set_cookie(
            ANNOTATOR_COOKIE,
            query["annotator"].encode().hex(),
            samesite="strict",
            httponly=True,
            path="/",
        )
    return answer


def keep(request: Request, form: QueryParams) -> Response:
    """Handle a key press. The label is on disk before the next row is shown."""
    site, place, query = site_of(request), labelled_run(request), request.query_params
    desk = _desk(request, place)
    with site.sessions.lock(place):
        work = site.sessions.work(*desk)
        reply = _act(site, desk, work, form)
        note(
            request,
            "a row was labelled",
            run=place.name,
            criteria=desk.criteria,
            annotator=desk.who.name,
            row=form.get("row", ""),
            did=form.get("do") or "answer",
            answer=form.get("choice", ""),
            reply=str(reply),
        )
        data = {
            "run": place.link,
            "asked": dict(query),
            **_work_data(request, desk, work, reply),
        }
    return site.answer(request, "label_part.html.jinja", data)


def _act(site: Site, desk: _Desk, work: Labelling, form: QueryParams) -> Message:
    """Perform the requested action, and return the message for the annotator."""
    if form.get("do") == "unclear":
        add_note(desk.place.folder, desk.criteria, desk.who.name, form.get("unclear", ""))
        return Message("Kept as a note on the criteria.")
    if form.get("do") == "undo":
        site.sessions.set_last(*desk, None)
        return (
            Message("Undone.")
            if work.undo(site.sessions.seen_rows())
            else Message("There is nothing to undo.")
        )
    row = work.next()
    if row is None or row.queued.identity != form.get("row"):
        # compared with the row of the form, so a second tab cannot label a row it does not show
        return Message("That row was labelled in another tab: this is the next one.")
    remark = form.get("note", "").strip()
    judge_visible = row.queued.identity in site.sessions.seen_rows()
    step = whole(fault) if (fault := form.get("fault", "")) else None
    if form.get("do") == "skip":
        work.skip(row, remark)
        return Message("Skipped: it comes again at the end.")
    if form.get("do") == "unsure":
        work.unsure(row, remark, judge_visible=judge_visible, step=step)
        site.sessions.set_last(*desk, row)
        return Message("Kept as unsure.")
    try:
        answer = work.judged.scale.read(form.get("choice", ""), len(row.order) or None)
    except ValueError as error:
        raise SetupError(str(error)) from error
    work.answer(row, answer, remark, judge_visible=judge_visible, step=step)
    site.sessions.set_last(*desk, row)
    return Message("Kept.")


def _work_data(request: Request, desk: _Desk, work: Labelling, reply: str = "") -> JsonDict:
    site = site_of(request)
    done, total = work.progress()
    row, ahead = (*work.upcoming(), None, None)[:2]
    in_full = request.method == "GET" and request.query_params.get("whole") == "1"
    last = site.sessions.last(*desk)
    return {
        "work": {
            "done": done,
            "total": total,
            **_row_part(request, desk, work, row, in_full=in_full),
            "ahead": _row_part(request, desk, work, ahead) if ahead else None,
            "said": reply,
            "queue": work.queue,
            "assigned": work.assigned is not None,
            # half of the rows that teach are drawn at random, and count
            "counts": is_drawn(work.queue) or work.queue == "learn",
            "pace": work.pace(),
            "so_far": _so_far(work) if work.queue == "random" else None,
            "last": {
                "row": last.queued.number + 1,
                "number": _number(request, desk, last),
                "judge": last.queued.judge,
                "id": last.queued.id,
            }
            if last
            else None,
            "waiting": row is None and work.waits_for_others(),
            "guideline": _guideline(work.judged.scale),
            "summary": _summary(work, desk.who.name) if row is None else None,
        }
    }


def _row_part(
    request: Request,
    desk: _Desk,
    work: Labelling,
    row: ShownRow | None,
    *,
    in_full: bool = False,
) -> JsonDict:
    """Return the visible data of a row; empty values if there is no row."""
    other_labels = _others(work, row) if row and work.queue == "conflicts" else []
    quotes = set(quoted_in([label["note"] for label in other_labels]))
    seen_rows = site_of(request).sessions.seen_rows()
    return {
        "row": row
        and {
            **_row_data(row, work.judged.scale, quotes, in_full=in_full),
            "number": _number(request, desk, row),
        },
        "seen": row is not None and row.queued.identity in seen_rows,
        "said_by_others": other_labels,
        "steps": row and _steps_data(request, row),
    }


def _number(request: Request, desk: _Desk, row: ShownRow) -> int:
    library, queued = site_of(request).library, row.queued
    return row_number(library, desk.place, queued.judge, queued.number + 1)


def _summary(work: Labelling, who: str) -> JsonDict:
    """Count an annotator's answers for the end-of-session summary.

    The counts reveal no verdict.
    """
    own_labels = list(work.labels(who))
    answers = Counter(str(label.answer) for label in own_labels if label.state == "given")
    return {
        "answers": dict(answers.most_common()),
        "unsure": sum(label.state == "unsure" for label in own_labels),
        "skipped": sum(label.state == "skipped" for label in own_labels),
        "notes": sum(bool(label.note) for label in own_labels),
    }


def _so_far(work: Labelling) -> JsonDict:
    """Return how precisely the labels alone determine the rate.

    The judge's verdicts might narrow this, but showing by how much would reveal how often the judge
    agrees with each label.
    """
    estimate = labels_so_far(work.labels(), work.judged.scale)
    too_few_rows = estimate.more is not None and estimate.rows + estimate.more > work.rows
    return {**estimate._asdict(), "too_few_rows": too_few_rows}


def _others(work: Labelling, row: ShownRow) -> list[JsonDict]:
    """Return the answers to a row with conflicting labels.

    Compared responses are named by the positions at which they are shown now.
    """
    scale = work.judged.scale
    about = {option.name: option.description for option in scale.criteria.options}
    answers: list[JsonDict] = []
    for label in work.given(row):
        winner = label.winner
        answer = (
            labels(len(row.order))[row.order.index(winner)]
            if isinstance(winner, int)
            else str(label.answer)
        )
        answers.append(
            {
                "annotator": label.annotator,
                "answer": answer,
                "about": "" if scale.compares else about.get(answer, ""),
                "note": label.note,
                "step": label.step,
            }
        )
    return answers


def _row_data(
    row: ShownRow, scale: LabelScale, quotes: Set[str] = frozenset(), *, in_full: bool
) -> JsonDict:
    """Return a row with its keys, independent of any verdict.

    ``quotes``: passages that annotators quote as reasons, to be marked in the texts.
    """
    about = {option.name: option.description for option in scale.criteria.options}
    return {
        "identity": row.queued.identity,
        "id": row.queued.id,
        "fields": [
            {
                "name": mark,
                "text": text if in_full else text[:LONGEST],
                **text_data(text, quotes, in_full=in_full),
            }
            for name, value in read_fields(row.fields, scale)
            if name not in _OF_STEPS or STEPS not in row.fields
            for mark, text in _texts(name, value, scale)
        ],
        "keys": [
            {"key": key, "choice": choice, "about": "" if scale.compares else about.get(choice, "")}
            for key, choice in keys_of(scale, len(row.order)).items()
        ],
        "range": list(scale.range) if scale.range else None,
        "compares": scale.compares,
    }


def show_steps(request: Request) -> Response:
    """Show further steps of the row being labelled, or of the next one."""
    site, query, place = site_of(request), request.query_params, place_of(request)
    desk = _desk(request, place)
    with site.sessions.lock(place):
        rows = site.sessions.work(*desk).upcoming()
    matches = (row for row in rows if query.get("of", "") in ("", row.queued.identity))
    row_shown = next(matches, None)
    steps = _steps_data(request, row_shown) if row_shown else None
    return site.answer(request, "label_steps.html.jinja", {"steps": steps})


def _steps_data(request: Request, row: ShownRow) -> JsonDict | None:
    """Return a range of a trajectory's steps, based on its texts alone; None if the row has no
    steps.
    """
    drawn = (
        part.label(request, row.fields, row.queued.identity) for part in row_parts() if part.label
    )
    return next((stretch for stretch in drawn if stretch), None)


def _texts(name: str, value: str | Sequence[str], scale: LabelScale) -> list[tuple[str, str]]:
    """Return a field's texts as (name, text) pairs."""
    if isinstance(value, str):
        return [(name, value)]
    compared = scale.compares and name == scale.criteria.to_evaluate_field
    marks = (
        labels(len(value))
        if compared
        else [f"{name} {place}" for place in range(1, len(value) + 1)]
    )
    return list(zip(marks, value, strict=True))


def _guideline(scale: LabelScale) -> JsonDict:
    criteria = scale.criteria
    return {
        "name": criteria.name,
        "question": criteria.definition,
        "options": [
            {"name": option.name, "about": option.description} for option in criteria.options
        ]
        if not scale.compares
        else [],
        "examples": [
            {
                "fields": [f"{name}: {text}" for name, text in example.fields.items()],
                "option": example.option,
                "why": example.explanation,
            }
            for example in criteria.examples
        ],
    }


def _criteria(place: RunPlace) -> list[str]:
    return [scale.name for scale in label_scales(place.folder)]


def _desk(request: Request, place: RunPlace) -> _Desk:
    query, person, names = request.query_params, person_of(request), _criteria(place)
    name, criteria = query.get("annotator", "").strip(), query.get("criteria") or names[0]
    if person.user and name != person.annotator:
        raise HTTPException(
            403,
            Message(
                "you are labelling as {annotator}, and cannot label under another name",
                annotator=person.annotator,
            ),
        )
    if not is_name(name):
        raise SetupError("enter your name as the annotator: at most 100 characters")
    if criteria not in names:
        raise SetupError(
            "the run has no criteria {criteria!r}; it has {names}",
            criteria=criteria,
            names=", ".join(names),
        )
    queue, count, overlap, by = read_queue(query)
    numbers = sorted(row - 1 for row in rows_in(query.getlist("rows")) or ())
    listed = (query.get("judge", ""), tuple(numbers)) if queue == "listed" else ("", ())
    # equal annotators share a session, see LabelSessions
    who = Annotator(name, queue=queue, count=count, overlap=overlap, by=by, listed=listed)
    return _Desk(place, criteria, who)


class AskedQueue(NamedTuple):
    """The queue that a form asks for."""

    queue: Queue
    rows: int
    overlap: int | None
    by: str


def read_queue(query: Mapping[str, str]) -> AskedQueue:
    """Parse and check the queue that a form asks for."""
    name = query.get("queue") or "random"
    queues: tuple[Queue, ...] = (*QUEUES, "listed")
    queue = next((candidate for candidate in queues if candidate == name), None)
    if queue is None:
        raise SetupError(
            "the queue must be one of {queues}, not {queue!r}",
            queues=", ".join(QUEUES),
            queue=name,
        )
    count = row_count(query.get("count") or str(FIRST), _MOST_ROWS)
    overlap = query.get("overlap", "").strip()
    shared = whole(overlap)
    if overlap and (shared is None or shared > _MOST_ROWS):
        raise SetupError(
            "the number of rows that everybody labels must be from 0 to {most}, not {overlap!r}",
            most=_MOST_ROWS,
            overlap=overlap,
        )
    by = query.get("by", "").strip() if queue == "random-stratified" else ""
    return AskedQueue(queue, count, shared, by)


def _defaults(request: Request, assigned: Sequence[JsonDict], names: list[str]) -> dict[str, str]:
    try:
        cookie_name = bytes.fromhex(request.cookies.get(ANNOTATOR_COOKIE, "")).decode()
    except ValueError:
        cookie_name = ""
    people = [progress["annotator"] for progress in assigned]
    name = cookie_name or _login()
    return {
        "annotator": person_of(request).annotator or (name if name in people or not people else ""),
        "criteria": names[0],
        "queue": "random",
        "count": str(FIRST),
        "overlap": "",
        "by": "",
    }


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""  # a container may have users without a name


PAGE = Page(
    name="label",
    routes=(
        RoleRoute("/run/{run}/label", show, role="label"),
        RoleRoute("/run/{run}/label/steps", show_steps, role="label"),
        RoleRoute("/run/{run}/label", with_form(keep), methods=["POST"], role="label"),
    ),
    keys=(
        ("1 … 9", Message("label a row: the option of that number")),
        ("u", Message("undo the last label")),
    ),
)
