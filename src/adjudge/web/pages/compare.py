"""``/compare?a=…&b=…``: two runs over the rows that both judged; ``runs=…``: two or more."""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappush, heapreplace
from itertools import islice
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from adjudge.core.domain.frozen_mapping import plain, some_of
from adjudge.core.domain.json_types import JsonDict, object_in
from adjudge.core.domain.judge_configuration import JudgeConfiguration
from adjudge.core.domain.judge_criterion import JudgeCriterion, of_system
from adjudge.core.domain.slices import OTHERS, value_in
from adjudge.core.judges.settings import one_of
from adjudge.core.ledger.columns import COLUMN
from adjudge.core.ledger.conditions import equals
from adjudge.core.ledger.file import read_judge
from adjudge.core.ledger.records import records
from adjudge.errors import SetupError
from adjudge.runs.diff import JudgedRow, PairOutcome, RunDiff, run_diff
from adjudge.runs.folder import reading
from adjudge.runs.results.comparison_words import comparison_lines
from adjudge.runs.results.score_slices import slice_columns
from adjudge.stats.difference import ComparisonOutcome
from adjudge.trust.comparison import RunComparison, compare_runs
from adjudge.trust.contestants import system_at
from adjudge.trust.labelled_judges import configurations
from adjudge.trust.labels.store import LabelStore
from adjudge.trust.paired_series import number_of
from adjudge.web.forms import whole
from adjudge.web.library import Library, RunPlace
from adjudge.web.page_registry import comparison_parts, hidden_fields, merge_data
from adjudge.web.pages.pictures import slice_condition
from adjudge.web.pages.row import row_number
from adjudge.web.pages.row_details import text_of
from adjudge.web.pages.run import columns_known, judged_field
from adjudge.web.site import Site, asked_for, site_of

TABS = (
    "changed",
    "higher",
    "lower",
    "only_a_right",
    "only_b_right",
    "both_failed",
    "only_a",
    "only_b",
)
_BY_SIZE = ("changed", "higher", "lower")
"""Tabs whose rows can be sorted by the size of the change."""
ORDERS = ("row", "size")
SHOWN = 200
"""Rows of a page of a tab."""
_FIRST_ROWS = 2_000
"""Judgments of each run that are read for the columns that divide its rows."""
_BEGINNING = 240
"""Characters of a text in the list of rows."""
_HELD = 5_000
"""Rows of each tab that are kept; for those behind them the runs are read again."""
_MOST_MOVES = 30
"""The most frequent moves that are listed per criterion; the others are counted together."""
_MOST_SCORES = 20_000
"""Different pairs of scores that are counted; of more there is no picture."""
_MOST_KINDS = 4096
"""Different outcomes of pairs that are remembered: scores may be any number."""
_MOST_POINTS = 60
_TENTHS = 10
"""With more points than that, scores are rounded to this many parts of their scale."""
Labels = Mapping[tuple[str, str], str | None]


