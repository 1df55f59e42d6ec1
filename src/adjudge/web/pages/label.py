"""``/run/ID/label``: people say of rows what the judge was asked. Nothing that is sent depends on
what the judge answered.
"""

from __future__ import annotations

import getpass
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

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
from adjudge.web.forms import row_count, rows_in, whole, with_form
from adjudge.web.library import RunPlace
from adjudge.web.page import Page
from adjudge.web.page_registry import row_parts
from adjudge.web.pages.row import LONGEST, quoted_in, text_data
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
    """The run that an address names, where the page may write."""
    place = place_of(request)
    site_of(request).refuse_read_only(
        Message("the page was started with --read-only: nothing can be labelled")
    )
    return place


def show(request: Request) -> Response:
    """The next row; first, who labels and by which criteria."""
    site, place, asked = site_of(request), labelled_run(request), request.query_params
    names = _criteria(place)
    assigned = assigned_rows(place)
    data: JsonDict = {
        "run": place.link,
        "criteria_names": names,
        "queues": [*QUEUES, *(["listed"] if asked.get("rows") else [])],
        "asked": {**_defaults(request, assigned, names), **asked_for(request)},
        "work": None,
        "assigned": assigned,
        "drawn_queues": [one for one in QUEUES if is_drawn(one)],
    }
    if asked.get("annotator"):
        desk = _desk(place, asked)
        if not site.sessions.is_open(*desk) and site.must_wait(request, place, "label"):
            shown = {"title": place.name, "run": data["run"], "at": "label"}
            return site.answer_first(request, shown)
        with site.sessions.lock(place):
            data |= _work_data(request, desk, site.sessions.work(*desk))
    answer = site.answer(request, "label.html.jinja", data)
    if asked.get("annotator"):
        answer.set_cookie(
            ANNOTATOR_COOKIE,
            asked["annotator"].encode().hex(),
            samesite="strict",
            httponly=True,
            path="/",
        )
    return answer


def keep(request: Request, given: QueryParams) -> Response:
    """One key press: on the disk before the next row is shown."""
    site, place, asked = site_of(request), labelled_run(request), request.query_params
    desk = _desk(place, asked)
    with site.sessions.lock(place):
        work = site.sessions.work(*desk)
        said = _act(site, desk, work, given)
        data = {
            "run": place.link,
            "asked": dict(asked),
            **_work_data(request, desk, work, said),
        }
    return site.answer(request, "label_part.html.jinja", data)


def _act(site: Site, desk: _Desk, work: Labelling, given: QueryParams) -> Message:
    """Do what the key says, and return what the annotator reads."""
    if given.get("do") == "unclear":
        add_note(desk.place.folder, desk.criteria, desk.who.name, given.get("unclear", ""))
        return Message("Kept as a note on the criteria.")
    if given.get("do") == "undo":
        site.sessions.labelled(*desk, None)
        return (
            Message("Taken back.")
            if work.undo(site.sessions.seen(desk.place))
            else Message("There is nothing to take back.")
        )
    shown = work.next()
    if shown is None or shown.queued.identity != given.get("row"):
        return Message("That row was labelled in another tab: this is the next one.")
    note = given.get("note", "").strip()
    seen = shown.queued.number in site.sessions.seen(desk.place)
    step = whole(fault) if (fault := given.get("fault", "")) else None
    if given.get("do") == "skip":
        work.skip(shown, note)
        return Message("Skipped: it comes again at the end.")
    if given.get("do") == "unsure":
        work.unsure(shown, note, judge_visible=seen, step=step)
        site.sessions.labelled(*desk, shown)
        return Message("Kept as unsure.")
    try:
        answer = work.judged.scale.read(given.get("choice", ""), len(shown.order) or None)
    except ValueError as error:
        raise SetupError(str(error)) from error
    work.answer(shown, answer, note, judge_visible=seen, step=step)
    site.sessions.labelled(*desk, shown)
    return Message("Kept.")


