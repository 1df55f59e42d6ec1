"""Browse one judge's judgments of a run by page: filtered, and sorted worst first or by row. Each
page continues where the last one ended.

No query uses OFFSET: a page deep in a million rows costs as much as the first. Anything without an
index (verdicts, flags, words) is searched in a bounded number of rows per page, and the page says
where it stopped. Sorting by such a column reads every judgment once (``sorted_numbers``); pages are
then taken from that order.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
import time
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, get_args

from adjudge.core.domain.frozen_mapping import NOTHING
from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue, object_in
from adjudge.core.domain.numbers import number_of
from adjudge.core.domain.record import FLAGS, Flag
from adjudge.core.domain.slices import EMPTY
from adjudge.core.domain.vote_counts import count_agreeing
from adjudge.core.ledger.codec import flag_bit, flags_in
from adjudge.core.ledger.columns import (
    AS_NUMBER,
    CASEFOLD,
    HAS_VALUE,
    NUMBERS,
    STRIPPED,
    TEXT_FITS,
    SortKey,
    number_columns,
    read_number,
)
from adjudge.core.ledger.conditions import Condition
from adjudge.core.ledger.file import read_judge
from adjudge.core.ledger.row_groups import RowJudgment, row_group
from adjudge.core.ledger.row_texts import add_text_functions, cell_text
from adjudge.core.ledger.rows import INPUT, LARGEST, input_from
from adjudge.core.ledger.text_matcher import TextMatcher
from adjudge.core.reading.json_begin import begin_object
from adjudge.errors import SetupError

Sort = Literal["worst", "best", "row", "last"]
"""By score or by row, from either end: an index holds both orders."""
SORTS: tuple[Sort, ...] = get_args(Sort)
_DOWN = ("best", "last")
STATUSES = ("failed", "abstained", "scored", "skipped")
PAGE = 50
LOOKED_AT = 20_000
"""Most judgments that one page searches for verdicts, flags and words."""
# Judgments that a page searches however long it takes: a quarter of this if words are searched in
# texts, and few with an expression, which may read a text many times.
_LEAST = 4_000
_LEAST_OF_EXPRESSION = 50
PATIENCE = 0.05
"""Seconds after which the search of a page stops."""
_PREVIEW = 160
# Characters of a row, and of its result, that are read for a line.
_LOOKED_INTO = 100_000
# Seconds that sorting all judgments may take.
_LONGEST_SORT = 120.0
# Sorted judgments that are read at once, and judgments whose texts are matched at once.
_CHUNK = 500
_DIMENSION = re.compile(r"\w{1,100}:\d{1,3}", re.ASCII)
_MOST_DIGITS = 15
_MOST_BEGINNINGS = 8
_SEEN = 80
"""Characters of the beginning of a text that a list surely shows."""
_AROUND = 40
"""Characters in front of a word that was found; behind it are twice as many."""
# Separates the beginnings of compared responses.
_BETWEEN = " | "
_HAS_WORDS = (
    f"(instr({CASEFOLD}(coalesce(id, '')), :words) OR {TEXT_FITS}('~', :words, instance, NULL))"
)


@dataclass(frozen=True, kw_only=True)
class Filters:
    """The filter and the order of a list of one judge's judgments."""

    judge: str
    words: str = ""
    status: str | None = None
    verdict: str | None = None
    least: float | None = None
    most: float | None = None
    flag: Flag | None = None
    criteria: str | None = None
    """One of several criteria of the judge."""
    dimension: str | None = None
    """A dimension of RAG answers and its score, such as ``groundedness:0``."""
    rule: str | None = None
    """The rule that made the composite of RAG answers."""
    rows: frozenset[int] | None = None
    """Only these rows, from 1."""
    together: tuple[str, ...] = ()
    """The names of a judge's several criteria: the judgments of a row are then one line, at the
    position of the first of them.
    """
    where: Condition | None = None
    """A further condition on judgments."""
    sort: Sort = "worst"
    key: SortKey | None = None
    """Replaces ``sort``."""
    counts: tuple[str, ...] = ()
    """Criteria whose scores are counts: the highest are the worst. ``page_of`` fills it in."""

    def __post_init__(self) -> None:
        if self.dimension is not None and not _DIMENSION.fullmatch(self.dimension):
            raise SetupError(
                "a dimension and its score are written as NAME:SCORE, not {given!r}",
                given=self.dimension,
            )
        for name, value, allowed in (
            ("status", self.status, STATUSES),
            ("flag", self.flag, FLAGS),
            ("sort", self.sort, SORTS),
        ):
            if value is not None and value not in allowed:
                raise SetupError(
                    "{name} must be one of {known}, not {value!r}",
                    name=name,
                    known=", ".join(allowed),
                    value=value,
                )