def show(request: Request) -> Response:
    """Compare two runs: outcomes by criterion, then rows."""
    site, query = site_of(request), request.query_params
    if not query.get("a") or not query.get("b"):
        raise SetupError("choose the runs to compare in the list of runs: two or more")
    run_a, run_b = site.library.find(query["a"]), site.library.find(query["b"])
    tab = query.get("tab") or "changed"
    one_of("tab", tab, TABS)
    what = f"compare {run_b.id} {site.library.version(run_b)}"
    if site.must_wait(request, run_a, what):
        return site.answer_first(request, {"title": f"A: {run_a.name} → B: {run_b.name}"})
    comparison = site.library.get_or_compute(run_a, what, lambda: _compare(run_a, run_b))
    start = whole(query.get("from", "")) or 0
    order = ORDERS[1] if query.get("order") == ORDERS[1] and tab in _BY_SIZE else ORDERS[0]
    columns = columns_in(site.library, run_a, run_b)
    # reading both runs again for a column takes time, so only short runs are divided unasked
    is_short = not (site.library.is_slow(run_a) or site.library.is_slow(run_b))
    by = query.get("by", "").strip() or (columns[0] if columns and is_short else "")
    held_back = not comparison.same_judges and query.get("anyway") != "1"
    data = {
        "a": run_a.link,
        "b": run_b.link,
        "asked": asked_for(request),
        "tab": tab,
        "held_back": held_back,
        **some_of(comparison, "settings", "same_judges", "compared"),
        "lines": [] if held_back else comparison.lines,
        "counts": {} if held_back else comparison.counts,
        "moves": [] if held_back else list(map(plain, comparison.moves)),
        "other_moves": {} if held_back else comparison.other_moves,
        "first": start,
        "shown": SHOWN,
        "order": order,
        "by_size": tab in _BY_SIZE,
        "listed": len(comparison.largest[tab]) if order == "size" else comparison.counts[tab],
        "columns": columns,
        "by": by,
        "slices": by_column(site.library, run_a, run_b, by) if by and not held_back else [],
        "rows": []
        if held_back
        else [
            _row_data(site.library, (run_a, run_b), pair, texts, start + place)
            for place, (pair, texts) in enumerate(
                _with_texts(
                    site, run_a, run_b, _page(site, run_a, run_b, comparison, tab, start, order), by
                )
            )
        ],
        "differences": [] if held_back else list(map(plain, comparison.differences)),
        "axis": axis_share(comparison.differences),
        "worth": comparison.worth,
        "learned": comparison.learned,
        "scores": [] if held_back else list(map(plain, comparison.scores)),
    }
    if not held_back:
        added = merge_data(part.data(site.library, run_a, run_b) for part in comparison_parts())
        data = {**added, **data}
    return site.answer(request, "compare.html.jinja", data)


def _page(
    site: Site,
    run_a: RunPlace,
    run_b: RunPlace,
    comparison: _Compared,
    tab: str,
    start: int,
    order: str,
) -> list[_Rows]:
    """Return the rows of a tab, beginning at ``start``."""
    if order == "size":
        return comparison.largest[tab][start : start + SHOWN]
    if start + SHOWN <= _HELD or comparison.counts[tab] <= _HELD:
        return comparison.rows[tab][start : start + SHOWN]
    what = f"compare {run_b.id} {site.library.version(run_b)} {tab} {start}"
    return site.library.get_or_compute(run_a, what, lambda: _further(run_a, run_b, tab, start))


def rows_around(
    site: Site, run_a: RunPlace, run_b: RunPlace, *, tab: str, place: int, order: str
) -> Iterator[tuple[str, int, _Rows]]:
    """Yield the rows before and after a position in a tab, each with its direction."""
    what = f"compare {run_b.id} {site.library.version(run_b)}"
    comparison = site.library.get_or_compute(run_a, what, lambda: _compare(run_a, run_b))
    for name, step in (("before", -1), ("after", 1)):
        # beyond the rows that are kept, each place would read both runs again
        if not 0 <= place + step < _HELD:
            continue
        order_of_tab = order if tab in _BY_SIZE else "row"
        found = _page(site, run_a, run_b, comparison, tab, place + step, order_of_tab)
        if found:
            yield name, step, found[0]


def columns_in(library: Library, run_a: RunPlace, run_b: RunPlace) -> list[str]:
    """Return the columns that group the rows of both runs, judging by their first rows."""
    columns_a, columns_b = (
        library.read(place, "columns of first rows", _columns_of_first_rows)
        for place in (run_a, run_b)
    )
    return [column for column in columns_b if column in columns_a]


def _columns_of_first_rows(run: sqlite3.Connection) -> list[str]:
    return slice_columns(islice(records(run, trajectory=False), _FIRST_ROWS))


def by_column(library: Library, run_a: RunPlace, run_b: RunPlace, by: str) -> list[JsonDict]:
    """Return the differences per slice of a column, worst first, with simultaneous intervals over
    all slices.
    """

    def compare() -> list[JsonDict]:
        with run_diff(run_a.folder, run_b.folder, by=by) as diff:
            comparisons = compare_runs(run_a.folder, run_b.folder, diff)
        judges = {comparison.judge for comparison in comparisons}
        return [
            {
                "name": drawn_difference(comparison, judges).name,
                "judge": comparison.judge,
                "criteria": comparison.criteria,
                "slices": [
                    {
                        **object_in(plain(drawn_difference(part, judges))),
                        "slice": part.slice,
                        "query": _slice_query(library, run_b, part, by),
                    }
                    for part in sorted(
                        comparison.slices,
                        key=lambda part: (part.shown.value is None, part.shown.value or 0.0),
                    )
                ],
                "notes": list(comparison.slicing),
                "axis": axis_share(drawn_difference(part, judges) for part in comparison.slices),
            }
            for comparison in comparisons
        ]

    what = f"compare {run_b.id} {library.version(run_b)} by {by}"
    return library.get_or_compute(run_a, what, compare)