def _work_data(request: Request, desk: _Desk, work: Labelling, said: str = "") -> JsonDict:
    site = site_of(request)
    done, total = work.progress()
    shown, ahead = (*work.upcoming(), None, None)[:2]
    in_full = request.method == "GET" and request.query_params.get("whole") == "1"
    last = site.sessions.last(*desk)
    return {
        "work": {
            "done": done,
            "total": total,
            **_row_part(request, desk, work, shown, in_full=in_full),
            "ahead": _row_part(request, desk, work, ahead) if ahead else None,
            "said": said,
            "queue": work.queue,
            "assigned": work.assigned is not None,
            "counts": is_drawn(work.queue),
            "pace": work.pace(),
            "so_far": _so_far(work) if work.queue == "random" else None,
            "last": {
                "row": last.queued.number + 1,
                "judge": last.queued.judge,
                "id": last.queued.id,
            }
            if last
            else None,
            "waiting": shown is None and work.waits_for_others(),
            "guideline": _guideline(work.judged.scale),
            "summary": _summary(work, desk.who.name) if shown is None else None,
        }
    }


def _row_part(
    request: Request,
    desk: _Desk,
    work: Labelling,
    shown: ShownRow | None,
    *,
    in_full: bool = False,
) -> JsonDict:
    """What is shown of a row; nothing of none."""
    others = _others(work, shown) if shown and work.queue == "conflicts" else []
    quotes = set(quoted_in([one["note"] for one in others]))
    seen = site_of(request).sessions.seen(desk.place)
    return {
        "row": shown and _row_data(shown, work.judged.scale, quotes, whole=in_full),
        "seen": shown is not None and shown.queued.number in seen,
        "said_by_others": others,
        "steps": shown and _steps_data(request, shown),
    }


def _summary(work: Labelling, who: str) -> JsonDict:
    """What an annotator said, at the end: nothing in it comes from a verdict."""
    own = list(work.labels(who))
    given = Counter(str(one.answer) for one in own if one.state == "given")
    return {
        "answers": dict(given.most_common()),
        "unsure": sum(one.state == "unsure" for one in own),
        "skipped": sum(one.state == "skipped" for one in own),
        "notes": sum(bool(one.note) for one in own),
    }


def _so_far(work: Labelling) -> JsonDict:
    """How sure the number is by the labels alone. With the judge's help it may be surer, and
    whether it is would tell annotators after each label how often the judge agrees with them.
    """
    found = labels_so_far(work.labels(), work.judged.scale)
    too_few_rows = found.more is not None and found.rows + found.more > work.rows
    return {**found._asdict(), "too_few_rows": too_few_rows}


def _others(work: Labelling, shown: ShownRow) -> list[JsonDict]:
    """What people said of a row on which they differ; of compared responses, by the places where
    they are shown now.
    """
    scale = work.judged.scale
    about = {option.name: option.description for option in scale.criteria.options}
    found: list[JsonDict] = []
    for one in work.given(shown):
        winner = one.winner
        said = (
            labels(len(shown.order))[shown.order.index(winner)]
            if isinstance(winner, int)
            else str(one.answer)
        )
        found.append(
            {
                "annotator": one.annotator,
                "answer": said,
                "about": "" if scale.compares else about.get(said, ""),
                "note": one.note,
                "step": one.step,
            }
        )
    return found


def _row_data(
    shown: ShownRow, scale: LabelScale, quotes: Set[str] = frozenset(), *, whole: bool
) -> JsonDict:
    """A row and its keys; nothing in it comes from a verdict. ``quotes``: what annotators quote as
    their reasons, which is marked.
    """
    about = {option.name: option.description for option in scale.criteria.options}
    return {
        "identity": shown.queued.identity,
        "id": shown.queued.id,
        "number": shown.queued.number + 1,
        "fields": [
            {
                "name": mark,
                "text": text if whole else text[:LONGEST],
                **text_data(text, quotes, whole=whole),
            }
            for name, value in read_fields(shown.fields, scale)
            if name not in _OF_STEPS or STEPS not in shown.fields
            for mark, text in _texts(name, value, scale)
        ],
        "keys": [
            {"key": key, "choice": choice, "about": "" if scale.compares else about.get(choice, "")}
            for key, choice in keys_of(scale, len(shown.order)).items()
        ],
        "range": list(scale.range) if scale.range else None,
        "compares": scale.compares,
    }


