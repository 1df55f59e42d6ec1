"""One judge's judgments of a run, a page at a time: filtered, the worst first or by row, each page
from where the last one ended.

No query counts rows off: a page deep in a million rows costs what the first one costs. What no
index holds (verdicts, flags, words) is looked for in a bounded number of rows at a time, and the
page says where it stopped. To sort by such a thing every judgment is read once
(``sorted_numbers``); pages are then taken from that order.
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
from adjudge.core.domain.json_types import JsonDict, JsonValue, object_in
from adjudge.core.domain.numbers import number_of
from adjudge.core.domain.record import FLAGS, Flag
from adjudge.core.domain.vote_counts import count_agreeing
from adjudge.core.ledger.codec import flag_bit, flags_in
from adjudge.core.ledger.columns import (
    AS_NUMBER,
    CASEFOLD,
    NUMBERS,
    TEXT_FITS,
    SortKey,
    number_columns,
    read_number,
)
from adjudge.core.ledger.conditions import Condition
from adjudge.core.ledger.file import read_judge
from adjudge.core.ledger.row_groups import RowJudgment, row_group
from adjudge.core.ledger.row_texts import add_text_functions
from adjudge.core.ledger.rows import LARGEST
from adjudge.core.ledger.text_matcher import TextMatcher
from adjudge.core.reading.json_begin import begin_object
from adjudge.errors import SetupError

Sort = Literal["worst", "best", "row", "last"]
"""By score from either end, or by row from either end: what an index holds."""
SORTS: tuple[Sort, ...] = get_args(Sort)
_DOWN = ("best", "last")
STATUSES = ("failed", "abstained", "scored", "skipped")
PAGE = 50
LOOKED_AT = 20_000
"""Judgments that one page looks through at most for verdicts, flags and words."""
_LEAST = 4_000
"""Those that it looks through however long that takes; of texts, in which words are looked for, a
quarter of that; by an expression, which may look into a text many times, few.
"""
_LEAST_OF_EXPRESSION = 50
PATIENCE = 0.05
"""Seconds after which it looks no further."""
_PREVIEW = 160
_LOOKED_INTO = 100_000
"""Characters of a row, and of its result, that a line is made of."""
_LONGEST_SORT = 120.0
"""Seconds that bringing all judgments into an order may take."""
_CHUNK = 500
"""Judgments of such an order that are read at once, and those whose texts are matched at once."""
_DIMENSION = re.compile(r"\w{1,100}:\d{1,3}", re.ASCII)
_MOST_DIGITS = 15
_MOST_BEGINNINGS = 8
_BETWEEN = " | "
"""Stands between the beginnings of compared responses."""
_HAS_WORDS = (
    f"(instr({CASEFOLD}(coalesce(id, '')), :words) OR {TEXT_FITS}('~', :words, instance, NULL))"
)


@dataclass(frozen=True, kw_only=True)
class Filters:
    """Which judgments of one judge, and in which order."""

    judge: str
    words: str = ""
    status: str | None = None
    verdict: str | None = None
    least: float | None = None
    most: float | None = None
    flag: Flag | None = None
    criteria: str | None = None
    """Of a judge that has several."""
    dimension: str | None = None
    """Of a RAG answer: a dimension and its score, as ``groundedness:0``."""
    rule: str | None = None
    """Of a RAG answer: the rule that made its composite."""
    rows: frozenset[int] | None = None
    """No others than these, from 1."""
    together: tuple[str, ...] = ()
    """Of a judge that has several criteria, their names: the judgments of a row are one line then,
    where the first of them stands.
    """
    where: Condition | None = None
    """What else must hold of a judgment."""
    sort: Sort = "worst"
    key: SortKey | None = None
    """By what to sort instead."""
    counts: tuple[str, ...] = ()
    """Criteria whose scores are counts, of which the highest are the worst; ``page_of`` fills it
    in.
    """

    def __post_init__(self) -> None:
        if self.dimension is not None and not _DIMENSION.fullmatch(self.dimension):
            raise SetupError(
                "a dimension and its score are written as NAME:SCORE, not {given!r}",
                given=self.dimension,
            )
        for name, value, known in (
            ("status", self.status, STATUSES),
            ("flag", self.flag, FLAGS),
            ("sort", self.sort, SORTS),
        ):
            if value is not None and value not in known:
                raise SetupError(
                    "{name} must be one of {known}, not {value!r}",
                    name=name,
                    known=", ".join(known),
                    value=value,
                )


class JudgmentLine(NamedTuple):
    row: int
    id: str | None
    status: str
    score: float | None
    verdict: str | None
    votes_valid: int
    votes_requested: int
    flags: tuple[Flag, ...]
    begins: str
    """How the judged text begins; of compared responses, each of them."""
    fields: Mapping[str, str]
    """How each text of the row begins."""
    criterion: str
    scores: Mapping[str, int | None]
    """Of a RAG answer: dimension → score."""
    rule: str | None
    """Of a RAG answer: the rule that made its composite."""
    group: tuple[RowJudgment, ...] = ()
    """What every criterion says of the row, where its judgments are one line."""
    numbers: Mapping[str, float | None] = NOTHING
    """What else somebody wants to see."""
    votes_agreeing: int = 0
    """The votes that agree with the verdict."""


@dataclass(frozen=True)
class Page:
    """Some judgments, and where the next page begins."""

    lines: list[JudgmentLine]
    next: str | None
    looked_at: int = 0
    """How many were looked through, where that is why the page ends."""


class _Place(NamedTuple):
    """Where a page begins: behind this judgment of this segment."""

    segment: int = 0
    score: float | None = None
    number: int = -1

    def __str__(self) -> str:
        return f"{self.segment}_{'' if self.score is None else repr(self.score)}_{self.number}"

    @classmethod
    def read(cls, text: str) -> _Place:
        try:
            segment, score, number = text.split("_")
            found = cls(int(segment), float(score) if score else None, int(number))
            if found.segment < 0 or not -1 <= found.number <= LARGEST:
                raise ValueError
        except ValueError:
            raise SetupError(
                "{text!r} is not a place in a list: follow a link to the next page", text=text
            ) from None
        return found


class _Segment(NamedTuple):
    """Judgments that an index holds in the order that is wanted."""

    which: str
    by_score: bool
    status: str = ""
    holds: Callable[[str, float | None, str], bool] = lambda *_: True
    """Return True if a judgment with this status, score and criterion is in it."""
    falls: bool = False
    """True if the highest scores are the worst."""


@dataclass
class _Search:
    """What is looked for, and what was found so far."""

    filters: Filters
    size: int
    matcher: TextMatcher
    found: list[int] = field(default_factory=list)
    looked_at: int = 0
    last: _Place | None = None
    patience: float = PATIENCE
    began: float = field(default_factory=time.monotonic)

    ended: bool = False
    """Whether it ended before the judgments did."""

    @property
    def is_over(self) -> bool:
        """Whether enough was found, or looked at, for one page."""
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
) -> Page:
    """A page of judgments behind ``after``.

    ``judged``: the field whose beginning is shown; ``patience``: seconds after which what no index
    holds is looked for no further; ``order``: the sorted numbers, where the filters have a key;
    ``numbers``: which of ``NUMBERS`` the lines have.
    """
    _add_functions(connection)
    filters = replace(filters, counts=read_judge(connection, filters.judge).counts)
    matcher = TextMatcher(connection, filters.where)
    search = _Search(filters, size + 1, matcher, patience=patience)
    begin = _Place.read(after) if after else _Place()
    segments = _segments(filters)
    if filters.key:
        _look_in_order(connection, search, order, begin)
    for place in range(begin.segment, 0 if filters.key else len(segments)):
        _look(
            connection,
            search,
            place,
            segments[place],
            begin if place == begin.segment else _Place(place),
        )
        if search.ended:
            break
    more = len(search.found) > size
    found = search.found[:size]
    lines = [_line(connection, filters, number, judged, numbers) for number in found]
    if more:
        return Page(lines, str(_place_of(connection, filters, found[-1], segments)))
    stopped = search.ended
    return Page(
        lines,
        str(search.last) if stopped and search.last else None,
        search.looked_at if stopped else 0,
    )


def rows_of(connection: sqlite3.Connection, filters: Filters) -> frozenset[int]:
    """Every row, from 1, that the filters take: each judgment is looked at."""
    _add_functions(connection)
    filters = replace(filters, sort="row", key=None)
    matcher = TextMatcher(connection, filters.where)
    search = _Search(filters, LARGEST, matcher, patience=math.inf)
    for place, segment in enumerate(_segments(filters)):
        _look(connection, search, place, segment, _Place(place))
    return frozenset(number + 1 for number in search.found)


def sorted_numbers(connection: sqlite3.Connection, judge: str, key: SortKey) -> Sequence[int]:
    """Every judgment of a judge in the order of a key: four bytes each, whatever it is sorted by;
    SQLite keeps the rest in a file.
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
        found = connection.execute(query, {**key.values, "judge": judge})
        few = last_row(connection, judge) < 1 << 32
        return array("I" if few else "q", (number for (number,) in found))
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
    scores = [one for one in segments if one.by_score and not one.falls]
    counts = [one for one in reversed(segments) if one.by_score and one.falls]
    others = [one for one in segments if not one.by_score]
    return sorted([*scores, *counts], key=lambda one: one.status != "scored") + others