class JudgmentLine(NamedTuple):
    """One line of a list: a judgment, with the beginnings of its texts."""

    row: int
    id: str | None
    status: str
    score: float | None
    verdict: str | None
    votes_valid: int
    votes_requested: int
    flags: tuple[Flag, ...]
    begins: str
    """The beginning of the judged text, or of each compared response."""
    fields: Mapping[str, str]
    """The beginning of each text of the row."""
    criterion: str
    scores: Mapping[str, int | None]
    """Dimension → score of RAG answers."""
    rule: str | None
    """The rule that made the composite of a RAG answer."""
    group: tuple[RowJudgment, ...] = ()
    """The judgments of the row by every criterion, if they are one line."""
    numbers: Mapping[str, float | None] = NOTHING
    """Further columns that were asked for."""
    votes_agreeing: int = 0
    """The votes that agree with the verdict."""
    columns: Mapping[str, str] = NOTHING
    """The beginning of each cell of the data that is not a text of the row under the same name."""
    reason: str = ""
    """The beginning of the reason why there is no score."""
    responses: tuple[str, ...] = ()
    """The beginning of each compared response; empty for a single text."""
    excerpt: str = ""
    """The words that were looked for with what is around them, unless ``begins`` shows them."""


@dataclass(frozen=True)
class JudgmentPage:
    """Some judgments, and the place where the next page begins."""

    lines: list[JudgmentLine]
    next: str | None
    looked_at: int = 0
    """The number of judgments searched, if the page ended because of it."""


class _Place(NamedTuple):
    """The place where a page begins: after this judgment of this segment."""

    segment: int = 0
    score: float | None = None
    number: int = -1

    def __str__(self) -> str:
        return f"{self.segment}_{'' if self.score is None else repr(self.score)}_{self.number}"

    @classmethod
    def read(cls, text: str) -> _Place:
        try:
            segment, score, number = text.split("_")
            place = cls(int(segment), float(score) if score else None, int(number))
            if place.segment < 0 or not -1 <= place.number <= LARGEST:
                raise ValueError
        except ValueError:
            raise SetupError(
                "{text!r} is not a valid position in a list: follow a link to the next page",
                text=text,
            ) from None
        return place


class _Segment(NamedTuple):
    """Judgments that an index has in the requested order."""

    which: str
    by_score: bool
    status: str = ""
    holds: Callable[[str, float | None, str], bool] = lambda *_: True
    """Return True if a judgment with this status, score and criterion is in it."""
    falls: bool = False
    """True if the highest scores are the worst."""


@dataclass
class _Search:
    """The progress of one search: the filters and the judgments found so far."""

    filters: Filters
    size: int
    matcher: TextMatcher
    found: list[int] = field(default_factory=list)
    looked_at: int = 0
    last: _Place | None = None
    patience: float = PATIENCE
    began: float = field(default_factory=time.monotonic)

    ended: bool = False
    """True if the search stopped before the last judgment."""

    @property
    def is_over(self) -> bool:
        """Return True if enough was found, or searched, for one page."""
        least = _LEAST // 4 if self.filters.words else _LEAST
        least = _LEAST_OF_EXPRESSION if self.filters.where else least
        is_long = self.looked_at >= least and time.monotonic() - self.began > self.patience
        is_long &= not self.matcher.has_patterns or self.looked_at % _CHUNK == 0
        most = LOOKED_AT if self.patience == PATIENCE else LARGEST
        return len(self.found) >= self.size or self.looked_at >= most or is_long


