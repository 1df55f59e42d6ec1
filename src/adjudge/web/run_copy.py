"""Read-only copies of runs that open from disk. ``adjudge view --export`` writes them to a folder,
the page as a .zip file.

A page lists all rows of a judge and can search them; of more than a thousand rows, what they say is
in further files, which it shows in a frame.
"""

from __future__ import annotations

import base64
import hashlib
import os
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
from adjudge.core.domain.json_types import JsonDict, JsonValue
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
"""Of each judge of a run, the worst first, unless somebody says otherwise."""
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
"""About the bytes of a row in a list."""
_PATIENCE = 3600.0
_FOLDER_IN_ZIP = "adjudge-runs"
_FILTERS = {
    *("q", "criteria", "status", "verdict", "flag", "min", "max", "dimension", "rule", "people"),
    "sort",
}
"""What of an address a copy understands."""


@dataclass(frozen=True)
class CopySettings:
    """What a copy holds. Keys, folders of this machine and annotators' names are in none."""

    language: str = "en"
    prompts: bool = False
    """Whether what was sent to models is in it."""
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
    """Whether the list of runs leads to it."""


class _CopiedRow(NamedTuple):
    """A judgment as it is shown beside the list, and its texts."""

    row: int
    body: Markup
    words: str


@dataclass
class _CopiedPage:
    """A list as it is filled."""

    number: int
    lines: list[JudgmentLine] = field(default_factory=list)
    files: dict[int, str] = field(default_factory=dict)
    """Row → the file that it is in."""
    words: dict[int, str] = field(default_factory=dict)
    """Row of a line → what can be searched of it."""
    characters: int = 0
    """Of these words."""
    rows: list[_CopiedRow] = field(default_factory=list)
    """Those that are in no file yet."""

    @property
    def is_full(self) -> bool:
        return len(self.lines) == _LINES_OF_A_PAGE or self.characters > _WORDS_OF_A_PAGE

    @property
    def fills_a_file(self) -> bool:
        large = sum(len(one.body) for one in self.rows) > _LARGEST_FILE
        return len(self.rows) >= _ROWS_OF_A_FILE or large

    def add(self, line: JudgmentLine, rows: Sequence[_CopiedRow]) -> None:
        self.lines.append(line)
        self.rows += rows
        self.words[line.row] = rows[0].words
        self.characters += len(rows[0].words)


class _CopiedJudge(NamedTuple):
    """A judge of a run, as its pages are made."""

    place: RunPlace
    name: str
    number: int
    configuration: JudgeConfiguration
    figures: JsonDict
    rows: int
    together: tuple[str, ...]
    """Its criteria, where the judgments of a row are one line."""
    views: tuple[SavedView, ...]

    def page(self, page: int) -> str:
        """The file of one of its pages, from 1."""
        return f"{self.place.id}-{self.number}-{page}.html"

    def file(self, page: int, part: int) -> str:
        """A file of rows of that page, from 1."""
        return f"{self.place.id}-{self.number}-{page}-rows-{part}.html"


def choose_runs(library: Library, names: Sequence[str]) -> list[RunPlace]:
    """The runs of those names or ids; all there are where none is named."""
    places = library.scan()
    known = {known for place in places for known in (place.name, place.id)}
    if not places:
        raise SetupError("there are no runs to copy in {folder}", folder=library.root)
    for name in names:
        if name not in known:
            raise SetupError(
                "unknown run {name!r}; known: {runs}",
                name=name,
                runs=", ".join(place.name for place in places[:20]),
            )
    return [place for place in places if not names or {place.name, place.id} & {*names}]


