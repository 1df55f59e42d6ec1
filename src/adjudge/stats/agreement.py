"""Agreement of two raters: a judge and a person, or two people.

Each figure is a function of a table of pairs of answers. It is None, with a reason, exactly if its
formula divides zero by zero; it is never NaN.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from adjudge.messages import Message
from adjudge.stats.agreement_intervals import (
    above_chance,
    apart,
    f1_interval,
    mean_of_intervals,
    mean_share_interval,
    with_limits,
)
from adjudge.stats.correction import estimate_mean
from adjudge.stats.estimate import NO_ROWS, Estimate, Figure, JsonFigures
from adjudge.stats.intervals import Clusters, Interval, clusters_at

Option = str | int | float
Table = Mapping[tuple[Option, Option], int]
"""(answer of the judge, truth) → number of rows."""
Missing = Literal["drop", "tie", "wrong"]
NO_VERDICT = Message("(no verdict)")
"""Option that stands for a missing verdict under the policy "wrong". No rater uses it."""


def rows_with_missing(
    judge: Sequence[Option | None],
    truth: Sequence[Option],
    missing: Missing,
    tie: Option | None = None,
) -> list[tuple[Option, Option]]:
    """Return pairs of verdict and truth.

    ``missing``: whether a row without a verdict is left out, counts as a tie, or counts as wrong.
    """
    if missing == "tie" and tie is None:
        raise ValueError(Message('the policy "tie" needs the option that means a tie'))
    stand_in = NO_VERDICT if tie is None or missing == "wrong" else tie
    return [
        (stand_in if verdict is None else verdict, label)
        for verdict, label in zip(judge, truth, strict=True)
        if verdict is not None or missing != "drop"
    ]


def accuracy(table: Table) -> Figure:
    """Return the share of rows on which both agree."""
    total = sum(table.values())
    agreed = sum(count for (verdict, label), count in table.items() if verdict == label)
    return Figure(agreed / total) if total else NO_ROWS


def balanced_accuracy(table: Table) -> Figure:
    """Return the mean recall over options that occur in the truth; undefined if there is only
    one.
    """
    _, true = _count_sides(table)
    shares = [table.get((option, option), 0) / count for option, count in true.items()]
    # With one option in the truth, a judge that always says it would look perfect.
    if len(shares) == 1:
        return Figure(None, Message("{option} is always the truth", option=next(iter(true))))
    return Figure(math.fsum(shares) / len(shares)) if shares else NO_ROWS


def _count_sides(table: Table) -> tuple[Counter[Option], Counter[Option]]:
    """Count the answers of each rater."""
    judge_counts: Counter[Option] = Counter()
    truth_counts: Counter[Option] = Counter()
    for (verdict, label), count in table.items():
        if count:
            judge_counts[verdict] += count
            truth_counts[label] += count
    return judge_counts, truth_counts


def precision(table: Table, option: Option) -> Figure:
    """Return the share of correct rows among those for which the judge said ``option``."""
    never = Message("the judge never said {option}", option=option)
    return _share_of_option(table, option, _count_sides(table)[0][option], never)


def recall(table: Table, option: Option) -> Figure:
    """Return the share of rows with truth ``option`` for which the judge said so."""
    never = Message("{option} is never the truth", option=option)
    return _share_of_option(table, option, _count_sides(table)[1][option], never)


def f1(table: Table, option: Option) -> Figure:
    """Return the harmonic mean of precision and recall."""
    judge_counts, truth_counts = _count_sides(table)
    never = Message("no annotator said {option}", option=option)
    return _share_of_option(table, option, (judge_counts[option] + truth_counts[option]) / 2, never)


def _share_of_option(table: Table, option: Option, of: float, never: Message) -> Figure:
    return Figure(table.get((option, option), 0) / of) if of else Figure(None, never)


def macro(
    table: Table, figure: Callable[[Table, Option], Figure], options: Sequence[Option]
) -> Figure:
    """Return the unweighted mean of a figure over the options; undefined if it is undefined for one
    of them.
    """
    if not options:
        return NO_ROWS
    figures = [figure(table, option) for option in options]
    missing = next(
        (option_figure for option_figure in figures if option_figure.value is None), None
    )
    return missing or Figure(
        math.fsum(option_figure.value or 0.0 for option_figure in figures) / len(figures)
    )


Weights = Literal["linear", "quadratic"] | None


def cohen_kappa(
    table: Table, weights: Weights = None, order: Sequence[Option] | None = None
) -> Figure:
    """Return Cohen's kappa, optionally weighted by distance in ``order`` (by default, sorted
    order).
    """
    judge_counts, truth_counts = _count_sides(table)
    total = sum(judge_counts.values())
    if not total:
        return NO_ROWS
    ordered_options = (
        sorted(judge_counts.keys() | truth_counts.keys(), key=_sort_key) if order is None else order
    )
    places = {option: float(place) for place, option in enumerate(ordered_options)}
    distance = partial(apart, distance=weights or "nominal", places=places)
    observed = math.fsum(
        distance(verdict, label) * count for (verdict, label), count in table.items()
    )
    expected = (
        math.fsum(
            distance(verdict, label) * a * b
            for verdict, a in judge_counts.items()
            for label, b in truth_counts.items()
        )
        / total
    )
    # Agreement by chance is certain then, and kappa is 0/0.
    if expected == 0:
        return Figure(None, Message("both raters gave the same single answer for every row"))
    return Figure(1 - observed / expected)


def _sort_key(option: Option) -> tuple[bool, float, str]:
    return (True, 0.0, option) if isinstance(option, str) else (False, option, "")


@dataclass(frozen=True, slots=True)
class TwoRaters:
    """Agreement of two raters over the rows that both rated."""

    count: int
    accuracy: Figure
    kappa: Figure

    @classmethod
    def of(cls, pairs: Sequence[tuple[Option, Option]]) -> TwoRaters:
        """Compute the figures from pairs of ratings."""
        table = Counter(pairs)
        return cls(len(pairs), accuracy(table), cohen_kappa(table))

    def to_dict(self) -> JsonFigures:
        return {
            "n": self.count,
            "accuracy": self.accuracy.value,
            "kappa": self.kappa.value,
            "reason": self.kappa.reason,
        }


@dataclass(frozen=True, slots=True)
class ClassScores:
    """Precision, recall and F1 of one option."""

    precision: Estimate
    recall: Estimate
    f1: Estimate


@dataclass(frozen=True, slots=True)
class Agreement:
    """All agreement figures between two raters."""

    count: int
    left_out: int
    """Rows that the policy for missing verdicts dropped."""
    figures: dict[str, Estimate]
    classes: dict[Option, ClassScores]
    baselines: dict[str, Estimate]
    """Accuracy of judges that do not read the rows."""


def agreement(
    judge: Sequence[Option | None],
    truth: Sequence[Option],
    *,
    missing: Missing = "drop",
    tie: Option | None = None,
    order: Sequence[Option] | None = None,
    offered: Sequence[Option] = (),
    longest: Sequence[Option] | None = None,
    clusters: Clusters = None,
    level: float = 0.95,
) -> Agreement:
    """Compute accuracy, kappas, macro and per-class figures with intervals, and baselines.

    ``order``: the options from worst to best; adds weighted kappas. ``offered``: further options
    that a random guess may pick. ``longest``: answers of a judge that always picks the longest
    response.

    Example: ``agreement(["PASS", "FAIL"], ["PASS", "PASS"]).figures["accuracy"].value``
    """
    rows = rows_with_missing(judge, truth, missing, tie)
    counted_places = [
        place for place, verdict in enumerate(judge) if verdict is not None or missing != "drop"
    ]
    groups = clusters_at(clusters, counted_places)
    options = _options(rows, order)
    figures = _figures(rows, options, order, groups, level)
    classes = {option: _class_scores(rows, option, groups, level) for option in options}
    guesses = None if longest is None else [longest[place] for place in counted_places]
    return Agreement(
        len(rows),
        len(truth) - len(rows),
        figures,
        classes,
        baselines([true for _, true in rows], {*options, *offered}, guesses, level),
    )


def _options(rows: Sequence[tuple[Option, Option]], order: Sequence[Option] | None) -> list[Option]:
    used = {option for row in rows for option in row} - {NO_VERDICT}
    return (
        [option for option in order if option in used]
        if order is not None
        else sorted(used, key=_sort_key)
    )


_Rows = Sequence[tuple[Option, Option]]
# For some rows, if judge and truth agree, and the clusters of these rows.
_Hits = tuple[list[bool], Clusters]


def _figures(
    rows: _Rows,
    options: Sequence[Option],
    order: Sequence[Option] | None,
    clusters: Clusters,
    level: float,
) -> dict[str, Estimate]:
    table = Counter(rows)
    judge_hits, truth_hits, either_hits = (
        [_hits(rows, option, sides, clusters) for option in options]
        for sides in ((0,), (1,), (0, 1))
    )
    limits: dict[str, tuple[Figure, Interval | None]] = {
        "balanced accuracy": (balanced_accuracy(table), _mean_share(truth_hits, level)),
        "kappa": (
            cohen_kappa(table),
            above_chance(rows, clusters=clusters, level=level) if rows else None,
        ),
        "macro precision": (macro(table, precision, options), _mean_share(judge_hits, level)),
        "macro recall": (macro(table, recall, options), _mean_share(truth_hits, level)),
        "macro F1": (
            macro(table, f1, options),
            mean_of_intervals(
                [f1_interval(hits, level=level, clusters=groups) for hits, groups in either_hits],
                level=level,
            )
            if len(either_hits) > 1
            else None,
        ),
    }
    scale = [*(order or ()), NO_VERDICT]
    places = {option: place / (len(scale) - 1 or 1) for place, option in enumerate(scale)}
    weightings: tuple[Literal["linear", "quadratic"], ...] = ("linear", "quadratic")
    for weights in weightings if order is not None else ():
        limits[f"{weights} kappa"] = (
            cohen_kappa(table, weights, scale),
            above_chance(rows, weights, places, clusters=clusters, level=level) if rows else None,
        )
    return {
        "accuracy": share_of([verdict == label for verdict, label in rows], clusters, level),
        **{
            name: with_limits(figure, interval, len(rows), clusters, level)
            for name, (figure, interval) in limits.items()
        },
    }


def _hits(rows: _Rows, option: Option, sides: Sequence[int], clusters: Clusters) -> _Hits:
    """Select the rows in which one of ``sides`` (judge 0, truth 1) said ``option``."""
    places = [place for place, row in enumerate(rows) if any(row[side] == option for side in sides)]
    return [rows[place][0] == rows[place][1] for place in places], clusters_at(clusters, places)


def _mean_share(parts: Sequence[_Hits], level: float) -> Interval | None:
    """Return the interval of a mean share; None for a single option, as others are unknown."""
    return mean_share_interval(parts, level=level) if len(parts) > 1 else None


def _class_scores(rows: _Rows, option: Option, clusters: Clusters, level: float) -> ClassScores:
    (judge_hits, judge_clusters), (truth_hits, truth_clusters), (either, of_either) = (
        _hits(rows, option, sides, clusters) for sides in ((0,), (1,), (0, 1))
    )
    never_said = Message("the judge never said {option}", option=option)
    never_true = Message("{option} is never the truth", option=option)
    limits = f1_interval(either, level=level, clusters=of_either)
    return ClassScores(
        share_of(judge_hits, judge_clusters, level, never_said),
        share_of(truth_hits, truth_clusters, level, never_true),
        with_limits(f1(Counter(rows), option), limits, len(rows), clusters, level),
    )


def share_of(
    hits: Sequence[bool], clusters: Clusters, level: float, reason: str = Message("no rows")
) -> Estimate:
    """Return the share of hits with its interval. ``reason``: why there is none without rows."""
    return estimate_mean([float(hit) for hit in hits], "share", reason, level, clusters)


def baselines(
    truth: Sequence[Option],
    options: Collection[Option],
    longest: Sequence[Option] | None,
    level: float,
) -> dict[str, Estimate]:
    """Return the accuracy of judges that read nothing: the most common answer, random guesses, the
    longest response.
    """
    if not truth:
        return {}
    # The baseline that a judge must beat: on 95 % passes, "always PASS" has an accuracy of 0.95.
    commonest = Counter(truth).most_common(1)[0][0]
    figures = {"majority": share_of([true == commonest for true in truth], None, level)}
    if options:
        figures["random"] = Estimate(
            1 / len(options),
            None,
            None,
            len(truth),
            "expected",
            level,
            Message("exact: nothing was drawn"),
        )
    if longest is not None:
        figures["longest"] = share_of(
            [longest_answer == true for longest_answer, true in zip(longest, truth, strict=True)],
            None,
            level,
        )
    return figures
