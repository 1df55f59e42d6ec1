"""``/playground``: criteria tried on instances, with what is expected of each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import asdict
from typing import NamedTuple

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from adjudge.core.catalog import criteria as catalog
from adjudge.core.catalog.lint import lint
from adjudge.core.domain.instance import identity_of
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.gateway.opener import open_model
from adjudge.core.ledger.file import holds_labels
from adjudge.core.prompts.case_writing import DATA_LENGTHS, DATA_TASKS, TEXT_ACTIONS
from adjudge.errors import AdjudgeError, SetupError
from adjudge.features.playground.case_files import EXPORTS
from adjudge.features.playground.draft import FIRST, MOST_ROWS, Draft, draft_of
from adjudge.features.playground.edits import apply_button, with_beside
from adjudge.features.playground.entries import find_entry, find_own, list_names
from adjudge.features.playground.run_rows import case_of_rows
from adjudge.features.playground.store import CaseStore
from adjudge.features.playground.trial import Trial, estimate_of, trials_of
from adjudge.features.playground.trial_view import trial_data
from adjudge.features.playground.writer import data_kinds
from adjudge.messages import Message, join, plural
from adjudge.runs.case_file import TestCase
from adjudge.runs.project import ModelEntry
from adjudge.trust.labels.store import LabelStore
from adjudge.web.forms import fields_of, rows_in, rows_text, whole
from adjudge.web.library import RunPlace
from adjudge.web.plan import find_ready_made
from adjudge.web.roles import RoleRoute
from adjudge.web.site import Site, site_of, wants_json

LARGEST_FORM = 4_000_000
"""Bytes of a test case in a form."""
MOST_FIELDS = 10_000
_MOST_RUNS = 200
"""Runs whose rows are offered."""
_LONGEST_ROW = 500_000
"""Characters of a run's row that is opened in the form, which is sent to and fro as a whole."""
_LOOK = 0.1
"""Seconds between two looks at a trial."""
_AT_MOST = 0.4
"""Seconds between two messages about it."""
_PATIENCE = 2.0
"""Seconds for which a trial that is stopped is waited for."""
Form = list[tuple[str, str]]
Answer = Callable[[Request, Form], Response]


class TextFile(NamedTuple):
    name: str
    text: str


class Link(NamedTuple):
    href: str
    text: str


class SavedCase(NamedTuple):
    """The version of a saved test case that the form continues from."""

    case: str
    base: int


def accept_form(answer: Answer) -> Callable[[Request], Awaitable[Response]]:
    """Wrap a handler so that it receives the form, and shows errors as messages.

    With ``--read-only`` it refuses every request.
    """

    async def handle(request: Request) -> Response:
        refuse_reading_only(request)
        try:
            form = await _form_of(request)
            return await run_in_threadpool(answer, request, form)
        except AdjudgeError as error:
            return show_message(request, str(error), status=422)

    return handle


async def _form_of(request: Request) -> Form:
    try:
        return await fields_of(request, LARGEST_FORM, MOST_FIELDS)
    except HTTPException as error:
        if error.status_code != 413:
            raise
        raise SetupError(
            "the playground takes at most {most} MB: put the texts into a data file and judge it "
            "in a run",
            most=LARGEST_FORM // 1_000_000,
        ) from None


def show_message(
    request: Request,
    message: str,
    *,
    title: str = "",
    files: Sequence[TextFile] = (),
    link: Link | None = None,
    saved: SavedCase | None = None,
    status: int = 200,
) -> Response:
    """Show a message next to the form, with files to download."""
    kind = "note" if status >= 400 else "good"
    data = {
        "message": message,
        "title": title,
        "files": [file._asdict() for file in files],
        "link": link and link._asdict(),
        "saved": saved and saved._asdict(),
    }
    return site_of(request).answer(
        request, "playground/playground_said.html.jinja", {**data, "kind": kind}, status
    )


def refuse_reading_only(request: Request) -> None:
    """Raise an error if the page was started with ``--read-only``."""
    site_of(request).refuse_read_only(
        Message("the playground is off: the page was started with --read-only")
    )


def show(request: Request) -> Response:
    """Show the form for the address: ready-made criteria, a saved test case, or rows of a run."""
    refuse_reading_only(request)
    site = site_of(request)
    draft = _open_draft(request, site)
    data = {**_form_data(request, draft), **_around(request, site, draft)}
    return site.answer(request, "playground/playground.html.jinja", data)


def _open_draft(request: Request, site: Site) -> Draft:
    draft = _begin_draft(request, site)
    for name in request.query_params.getlist("beside"):
        draft = with_beside(
            draft, find_entry(site.home, name, site.language_of(request), draft.case)
        )
    return draft


