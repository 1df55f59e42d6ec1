"""Pages for files: test cases with their versions, criteria, exports and imports."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from adjudge.core.aio.files import write_new
from adjudge.core.catalog.criteria_file import as_file
from adjudge.core.data.cells import text_of
from adjudge.core.data.sources.delimited import DELIMITERS, delimited_rows, find_dialect
from adjudge.core.data.sources.row import BadRow, Cells, Origin, Row
from adjudge.core.data.sources.text import PeekableText
from adjudge.errors import AdjudgeError, SetupError
from adjudge.features.importers.imported_case import case_in
from adjudge.features.importers.importing import UnknownFormat
from adjudge.features.playground.case_files import EXPORTS, LABEL_COLUMN, files_of
from adjudge.features.playground.draft import MOST_ROWS, Draft, TextsDraft
from adjudge.features.playground.edits import with_instances
from adjudge.features.playground.form_page import (
    Form,
    Link,
    SavedCase,
    TextFile,
    accept_form,
    form_answer,
    refuse_reading_only,
    show_message,
)
from adjudge.features.playground.store import (
    ANOTHER_NAME,
    CRITERIA_FOLDER,
    FOLDER,
    CaseStore,
    check_name,
)
from adjudge.features.playground.trial import trials_of
from adjudge.features.playground.trial_view import agreement_of
from adjudge.messages import Joined, Message, join
from adjudge.runs.case_file import TestCase, dump_yaml, parse_case
from adjudge.web.forms import whole
from adjudge.web.home import make_folder
from adjudge.web.roles import RoleRoute
from adjudge.web.site import address_of, lead_to, site_of

BROUGHT = Message("the imported text")
_JSON = ("{", "[")


def instances_in(text: str, draft: Draft) -> list[TextsDraft]:
    """Return the instances in a CSV text; none if it lacks a column for the judged field."""
    if text.lstrip("\ufeff \r\n").startswith(_JSON):
        return []
    peeked = PeekableText(io.StringIO(text, newline=""), Origin(BROUGHT, unit="line"), "utf-8")
    rows = list(delimited_rows(peeked))
    table = [
        candidate.cells
        for candidate in rows
        if isinstance(candidate, Row) and isinstance(candidate.cells, Mapping)
    ]
    filled = [cells for cells in table if cells]
    columns = list(filled[0]) if filled else _header(peeked)
    judged_columns = _find_judged_columns(columns, draft)
    if not judged_columns:
        return []
    if bad := next((row for row in rows if isinstance(row, BadRow)), None):
        raise SetupError(join(": ", (bad.where, bad.reason)))
    other_columns = [name for name in columns if name not in (*judged_columns, "id", LABEL_COLUMN)]
    return [_instance(cells, draft.judged, judged_columns, other_columns) for cells in filled]


def _header(text: PeekableText) -> list[str]:
    """Return the column names of a table that has no rows."""
    lines = io.StringIO(text.head, newline="")
    return next(find_dialect(text.head, DELIMITERS, text).cells(lines, strict=False), [])


def _find_judged_columns(columns: list[str], draft: Draft) -> list[str]:
    """Return the columns of the judged field, one per compared response."""
    if not draft.compares:
        return [draft.judged] if draft.judged in columns else []
    names = {f"{name}_{place}" for name in (draft.judged, "response") for place in range(1, 11)}
    columns_found = [name for name in columns if name in names]
    return columns_found if len(columns_found) > 1 else []


def _instance(
    row: Cells, field: str, judged_columns: Sequence[str], other_columns: Sequence[str]
) -> TextsDraft:
    def cell(name: str) -> str:
        return text_of(str(row.get(name, "")))

    texts = {name: (cell(name),) for name in other_columns}
    return TextsDraft(
        answer=cell(LABEL_COLUMN).strip(),
        texts={**texts, field: tuple(map(cell, judged_columns))},
        id=cell("id").strip(),
    )


_NAME = "the imported text"
_ZIP = "PK\x03\x04"


def save(request: Request, form: Form) -> Response:
    """Save a new version of the test case."""
    site, values, draft = site_of(request), dict(form), Draft.of_form(form)
    name = values.get("save_as", "").strip()
    base = whole(draft.base) if draft.case == name else None
    agreement = agreement_of(trials_of(site).get(draft.trial), draft)
    number = CaseStore(site.home).save(name, replace(draft.case_of(), agreement=agreement), base)
    message = Message(
        "Saved as version {number} of {name} in {folder}.", number=number, name=name, folder=FOLDER
    )
    address = address_of(request, "/playground", {"case": name, "version": number})
    link = Link(address, Message("Continue from this version"))
    return show_message(request, message, link=link, saved=SavedCase(name, number))


def save_criteria(request: Request, form: Form) -> Response:
    """Save the criteria as a separate file."""
    site, name = site_of(request), dict(form).get("save_as", "").strip()
    check_name(name)
    text = dump_yaml(as_file(Draft.of_form(form).entry()))
    write_new(make_folder(site.home, CRITERIA_FOLDER) / f"{name}.yaml", text, ANOTHER_NAME)
    message = Message("Saved as {file}.", file=f"{CRITERIA_FOLDER}/{name}.yaml")
    return show_message(request, message, files=[TextFile(f"{name}.yaml", text)])


def export(request: Request, form: Form) -> Response:
    """Offer files to download; nothing is written on the server."""
    kind = request.query_params.get("as", "")
    if kind not in EXPORTS:
        raise SetupError(
            "a test case can be downloaded as {formats}, not as {kind!r}",
            formats=", ".join(EXPORTS),
            kind=kind,
        )
    name = dict(form).get("save_as", "").strip() or "test-case"
    delimiter = ";" if site_of(request).language_of(request) == "ru" else ","
    files = files_of(Draft.of_form(form).case_of(), name, kind, delimiter)
    return show_message(request, "", files=[TextFile(*file) for file in files.items()])


def bring_in(request: Request, form: Form) -> Response:
    """Import instances from CSV, or replace the form with an imported test case.

    The test case may come from EvalAssist or from this page.
    """
    site, draft, text = site_of(request), Draft.of_form(form), dict(form).get("brought", "")
    try:
        if rows := instances_in(text, draft):
            draft = with_instances(draft, rows)
        else:
            draft = Draft.of_case(_known(_read_import(text, draft), site.known_models()))
        problem = _encoding_note(dict(form).get("brought_as", ""))
    except AdjudgeError as error:
        problem = str(error)
    return form_answer(request, draft, problem)


def _encoding_note(encoding: str) -> str:
    """Return a note that names the encoding if the file was not UTF-8."""
    if not encoding:
        return ""
    return Message(
        "The file is not UTF-8 and was read as {encoding}: check that its characters are right.",
        encoding=encoding,
    )


def _known(case: TestCase, models: Sequence[str]) -> TestCase:
    """Return the case with only those models that the page may ask."""
    allowed = tuple(name for name in case.settings.models if name in models)
    return replace(case, settings=replace(case.settings, models=allowed))


def _read_import(text: str, draft: Draft) -> TestCase:
    if not text.strip():
        raise SetupError("choose a file, or paste its text")
    if text.startswith(_ZIP):
        raise SetupError(
            "this is an Excel workbook or a ZIP archive: save the table as CSV in UTF-8, and "
            "import that"
        )
    if "test_case:" in text and not text.lstrip().startswith("{"):
        return parse_case(text, BROUGHT)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / _NAME
        path.write_text(text, encoding="utf-8")
        try:
            return case_in(path, MOST_ROWS)
        except UnknownFormat:
            columns = ("response_1", "response_2") if draft.compares else (draft.judged,)
            raise SetupError(
                "the file is neither a test case nor a CSV table with the column {columns}: give "
                "the column that name in the first line",
                columns=", ".join(columns),
            ) from None
        except AdjudgeError as error:
            raise type(error)(_call(error.message, path)) from None


def _call(value: object, path: Path) -> Any:
    """Replace the temporary file's path with a description, also inside messages."""
    match value:
        case Joined():
            return join(value.separator, [_call(part, path) for part in value.parts])
        case Message():
            values = {
                name: _call(value_of_name, path) for name, value_of_name in value.values.items()
            }
            return Message(value.template, value.plural, value.context, **values)
        case BadRow():
            return join(": ", (_call(value.where, path), _call(value.reason, path)))
        case Path() | str() if str(value) in (str(path), path.name):
            return BROUGHT
    return value.replace(str(path), _NAME) if isinstance(value, str) else value