def show_steps(request: Request) -> Response:
    """Further steps of the row that is labelled now, or of the next."""
    site, asked, place = site_of(request), request.query_params, place_of(request)
    desk = _desk(place, asked)
    with site.sessions.lock(place):
        rows = site.sessions.work(*desk).upcoming()
    found = (one for one in rows if asked.get("of", "") in ("", one.queued.identity))
    shown = next(found, None)
    steps = _steps_data(request, shown) if shown else None
    return site.answer(request, "label_steps.html.jinja", {"steps": steps})


def _steps_data(request: Request, shown: ShownRow) -> JsonDict | None:
    """Of a trajectory: a stretch of its steps, by its texts alone; nothing a judge said is in
    it.
    """
    drawn = (
        part.label(request, shown.fields, shown.queued.identity)
        for part in row_parts()
        if part.label
    )
    return next((one for one in drawn if one), None)


def _texts(name: str, value: str | Sequence[str], scale: LabelScale) -> list[tuple[str, str]]:
    """(what it is called, text) of a field."""
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
    asked = scale.criteria
    return {
        "name": asked.name,
        "question": asked.definition,
        "options": [{"name": option.name, "about": option.description} for option in asked.options]
        if not scale.compares
        else [],
        "examples": [
            {
                "fields": [f"{name}: {text}" for name, text in one.fields.items()],
                "option": one.option,
                "why": one.explanation,
            }
            for one in asked.examples
        ],
    }


def _criteria(place: RunPlace) -> list[str]:
    return [one.name for one in label_scales(place.folder)]


def _desk(place: RunPlace, asked: QueryParams) -> _Desk:
    names = _criteria(place)
    name, criteria = asked.get("annotator", "").strip(), asked.get("criteria") or names[0]
    if not is_name(name):
        raise SetupError("say who labels: a name of at most 100 characters")
    if criteria not in names:
        raise SetupError(
            "the run has no criteria {criteria!r}; it has {names}",
            criteria=criteria,
            names=", ".join(names),
        )
    queue, count, overlap, by = read_queue(asked)
    numbers = sorted(row - 1 for row in rows_in(asked.getlist("rows")) or ())
    listed = (asked.get("judge", ""), tuple(numbers)) if queue == "listed" else ("", ())
    who = Annotator(name, queue=queue, count=count, overlap=overlap, by=by, listed=listed)
    return _Desk(place, criteria, who)


class AskedQueue(NamedTuple):
    """Which rows a form asks for."""

    queue: Queue
    rows: int
    overlap: int | None
    by: str


def read_queue(asked: Mapping[str, str]) -> AskedQueue:
    """The queue that a form names, checked."""
    named = asked.get("queue") or "random"
    known: tuple[Queue, ...] = (*QUEUES, "listed")
    queue = next((one for one in known if one == named), None)
    if queue is None:
        raise SetupError(
            "the queue must be one of {queues}, not {queue!r}",
            queues=", ".join(QUEUES),
            queue=named,
        )
    count = row_count(asked.get("count") or str(FIRST), _MOST_ROWS)
    overlap = asked.get("overlap", "").strip()
    shared = whole(overlap)
    if overlap and (shared is None or shared > _MOST_ROWS):
        raise SetupError(
            "the number of rows that everybody labels must be from 0 to {most}, not {overlap!r}",
            most=_MOST_ROWS,
            overlap=overlap,
        )
    by = asked.get("by", "").strip() if queue == "random-stratified" else ""
    return AskedQueue(queue, count, shared, by)


def _defaults(request: Request, assigned: Sequence[JsonDict], names: list[str]) -> dict[str, str]:
    try:
        known = bytes.fromhex(request.cookies.get(ANNOTATOR_COOKIE, "")).decode()
    except ValueError:
        known = ""
    people = [one["annotator"] for one in assigned]
    name = known or _login()
    return {
        "annotator": name if name in people or not people else "",
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
        Route("/run/{run}/label", show),
        Route("/run/{run}/label/steps", show_steps),
        Route("/run/{run}/label", with_form(keep), methods=["POST"]),
    ),
    keys=(
        ("1 … 9", Message("label a row: the option of that number")),
        ("u", Message("take the last label back")),
    ),
)