def _unscored_segment(status: str) -> _Segment:
    return _Segment(
        f"status = '{status}' AND score IS NULL",
        by_score=False,
        status=status,
        holds=lambda own, score, _: own == status and score is None,
    )


def _scored_segments(status: str, counts: Sequence[str]) -> Iterator[_Segment]:
    """Judgments with a score, the worst segment first: scores, the counts above 0 of each
    criterion, counts of 0. Counts of different criteria have no scale in common.
    """
    known = frozenset(counts)
    which = f"status = '{status}' AND score IS NOT NULL"
    if not known:
        yield _Segment(
            which, True, status, lambda own, score, _: own == status and score is not None
        )
        return
    among = "criterion {}IN (SELECT value FROM json_each(:counts))"
    yield _Segment(
        f"{which} AND {among.format('NOT ')}",
        True,
        status,
        lambda own, score, of: own == status and score is not None and of not in known,
    )
    yield from (_count_segment(status, which, place, name) for place, name in enumerate(counts))
    yield _Segment(
        f"{which} AND score <= 0 AND {among.format('')}",
        True,
        status,
        lambda own, score, of: own == status and score is not None and score <= 0 and of in known,
        falls=True,
    )


def _count_segment(status: str, which: str, place: int, name: str) -> _Segment:
    """The counts above 0 of one criterion."""
    return _Segment(
        f"{which} AND score > 0 AND criterion = :count{place}",
        True,
        status,
        lambda own, score, of: own == status and (score or 0.0) > 0 and of == name,
        falls=True,
    )


