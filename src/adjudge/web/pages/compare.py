"""``/compare?a=…&b=…``: two runs over the rows that both judged; ``runs=…``: two or more."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from adjudge.core.domain.frozen_mapping import plain, some_of
from adjudge.core.domain.judge_criterion import JudgeCriterion, of_system
from adjudge.core.judges.settings import one_of
from adjudge.errors import SetupError
from adjudge.runs.diff import JudgedRow, Pair, RunDiff, run_diff
from adjudge.runs.results.comparison_words import comparison_lines
from adjudge.stats.difference import ComparisonOutcome
from adjudge.trust.comparison import RunComparison, compare_runs
from adjudge.trust.contestants import system_at
from adjudge.trust.labels.store import LabelStore
from adjudge.trust.paired_series import number_of
from adjudge.web.forms import whole
from adjudge.web.library import RunPlace
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
SHOWN = 200
"""Rows of a page of a tab."""
_HELD = 5_000
"""Rows of each tab that are kept; for those behind them the runs are read again."""
_MOST_MOVES = 30
"""Of each criterion, the most frequent ones; the others are counted together."""
_MOST_SCORES = 20_000
"""Different pairs of scores that are counted; of more there is no picture."""
_MOST_POINTS = 60
_TENTHS = 10
"""Where there are more points, scores are rounded to such parts of their scale."""
Labels = Mapping[tuple[str, str], str | None]


def show(request: Request) -> Response:
    """Better, worse or cannot tell; then the rows."""
    site, asked = site_of(request), request.query_params
    if not asked.get("a") or not asked.get("b"):
        raise SetupError("choose the runs to compare in the list of runs: two or more")
    one, two = site.library.find(asked["a"]), site.library.find(asked["b"])
    tab = asked.get("tab") or "changed"
    one_of("tab", tab, TABS)
    what = f"compare {two.id} {site.library.version(two)}"
    if site.must_wait(request, one, what):
        return site.answer_first(request, {"title": f"A: {one.name} → B: {two.name}"})
    found = site.library.kept(one, what, lambda: _compared(one, two))
    first = whole(asked.get("from", "")) or 0
    held_back = not found.same_judges and asked.get("anyway") != "1"
    data = {
        "a": one.link,
        "b": two.link,
        "asked": asked_for(request),
        "tab": tab,
        "held_back": held_back,
        **some_of(found, "settings", "same_judges", "compared"),
        "lines": [] if held_back else found.lines,
        "counts": {} if held_back else found.counts,
        "moves": [] if held_back else [plain(one) for one in found.moves],
        "other_moves": {} if held_back else found.other_moves,
        "first": first,
        "shown": SHOWN,
        "rows": []
        if held_back
        else [plain(one) for one in _page(site, one, two, found, tab, first)],
        "differences": [] if held_back else [plain(one) for one in found.differences],
        "axis": axis_share(found.differences),
        "worth": found.worth,
        "scores": [] if held_back else [plain(one) for one in found.scores],
    }
    return site.answer(request, "compare.html.jinja", data)


def _page(
    site: Site, one: RunPlace, two: RunPlace, found: _Compared, tab: str, first: int
) -> list[_Rows]:
    """Rows of a tab from ``first`` on."""
    if first + SHOWN <= _HELD or found.counts[tab] <= _HELD:
        return found.rows[tab][first : first + SHOWN]
    what = f"compare {two.id} {site.library.version(two)} {tab} {first}"
    return site.library.kept(one, what, lambda: _further(one, two, tab, first))


def _further(one: RunPlace, two: RunPlace, tab: str, first: int) -> list[_Rows]:
    with run_diff(one.folder, two.folder) as found:
        tabs = _Tabs(labels_in(one, two), {tab: first}, SHOWN)
        tabs.fill(found)
    return tabs.rows[tab]


@dataclass(frozen=True)
class _Compared:
    """What comparing two runs row by row gives."""

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
    differences: list[DrawnDifference]
    worth: dict[str, dict[str, float]]
    """Criterion → verdict → the mean of its scores, where they lie from 0 to 1."""
    scores: list[_Scores]


@dataclass(frozen=True)
class DrawnDifference:
    """B less A by one criterion, as it is drawn."""

    name: str
    criteria: str
    first: float | None
    second: float | None
    value: float | None
    lower: float | None
    upper: float | None
    reach: float | None
    """How far it can be; None of counts, which have no most."""
    rows: int
    outcome: str
    system: str = ""
    """Whose answers they are, where several targets answered."""
    labels: int = 0
    """Rows whose labels corrected it."""
    open_rows: int = 0
    """Rows without a number that could change what the interval says."""
    judges: tuple[str, str] = ("", "")
    """What the judge is called in A and in B."""
    wins_of: str = ""
    """Of compared responses: whose win rate it is."""
    is_comparable: bool = True


@dataclass(frozen=True)
class _Move:
    """How many rows went from one outcome to another."""

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
    """How many rows have which score in A and which in B, by a criterion with more than two."""

    criteria: str
    low: float
    high: float
    rounded: bool
    points: list[_BothScores]


@dataclass(frozen=True)
class ComparedRow:
    """A judgment of one of the runs."""

    row: int
    id: str | None
    judge: str
    criteria: str
    said: str
    is_verdict: bool
    score: float | None
    """Of two compared responses 1 where the first won and a half for a tie."""
    status: str
    label: str | None = None
    """What people say of it, where they agree."""


@dataclass(frozen=True)
class _Rows:
    """The same row in both runs; None where one has none."""

    a: ComparedRow | None
    b: ComparedRow | None


def _compared(one: RunPlace, two: RunPlace) -> _Compared:
    with run_diff(one.folder, two.folder) as found:
        comparisons = compare_runs(one.folder, two.folder, found)
        judges = {one.judge for one in comparisons}
        tabs = _Tabs(labels_in(one, two))
        tabs.fill(found)
        moves, other_moves = tabs.frequent_moves()
        return _Compared(
            found.settings,
            all(comparison.same_judge for comparison in comparisons),
            found.compared,
            [list(comparison_lines(comparison, two.name)) for comparison in comparisons],
            {tab: tabs.counts[tab] for tab in TABS},
            moves,
            other_moves,
            tabs.rows,
            [drawn_difference(one, judges) for one in comparisons],
            tabs.worth(),
            list(tabs.pairs_of_scores()),
        )


def line_name(judges: Collection[str], judge: str, criteria: str, system: str = "") -> str:
    """The criterion, of several judges which, and of several targets whose answers."""
    name = JudgeCriterion(judge, criteria).name if len(judges) > 1 else criteria or judge
    return of_system(name, system)


def drawn_difference(one: RunComparison, judges: Collection[str]) -> DrawnDifference:
    shown = one.shown
    return DrawnDifference(
        line_name(judges, one.judge, one.criteria, one.answered_by),
        one.criteria,
        one.first,
        one.second,
        shown.value,
        None if shown.lower is None else one.on_the_scale(shown.lower),
        None if shown.upper is None else one.on_the_scale(shown.upper),
        None if math.isinf(one.reach) else one.reach,
        one.rows,
        str(one.outcome.value),
        one.answered_by,
        one.labels if one.corrected else 0,
        one.without if _is_left_open(one) else 0,
        one.judges,
        one.system,
        one.is_comparable,
    )


def _is_left_open(one: RunComparison) -> bool:
    """Return True if the rows with a number would decide, were there no others."""
    limits = one.difference.of_scored
    is_apart = limits is not None and (limits.lower > 0 or limits.upper < 0)
    is_open = one.outcome is ComparisonOutcome.CANNOT_TELL
    return bool(one.without) and is_apart and is_open


def axis_share(differences: Iterable[DrawnDifference]) -> float:
    """How much of the largest possible change the axes show: as little as holds every interval."""
    reached = [
        max(abs(end) for end in (one.value, one.lower, one.upper) if end is not None) / one.reach
        for one in differences
        if one.reach and one.value is not None
    ]
    return next((share for share in (0.1, 0.2, 0.5) if max(reached, default=0) <= share), 1.0)


def _scores(
    criteria: str, known: Mapping[tuple[float, float], int], low: float, high: float
) -> _Scores:
    rounded, points = len(known) > _MOST_POINTS, Counter[tuple[float, float]]()
    step = (high - low) / _TENTHS
    for (a, b), rows in known.items():
        near = [low + step * round((score - low) / step) for score in (a, b)]
        points[(near[0], near[1]) if rounded else (a, b)] += rows
    both = [_BothScores(a, b, rows) for (a, b), rows in sorted(points.items())]
    return _Scores(criteria, low, high, rounded, both)


class _Said(NamedTuple):
    """What came of a judgment."""

    text: str
    is_verdict: bool
    """Whether it is a verdict; else it is a status."""


class _Tabs:
    """Sorts rows into tabs, some of which a row is in at once."""

    def __init__(
        self, labels: Labels, first: Mapping[str, int] | None = None, most: int = _HELD
    ) -> None:
        self._labels = labels
        self._first, self._most = first or {}, most
        self._scores: dict[tuple[str, str], tuple[float, int]] = {}
        self._both: dict[str, Counter[tuple[float, float]]] = {}
        self.counts: Counter[str] = Counter()
        self._moves: Counter[tuple[str, _Said, _Said]] = Counter()
        self.rows: dict[str, list[_Rows]] = {tab: [] for tab in TABS}

    def fill(self, found: RunDiff) -> None:
        judges = found.judges()
        for pair in found.pairs():
            name = line_name(judges, pair.before.judge, pair.before.criteria)
            said = [said_of(one) for one in (pair.before, pair.after)]
            self._moves[name, said[0], said[1]] += 1
            for one, text in zip((pair.before, pair.after), said, strict=True):
                self._score(name, text, one.summary.score)
            self._score_both(name, pair)
            for tab in self._tabs_of(pair):
                self._add(tab, pair.before, pair.after)
        for row in found.only_in(0):
            self._add("only_a", row, None)
        for row in found.only_in(1):
            self._add("only_b", None, row)

    def _score(self, criteria: str, said: _Said, score: float | None) -> None:
        if said.is_verdict and score is not None:
            total, count = self._scores.get((criteria, said.text), (0.0, 0))
            self._scores[criteria, said.text] = (total + score, count + 1)

    def frequent_moves(self) -> tuple[list[_Move], dict[str, int]]:
        """The most frequent moves of each criterion, and how many rows went otherwise."""
        shown: list[_Move] = []
        each, others = Counter[str](), Counter[str]()
        for (name, a, b), count in self._moves.most_common():
            each[name] += 1
            if each[name] <= _MOST_MOVES:
                shown.append(_Move(name, a.text, b.text, (a.is_verdict, b.is_verdict), count))
            else:
                others[name] += count
        return shown, dict(others)

    def _score_both(self, name: str, pair: Pair) -> None:
        scores = pair.before.summary.score, pair.after.summary.score
        if scores[0] is not None and scores[1] is not None:
            known = self._both.setdefault(name, Counter())
            if len(known) <= _MOST_SCORES:
                known[scores[0], scores[1]] += 1

    def pairs_of_scores(self) -> Iterator[_Scores]:
        for criteria, known in self._both.items():
            values = {score for pair in known for score in pair}
            if len(values) > 2 and len(known) <= _MOST_SCORES:
                yield _scores(criteria, known, min(0.0, *values), max(1.0, *values))

    def worth(self) -> dict[str, dict[str, float]]:
        """Criterion → verdict → the mean of its scores."""
        found: dict[str, dict[str, float]] = {}
        for (criteria, said), (total, count) in self._scores.items():
            if 0 <= total / count <= 1:
                found.setdefault(criteria, {})[said] = total / count
        return found

    def _tabs_of(self, pair: Pair) -> Iterator[str]:
        before, after = pair.before.summary, pair.after.summary
        if before.status != "scored" and after.status != "scored":
            yield "both_failed"
        if (before.status, before.chosen, before.score) != (
            after.status,
            after.chosen,
            after.score,
        ):
            yield "changed"
        was, now = _number(pair.before), _number(pair.after)
        if was is not None and now is not None and was != now:
            yield "higher" if now > was else "lower"
        right = [
            self._labels.get((pair.before.criteria, identity)) == said_of(row).text
            for identity, row in zip(pair.identities, (pair.before, pair.after), strict=True)
        ]
        if (
            all((pair.before.criteria, identity) in self._labels for identity in pair.identities)
            and right[0] != right[1]
        ):
            yield "only_a_right" if right[0] else "only_b_right"

    def _add(self, tab: str, before: JudgedRow | None, after: JudgedRow | None) -> None:
        self.counts[tab] += 1
        if self.counts[tab] > self._first.get(tab, 0) and len(self.rows[tab]) < self._most:
            both = (None if one is None else compared_row(one) for one in (before, after))
            self.rows[tab].append(_Rows(*both))


def labels_in(*places: RunPlace) -> Labels:
    """(criteria, row) → the option that people chose in any of the runs; rows on which they differ
    are left out.
    """
    found: dict[tuple[str, str], set[str]] = {}
    for label in (one for place in places for one in LabelStore(place.folder).current()):
        if label.option is not None:
            found.setdefault((label.criteria, label.row), set()).add(label.option)
    return {about: next(iter(options)) for about, options in found.items() if len(options) == 1}


def compared_row(row: JudgedRow, label: str | None = None) -> ComparedRow:
    said = said_of(row)
    about = (row.row, row.id, row.judge, row.criteria, said.text, said.is_verdict)
    return ComparedRow(*about, _number(row), row.summary.status, label)


def _number(row: JudgedRow) -> float | None:
    """What a comparison makes of it: of more than two responses nothing."""
    return None if len(row.systems) > 2 else number_of(row.summary)


def said_of(row: JudgedRow) -> _Said:
    """The verdict, of compared responses the name of the better one; else the status."""
    chosen, status = row.summary.chosen, row.summary.status
    if status != "scored" or chosen is None:
        return _Said(status, is_verdict=False)
    is_place = isinstance(chosen, int) and bool(row.systems)
    return _Said(system_at(row.systems, int(chosen)) if is_place else str(chosen), is_verdict=True)