def page_of(
    connection: sqlite3.Connection,
    filters: Filters,
    after: str = "",
    *,
    judged: str = "",
    size: int = PAGE,
    patience: float = PATIENCE,
    order: Sequence[int] = (),
    numbers: Collection[str] = (),
) -> JudgmentPage:
    """Return a page of judgments after ``after``.

    ``judged``: the field whose beginning is shown; ``patience``: seconds of searching without an
    index; ``order``: the sorted numbers, if the filters have a key; ``numbers``: which of
    ``NUMBERS`` the lines have.
    """
    _add_functions(connection)
    filters = replace(filters, counts=read_judge(connection, filters.judge).counts)
    matcher = TextMatcher(connection, filters.where)
    search = _Search(filters, size + 1, matcher, patience=patience)
    begin = _Place.read(after) if after else _Place()
    segments = _segments(filters)
    if filters.key:
        _search_in_order(connection, search, order, begin)
    for segment_index in range(begin.segment, 0 if filters.key else len(segments)):
        _search_segment(
            connection,
            search,
            segment_index,
            segments[segment_index],
            begin if segment_index == begin.segment else _Place(segment_index),
        )
        if search.ended:
            break
    more = len(search.found) > size
    numbers_found = search.found[:size]
    lines = [_line(connection, filters, number, judged, numbers) for number in numbers_found]
    if more:
        return JudgmentPage(lines, str(_place_of(connection, filters, numbers_found[-1], segments)))
    stopped = search.ended
    return JudgmentPage(
        lines,
        str(search.last) if stopped and search.last else None,
        search.looked_at if stopped else 0,
    )


def rows_of(connection: sqlite3.Connection, filters: Filters) -> frozenset[int]:
    """Return every row, from 1, that passes the filters. Every judgment is read."""
    _add_functions(connection)
    filters = replace(filters, sort="row", key=None)
    matcher = TextMatcher(connection, filters.where)
    search = _Search(filters, LARGEST, matcher, patience=math.inf)
    for place, segment in enumerate(_segments(filters)):
        _search_segment(connection, search, place, segment, _Place(place))
    return frozenset(number + 1 for number in search.found)


def sorted_numbers(connection: sqlite3.Connection, judge: str, key: SortKey) -> Sequence[int]:
    """Return every judgment of a judge in the order of a key; raise a SetupError if sorting takes
    too long.

    It takes four bytes per judgment, whatever the key; SQLite keeps the rest in a file.
    """
    _add_functions(connection)
    ends = time.monotonic() + _LONGEST_SORT
    connection.set_progress_handler(lambda: time.monotonic() > ends, 100_000)
    query = (
        f"WITH keyed AS MATERIALIZED (SELECT number, {key.sql} AS value "  # noqa: S608 - ours
        f"FROM judgments WHERE judge = :judge) SELECT number FROM keyed "
        f"ORDER BY {key.order_by('value')}"
    )
    try:
        numbers = connection.execute(query, {**key.values, "judge": judge})
        few = last_row(connection, judge) < 1 << 32
        return array("I" if few else "q", (number for (number,) in numbers))
    except sqlite3.OperationalError as error:
        if time.monotonic() <= ends:
            raise
        raise SetupError(
            "sorting by {name} took longer than {seconds:.0f} seconds: sort by row or score",
            name=key.name.removeprefix("-"),
            seconds=_LONGEST_SORT,
        ) from error
    finally:
        connection.set_progress_handler(None, 0)


def _add_functions(connection: sqlite3.Connection) -> None:
    add_text_functions(connection)
    connection.create_function(
        CASEFOLD,
        1,
        lambda text: None if text is None else str(text).casefold(),
        deterministic=True,
    )
    connection.create_function(
        STRIPPED,
        1,
        lambda text: None if text is None else str(text).strip(),
        deterministic=True,
    )
    connection.create_function(
        HAS_VALUE,
        1,
        lambda text: text is not None and str(text).strip().casefold() not in EMPTY,
        deterministic=True,
    )
    connection.create_function(
        AS_NUMBER,
        1,
        lambda text: None if text is None else read_number(str(text)),
        deterministic=True,
    )