def _slice_query(library: Library, run: RunPlace, part: RunComparison, by: str) -> JsonDict | None:
    """Return the query for a slice's rows in the list of a run; None if no expression names it."""
    judge = part.judges[1]
    with reading(run.folder) as ledger:
        columns = columns_known(ledger, library, run, judge)
    if part.slice == OTHERS or by not in columns.columns:
        return None
    where = slice_condition(part.slice, columns.written(COLUMN, by))
    if part.answered_by:
        where = f"{where} and {equals(f'{COLUMN}system', part.answered_by)}"
    return {"judge": judge, "where": where}


class _RowTexts(NamedTuple):
    """The beginnings of a row's texts in one run, as shown in the list."""

    question: str
    answer: str
    reason: str | None
    slice: str
    identity: str


def _with_texts(
    site: Site, run_a: RunPlace, run_b: RunPlace, rows: Sequence[_Rows], by: str
) -> Iterator[tuple[_Rows, tuple[_RowTexts | None, _RowTexts | None]]]:
    """Yield rows with the beginnings of their texts and reasons, for each run.

    The caller shows them with their verdicts, so they are marked as seen.
    """
    with reading(run_a.folder) as ledger_a, reading(run_b.folder) as ledger_b:
        judged: dict[str, str] = {}
        for pair in rows:
            a, b = (
                None if row is None else _row_texts(ledger, row, by, judged)
                for ledger, row in ((ledger_a, pair.a), (ledger_b, pair.b))
            )
            site.sessions.mark_seen(*(texts.identity for texts in (a, b) if texts is not None))
            yield pair, (a, b)


def _row_texts(
    ledger: sqlite3.Connection, row: ComparedRow, by: str, judged: dict[str, str]
) -> _RowTexts | None:
    record = next(records(ledger, judge=row.judge, index=row.row - 1, trajectory=False), None)
    if record is None:
        return None
    if row.judge not in judged:
        judged[row.judge] = judged_field(read_judge(ledger, row.judge))
    name = judged[row.judge]
    others = [field for field in record.fields if field not in (name, *hidden_fields(record))]
    question = "user_input" if "user_input" in others else next(iter(others), "")
    try:
        slice_of_row = value_in(record, by) if by else ""
    except SetupError:  # it holds several values
        slice_of_row = ""
    return _RowTexts(
        text_of(record, question)[:_BEGINNING] if question else "",
        text_of(record, name)[:_BEGINNING] if name in record.fields else "",
        record.reason or (record.explanation and record.explanation[:_BEGINNING]),
        slice_of_row,
        record.identity,
    )


def _row_data(
    library: Library,
    runs: tuple[RunPlace, RunPlace],
    pair: _Rows,
    texts: tuple[_RowTexts | None, _RowTexts | None],
    place: int,
) -> JsonDict:
    a, b = texts
    first, last = a or b, b or a
    run, row = (runs[0], pair.a) if pair.a else (runs[1], pair.b)
    return {
        **object_in(plain(pair)),
        "place": place,
        "number": None if row is None else row_number(library, run, row.judge, row.row),
        "change": _change(pair),
        "question": first.question if first else "",
        "slice": last.slice if last else "",
        "same_answer": bool(a and b and a.answer == b.answer),
        "texts": [text and text._asdict() for text in texts],
    }


def _change(pair: _Rows) -> float | None:
    scores = [row and row.score for row in (pair.a, pair.b)]
    return None if None in scores else float(scores[1] or 0.0) - float(scores[0] or 0.0)


def _further(run_a: RunPlace, run_b: RunPlace, tab: str, start: int) -> list[_Rows]:
    with run_diff(run_a.folder, run_b.folder) as diff:
        tabs = _tabs(run_a, run_b, {tab: start}, SHOWN)
        tabs.fill(diff)
    return tabs.rows[tab]