def _is_down(filters: Filters, segment: _Segment) -> bool:
    """Return True if the judgments of a segment are listed from its end."""
    return (filters.sort in _DOWN) != (segment.falls and filters.sort in ("worst", "best"))


def _look(
    connection: sqlite3.Connection, search: _Search, place: int, segment: _Segment, begin: _Place
) -> None:
    """All of a segment at once; a chunk behind the other where texts are matched."""
    is_more = True
    while is_more:
        seen = 0
        for number, score, matches in _rows_behind(search, segment, begin):
            seen += 1
            search.looked_at += 1
            begin = search.last = _Place(place, score if segment.by_score else None, number)
            if matches and _is_wanted(connection, search, number):
                search.found.append(number)
            if search.is_over:
                search.ended = True
                return
        is_more = search.matcher.has_patterns and seen == _CHUNK


def _rows_behind(search: _Search, segment: _Segment, begin: _Place) -> Iterable[Any]:
    """Number, score and whether it matches, of the judgments behind a place."""
    filters = search.filters
    behind, direction = ("<", " DESC") if _is_down(filters, segment) else (">", "")
    after = f"number {behind} :number" if begin.number >= 0 else "TRUE"
    if segment.by_score and begin.score is not None:
        after = f"(score, number) {behind} (:score, :number)"
    limits = _limits(filters) if segment.by_score else ()
    exact = [f"score {sign} :{name}" for name, sign, value in limits if value is not None]
    among = [] if filters.rows is None else ["number IN (SELECT value FROM json_each(:rows))"]
    where = " AND ".join(["judge = :judge", segment.which, after, *exact, *among])
    order = ", ".join(
        f"{name}{direction}" for name in (("score", "number") if segment.by_score else ("number",))
    )
    query = (
        f"SELECT number, score, {_matching(filters)} "  # noqa: S608 - texts of ours
        f"FROM judgments WHERE {where} ORDER BY {order}"
        f"{f' LIMIT {_CHUNK}' if search.matcher.has_patterns else ''}"
    )
    values = {**_values(filters), "score": begin.score, "number": begin.number}
    rows = json.dumps([row - 1 for row in filters.rows or ()])
    return search.matcher.rows(query, {**values, "rows": rows})