def _segments(filters: Filters) -> list[_Segment]:
    statuses = [filters.status] if filters.status else list(STATUSES)
    if filters.key or (filters.sort in ("row", "last") and filters.status in (None, "scored")):
        return [_Segment("TRUE", by_score=False)]
    segments = [
        segment
        for status in statuses
        for segment in (_unscored_segment(status), *_scored_segments(status, filters.counts))
    ]
    if filters.sort != "best":
        return segments
    scores = [segment_of for segment_of in segments if segment_of.by_score and not segment_of.falls]
    counts = [
        segment_of for segment_of in reversed(segments) if segment_of.by_score and segment_of.falls
    ]
    unscored = [segment_of for segment_of in segments if not segment_of.by_score]
    return (
        sorted([*scores, *counts], key=lambda segment_of: segment_of.status != "scored") + unscored
    )


def _unscored_segment(status: str) -> _Segment:
    return _Segment(
        f"status = '{status}' AND score IS NULL",
        by_score=False,
        status=status,
        holds=lambda own_status, score, _: own_status == status and score is None,
    )


def _scored_segments(status: str, counts: Sequence[str]) -> Iterator[_Segment]:
    """Yield segments of judgments with a score, worst first: scores, the counts above 0 of each
    criterion, counts of 0.
    """
    count_criteria = frozenset(counts)
    which = f"status = '{status}' AND score IS NOT NULL"
    if not count_criteria:
        # Counts of different criteria have no common scale, so each criterion is a segment.
        yield _Segment(
            which,
            True,
            status,
            lambda own_status, score, _: own_status == status and score is not None,
        )
        return
    in_counts = "criterion {}IN (SELECT value FROM json_each(:counts))"
    yield _Segment(
        f"{which} AND {in_counts.format('NOT ')}",
        True,
        status,
        lambda own_status, score, of: (
            own_status == status and score is not None and of not in count_criteria
        ),
    )
    yield from (_count_segment(status, which, place, name) for place, name in enumerate(counts))
    yield _Segment(
        f"{which} AND score <= 0 AND {in_counts.format('')}",
        True,
        status,
        lambda own_status, score, of: (
            own_status == status and score is not None and score <= 0 and of in count_criteria
        ),
        falls=True,
    )


def _count_segment(status: str, which: str, place: int, name: str) -> _Segment:
    """Return the segment of one criterion's counts above 0."""
    return _Segment(
        f"{which} AND score > 0 AND criterion = :count{place}",
        True,
        status,
        lambda own_status, score, of: own_status == status and (score or 0.0) > 0 and of == name,
        falls=True,
    )


def _is_down(filters: Filters, segment: _Segment) -> bool:
    """Return True if the judgments of a segment are listed from its end."""
    return (filters.sort in _DOWN) != (segment.falls and filters.sort in ("worst", "best"))


def _search_segment(
    connection: sqlite3.Connection, search: _Search, place: int, segment: _Segment, begin: _Place
) -> None:
    """Search a segment: in one query, or chunk by chunk if texts are matched."""
    is_more = True
    while is_more:
        count = 0
        for number, score, matches in _rows_behind(search, segment, begin):
            count += 1
            search.looked_at += 1
            begin = search.last = _Place(place, score if segment.by_score else None, number)
            if matches and _is_line(connection, search, number):
                search.found.append(number)
            if search.is_over:
                search.ended = True
                return
        is_more = search.matcher.has_patterns and count == _CHUNK


def _rows_behind(search: _Search, segment: _Segment, begin: _Place) -> Iterable[Any]:
    """Return number, score and match of the judgments after a place."""
    filters = search.filters
    comparison, direction = ("<", " DESC") if _is_down(filters, segment) else (">", "")
    start_condition = f"number {comparison} :number" if begin.number >= 0 else "TRUE"
    if segment.by_score and begin.score is not None:
        start_condition = f"(score, number) {comparison} (:score, :number)"
    limits = _limits(filters) if segment.by_score else ()
    exact = [f"score {sign} :{name}" for name, sign, value in limits if value is not None]
    row_condition = (
        [] if filters.rows is None else ["number IN (SELECT value FROM json_each(:rows))"]
    )
    where = " AND ".join(["judge = :judge", segment.which, start_condition, *exact, *row_condition])
    order = ", ".join(
        f"{name}{direction}" for name in (("score", "number") if segment.by_score else ("number",))
    )
    query = (
        f"SELECT number, score, {_row_conditions(filters)} "  # noqa: S608 - texts of ours
        f"FROM judgments WHERE {where} ORDER BY {order}"
        f"{f' LIMIT {_CHUNK}' if search.matcher.has_patterns else ''}"
    )
    values = {**_values(filters), "score": begin.score, "number": begin.number}
    rows = json.dumps([row - 1 for row in filters.rows or ()])
    return search.matcher.rows(query, {**values, "rows": rows})