@dataclass(frozen=True)
class _Compared:
    """The comparison of two runs, row by row."""

    settings: list[str]
    same_judges: bool
    compared: int
    lines: list[list[str]]
    counts: dict[str, int]
    moves: list[_Move]
    other_moves: dict[str, int]
    """Criterion → rows that went a rarer way."""
    rows: dict[str, list[_Rows]]
    """Name of the tab → its first rows."""
    largest: dict[str, list[_Rows]]
    """Name of the tab → its rows with the largest changes, these first."""
    differences: list[DrawnDifference]
    learned: int
    """Rows that would be right in one run alone, if a judge had not learned from their labels."""
    worth: dict[str, dict[str, float]]
    """Criterion → verdict → the mean of its scores, if they are from 0 to 1."""
    scores: list[_Scores]


@dataclass(frozen=True)
class DrawnDifference:
    """The difference B − A by one criterion, ready to be drawn."""

    name: str
    criteria: str
    first: float | None
    second: float | None
    value: float | None
    lower: float | None
    upper: float | None
    reach: float | None
    """The largest possible difference; None for counts, which have no limit."""
    rows: int
    outcome: str
    system: str = ""
    """The system that answered, if there are several."""
    labels: int = 0
    """Rows whose labels corrected it."""
    open_rows: int = 0
    """Rows without a number that could change what the interval says."""
    judges: tuple[str, str] = ("", "")
    """The names of the judge in A and in B."""
    wins_of: str = ""
    """For compared responses: the system whose win rate it is."""
    is_comparable: bool = True


@dataclass(frozen=True)
class _Move:
    """The number of rows that moved from one outcome to another."""

    criteria: str
    a: str
    b: str
    verdicts: tuple[bool, bool]
    count: int


@dataclass(frozen=True)
class _BothScores:
    a: float
    b: float
    rows: int


@dataclass(frozen=True)
class _Scores:
    """The number of rows with each pair of scores in A and B, for a criterion with more than two
    scores.
    """

    criteria: str
    low: float
    high: float
    rounded: bool
    points: list[_BothScores]


@dataclass(frozen=True)
class ComparedRow:
    """A judgment in one of the runs."""

    row: int
    id: str | None
    judge: str
    criteria: str
    said: str
    is_verdict: bool
    score: float | None
    """For two compared responses: 1 if the first won, one half for a tie."""
    status: str
    label: str | None = None
    """The option that people chose, if they agree."""


@dataclass(frozen=True)
class _Rows:
    """A row in both runs; None for a run without it."""

    a: ComparedRow | None
    b: ComparedRow | None


def _compare(comparison: RunPlace, run_b: RunPlace) -> _Compared:
    with run_diff(comparison.folder, run_b.folder) as diff:
        comparisons = compare_runs(comparison.folder, run_b.folder, diff)
        judges = {comparison.judge for comparison in comparisons}
        tabs = _tabs(comparison, run_b)
        tabs.fill(diff)
        moves, other_moves = tabs.frequent_moves()
        return _Compared(
            diff.settings,
            all(result.same_judge for result in comparisons),
            diff.compared,
            [list(comparison_lines(result, run_b.name)) for result in comparisons],
            {tab: tabs.counts[tab] for tab in TABS},
            moves,
            other_moves,
            tabs.rows,
            tabs.by_size(),
            [drawn_difference(comparison, judges) for comparison in comparisons],
            tabs.learned,
            tabs.worth(),
            list(tabs.pairs_of_scores()),
        )


def line_name(judges: Collection[str], judge: str, criteria: str, system: str = "") -> str:
    """Name a criterion, adding the judge if there are several, and the system if there is one."""
    name = JudgeCriterion(judge, criteria).name if len(judges) > 1 else criteria or judge
    return of_system(name, system)