def _look_in_order(
    connection: sqlite3.Connection, search: _Search, order: Sequence[int], begin: _Place
) -> None:
    filters = search.filters
    query = (
        "SELECT number FROM judgments WHERE judge = :judge AND number IN "  # noqa: S608 - ours
        f"(SELECT value FROM json_each(:chunk)) AND {_matching(filters)}"
    )
    try:
        first = order.index(begin.number) + 1 if begin.number >= 0 else 0
    except ValueError:
        raise SetupError("the judgments behind which this page begins are gone") from None
    for at in range(first, len(order), _CHUNK):
        chunk = list(order[at : at + _CHUNK])
        values = {**_values(filters), "chunk": json.dumps(chunk)}
        matching = {number for (number,) in search.matcher.rows(query, values)}
        for number in chunk:
            search.looked_at += 1
            search.last = _Place(0, None, number)
            if number in matching and _is_wanted(connection, search, number):
                search.found.append(number)
            if search.is_over:
                search.ended = True
                return


def _is_wanted(connection: sqlite3.Connection, search: _Search, number: int) -> bool:
    """Whether a judgment that matches is a line: not where another of its row stands before it."""
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
        f"SELECT number, status, score, criterion FROM judgments WHERE judge = :judge "  # noqa: S608 - ours
        f"AND number BETWEEN :first AND :last AND {_matching(filters)} ORDER BY {by}"
    )
    values = {**_values(filters), "first": group[0].index, "last": group[-1].index}
    matching: list[Any] = [
        one
        for one in search.matcher.rows(query, values)
        if filters.rows is None or one[0] + 1 in filters.rows
    ]
    if filters.key:
        return bool(matching[0][0] == number)
    segments = _segments(filters)
    first = min(matching, key=lambda one: _rank(filters, segments, *one))
    return bool(first[0] == number)


def _rank(
    filters: Filters,
    segments: Sequence[_Segment],
    number: int,
    status: str,
    score: float | None,
    criterion: str,
) -> tuple[int, float, int]:
    """A key that sorts judgments as the list does."""
    place = _place_in(segments, number, status, score, criterion)
    sign = -1 if _is_down(filters, segments[place.segment]) else 1
    return place.segment, sign * (place.score or 0.0), sign * number


def _values(filters: Filters) -> dict[str, object]:
    """What the queries of a list are given."""
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


def _matching(filters: Filters) -> str:
    """What is decided row by row."""
    wanted = [f"flags & {flag_bit(filters.flag)}"] if filters.flag else []
    wanted += [_HAS_WORDS] if filters.words else []
    wanted += [
        f"score IS NOT NULL AND score {sign} :{name}"
        for name, sign, value in _limits(filters)
        if value is not None
    ]
    wanted += ["status = :status"] if filters.status else []
    wanted += ["verdict IS :verdict"] if filters.verdict is not None else []
    wanted += ["criterion IS :criteria"] if filters.criteria is not None else []
    wanted += ["json_extract(result, :dimension) = :reached"] if filters.dimension else []
    wanted += ["json_extract(result, '$.composite.rule') = :rule"] if filters.rule else []
    wanted += [filters.where.sql] if filters.where else []
    return " AND ".join(f"({one})" for one in wanted) or "1"


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
    place = next(place for place, one in enumerate(segments) if one.holds(status, score, criterion))
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
    id, status, score, verdict, flags, criterion, kept, texts, *more = connection.execute(
        _LINE.format(number_columns(numbers)), values
    ).fetchone()
    fields = {name: _preview(value) for name, value in begin_object(texts).items()}
    result = begin_object(kept)
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
        fields.get(judged) or next(iter(fields.values()), ""),
        fields,
        criterion,
        {name: one for name, one in scores.items() if one is None or type(one) is int}
        if isinstance(scores, dict)
        else {},
        rule if isinstance(rule, str) else None,
        tuple(row_group(connection, filters.judge, number, filters.together))
        if filters.together
        else (),
        dict(zip((name for name in NUMBERS if name in numbers), more, strict=True)),
        count_agreeing(valid, number_of(result.get("agreement"))),
    )