def _search_in_order(
    connection: sqlite3.Connection, search: _Search, order: Sequence[int], begin: _Place
) -> None:
    filters = search.filters
    query = (
        "SELECT number FROM judgments WHERE judge = :judge AND number IN "  # noqa: S608 - ours
        f"(SELECT value FROM json_each(:chunk)) AND {_row_conditions(filters)}"
    )
    try:
        start = order.index(begin.number) + 1 if begin.number >= 0 else 0
    except ValueError:
        raise SetupError(
            "the position of this page no longer exists in the list: go back to its first page"
        ) from None
    for at in range(start, len(order), _CHUNK):
        chunk = list(order[at : at + _CHUNK])
        values = {**_values(filters), "chunk": json.dumps(chunk)}
        matching = {number for (number,) in search.matcher.rows(query, values)}
        for number in chunk:
            search.looked_at += 1
            search.last = _Place(0, None, number)
            if number in matching and _is_line(connection, search, number):
                search.found.append(number)
            if search.is_over:
                search.ended = True
                return


def _is_line(connection: sqlite3.Connection, search: _Search, number: int) -> bool:
    """Return True if a matching judgment has its own line: it is the first of its row in the
    list.
    """
    filters = search.filters
    if filters.rows is not None and number + 1 not in filters.rows:
        return False
    group = (
        row_group(connection, filters.judge, number, filters.together) if filters.together else ()
    )
    if len(group) < 2:
        return True
    by = filters.key.order if filters.key else "number"
    query = (
        f"SELECT number, status, score, criterion FROM judgments WHERE judge = :judge "  # noqa: S608
        f"AND number BETWEEN :first AND :last AND {_row_conditions(filters)} ORDER BY {by}"
    )
    values = {**_values(filters), "first": group[0].index, "last": group[-1].index}
    matching: list[Any] = [
        judgment
        for judgment in search.matcher.rows(query, values)
        if filters.rows is None or judgment[0] + 1 in filters.rows
    ]
    if filters.key:
        return bool(matching[0][0] == number)
    segments = _segments(filters)
    first_listed = min(matching, key=lambda judgment: _rank(filters, segments, *judgment))
    return bool(first_listed[0] == number)


def _rank(
    filters: Filters,
    segments: Sequence[_Segment],
    number: int,
    status: str,
    score: float | None,
    criterion: str,
) -> tuple[int, float, int]:
    """Return a key that sorts judgments as the list does."""
    place = _place_in(segments, number, status, score, criterion)
    sign = -1 if _is_down(filters, segments[place.segment]) else 1
    # Rows without a score are sorted by number alone.
    return place.segment, sign * (place.score or 0.0), sign * number


def _values(filters: Filters) -> dict[str, object]:
    """Return the values for the queries of a list."""
    return {
        "judge": filters.judge,
        "verdict": filters.verdict,
        "status": filters.status,
        "words": filters.words.casefold(),
        "criteria": filters.criteria,
        "rule": filters.rule,
        "least": filters.least,
        "most": filters.most,
        "counts": json.dumps(filters.counts),
        **{f"count{place}": name for place, name in enumerate(filters.counts)},
        **_dimension_values(filters.dimension),
        **(filters.where.values if filters.where else {}),
        **(filters.key.values if filters.key else {}),
    }


def _limits(filters: Filters) -> Iterator[tuple[str, str, float | None]]:
    yield "least", ">=", filters.least
    yield "most", "<=", filters.most


def _row_conditions(filters: Filters) -> str:
    """Return the SQL condition that is checked row by row."""
    conditions = [f"flags & {flag_bit(filters.flag)}"] if filters.flag else []
    conditions += [_HAS_WORDS] if filters.words else []
    conditions += [
        f"score IS NOT NULL AND score {sign} :{name}"
        for name, sign, value in _limits(filters)
        if value is not None
    ]
    conditions += ["status = :status"] if filters.status else []
    conditions += ["verdict IS :verdict"] if filters.verdict is not None else []
    conditions += ["criterion IS :criteria"] if filters.criteria is not None else []
    conditions += ["json_extract(result, :dimension) = :reached"] if filters.dimension else []
    conditions += ["json_extract(result, '$.composite.rule') = :rule"] if filters.rule else []
    conditions += [filters.where.sql] if filters.where else []
    return " AND ".join(f"({condition})" for condition in conditions) or "1"