def drawn_difference(comparison: RunComparison, judges: Collection[str]) -> DrawnDifference:
    estimate = comparison.shown
    return DrawnDifference(
        line_name(judges, comparison.judge, comparison.criteria, comparison.answered_by),
        comparison.criteria,
        comparison.first,
        comparison.second,
        estimate.value,
        None if estimate.lower is None else comparison.on_the_scale(estimate.lower),
        None if estimate.upper is None else comparison.on_the_scale(estimate.upper),
        None if math.isinf(comparison.reach) else comparison.reach,
        comparison.rows,
        str(comparison.outcome.value),
        comparison.answered_by,
        comparison.labels if comparison.corrected else 0,
        comparison.without if _is_left_open(comparison) else 0,
        comparison.judges,
        comparison.system,
        comparison.is_comparable,
    )


def _is_left_open(comparison: RunComparison) -> bool:
    """Return True if the comparison is undecided only because of rows without a number."""
    limits = comparison.difference.of_scored
    is_apart = limits is not None and (limits.lower > 0 or limits.upper < 0)
    is_open = comparison.outcome is ComparisonOutcome.CANNOT_TELL
    return bool(comparison.without) and is_apart and is_open


def axis_share(differences: Iterable[DrawnDifference]) -> float:
    """Return the share of the largest possible change that axes show: the smallest that fits all
    intervals.
    """
    reached = [
        max(
            abs(end)
            for end in (difference.value, difference.lower, difference.upper)
            if end is not None
        )
        / difference.reach
        for difference in differences
        if difference.reach and difference.value is not None
    ]
    return next((share for share in (0.1, 0.2, 0.5) if max(reached, default=0) <= share), 1.0)


def _scores(
    criteria: str, counts: Mapping[tuple[float, float], int], low: float, high: float
) -> _Scores:
    rounded, points = len(counts) > _MOST_POINTS, Counter[tuple[float, float]]()
    step = (high - low) / _TENTHS
    for (a, b), rows in counts.items():
        near = [low + step * round((score - low) / step) for score in (a, b)]
        points[(near[0], near[1]) if rounded else (a, b)] += rows
    both = [_BothScores(a, b, rows) for (a, b), rows in sorted(points.items())]
    return _Scores(criteria, low, high, rounded, both)


class _Outcome(NamedTuple):
    """A judgment's outcome, in comparable form."""

    text: str
    is_verdict: bool
    """True for a verdict, False for a status."""


def _tabs(
    run_a: RunPlace, run_b: RunPlace, starts: Mapping[str, int] | None = None, most: int = _HELD
) -> _Tabs:
    judges = configurations(run_a.folder), configurations(run_b.folder)
    return _Tabs(labels_in(run_a, run_b), judges, starts, most)