def _preview(value: JsonValue) -> str:
    if isinstance(value, list):
        return _BETWEEN.join(str(one)[: _PREVIEW // 2] for one in value[:_MOST_BEGINNINGS])
    return str(value or "")[:_PREVIEW]


def find_row(
    connection: sqlite3.Connection, judge: str, wanted: str, per_row: int = 1
) -> int | None:
    """The judgment, from 1, of the row with that id; else the first one of the row of that number,
    where each row has ``per_row`` of them.
    """
    of_id = "SELECT number FROM judgments WHERE judge = ? AND id = ? ORDER BY number LIMIT 1"
    if found := connection.execute(of_id, (judge, wanted)).fetchone():
        return int(found[0]) + 1
    number = int(wanted) if wanted.isdecimal() and len(wanted) < _MOST_DIGITS else 0
    of_number = "SELECT number FROM judgments WHERE judge = ? AND number = ?"
    found = connection.execute(of_number, (judge, (number - 1) * per_row)).fetchone()
    return int(found[0]) + 1 if found else None


def row_of_id(connection: sqlite3.Connection, judge: str, id: str, criterion: str) -> int | None:
    """The index, from 0, of the row with that id that was judged by that criterion."""
    query = (
        "SELECT number FROM judgments WHERE judge = ? AND id = ? AND criterion = ? "
        "ORDER BY number LIMIT 1"
    )
    found = connection.execute(query, (judge, id, criterion)).fetchone()
    return int(found[0]) if found else None


def neighbours(
    connection: sqlite3.Connection, group: Sequence[RowJudgment], index: int
) -> tuple[int | None, int | None]:
    """The rows before and behind that of ``group``, all from 1, None at the ends: the judgments by
    the criterion of the one at ``index`` where there are such.
    """
    own = next(one for one in group if one.index == index)
    order = [one.criterion for one in group] if len(group) > 1 else []
    query = "SELECT {}(number) FROM judgments WHERE judge = ? AND number {} ?"
    found: list[int | None] = []
    for which, end in ((("max", "<"), group[0]), (("min", ">"), group[-1])):
        (at,) = connection.execute(query.format(*which), (own.judge, end.index)).fetchone()
        near = [] if at is None or not order else row_group(connection, own.judge, at, order)
        alike = (one.row for one in near if one.criterion == own.criterion)
        found.append(None if at is None else next(alike, at + 1))
    return found[0], found[1]


def last_row(connection: sqlite3.Connection, judge: str) -> int:
    """The highest number of a row, from 1; 0 where there is none."""
    query = "SELECT max(number) + 1 FROM judgments WHERE judge = ?"
    return connection.execute(query, (judge,)).fetchone()[0] or 0


def same_text(connection: sqlite3.Connection, judge: str, number: int) -> list[JsonDict]:
    """Other judgments of a row of equal content, by any judge and criteria; ``number`` from 0.

    Every judgment is looked at.
    """
    query = (
        "SELECT judge, number + 1, id, status, verdict, criterion FROM judgments "
        "WHERE instance = (SELECT instance FROM judgments WHERE judge = :judge AND number = "
        ":number) "
        "AND (judge, number) <> (:judge, :number) LIMIT 20"
    )
    names = ("judge", "row", "id", "status", "verdict", "criteria")
    return [
        dict(zip(names, one, strict=True))
        for one in connection.execute(query, {"judge": judge, "number": number})
    ]


def judges_in(connection: sqlite3.Connection) -> list[str]:
    """The judges that judged something, found from one to the next: there are few of them and many
    rows.
    """
    found: list[str] = []
    step = "SELECT min(judge) FROM judgments WHERE judge > ?"
    while (
        name := connection.execute(step, (found[-1] if found else "",)).fetchone()[0]
    ) is not None:
        found.append(name)
    return found
