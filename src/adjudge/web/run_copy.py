"""Read-only copies of runs that open from disk. ``adjudge view --export`` writes them to a folder,
the page as a .zip file.

A page lists all rows of a judge and can search them; of more than a thousand rows, what they say is
in further files, which it shows in a frame.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO, Any, NamedTuple, cast
from urllib.parse import parse_qsl, urlencode

from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup, escape

from adjudge.core.aio.files import writing
from adjudge.core.domain.json_types import JsonDict, JsonValue, object_in
from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.domain.record import FLAGS, JudgmentRecord
from adjudge.core.gateway.redaction import environment_secrets
from adjudge.core.ledger.columns import CRITERION, DIMENSION, FIELD
from adjudge.core.ledger.file import read_judges
from adjudge.core.ledger.record_browser import (
    SORTS,
    STATUSES,
    Filters,
    JudgmentLine,
    judges_in,
    page_of,
)
from adjudge.core.ledger.row_groups import RowJudgment, are_in_turn, count_rows_of
from adjudge.errors import SetupError
from adjudge.messages import Message
from adjudge.runs.folder import reading
from adjudge.web.gates import line_with_gates
from adjudge.web.library import Library, RunPlace
from adjudge.web.page_registry import dimensions_of, row_parts
from adjudge.web.pages.row import criteria_names, row_data, row_record, several_criteria
from adjudge.web.pages.run import (
    columns_of,
    figures_data,
    judged_field,
    line_data,
)
from adjudge.web.people import PeopleSaid, people_by_row
from adjudge.web.site import assets, templates
from adjudge.web.views import SavedView, read_views

RowDrawing = Callable[[sqlite3.Connection, JudgmentRecord], dict[str, object]]
MOST_ROWS = 20_000
"""Default for the most rows that are copied per judge, the worst first."""
INDEX = "index.html"
_ROWS_OF_A_FILE = 1_000
_LARGEST_FILE = 8_000_000
"""Characters of rows behind which a new file begins."""
_LINES_OF_A_PAGE = 50_000
_WORDS_OF_A_PAGE = 40_000_000
"""Characters that a page can search, behind which a new one begins."""
_AT_A_TIME = 100
_SAMPLE = 20
"""Rows of each judge by which the size is told before anything is written."""
_LINE = 600
"""Approximate bytes of a row in a list."""
_PATIENCE = 3600.0
_FOLDER_IN_ZIP = "adjudge-runs"
_REST_OF_PATH = r"[^\s<>&|:;,)\]}\"'`]*"
_FILTERS = {
    *("q", "criteria", "status", "verdict", "flag", "min", "max", "dimension", "rule", "people"),
    "sort",
}
"""Query names that a copy understands."""


@dataclass(frozen=True)
class CopySettings:
    """The contents of a copy. Keys, local folders and annotators' names are never copied."""

    language: str = "en"
    prompts: bool = False
    """Include what was sent to models."""
    most_rows: int = MOST_ROWS


class CopySize(NamedTuple):
    runs: int
    rows: int
    left_out: int
    """Rows beyond the most that are copied of a judge."""
    size: int


class CopyFile(NamedTuple):
    name: str
    content: bytes
    is_page: bool = True
    """True if the list of runs links to it."""


class _CopiedRow(NamedTuple):
    """A judgment as shown next to the list, and its searchable text."""

    row: int
    body: Markup
    words: str


@dataclass
class _CopiedPage:
    """A page of the list that is being filled."""

    number: int
    lines: list[JudgmentLine] = field(default_factory=list)
    files: dict[int, str] = field(default_factory=dict)
    """Row → the file that it is in."""
    words: dict[int, str] = field(default_factory=dict)
    """Row of a line → what can be searched of it."""
    characters: int = 0
    """Length of these words."""
    rows: list[_CopiedRow] = field(default_factory=list)
    """Rows that are in no file yet."""

    @property
    def is_full(self) -> bool:
        return len(self.lines) == _LINES_OF_A_PAGE or self.characters > _WORDS_OF_A_PAGE

    @property
    def fills_a_file(self) -> bool:
        large = sum(len(row.body) for row in self.rows) > _LARGEST_FILE
        return len(self.rows) >= _ROWS_OF_A_FILE or large

    def add(self, line: JudgmentLine, rows: Sequence[_CopiedRow]) -> None:
        self.lines.append(line)
        self.rows += rows
        self.words[line.row] = rows[0].words
        self.characters += len(rows[0].words)