def _begin_draft(request: Request, site: Site) -> Draft:
    query, language = request.query_params, site.language_of(request)
    if name := query.get("case"):
        case, number = CaseStore(site.home).read(name, _number(query.get("version")))
        return Draft.of_case(case, name, str(number))
    models = site.known_models()[:1]
    if run := query.get("run"):
        place = site.library.find(run)
        numbers = rows_in(query.getlist("rows")) or {_number(query.get("row")) or 1}
        rows = sorted(numbers)[:MOST_ROWS]
        draft = Draft.of_case(
            case_of_rows(place.folder, query.get("judge", ""), rows, models, language)
        )
        # The whole draft travels with every click, so a row's size is limited.
        if (length := len(str(draft))) > _LONGEST_ROW:
            raise SetupError(
                "rows {rows} and their criteria have {length} characters, but at most {most} can "
                "be edited here",
                rows=rows_text(rows),
                length=length,
                most=_LONGEST_ROW,
            )
        return draft
    if file := query.get("file"):
        return draft_of(find_own(site.home, file, query.get("criteria", "")), models, language)
    return draft_of(find_ready_made(query.get("criteria") or FIRST, language), models, language)


def _number(text: str | None) -> int | None:
    """Return the number in an address, if there is one."""
    if not text:
        return None
    if (number := whole(text)) is None:
        raise SetupError("{given!r} is not a number", given=text)
    return number


def _around(request: Request, site: Site, draft: Draft) -> JsonDict:
    """Return the lists that the page offers around the form."""
    language = site.language_of(request)
    counts = [(place, _labelled_rows(site, place)) for place in site.library.scan()[:_MOST_RUNS]]
    runs = [
        {**place.link, "labelled": count}
        for place, count in sorted(counts, key=lambda counted: counted[1] == 0)
    ]
    return {
        "catalogue": catalog.all_names(language),
        "cases": CaseStore(site.home).names(),
        "known_criteria": list_names(site.home, language, draft.case),
        "runs": runs,
        "exports": tuple(EXPORTS),
        "data_kinds": data_kinds(draft.choices(), compares=draft.compares),
        "data_tasks": DATA_TASKS,
        "data_lengths": DATA_LENGTHS,
        "text_actions": TEXT_ACTIONS,
    }


def _labelled_rows(site: Site, place: RunPlace) -> int:
    """Return how many rows of a run people have labelled."""
    if not holds_labels(place.folder):
        return 0

    def count() -> int:
        labels = LabelStore(place.folder).current()
        return len({label.row for label in labels if label.is_by_person})

    return site.library.get_or_compute(place, "labelled rows", count, at_once=True)


def _worth(models: Sequence[str]) -> str:
    """Return the embedded model's known limits, or why it cannot judge; else nothing."""
    local = [name for name in models if name.startswith("local/")]
    try:
        return open_model(local[-1]).note or "" if local else ""
    except AdjudgeError as error:
        return str(error)


def form_answer(request: Request, draft: Draft, problem: str = "") -> Response:
    data = _form_data(request, draft, problem)
    return site_of(request).answer(request, "playground/playground_form.html.jinja", data)


def _form_data(request: Request, draft: Draft, problem: str = "") -> dict[str, object]:
    site = site_of(request)
    trial, models = trials_of(site).get(draft.trial), site.known_models()
    judges = [name for name in models if name in draft.models] or models[-1:]
    return {
        "draft": asdict(draft) if wants_json(request) else draft,
        "labels": draft.labels(),
        "choices": draft.choices(),
        "models": models,
        "asked": judges,
        "worth": _worth(judges),
        "problem": problem,
        "judged": trial_data(trial, site.spending.remaining, draft) if trial else None,
    }


def edit(request: Request, form: Form) -> Response:
    """Apply a button of the form and show the form again."""
    do = request.query_params.get("do", "")
    return _changed_form(request, form, lambda draft: apply_button(draft, do, dict(form)))


def judge_beside(request: Request, form: Form) -> Response:
    """Add one more criterion to judge the instances by."""
    site, name = site_of(request), dict(form).get("beside_name", "").strip()

    def change(draft: Draft) -> Draft:
        language = draft.settings.get("language") or site.language_of(request)
        return with_beside(draft, find_entry(site.home, name, language, draft.case))

    return _changed_form(request, form, change)


def _changed_form(request: Request, form: Form, change: Callable[[Draft], Draft]) -> Response:
    """Apply a change; if it fails, show why and keep everything that was typed."""
    draft, problem = Draft.of_form(form), ""
    try:
        draft = change(draft)
    except AdjudgeError as error:
        problem = str(error)
    return form_answer(request, draft, problem)


def check(request: Request, form: Form) -> Response:
    """Check the criteria while they are being typed."""
    site, draft = site_of(request), Draft.of_form(form)
    try:
        findings, estimate = _findings(draft), _estimate(site, draft)
    except AdjudgeError as error:
        findings, estimate = [{"severity": "error", "message": str(error)}], ""
    return site.answer(
        request,
        "playground/playground_check.html.jinja",
        {"findings": findings, "estimate": estimate},
    )


def _findings(draft: Draft) -> list[JsonDict]:
    """Lint all criteria; findings about the others carry their name."""
    fields = {name for row in draft.rows for name, texts in row.texts.items() if any(texts)}
    case = TestCase(entry=draft.entry(), beside=draft.entries_beside())
    entries = [("", case.entry), *zip(draft.labels()[1:], case.beside, strict=True)]
    return [
        {
            "severity": finding.severity,
            "message": join(": ", filter(None, (label, finding.field, finding.message))),
        }
        for label, entry in entries
        for finding in lint(entry.criteria, fields or None)
    ]


