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
"""The most frequent moves that are listed per criterion; the others are counted together."""
_MOST_SCORES = 20_000
"""Different pairs of scores that are counted; of more there is no picture."""
_MOST_POINTS = 60
_TENTHS = 10
"""With more points than that, scores are rounded to this many parts of their scale."""
Labels = Mapping[tuple[str, str], str | None]


def show(request: Request) -> Response:
    """Compare two runs: the outcome of each criterion, then the rows."""
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
        "rows": []
        if held_back
        else list(map(plain, _page(site, run_a, run_b, comparison, tab, start))),
        "differences": [] if held_back else list(map(plain, comparison.differences)),
        "axis": axis_share(comparison.differences),
        "worth": comparison.worth,
        "scores": [] if held_back else list(map(plain, comparison.scores)),
    }
    return site.answer(request, "compare.html.jinja", data)


def _page(
    site: Site, run_a: RunPlace, run_b: RunPlace, comparison: _Compared, tab: str, start: int
) -> list[_Rows]:
    """Return the rows of a tab from ``first`` on."""
    if start + SHOWN <= _HELD or comparison.counts[tab] <= _HELD:
        return comparison.rows[tab][start : start + SHOWN]
    what = f"compare {run_b.id} {site.library.version(run_b)} {tab} {start}"
    return site.library.get_or_compute(run_a, what, lambda: _further(run_a, run_b, tab, start))


def _further(run_a: RunPlace, run_b: RunPlace, tab: str, start: int) -> list[_Rows]:
    with run_diff(run_a.folder, run_b.folder) as diff:
        tabs = _Tabs(labels_in(run_a, run_b), {tab: start}, SHOWN)
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
    differences: list[DrawnDifference]
    worth: dict[str, dict[str, float]]
    """Criterion → verdict → the mean of its scores, if they are from 0 to 1."""
    scores: list[_Scores]


@dataclass(frozen=True)
class DrawnDifference:
    """The difference B − A by one criterion, as it is drawn."""

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
    """The number of rows that went from one outcome to another."""

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
    """The number of rows for each pair of scores in A and B, by a criterion with more than two
    scores.
    """

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
    """For two compared responses: 1 if the first won, one half for a tie."""
    status: str
    label: str | None = None
    """The option that people chose, if they agree."""


@dataclass(frozen=True)
class _Rows:
    """One row in both runs; None for a run that does not have it."""

    a: ComparedRow | None
    b: ComparedRow | None


def _compare(comparison: RunPlace, run_b: RunPlace) -> _Compared:
    with run_diff(comparison.folder, run_b.folder) as diff:
        comparisons = compare_runs(comparison.folder, run_b.folder, diff)
        judges = {comparison.judge for comparison in comparisons}
        tabs = _Tabs(labels_in(comparison, run_b))
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
            [drawn_difference(comparison, judges) for comparison in comparisons],
            tabs.worth(),
            list(tabs.pairs_of_scores()),
        )


def line_name(judges: Collection[str], judge: str, criteria: str, system: str = "") -> str:
    """Name the criterion, with the judge if there are several, and the system if there are
    several.
    """
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
    """Return True if the rows with a number would decide, were there no others."""
    limits = comparison.difference.of_scored
    is_apart = limits is not None and (limits.lower > 0 or limits.upper < 0)
    is_open = comparison.outcome is ComparisonOutcome.CANNOT_TELL
    return bool(comparison.without) and is_apart and is_open