def delete(request: Request, form: Form) -> Response:
    """Delete a test case with all its versions, if its name was typed."""
    name = request.path_params["name"]
    if dict(form).get("name", "").strip() != name:
        raise SetupError("type the name of the test case, {name}, to delete it", name=name)
    CaseStore(site_of(request).home).delete(name)
    return lead_to(show_message(request, Message("Deleted.")), address_of(request, "/playground"))


def show_case(request: Request) -> Response:
    """Show the versions of a test case and the difference between two of them."""
    refuse_reading_only(request)
    site, name, query = site_of(request), request.path_params["name"], request.query_params
    store = CaseStore(site.home)
    versions = store.versions(name)
    numbers = [version.number for version in versions]
    newest, older = numbers[0], numbers[min(1, len(numbers) - 1)]
    a, b = (whole(query.get(side, "")) or usual for side, usual in (("a", older), ("b", newest)))
    lines = store.difference(name, a, b) if a != b else []
    data = {
        "name": name,
        "versions": [asdict(version) for version in versions],
        "compared": "a" in query or "b" in query,
        "a": a,
        "b": b,
        "lines": lines,
    }
    return site.answer(request, "playground/playground_case.html.jinja", data)


ROUTES = (
    RoleRoute("/playground/save", accept_form(save), methods=["POST"], role="spend"),
    RoleRoute(
        "/playground/save-criteria", accept_form(save_criteria), methods=["POST"], role="spend"
    ),
    RoleRoute(
        "/playground/export", accept_form(export), methods=["POST"], role="spend", changes=False
    ),
    RoleRoute(
        "/playground/import", accept_form(bring_in), methods=["POST"], role="spend", changes=False
    ),
    RoleRoute("/playground/case/{name}", show_case, role="spend"),
    RoleRoute(
        "/playground/case/{name}/delete", accept_form(delete), methods=["POST"], role="spend"
    ),
)