class _Tabs:
    """Sorts rows into tabs. A row may be in several tabs.

    ``judges``: each run's judges. Rows that a judge learned from cannot show which judge is right.
    """

    def __init__(
        self,
        labels: Labels,
        judges: tuple[Mapping[str, JudgeConfiguration], Mapping[str, JudgeConfiguration]],
        starts: Mapping[str, int] | None = None,
        most: int = _HELD,
    ) -> None:
        self._labels, self._judges = labels, judges
        self.learned = 0
        """Rows that are right in one run alone, but that a judge learned from."""
        self._first, self._most = starts or {}, most
        self._scores: dict[tuple[str, str], tuple[float, int]] = {}
        self._both: dict[str, Counter[tuple[float, float]]] = {}
        self.counts: Counter[str] = Counter()
        self._moves: Counter[tuple[str, _Outcome, _Outcome]] = Counter()
        self.rows: dict[str, list[_Rows]] = {tab: [] for tab in TABS}
        self._largest: dict[str, list[tuple[float, int, _Rows]]] = {tab: [] for tab in _BY_SIZE}
        """Heaps: the smallest of the largest changes first; of equal ones, the last row."""
        self._last_read: tuple[int, _Rows] | None = None

    def fill(self, diff: RunDiff) -> None:
        judges = diff.judges()
        kinds: dict[PairOutcome, _KindOfPair] = {}
        times: Counter[PairOutcome] = Counter()
        for outcome, place, identities in diff.outcomes_in_order(identities=bool(self._labels)):
            kind = kinds.get(outcome)
            if kind is None:
                if len(kinds) >= _MOST_KINDS:
                    self._count(kinds, times)
                kind = kinds[outcome] = _KindOfPair.of(outcome, judges)
            times[outcome] += 1
            tabs = kind.tabs
            if self._labels and (tab := self._right_tab(outcome, identities)):
                tabs = (*tabs, tab)
            for tab in tabs:
                self._add_pair(tab, kind.change, diff, place)
        self._count(kinds, times)
        for row in diff.only_in(0):
            self._add("only_a", row, None)
        for row in diff.only_in(1):
            self._add("only_b", None, row)

    def _count(self, kinds: dict[PairOutcome, _KindOfPair], times: Counter[PairOutcome]) -> None:
        """Count the pairs of each kind, and forget them."""
        for outcome, kind in kinds.items():
            self._moves[kind.move] += times[outcome]
            for name, said, score in kind.scores:
                self._score(name, said, score, times[outcome])
            self._score_both(kind.move[0], outcome, times[outcome])
        kinds.clear()
        times.clear()

    def _score(self, criteria: str, outcome: _Outcome, score: float | None, times: int) -> None:
        if outcome.is_verdict and score is not None:
            total, count = self._scores.get((criteria, outcome.text), (0.0, 0))
            self._scores[criteria, outcome.text] = (total + times * score, count + times)

    def frequent_moves(self) -> tuple[list[_Move], dict[str, int]]:
        """Return each criterion's most frequent moves, and how many rows moved otherwise."""
        frequent: list[_Move] = []
        moves_by_criterion, rare = Counter[str](), Counter[str]()
        for (name, a, b), count in self._moves.most_common():
            moves_by_criterion[name] += 1
            if moves_by_criterion[name] <= _MOST_MOVES:
                frequent.append(_Move(name, a.text, b.text, (a.is_verdict, b.is_verdict), count))
            else:
                rare[name] += count
        return frequent, dict(rare)

    def _score_both(self, name: str, pair: PairOutcome, times: int) -> None:
        scores = pair.before.summary.score, pair.after.summary.score
        if scores[0] is not None and scores[1] is not None:
            counts = self._both.setdefault(name, Counter())
            # one more than can be drawn is counted, so that pairs_of_scores sees that there are
            # too many
            if len(counts) <= _MOST_SCORES:
                counts[scores[0], scores[1]] += times

    def pairs_of_scores(self) -> Iterator[_Scores]:
        for criteria, counts in self._both.items():
            values = {score for pair in counts for score in pair}
            if len(values) > 2 and len(counts) <= _MOST_SCORES:
                yield _scores(criteria, counts, min(0.0, *values), max(1.0, *values))

    def worth(self) -> dict[str, dict[str, float]]:
        """Return criterion → verdict → mean score, for means from 0 to 1."""
        means: dict[str, dict[str, float]] = {}
        for (criteria, verdict), (total, count) in self._scores.items():
            # only means from 0 to 1 are drawn
            if 0 <= total / count <= 1:
                means.setdefault(criteria, {})[verdict] = total / count
        return means

    def _right_tab(self, pair: PairOutcome, identities: tuple[str, str]) -> str | None:
        """Return the tab of the run that alone is right by its labels, if one is."""
        if not all((pair.before.criteria, identity) in self._labels for identity in identities):
            return None
        right = [
            self._labels[pair.before.criteria, identity] == outcome_in(row).text
            for identity, row in zip(identities, (pair.before, pair.after), strict=True)
        ]
        if right[0] == right[1]:
            return None
        if self._is_learned(pair, identities):
            self.learned += 1
            return None
        return "only_a_right" if right[0] else "only_b_right"

    def _is_learned(self, pair: PairOutcome, identities: tuple[str, str]) -> bool:
        sides = zip(self._judges, (pair.before, pair.after), identities, strict=True)
        return any(
            row.judge in judges and identity in judges[row.judge].learned_rows
            for judges, row, identity in sides
        )

    def by_size(self) -> dict[str, list[_Rows]]:
        """Return each tab's rows with the largest changes, largest first."""
        return {
            tab: [rows for _, _, rows in sorted(heap, key=lambda entry: (-entry[0], -entry[1]))]
            for tab, heap in self._largest.items()
        }

    def _add(self, tab: str, row_a: JudgedRow | None, row_b: JudgedRow | None) -> None:
        if self._is_listed(tab):
            both = (None if row is None else compared_row(row) for row in (row_a, row_b))
            self.rows[tab].append(_Rows(*both))

    def _add_pair(self, tab: str, change: float, diff: RunDiff, place: int) -> None:
        """Count a pair, and read it if it is among the first or the largest of its tab."""
        is_listed, heap = self._is_listed(tab), self._largest.get(tab)
        # of equal changes the first ones stay
        is_large = heap is not None and (len(heap) < _HELD or change > heap[0][0])
        if not is_listed and not is_large:
            return
        rows = self._rows_at(diff, place)
        if is_listed:
            self.rows[tab].append(rows)
        if heap is not None and is_large:
            # counted down, so that no two entries are equal and rows are never compared
            entry = (change, -self.counts[tab], rows)
            if len(heap) < _HELD:
                heappush(heap, entry)
            else:
                heapreplace(heap, entry)

    def _rows_at(self, diff: RunDiff, place: int) -> _Rows:
        """Read a pair, which may be in several tabs, once."""
        if self._last_read is None or self._last_read[0] != place:
            self._last_read = place, _Rows(*map(compared_row, diff.pair_at(place)))
        return self._last_read[1]

    def _is_listed(self, tab: str) -> bool:
        """Count a row, and return True if it is one of those that are listed."""
        self.counts[tab] += 1
        return self.counts[tab] > self._first.get(tab, 0) and len(self.rows[tab]) < self._most