def expected_size(library: Library, places: Sequence[RunPlace], settings: CopySettings) -> CopySize:
    """About how large a copy will be, by some rows from all over each judge's."""
    rows = left_out = 0
    frame = len(_page("copy_index.html.jinja", settings, runs=[]))
    size = frame
    for judge in (one for place in places for one in _judges(library, place)):
        kept = min(judge.rows, settings.most_rows)
        draw = _row_drawing(settings)
        sample = [_copied_row(judge, row, settings, draw) for row in _sample(judge)]
        bodies = [len(one.body.encode()) for one in sample]
        size += frame * max(1, -(-kept // _ROWS_OF_A_FILE)) + _LINE * kept
        size += kept * max(1, len(judge.together)) * sum(bodies) // max(len(bodies), 1)
        if kept > _ROWS_OF_A_FILE:  # what can be searched stands in the list once more
            size += kept * sum(len(one.words.encode()) for one in sample) // max(len(sample), 1)
        rows, left_out = rows + kept, left_out + judge.rows - kept
    return CopySize(len(places), rows, left_out, size)


def size_text(size: int) -> Message:
    """Bytes as people say them."""
    if size < 1_000_000:
        return Message("{size} kB", size=max(1, round(size / 1_000)))
    return Message("{size:.1f} MB", size=size / 1_000_000)


def check_target(folder: Path) -> None:
    """Refuse a folder that holds something, before rows are read."""
    if folder.is_symlink() or (folder.exists() and (not folder.is_dir() or any(folder.iterdir()))):
        raise SetupError("{folder} is not empty: give a new folder for the copy", folder=folder)


def write_copy(
    library: Library, places: Sequence[RunPlace], folder: Path, settings: CopySettings
) -> int:
    """Write a copy to a folder that is new or empty, and say how many bytes it has. All of it
    appears at once, or nothing.
    """
    check_target(folder)
    target, size = folder.absolute(), 0
    with writing(folder):
        target.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
        try:
            for file in copy_files(library, places, settings):
                (part / file.name).write_bytes(file.content)
                size += len(file.content)
            part.chmod(0o755)
            if target.exists():
                target.rmdir()
            part.rename(target)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return size


def zip_copy(library: Library, places: Sequence[RunPlace], settings: CopySettings) -> IO[bytes]:
    """The same as a .zip file, at its beginning; it is gone when it is closed."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by who sends it
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for one in copy_files(library, places, settings):
            archive.writestr(f"{_FOLDER_IN_ZIP}/{one.name}", one.content)
    file.seek(0)
    return file


def copy_files(
    library: Library, places: Sequence[RunPlace], settings: CopySettings
) -> Iterator[CopyFile]:
    """Every page, the list of runs last."""
    listed: list[JsonDict] = []
    for place in places:
        copied: dict[str, list[JsonValue]] = {}
        for judge in _judges(library, place):
            pages = copied.setdefault(judge.name, [])
            for file in _judge_files(library, judge, settings):
                pages += [file.name] if file.is_page else []
                yield file
        listed.append({**library.glance(place, wait=True), "copied": copied})
    yield CopyFile(INDEX, _page("copy_index.html.jinja", settings, runs=listed))


def _judges(library: Library, place: RunPlace) -> Iterator[_CopiedJudge]:
    if library.about(place).error:  # the list of runs says what is wrong
        return
    with reading(place.folder) as connection:
        known = read_judges(connection)
        names = judges_in(connection)
    for number, name in enumerate(names, 1):
        configuration = known.get(name, JudgeConfiguration())
        several = several_criteria(configuration)
        with reading(place.folder) as connection:
            together = several if are_in_turn(connection, name, several) else ()
            rows = count_rows_of(connection, name, len(together) or 1)
        figures = figures_data(library, place, name)
        views = tuple(_views(library.root, name, configuration, together))
        yield _CopiedJudge(place, name, number, configuration, figures, rows, together, views)


def _judge_files(
    library: Library, judge: _CopiedJudge, settings: CopySettings
) -> Iterator[CopyFile]:
    people = people_by_row(library, judge.place, judge.name)
    draw = _row_drawing(settings)
    kept, first = min(judge.rows, settings.most_rows), 1
    page = _CopiedPage(1)
    for line in _lines(judge, settings.most_rows):
        rows = [one.row for one in line.group] or [line.row]
        page.add(line, [_copied_row(judge, row, settings, draw) for row in rows])
        if page.fills_a_file and first + len(page.lines) - 1 < kept:
            yield _file_of_rows(judge, page, settings)
        if page.is_full:
            yield from _finish(judge, page, settings, people, first, kept)
            first, page = first + len(page.lines), _CopiedPage(page.number + 1)
    if page.lines or not judge.rows:
        yield from _finish(judge, page, settings, people, first, kept)


def _file_of_rows(judge: _CopiedJudge, page: _CopiedPage, settings: CopySettings) -> CopyFile:
    """The rows that are in no file yet, as one."""
    name = judge.file(page.number, len({*page.files.values()}) + 1)
    page.files |= {one.row: name for one in page.rows}
    content = _page("copy_rows.html.jinja", settings, bodies=page.rows, name=judge.place.name)
    page.rows.clear()
    return CopyFile(name, content, is_page=False)


def _finish(
    judge: _CopiedJudge,
    page: _CopiedPage,
    settings: CopySettings,
    people: Mapping[int, PeopleSaid],
    first: int,
    kept: int,
) -> Iterator[CopyFile]:
    """The list, and before it the last of its files where there are any."""
    if page.files and page.rows:
        yield _file_of_rows(judge, page, settings)
    last = first + len(page.lines) - 1
    nameless = {row: said.without_names() for row, said in people.items()}
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
        "columns": columns_of({}, [], is_together=bool(judge.together)),
        "together": judge.together,
        "per_row": len(judge.together) or 1,
        "first": first,
        "last": last,
        "kept": kept,
        "total": judge.rows,
        "before": judge.page(page.number - 1) if page.number > 1 else None,
        "behind": judge.page(page.number + 1) if last < kept else None,
        "statuses": STATUSES,
        "flags": list(FLAGS),
        "prompts": settings.prompts,
        "views": [one._asdict() for one in judge.views],
    }
    yield CopyFile(judge.page(page.number), _page("copy_run.html.jinja", settings, **data))


def _views(
    root: Path, name: str, configuration: JudgeConfiguration, together: Sequence[str]
) -> Iterator[SavedView]:
    """Those that a copy can show: without an expression, or a column that it does not have."""
    own = (f"{FIELD}{judged_field(configuration)}", "verdict", "criterion", "people", "votes")
    sorts = {*SORTS, *own, *(f"{CRITERION}{one}" for one in together)}
    sorts |= {f"{DIMENSION}{one['name']}" for one in dimensions_of(configuration)}
    for view in read_views(root):
        asked = dict(parse_qsl(view.query))
        judge, sort = asked.pop("judge", name), asked.get("sort", "worst")
        if judge == name and asked.keys() <= _FILTERS and sort.removeprefix("-") in sorts:
            asked |= {"sort": "" if sort == "worst" else sort}
            yield view._replace(query=urlencode({part: one for part, one in asked.items() if one}))


def _judged_in(line: JudgmentLine, people: Mapping[int, PeopleSaid]) -> Iterator[JsonDict]:
    """What the filters of a copy look at: every judgment of a line."""
    said = (line.status, line.score, line.verdict)
    own = RowJudgment("", line.row - 1, line.id, line.criterion, *said, flags=line.flags)
    for one in line.group or (own,):
        stand = people.get(one.row)
        yield {
            "row": one.row,
            "status": one.status,
            "criteria": one.criterion,
            "verdict": one.verdict,
            "score": one.score,
            "flag": [*one.flags],
            "people": stand and stand.stand,
            "rule": line.rule,
            "dimension": [f"{name}:{score}" for name, score in line.scores.items()],
        }


def _lines(judge: _CopiedJudge, most: int) -> Iterator[JudgmentLine]:
    after: str | None = ""
    judged, left = judged_field(judge.configuration), most
    while after is not None and left:
        with reading(judge.place.folder) as connection:
            page = page_of(
                connection,
                Filters(judge=judge.name, together=judge.together),
                after,
                judged=judged,
                size=min(_AT_A_TIME, left),
                patience=_PATIENCE,
            )
        yield from page.lines
        after, left = page.next, left - len(page.lines)


def _row_drawing(settings: CopySettings) -> RowDrawing:
    """Begin to draw what features show of the rows of a judge."""
    copiers = [part.copier(settings.language) for part in row_parts() if part.copier]

    def draw(connection: sqlite3.Connection, record: JudgmentRecord) -> dict[str, object]:
        drawn = [copier(connection, record) for copier in copiers if copier]
        return {name: value for one in drawn if one for name, value in one.items()}

    return draw


def _copied_row(
    judge: _CopiedJudge, row: int, settings: CopySettings, draw: RowDrawing
) -> _CopiedRow:
    """One row with its votes, as the page shows it beside the list."""
    record = row_record(judge.place, judge.name, row)
    with reading(judge.place.folder) as connection:
        drawn = draw(connection, record)
    data = row_data(judge.place, record, prompts=settings.prompts, copied=True)
    texts = ("".join(part for part, _ in one["parts"]) for one in cast("list[Any]", data["fields"]))
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
    ends = "SELECT min(number), max(number) FROM judgments WHERE judge = ?"
    low, high = connection.execute(ends, (judge,)).fetchone()
    nearest = "SELECT min(number) + 1 FROM judgments WHERE judge = ? AND number >= ?"
    for place in range(_SAMPLE if low is not None else 0):
        wanted = low + (high - low) * place // max(_SAMPLE - 1, 1)
        yield connection.execute(nearest, (judge, wanted)).fetchone()[0]


def _surroundings() -> dict[str, object]:
    """What templates of the served page ask for."""
    return {
        "copied": True,
        "root": "",
        "nonce": "",
        "read_only": True,
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
    """A page with its style and script inside, and nothing else that could run or be loaded."""
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
    for secret in environment_secrets(os.environ):
        for form in (secret, htmlsafe_json_dumps(secret)[1:-1]):
            text = text.replace(str(escape(str(form))), "***")
    return text.encode("utf-8", "replace")


@cache
def _inline(*names: str) -> Markup:
    """Files of ours, as they stand."""
    return Markup("\n".join(assets()[name].content.decode() for name in names))  # noqa: S704


@cache
def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