class _CopiedJudge(NamedTuple):
    """A judge whose pages are being written."""

    place: RunPlace
    name: str
    number: int
    configuration: JudgeConfiguration
    figures: JsonDict
    rows: int
    together: tuple[str, ...]
    """The judge's criteria, if the judgments of a row are shown as one line."""
    views: tuple[SavedView, ...]

    def page(self, page: int) -> str:
        """Return the file name of a page, numbered from 1."""
        return f"{self.place.id}-{self.number}-{page}.html"

    def file(self, page: int, part: int) -> str:
        """Return the name of a page's file with rows, numbered from 1."""
        return f"{self.place.id}-{self.number}-{page}-rows-{part}.html"


def choose_runs(library: Library, names: Sequence[str]) -> list[RunPlace]:
    """Return the runs with these names or ids, by default all. Raises a SetupError for unknown
    ones.
    """
    places = library.scan()
    known_names = {known_names for place in places for known_names in (place.name, place.id)}
    if not places:
        raise SetupError("there are no runs to copy in {folder}", folder=library.root)
    for name in names:
        if name not in known_names:
            raise SetupError(
                "unknown run {name!r}; known: {runs}",
                name=name,
                runs=", ".join(place.name for place in places[:20]),
            )
    return [place for place in places if not names or {place.name, place.id} & {*names}]