def axis_share(differences: Iterable[DrawnDifference]) -> float:
    """Return the share of the largest possible change that the axes show: the smallest that holds
    every interval.
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
    """The outcome of a judgment, as it is compared."""

    text: str
    is_verdict: bool
    """True for a verdict, False for a status."""


class _Tabs:
    """Sorts rows into tabs. A row may be in several."""

    def __init__(
        self, labels: Labels, starts: Mapping[str, int] | None = None, most: int = _HELD
    ) -> None:
        self._labels = labels
        self._first, self._most = starts or {}, most
        self._scores: dict[tuple[str, str], tuple[float, int]] = {}
        self._both: dict[str, Counter[tuple[float, float]]] = {}
        self.counts: Counter[str] = Counter()
        self._moves: Counter[tuple[str, _Outcome, _Outcome]] = Counter()
        self.rows: dict[str, list[_Rows]] = {tab: [] for tab in TABS}

    def fill(self, diff: RunDiff) -> None:
        judges = diff.judges()
        for pair in diff.pairs():
            name = line_name(judges, pair.before.judge, pair.before.criteria)
            outcomes = [outcome_in(judged) for judged in (pair.before, pair.after)]
            self._moves[name, outcomes[0], outcomes[1]] += 1
            for judged, outcome in zip((pair.before, pair.after), outcomes, strict=True):
                self._score(name, outcome, judged.summary.score)
            self._score_both(name, pair)
            for tab in self._tabs_of(pair):
                self._add(tab, pair.before, pair.after)
        for row in diff.only_in(0):
            self._add("only_a", row, None)
        for row in diff.only_in(1):
            self._add("only_b", None, row)

    def _score(self, criteria: str, outcome: _Outcome, score: float | None) -> None:
        if outcome.is_verdict and score is not None:
            total, count = self._scores.get((criteria, outcome.text), (0.0, 0))
            self._scores[criteria, outcome.text] = (total + score, count + 1)

    def frequent_moves(self) -> tuple[list[_Move], dict[str, int]]:
        """Return the most frequent moves of each criterion, and how many rows went other ways."""
        frequent: list[_Move] = []
        moves_by_criterion, rare = Counter[str](), Counter[str]()
        for (name, a, b), count in self._moves.most_common():
            moves_by_criterion[name] += 1
            if moves_by_criterion[name] <= _MOST_MOVES:
                frequent.append(_Move(name, a.text, b.text, (a.is_verdict, b.is_verdict), count))
            else:
                rare[name] += count
        return frequent, dict(rare)

    def _score_both(self, name: str, pair: Pair) -> None:
        scores = pair.before.summary.score, pair.after.summary.score
        if scores[0] is not None and scores[1] is not None:
            counts = self._both.setdefault(name, Counter())
            # one more than can be drawn is counted, so that pairs_of_scores sees that there are
            # too many
            if len(counts) <= _MOST_SCORES:
                counts[scores[0], scores[1]] += 1

    def pairs_of_scores(self) -> Iterator[_Scores]:
        for criteria, counts in self._both.items():
            values = {score for pair in counts for score in pair}
            if len(values) > 2 and len(counts) <= _MOST_SCORES:
                yield _scores(criteria, counts, min(0.0, *values), max(1.0, *values))

    def worth(self) -> dict[str, dict[str, float]]:
        """Map criteria to verdicts and the mean of their scores."""
        means: dict[str, dict[str, float]] = {}
        for (criteria, verdict), (total, count) in self._scores.items():
            # only means from 0 to 1 are drawn
            if 0 <= total / count <= 1:
                means.setdefault(criteria, {})[verdict] = total / count
        return means

    def _tabs_of(self, pair: Pair) -> Iterator[str]:
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
        right = [
            self._labels.get((pair.before.criteria, identity)) == outcome_in(row).text
            for identity, row in zip(pair.identities, (pair.before, pair.after), strict=True)
        ]
        if (
            all((pair.before.criteria, identity) in self._labels for identity in pair.identities)
            and right[0] != right[1]
        ):
            yield "only_a_right" if right[0] else "only_b_right"

    def _add(self, tab: str, row_a: JudgedRow | None, row_b: JudgedRow | None) -> None:
        self.counts[tab] += 1
        if self.counts[tab] > self._first.get(tab, 0) and len(self.rows[tab]) < self._most:
            both = (None if row is None else compared_row(row) for row in (row_a, row_b))
            self.rows[tab].append(_Rows(*both))


def labels_in(*places: RunPlace) -> Labels:
    """Map (criteria, row) to the option that people chose in any of the runs; rows on which they
    differ are left out.
    """
    options_by_row: dict[tuple[str, str], set[str]] = {}
    for label in (stored for place in places for stored in LabelStore(place.folder).current()):
        if label.option is not None:
            options_by_row.setdefault((label.criteria, label.row), set()).add(label.option)
    return {
        about: next(iter(options)) for about, options in options_by_row.items() if len(options) == 1
    }


def compared_row(row: JudgedRow, label: str | None = None) -> ComparedRow:
    outcome = outcome_in(row)
    about = (row.row, row.id, row.judge, row.criteria, outcome.text, outcome.is_verdict)
    return ComparedRow(*about, _number(row), row.summary.status, label)


def _number(row: JudgedRow) -> float | None:
    """Return the number that is compared; None for comparisons of more than two responses."""
    return None if len(row.systems) > 2 else number_of(row.summary)


def outcome_in(row: JudgedRow) -> _Outcome:
    """Return the verdict, for compared responses the name of the better one; else the status."""
    choice, status = row.summary.chosen, row.summary.status
    if status != "scored" or choice is None:
        return _Outcome(status, is_verdict=False)
    is_place = isinstance(choice, int) and bool(row.systems)
    return _Outcome(
        system_at(row.systems, int(choice)) if is_place else str(choice), is_verdict=True
    )
