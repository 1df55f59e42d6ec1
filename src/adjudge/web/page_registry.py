"""The registered pages: ours, then those of installed packages.

What a package adds to our pages may fail at any row. That is one warning, and the page is shown
without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import cache, wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import jinja2
from jinja2.runtime import Context
from markupsafe import Markup

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.domain.record import JudgmentRecord
from adjudge.plugins import Parts, warn
from adjudge.web.page import ComparisonPart, ListPart, NavigationLink, Page, RowContext, RowPart

PAGES: Parts[Page] = Parts("pages")
AnyPart = TypeVar("AnyPart", RowPart, ListPart, ComparisonPart)


@cache
def pages() -> tuple[Page, ...]:
    """Return all usable pages. A package whose page is broken causes one warning."""
    return tuple(_guard_page(page) if is_foreign(page.name) else page for page in PAGES.load_all())


def is_foreign(name: str) -> bool:
    """Return True if the page of this name comes from an installed package."""
    return name in PAGES and name not in PAGES.ours


def links() -> list[NavigationLink]:
    """Return the entries of the top bar."""
    return [page.link for page in pages() if page.link]


@cache
def row_parts() -> tuple[RowPart, ...]:
    """Return the pages' additions to the view of a single row."""
    return tuple(page.row for page in pages() if page.row)


@cache
def list_parts() -> tuple[ListPart, ...]:
    """Return the pages' additions to the list of a run's rows."""
    return tuple(page.rows for page in pages() if page.rows)


@cache
def comparison_parts() -> tuple[ComparisonPart, ...]:
    """Return the pages' additions to the comparison of two runs."""
    return tuple(page.comparison for page in pages() if page.comparison)


def owner_of(record: JudgmentRecord | None) -> RowPart | None:
    """Return the part that shows what was judged; None if the page shows the row's texts."""
    owners = (part for part in row_parts() if record and part.owns and part.owns(record))
    return next(owners, None)


def hidden_fields(record: JudgmentRecord) -> set[str]:
    """Return the fields of a row whose texts are not shown."""
    hidden = (part.hidden_fields(record) for part in row_parts() if part.hidden_fields)
    return {name for names in hidden for name in names or ()}


def has_document(folder: Path) -> bool:
    """Return True if a page has something to watch in a run folder."""
    return any(
        page.has_document(folder) if page.has_document else page.document(folder, "en")
        for page in pages()
        if page.document
    )


def row_data(row: RowContext) -> JsonDict:
    """Return the data that all parts add to a row."""
    return merge_data(part.data(row) for part in row_parts() if part.data)


def merge_data(added: Iterator[JsonDict]) -> JsonDict:
    """Merge what parts add. If several parts add the same name, the first one wins."""
    values: JsonDict = {}
    # values found earlier come last in the merge, so they win
    for data in added:
        values = {**(data or {}), **values}
    return values


def dimensions_of(configuration: JudgeConfiguration) -> list[JsonDict]:
    """Return a judge's dimensions, with titles and scores."""
    lists = (part.dimensions(configuration) for part in list_parts() if part.dimensions)
    return [dimension for dimensions in lists for dimension in dimensions or ()]


@jinja2.pass_context
def fragment(context: Context, part: RowPart | ListPart | ComparisonPart, template: str) -> Markup:
    """Render a part's template inside ours, sharing its context. An error in a plugin's template
    renders nothing.
    """
    if not template:
        return Markup("")
    try:
        rendered = context.environment.get_template(template).render(
            {**context.get_all(), "part": part}
        )
    except Exception as error:
        name = template.partition("/")[0]
        if not is_foreign(name):
            raise
        _warn_of(name, error)
        return Markup("")
    return Markup(rendered)  # noqa: S704 - escaped by the template


def _warn_of(name: str, error: Exception) -> None:
    """Log a warning that names the package whose part failed."""
    if part := PAGES.find(name):
        warn(str(part.error(f"{type(error).__name__}: {error}")))


def _guard_page(page: Page) -> Page:
    return replace(
        page,
        row=page.row and _guard_part(page.name, page.row),
        rows=page.rows and _guard_part(page.name, page.rows),
        comparison=page.comparison and _guard_part(page.name, page.comparison),
        style=page.style and cast(Any, _guard(page.name, page.style)),
        document=page.document and cast(Any, _guard(page.name, page.document)),
        has_document=page.has_document and cast(Any, _guard(page.name, page.has_document)),
    )


def _guard_part(name: str, part: AnyPart) -> AnyPart:
    values = {field.name: getattr(part, field.name) for field in fields(part)}
    calls = {key: _guard(name, value) for key, value in values.items() if callable(value)}
    return replace(part, **cast("dict[str, Any]", calls))


def _guard(name: str, call: Callable[..., object]) -> Callable[..., object]:
    """Wrap ``call`` so that it logs a warning and returns None instead of raising. A function that
    it returns is wrapped, too.
    """

    @wraps(call)
    def call_guarded(*values: object) -> object:
        try:
            result = call(*values)
        except Exception as error:  # noqa: BLE001 - whatever a package raises
            _warn_of(name, error)
            return None
        return _guard(name, result) if callable(result) else result

    return call_guarded