def _dimension_values(dimension: str | None) -> dict[str, object]:
    if dimension is None:
        return {}
    name, _, score = dimension.partition(":")
    return {"dimension": f'$.scores."{name}"', "reached": int(score)}


def _place_of(
    connection: sqlite3.Connection, filters: Filters, number: int, segments: list[_Segment]
) -> _Place:
    query = "SELECT status, score, criterion FROM judgments WHERE judge = ? AND number = ?"
    return _place_in(
        segments, number, *connection.execute(query, (filters.judge, number)).fetchone()
    )


def _place_in(
    segments: Sequence[_Segment], number: int, status: str, score: float | None, criterion: str
) -> _Place:
    if len(segments) == 1:
        return _Place(0, None, number)
    place = next(
        place for place, segment in enumerate(segments) if segment.holds(status, score, criterion)
    )
    return _Place(place, score, number)


_LINE = (
    "SELECT id, status, score, verdict, flags, criterion, substr(result, 1, :most), "
    "substr(instance, 1, :most){} FROM judgments WHERE judge = :judge AND number = :number"
)


def _line(
    connection: sqlite3.Connection,
    filters: Filters,
    number: int,
    judged: str,
    numbers: Collection[str],
) -> JudgmentLine:
    values = {"judge": filters.judge, "number": number, "most": _LOOKED_INTO}
    id, status, score, verdict, flags, criterion, result_text, texts, *more = connection.execute(
        _LINE.format(number_columns(numbers)), values
    ).fetchone()
    whole_fields = begin_object(texts)
    fields = {name: _preview(value) for name, value in whole_fields.items()}
    begins = fields.get(judged) or next(iter(fields.values()), "")
    compared = whole_fields.get(judged)
    result = begin_object(result_text)
    valid, requested, scores = map(result.get, ("votes_valid", "votes_requested", "scores"))
    valid = valid if isinstance(valid, int) else 0
    rule = object_in(result.get("composite")).get("rule")
    return JudgmentLine(
        number + 1,
        id,
        status,
        score,
        verdict,
        valid,
        requested if isinstance(requested, int) else 0,
        flags_in(flags),
        begins,
        fields,
        criterion,
        {
            name: score_of_dimension
            for name, score_of_dimension in scores.items()
            if score_of_dimension is None or type(score_of_dimension) is int
        }
        if isinstance(scores, dict)
        else {},
        rule if isinstance(rule, str) else None,
        tuple(row_group(connection, filters.judge, number, filters.together))
        if filters.together
        else (),
        dict(zip((name for name in NUMBERS if name in numbers), more, strict=True)),
        count_agreeing(valid, number_of(result.get("agreement"))),
        _data_columns(object_in(result.get(INPUT)), fields),
        _preview(result.get("reason")),
        tuple(_cut(str(response), _PREVIEW) for response in compared[:_MOST_BEGINNINGS])
        if isinstance(compared, list)
        else (),
        _excerpt(
            filters.words,
            begins[:_SEEN],
            [*whole_fields.values(), result.get("explanation"), result.get("reason")],
        ),
    )


def _excerpt(words: str, seen: str, texts: Sequence[JsonValue]) -> str:
    """Return where the words are in these texts; empty if a reader sees them anyway."""
    if not words:
        return ""
    pattern = re.compile(re.escape(words), re.IGNORECASE)
    if pattern.search(seen):
        return ""
    for value in texts:
        for text in map(str, value) if isinstance(value, list) else (str(value or ""),):
            if match := pattern.search(text):
                start = max(0, match.start() - _AROUND)
                end = match.end() + 2 * _AROUND
                return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
    return ""