def expected_size(library: Library, places: Sequence[RunPlace], settings: CopySettings) -> CopySize:
    """Estimate the size of a copy from a sample of each judge's rows."""
    rows = left_out = 0
    frame = len(_page("copy_index.html.jinja", settings, runs=[]))
    size = frame
    for judge in (copied for place in places for copied in _judges(library, place)):
        copied_rows = min(judge.rows, settings.most_rows)
        draw = _row_drawing(settings)
        sample = [_copied_row(judge, row, settings, draw) for row in _sample(judge)]
        bodies = [len(copied.body.encode()) for copied in sample]
        # -(-a // b) rounds up: a started file has a frame as well
        size += frame * max(1, -(-copied_rows // _ROWS_OF_A_FILE)) + _LINE * copied_rows
        size += copied_rows * max(1, len(judge.together)) * sum(bodies) // max(len(bodies), 1)
        if copied_rows > _ROWS_OF_A_FILE:  # what can be searched stands in the list once more
            size += (
                copied_rows
                * sum(len(copied.words.encode()) for copied in sample)
                // max(len(sample), 1)
            )
        rows, left_out = rows + copied_rows, left_out + judge.rows - copied_rows
    return CopySize(len(places), rows, left_out, size)


def size_text(size: int) -> Message:
    """Format a number of bytes in kB or MB."""
    if size < 1_000_000:
        return Message("{size} kB", size=max(1, round(size / 1_000)))
    return Message("{size:.1f} MB", size=size / 1_000_000)


def check_target(folder: Path) -> None:
    """Raise a SetupError if the target exists and is not an empty folder, before rows are read."""
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise SetupError("{folder} is not empty: give a new folder for the copy", folder=folder)


def write_copy(
    library: Library, places: Sequence[RunPlace], folder: Path, settings: CopySettings
) -> int:
    """Write a copy to a new or empty folder, and return its size in bytes.

    The copy appears complete or not at all.
    """
    check_target(folder)
    target, size = folder.absolute(), 0
    with writing(folder):
        target.parent.mkdir(parents=True, exist_ok=True)
        # written next to the target, so that the rename stays on one file system
        part = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        try:
            for file in copy_files(library, places, settings):
                (part / file.name).write_bytes(file.content)
                size += len(file.content)
            # mkdtemp makes a folder that only its owner can read, but a copy is for others
            part.chmod(0o755)
            if target.exists():
                target.rmdir()
            part.rename(target)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return size


def zip_copy(library: Library, places: Sequence[RunPlace], settings: CopySettings) -> IO[bytes]:
    """Like ``write_copy``, but write a temporary .zip file and return it open at its start; closing
    deletes it.
    """
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by who sends it
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for copied in copy_files(library, places, settings):
            archive.writestr(f"{_FOLDER_IN_ZIP}/{copied.name}", copied.content)
    file.seek(0)
    return file


def copy_files(
    library: Library, places: Sequence[RunPlace], settings: CopySettings
) -> Iterator[CopyFile]:
    """Yield every file of a copy, the list of runs at the end."""
    listed: list[JsonDict] = []
    for place in places:
        copied: dict[str, list[JsonValue]] = {}
        for judge in _judges(library, place):
            pages = copied.setdefault(judge.name, [])
            for file in _judge_files(library, judge, settings):
                pages += [file.name] if file.is_page else []
                yield file
        line = line_with_gates(library, place, library.glance(place, wait=True), wait=True)
        listed.append({**line, "copied": copied})
    yield CopyFile(INDEX, _page("copy_index.html.jinja", settings, runs=listed))


def _judges(library: Library, place: RunPlace) -> Iterator[_CopiedJudge]:
    if library.about(place).error:  # the list of runs says what is wrong
        return
    with reading(place.folder) as connection:
        configurations = read_judges(connection)
        names = judges_in(connection)
    for number, name in enumerate(names, 1):
        configuration = configurations.get(name, JudgeConfiguration())
        several = several_criteria(configuration)
        with reading(place.folder) as connection:
            together = several if are_in_turn(connection, name, several) else ()
            rows = count_rows_of(connection, name, len(together) or 1)
        figures = _copied_figures(figures_data(library, place, name))
        views = tuple(_views(library.root, name, configuration, together))
        yield _CopiedJudge(place, name, number, configuration, figures, rows, together, views)


def _copied_figures(figures: JsonDict) -> JsonDict:
    """Return figures whose links filter by the system's name, since a copy has no expressions."""
    parts = cast("dict[str, list[str]]", figures["parts"])
    filters = {
        name: {**object_in(object_in(figures["filters"])[name]), "where": "", "system": system}
        for name, (_, system) in parts.items()
    }
    systems = list(dict.fromkeys(system for _, system in parts.values() if system))
    return {**figures, "filters": filters, "systems": systems}


def _judge_files(
    library: Library, judge: _CopiedJudge, settings: CopySettings
) -> Iterator[CopyFile]:
    people = people_by_row(library, judge.place, judge.name)
    draw = _row_drawing(settings)
    copied_rows, start = min(judge.rows, settings.most_rows), 1
    page = _CopiedPage(1)
    for line in _lines(judge, settings.most_rows):
        rows = [judgment.row for judgment in line.group] or [line.row]
        page.add(line, [_copied_row(judge, row, settings, draw) for row in rows])
        if page.fills_a_file and start + len(page.lines) - 1 < copied_rows:
            yield _file_of_rows(judge, page, settings)
        if page.is_full:
            yield from _finish(judge, page, settings, people, start, copied_rows)
            start, page = start + len(page.lines), _CopiedPage(page.number + 1)
    if page.lines or not judge.rows:
        yield from _finish(judge, page, settings, people, start, copied_rows)


def _file_of_rows(judge: _CopiedJudge, page: _CopiedPage, settings: CopySettings) -> CopyFile:
    """Return a file with the rows that are not in a file yet."""
    name = judge.file(page.number, len({*page.files.values()}) + 1)
    page.files |= {row.row: name for row in page.rows}
    content = _page("copy_rows.html.jinja", settings, bodies=page.rows, name=judge.place.name)
    page.rows.clear()
    return CopyFile(name, content, is_page=False)


def _finish(
    judge: _CopiedJudge,
    page: _CopiedPage,
    settings: CopySettings,
    people: Mapping[int, PeopleSaid],
    start: int,
    copied_rows: int,
) -> Iterator[CopyFile]:
    """Yield the page of the list, preceded by its last file of rows if it has any."""
    if page.files and page.rows:
        yield _file_of_rows(judge, page, settings)
    end = start + len(page.lines) - 1
    # annotators' names stay out of the filters as well
    nameless = {row: people_of_row.without_names() for row, people_of_row in people.items()}
    data = {
        "run": judge.place.link,
        "judge": judge.name,
        "judged": f"{FIELD}{judged_field(judge.configuration)}",
        "figures": judge.figures,
        "criteria_names": criteria_names(judge.configuration),
        "dimensions": dimensions_of(judge.configuration),
        "counts": list(judge.configuration.counts),
        "rows": [
            {
                **line_data(line, nameless),
                "file": page.files.get(line.row),
                "words": page.words[line.row] if page.files else None,
                "judged": [*_judged_in(line, nameless)],
            }
            for line in page.lines
        ],
        "people": people,
        "bodies": page.rows,
        "framed": bool(page.files),
        "columns": columns_of(
            {}, page.lines, judge.configuration, is_together=bool(judge.together)
        ),
        "together": judge.together,
        "per_row": len(judge.together) or 1,
        "first": start,
        "last": end,
        "kept": copied_rows,
        "total": judge.rows,
        "before": judge.page(page.number - 1) if page.number > 1 else None,
        "behind": judge.page(page.number + 1) if end < copied_rows else None,
        "statuses": STATUSES,
        "flags": list(FLAGS),
        "prompts": settings.prompts,
        "views": [view._asdict() for view in judge.views],
    }
    yield CopyFile(judge.page(page.number), _page("copy_run.html.jinja", settings, **data))


def _views(
    root: Path, name: str, configuration: JudgeConfiguration, together: Sequence[str]
) -> Iterator[SavedView]:
    """Yield the saved views that a copy supports: without an expression, and sorted by an available
    column.
    """
    sortable = (f"{FIELD}{judged_field(configuration)}", "verdict", "criterion", "people", "votes")
    sorts = {*SORTS, *sortable, *(f"{CRITERION}{value}" for value in together)}
    sorts |= {f"{DIMENSION}{value['name']}" for value in dimensions_of(configuration)}
    # a copy cannot evaluate expressions, so views with "where" are not among _FILTERS
    for view in read_views(root):
        query_values = dict(parse_qsl(view.query))
        judge, sort = query_values.pop("judge", name), query_values.get("sort", "worst")
        if judge == name and query_values.keys() <= _FILTERS and sort.removeprefix("-") in sorts:
            query_values |= {"sort": "" if sort == "worst" else sort}
            yield view._replace(
                query=urlencode({part: value for part, value in query_values.items() if value})
            )


def _judged_in(line: JudgmentLine, people: Mapping[int, PeopleSaid]) -> Iterator[JsonDict]:
    """Yield the values that a copy's filters use, for each judgment of a line."""
    outcome = (line.status, line.score, line.verdict)
    single = RowJudgment("", line.row - 1, line.id, line.criterion, *outcome, flags=line.flags)
    for judgment in line.group or (single,):
        stand = people.get(judgment.row)
        yield {
            "row": judgment.row,
            "status": judgment.status,
            "criteria": judgment.criterion,
            "verdict": judgment.verdict,
            "score": judgment.score,
            "flag": [*judgment.flags],
            "people": stand and stand.stand,
            "rule": line.rule,
            "dimension": [f"{name}:{score}" for name, score in line.scores.items()],
            "system": line.columns.get("system"),
        }


def _lines(judge: _CopiedJudge, most: int) -> Iterator[JudgmentLine]:
    position: str | None = ""
    field_name, remaining = judged_field(judge.configuration), most
    while position is not None and remaining:
        with reading(judge.place.folder) as connection:
            page = page_of(
                connection,
                Filters(judge=judge.name, together=judge.together),
                position,
                judged=field_name,
                size=min(_AT_A_TIME, remaining),
                patience=_PATIENCE,
            )
        yield from page.lines
        position, remaining = page.next, remaining - len(page.lines)


def _row_drawing(settings: CopySettings) -> RowDrawing:
    """Return a function that renders what parts show of a judge's rows."""
    copiers = [part.copier(settings.language) for part in row_parts() if part.copier]

    def draw(connection: sqlite3.Connection, record: JudgmentRecord) -> dict[str, object]:
        drawn = [copier(connection, record) for copier in copiers if copier]
        return {name: value for values in drawn if values for name, value in values.items()}

    return draw


def _copied_row(
    judge: _CopiedJudge, row: int, settings: CopySettings, draw: RowDrawing
) -> _CopiedRow:
    """Render a row with its votes as shown next to the list."""
    record = row_record(judge.place, judge.name, row)
    with reading(judge.place.folder) as connection:
        drawn = draw(connection, record)
    data = row_data(judge.place, record, prompts=settings.prompts, copied=True)
    texts = (
        "".join(part for part, _ in shown_field["parts"])
        for shown_field in cast("list[Any]", data["fields"])
    )
    body = Markup(  # noqa: S704 - escaped by the template
        templates(settings.language)
        .get_template("row_part.html.jinja")
        .render(
            run=judge.place.link,
            judge=judge.name,
            chosen=data,
            record=record,
            **{**drawn, **_surroundings()},
        )
    )
    return _CopiedRow(row, body, "\n".join((record.id or "", *texts)))


def _sample(judge: _CopiedJudge) -> list[int]:
    with reading(judge.place.folder) as connection:
        return sorted({*_some_rows(connection, judge.name)})


def _some_rows(connection: sqlite3.Connection, judge: str) -> Iterator[int]:
    """Yield row numbers spread evenly over a judge's rows, including the first and last."""
    ends = "SELECT min(number), max(number) FROM judgments WHERE judge = ?"
    low, high = connection.execute(ends, (judge,)).fetchone()
    nearest = "SELECT min(number) + 1 FROM judgments WHERE judge = ? AND number >= ?"
    for place in range(_SAMPLE if low is not None else 0):
        number = low + (high - low) * place // max(_SAMPLE - 1, 1)
        yield connection.execute(nearest, (judge, number)).fetchone()[0]


def _surroundings() -> dict[str, object]:
    """Return the variables that served pages' templates expect, with values for a copy."""
    return {
        "copied": True,
        "root": "",
        "nonce": "",
        "person": None,
        "may_label": False,
        "may_spend": False,
        "live": False,
        "asked": {},
        "next": None,
        "looked_at": 0,
        "searched": 0,
        "sort": "worst",
        "filtered": False,
        "wrong": None,
    }


def _page(template: str, settings: CopySettings, **data: object) -> bytes:
    """Render a page with inline style and script, and nothing else that could run or be loaded.

    Secrets from the environment and paths of this machine are masked.
    """
    style, script = _inline("page.css", "drawing.css"), _inline("copy.js", "drawing.js")
    text = (
        templates(settings.language)
        .get_template(template)
        .render(
            **{"chosen": None, **_surroundings(), **data},
            style=style,
            script=script,
            style_hash=_hash(style),
            script_hash=_hash(script),
        )
    )
    # a key may stand in any text that was judged; as JSON inside a script it is escaped differently
    for secret in environment_secrets(os.environ):
        for form in (secret, htmlsafe_json_dumps(secret)[1:-1]):
            text = text.replace(str(escape(str(form))), "***")
    return without_local_paths(text, Path.cwd(), Path.home()).encode("utf-8", "replace")


def without_local_paths(text: str, project: Path, home: Path) -> str:
    """Return ``text`` with paths below ``project`` relative, and others below ``home`` struck out.

    Example: ``/home/ada/work/a.py`` is ``…/a.py`` or, outside the project, ``~/…``.
    """
    for folder, rest, shown in ((project, "", "…"), (home, _REST_OF_PATH, "~/…")):
        if folder.parent == folder:  # the root of a file system is the beginning of every path
            continue
        path = re.escape(str(escape(str(folder))))
        text = re.sub(rf"(?<![\w.~/-]){path}(?![\w.-]){rest}", shown, text)
    return text


@cache
def _inline(*names: str) -> Markup:
    """Return our files unescaped, for inclusion in a page."""
    return Markup("\n".join(assets()[name].content.decode() for name in names))  # noqa: S704


@cache
def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