class _KindOfPair(NamedTuple):
    """The properties shared by all pairs with the same outcomes."""

    move: tuple[str, _Outcome, _Outcome]
    scores: tuple[tuple[str, _Outcome, float | None], ...]
    tabs: tuple[str, ...]
    change: float

    @classmethod
    def of(cls, pair: PairOutcome, judges: Collection[str]) -> _KindOfPair:
        name = line_name(judges, pair.before.judge, pair.before.criteria)
        a, b = outcome_in(pair.before), outcome_in(pair.after)
        scores = (name, a, pair.before.summary.score), (name, b, pair.after.summary.score)
        rows = _Rows(compared_row(pair.before), compared_row(pair.after))
        return cls((name, a, b), scores, tuple(_tabs_of(pair)), abs(_change(rows) or 0.0))


def _tabs_of(pair: PairOutcome) -> Iterator[str]:
    """Yield the tabs of a pair, apart from those by labels."""
    summary_a, summary_b = pair.before.summary, pair.after.summary
    if summary_a.status != "scored" and summary_b.status != "scored":
        yield "both_failed"
    if (summary_a.status, summary_a.chosen, summary_a.score) != (
        summary_b.status,
        summary_b.chosen,
        summary_b.score,
    ):
        yield "changed"
    number_a, number_b = _number(pair.before), _number(pair.after)
    if number_a is not None and number_b is not None and number_a != number_b:
        yield "higher" if number_b > number_a else "lower"


def labels_in(*places: RunPlace) -> Labels:
    """Return (criteria, row) → the option that people chose in any of the runs.

    Rows with differing labels are left out.
    """
    options_by_row: dict[tuple[str, str], set[str]] = {}
    for label in (stored for place in places for stored in LabelStore(place.folder).current()):
        if label.is_by_person and label.option is not None:
            options_by_row.setdefault((label.criteria, label.row), set()).add(label.option)
    return {
        about: next(iter(options)) for about, options in options_by_row.items() if len(options) == 1
    }


def compared_row(row: JudgedRow, label: str | None = None) -> ComparedRow:
    outcome = outcome_in(row)
    about = (row.row, row.id, row.judge, row.criteria, outcome.text, outcome.is_verdict)
    return ComparedRow(*about, _number(row), row.summary.status, label)


def _number(row: JudgedRow) -> float | None:
    """Return the number to compare; None for comparisons of more than two responses."""
    return None if len(row.systems) > 2 else number_of(row.summary)


def outcome_in(row: JudgedRow) -> _Outcome:
    """Return the verdict (the better response's name in comparisons), or else the status."""
    choice, status = row.summary.chosen, row.summary.status
    if status != "scored" or choice is None:
        return _Outcome(status, is_verdict=False)
    is_place = isinstance(choice, int) and bool(row.systems)
    return _Outcome(
        system_at(row.systems, int(choice)) if is_place else str(choice), is_verdict=True
    )