def _data_columns(stored: JsonObject, fields: Mapping[str, str]) -> dict[str, str]:
    apart = {
        name: cell
        for name, cell in stored.items()
        if not (isinstance(cell, dict) and cell.get("field") == name)
    }
    return {
        name: _cut(cell_text(cell) or "", _PREVIEW)
        for name, cell in input_from(apart, fields).items()
    }


def _preview(value: JsonValue) -> str:
    if isinstance(value, list):
        return _BETWEEN.join(
            _cut(str(response), _PREVIEW // 2) for response in value[:_MOST_BEGINNINGS]
        )
    return _cut(str(value or ""), _PREVIEW)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def find_row(
    connection: sqlite3.Connection, judge: str, wanted: str, per_row: int = 1
) -> int | None:
    """Return the judgment, from 1, of the row with that id, else the first of the row with that
    number.

    Return None if there is neither. ``per_row``: judgments per row.
    """
    of_id = "SELECT number FROM judgments WHERE judge = ? AND id = ? ORDER BY number LIMIT 1"
    if match := connection.execute(of_id, (judge, wanted)).fetchone():
        return int(match[0]) + 1
    number = int(wanted) if wanted.isdecimal() and len(wanted) < _MOST_DIGITS else 0
    of_number = "SELECT number FROM judgments WHERE judge = ? AND number = ?"
    match = connection.execute(of_number, (judge, (number - 1) * per_row)).fetchone()
    return int(match[0]) + 1 if match else None


def row_of_id(connection: sqlite3.Connection, judge: str, id: str, criterion: str) -> int | None:
    """Return the index, from 0, of the row with that id, judged by that criterion; None if there is
    none.
    """
    query = (
        "SELECT number FROM judgments WHERE judge = ? AND id = ? AND criterion = ? "
        "ORDER BY number LIMIT 1"
    )
    match = connection.execute(query, (judge, id, criterion)).fetchone()
    return int(match[0]) if match else None


def neighbours(
    connection: sqlite3.Connection, group: Sequence[RowJudgment], index: int
) -> tuple[int | None, int | None]:
    """Return the numbers (from 1) of the rows before and after ``group``; None at the ends.

    With several criteria, each is the row's judgment by the same criterion as the one at ``index``.
    """
    current = next(judgment for judgment in group if judgment.index == index)
    order = [judgment.criterion for judgment in group] if len(group) > 1 else []
    query = "SELECT {}(number) FROM judgments WHERE judge = ? AND number {} ?"
    rows: list[int | None] = []
    for which, end in ((("max", "<"), group[0]), (("min", ">"), group[-1])):
        (number,) = connection.execute(query.format(*which), (current.judge, end.index)).fetchone()
        near = (
            []
            if number is None or not order
            else row_group(connection, current.judge, number, order)
        )
        alike = (judgment.row for judgment in near if judgment.criterion == current.criterion)
        rows.append(None if number is None else next(alike, number + 1))
    return rows[0], rows[1]


def last_row(connection: sqlite3.Connection, judge: str) -> int:
    """Return the highest row number, from 1; 0 if there is none."""
    query = "SELECT max(number) + 1 FROM judgments WHERE judge = ?"
    return connection.execute(query, (judge,)).fetchone()[0] or 0


def same_text(connection: sqlite3.Connection, judge: str, number: int) -> list[JsonDict]:
    """Return up to 20 other judgments of rows with equal content, by any judge and criterion;
    ``number`` from 0.

    Every judgment is read.
    """
    query = (
        "SELECT judge, number + 1, id, status, verdict, criterion FROM judgments "
        "WHERE instance = (SELECT instance FROM judgments WHERE judge = :judge AND number = "
        ":number) "
        "AND (judge, number) <> (:judge, :number) LIMIT 20"
    )
    names = ("judge", "row", "id", "status", "verdict", "criteria")
    return [
        dict(zip(names, match, strict=True))
        for match in connection.execute(query, {"judge": judge, "number": number})
    ]


def judges_in(connection: sqlite3.Connection) -> list[str]:
    """Return the judges with judgments."""
    judges: list[str] = []
    # A loop over the index: there are few judges and many rows, and DISTINCT would read all.
    step = "SELECT min(judge) FROM judgments WHERE judge > ?"
    while (
        name := connection.execute(step, (judges[-1] if judges else "",)).fetchone()[0]
    ) is not None:
        judges.append(name)
    return judges