def _estimate(site: Site, draft: Draft) -> str:
    """Return the cost of judging; empty if it is free or cannot be estimated."""
    try:
        case = draft.case_of()
        entries = models_of(site, case)
        if not case.rows or site.spending.is_free(entry.model for entry in entries):
            return ""
        cost = estimate_of(case, entries, site.spending.prices)
    except AdjudgeError:
        return ""  # judging reports the error
    if not cost.calls[1]:
        return Message("All answers are already stored, so judging costs nothing.")
    low, high = cost.usd
    return plural(
        "{count} call, ≈ ${low:.4f} – ${high:.4f}",
        "{count} calls, ≈ ${low:.4f} – ${high:.4f}",
        cost.calls[0],
        low=low,
        high=high,
    )


def models_of(site: Site, case: TestCase) -> tuple[ModelEntry, ...]:
    """Return the models that the case names, or the page's last one."""
    names = case.settings.models or site.known_models()[-1:]
    if not names:
        raise SetupError(
            "there is no model to ask: start the page with -m MODEL, or pip install "
            "'adjudge[local]'"
        )
    return tuple(find_model(site, name) for name in names)


def find_model(site: Site, name: str) -> ModelEntry:
    """Return a model that the page may ask; raise a SetupError for any other."""
    allowed = site.known_models()
    if name not in allowed:
        raise SetupError(
            "the page may not ask {name}, only {known}: start it with -m {name}",
            name=name,
            known=", ".join(allowed),
        )
    return site.project.with_defaults(ModelEntry(model=name))


def judge(request: Request, form: Form) -> Response:
    """Start a trial and show its results so far."""
    site = site_of(request)
    draft = Draft.of_form(form)
    case = draft.case_of()
    models = models_of(site, case)
    # An earlier trial of other criteria or texts would only cost money.
    if (earlier := trials_of(site).get(draft.trial)) and earlier.case.asked != case.asked:
        earlier.stop()
    trial = trials_of(site).start(
        case,
        models,
        written=[draft.rows[place].written for place in draft.filled_places()],
    )
    # the rows may be those of a run that people label
    site.sessions.mark_seen(*(identity_of(row.fields) for row in case.rows))
    # Answers from the cache are there at once, so the first page already shows them.
    trial.wait(_LOOK)
    return trial_answer(request, trial, draft)


def trial_of(request: Request) -> Trial:
    return trials_of(site_of(request)).find(request.path_params["trial"])


def trial_answer(request: Request, trial: Trial, draft: Draft | None = None) -> Response:
    site = site_of(request)
    data = trial_data(trial, site.spending.remaining, draft)
    return site.answer(request, "playground/playground_results.html.jinja", data)


def show_trial(request: Request) -> Response:
    """Show the results as they were judged, for scripts."""
    refuse_reading_only(request)
    return trial_answer(request, trial_of(request))


def look(request: Request, form: Form) -> Response:
    """Show the results so far next to the instances of the form as it is now."""
    trial = trial_of(request)
    return trial_answer(request, trial, Draft.of_form(form))


def stop(request: Request, form: Form) -> Response:
    trial = trial_of(request)
    trial.stop(_PATIENCE)
    return trial_answer(request, trial, Draft.of_form(form))


async def follow(request: Request) -> Response:
    """Send server-sent events: ``changed`` if there is something new, ``ended`` at the end."""
    refuse_reading_only(request)
    events = _events(trial_of(request), site_of(request).is_leaving)
    return StreamingResponse(events, media_type="text/event-stream")


async def _events(trial: Trial, is_leaving: Callable[[], bool]) -> AsyncIterator[str]:
    sent_changes = -1
    while not trial.ended:
        if is_leaving():
            return
        if trial.changes != sent_changes:
            sent_changes = trial.changes
            yield f"event: changed\ndata: {trial.cast}\n\n"
            await asyncio.sleep(_AT_MOST)
        await asyncio.sleep(_LOOK)
    yield f"event: ended\ndata: {trial.cast}\n\n"


ROUTES = (
    RoleRoute("/playground", show, role="spend"),
    RoleRoute("/playground/edit", accept_form(edit), methods=["POST"], role="spend", changes=False),
    RoleRoute(
        "/playground/beside",
        accept_form(judge_beside),
        methods=["POST"],
        role="spend",
        changes=False,
    ),
    RoleRoute(
        "/playground/check", accept_form(check), methods=["POST"], role="spend", changes=False
    ),
    RoleRoute("/playground/judge", accept_form(judge), methods=["POST"], role="spend"),
    RoleRoute("/playground/trial/{trial}", show_trial, role="spend"),
    RoleRoute(
        "/playground/trial/{trial}",
        accept_form(look),
        methods=["POST"],
        role="spend",
        changes=False,
    ),
    RoleRoute("/playground/trial/{trial}/events", follow, role="spend"),
    RoleRoute("/playground/trial/{trial}/stop", accept_form(stop), methods=["POST"], role="spend"),
)
