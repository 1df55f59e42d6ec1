"""How well two raters agree: a judge and a person, or two people.

Each figure is a function of a table: how often the first rater said this where the second said
that. It is None, with a reason, exactly where its formula divides nothing by nothing; it is never
NaN.
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
"""How often the first rater (the judge) said the one where the second (the
truth) said the other.
"""
Missing = Literal["drop", "tie", "wrong"]
NO_VERDICT = Message("(no verdict)")
"""What a missing verdict counts as under the policy "wrong": an option that nobody else uses."""


def rows_with_missing(
    judge: Sequence[Option | None],
    truth: Sequence[Option],
    missing: Missing,
    tie: Option | None = None,
) -> list[tuple[Option, Option]]:
    """The rows as pairs, with what the named policy makes of a missing verdict: leave the row out,
    a tie, or a wrong answer.
    """
    if missing == "tie" and tie is None:
        raise ValueError(Message('the policy "tie" needs the option that means a tie'))
    stand_in = NO_VERDICT if tie is None or missing == "wrong" else tie
    return [
        (stand_in if said is None else said, true)
        for said, true in zip(judge, truth, strict=True)
        if said is not None or missing != "drop"
    ]


def accuracy(table: Table) -> Figure:
    """The share of rows on which the two agree."""
    total = sum(table.values())
    return Figure(_agreed(table) / total) if total else NO_ROWS


def _agreed(table: Table) -> int:
    return sum(count for (one, other), count in table.items() if one == other)


def balanced_accuracy(table: Table) -> Figure:
    """The mean recall over the options that the truth holds; of one option there is nothing to
    balance.
    """
    _, true = _margins(table)
    shares = [table.get((option, option), 0) / count for option, count in true.items()]
    if len(shares) == 1:
        return Figure(None, Message("{option} is always the truth", option=next(iter(true))))
    return Figure(math.fsum(shares) / len(shares)) if shares else NO_ROWS


def _margins(table: Table) -> tuple[Counter[Option], Counter[Option]]:
    first: Counter[Option] = Counter()
    second: Counter[Option] = Counter()
    for (one, other), count in table.items():
        if count:
            first[one] += count
            second[other] += count
    return first, second


def precision(table: Table, option: Option) -> Figure:
    """Where the judge said ``option``, how often the truth did."""
    never = Message("the judge never said {option}", option=option)
    return _share_of_option(table, option, _margins(table)[0][option], never)


def recall(table: Table, option: Option) -> Figure:
    """Where the truth said ``option``, how often the judge did."""
    never = Message("{option} is never the truth", option=option)
    return _share_of_option(table, option, _margins(table)[1][option], never)


def f1(table: Table, option: Option) -> Figure:
    """The harmonic mean of precision and recall."""
    first, second = _margins(table)
    never = Message("nobody said {option}", option=option)
    return _share_of_option(table, option, (first[option] + second[option]) / 2, never)


def _share_of_option(table: Table, option: Option, of: float, never: Message) -> Figure:
    return Figure(table.get((option, option), 0) / of) if of else Figure(None, never)


def macro(
    table: Table, figure: Callable[[Table, Option], Figure], options: Sequence[Option]
) -> Figure:
    """The plain mean of a figure over the options."""
    if not options:
        return NO_ROWS
    figures = [figure(table, option) for option in options]
    gone = next((one for one in figures if one.value is None), None)
    return gone or Figure(math.fsum(one.value or 0.0 for one in figures) / len(figures))


Weights = Literal["linear", "quadratic"] | None


def cohen_kappa(
    table: Table, weights: Weights = None, order: Sequence[Option] | None = None
) -> Figure:
    """Cohen's kappa, plain or weighted by the distance of the options in ``order`` (that of their
    values without one).
    """
    first, second = _margins(table)
    total = sum(first.values())
    if not total:
        return NO_ROWS
    chosen = sorted(first.keys() | second.keys(), key=_sort_key) if order is None else order
    places = {option: float(place) for place, option in enumerate(chosen)}
    distance = partial(apart, distance=weights or "nominal", places=places)
    observed = math.fsum(distance(one, other) * count for (one, other), count in table.items())
    expected = (
        math.fsum(
            distance(one, other) * a * b for one, a in first.items() for other, b in second.items()
        )
        / total
    )
    if expected == 0:
        return Figure(None, Message("both raters said one and the same thing of every row"))
    return Figure(1 - observed / expected)


def _sort_key(option: Option) -> tuple[bool, float, str]:
    return (True, 0.0, option) if isinstance(option, str) else (False, option, "")


@dataclass(frozen=True, slots=True)
class TwoRaters:
    """Two raters over the rows that both rated."""

    count: int
    accuracy: Figure
    kappa: Figure

    @classmethod
    def of(cls, pairs: Sequence[tuple[Option, Option]]) -> TwoRaters:
        """What both say of each row."""
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
    """One option: precision, recall and F1."""

    precision: Estimate
    recall: Estimate
    f1: Estimate


@dataclass(frozen=True, slots=True)
class Agreement:
    """What two raters' rows say of their agreement."""

    count: int
    left_out: int
    """Rows that the policy for missing verdicts dropped."""
    figures: dict[str, Estimate]
    classes: dict[Option, ClassScores]
    baselines: dict[str, Estimate]
    """What the same rows give a judge that does not read them."""


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
    """Accuracy, balanced accuracy, kappas, macro and per-class figures, each with its interval, and
    the baselines.

    ``order`` are the options from worst to best; with it the kappas are weighted too. ``offered``
    are those that a guess may fall on, beside the ones that were seen. ``longest`` is what a judge
    would say that always takes the longest response.
    """
    rows = rows_with_missing(judge, truth, missing, tie)
    kept = [place for place, said in enumerate(judge) if said is not None or missing != "drop"]
    groups = clusters_at(clusters, kept)
    options = _options(rows, order)
    figures = _figures(rows, options, order, groups, level)
    classes = {option: _class_scores(rows, option, groups, level) for option in options}
    guesses = None if longest is None else [longest[place] for place in kept]
    return Agreement(
        len(rows),
        len(truth) - len(rows),
        figures,
        classes,
        baselines([true for _, true in rows], {*options, *offered}, guesses, level),
    )


def _options(rows: Sequence[tuple[Option, Option]], order: Sequence[Option] | None) -> list[Option]:
    seen = {option for row in rows for option in row} - {NO_VERDICT}
    return (
        [option for option in order if option in seen]
        if order is not None
        else sorted(seen, key=_sort_key)
    )


_Rows = Sequence[tuple[Option, Option]]
_Hits = tuple[list[bool], Clusters]
"""Whether judge and truth agree, on some rows, and the clusters of these."""


def _figures(
    rows: _Rows,
    options: Sequence[Option],
    order: Sequence[Option] | None,
    clusters: Clusters,
    level: float,
) -> dict[str, Estimate]:
    table = Counter(rows)
    said, true, either = (
        [_hits(rows, option, sides, clusters) for option in options]
        for sides in ((0,), (1,), (0, 1))
    )
    limits: dict[str, tuple[Figure, Interval | None]] = {
        "balanced accuracy": (balanced_accuracy(table), _mean_share(true, level)),
        "kappa": (
            cohen_kappa(table),
            above_chance(rows, clusters=clusters, level=level) if rows else None,
        ),
        "macro precision": (macro(table, precision, options), _mean_share(said, level)),
        "macro recall": (macro(table, recall, options), _mean_share(true, level)),
        "macro F1": (macro(table, f1, options), _mean_f1(either, level)),
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
        "accuracy": share_of([one == other for one, other in rows], clusters, level),
        **{
            name: with_limits(figure, interval, len(rows), clusters, level)
            for name, (figure, interval) in limits.items()
        },
    }


def _hits(rows: _Rows, option: Option, sides: Sequence[int], clusters: Clusters) -> _Hits:
    """Of the rows where one of ``sides`` (the judge 0, the truth 1) said ``option``."""
    places = [place for place, row in enumerate(rows) if any(row[side] == option for side in sides)]
    return [rows[place][0] == rows[place][1] for place in places], clusters_at(clusters, places)


def _mean_share(parts: Sequence[_Hits], level: float) -> Interval | None:
    """None where one option alone was seen: nobody knows what is true of the others."""
    return mean_share_interval(parts, level=level) if len(parts) > 1 else None


def _mean_f1(parts: Sequence[_Hits], level: float) -> Interval | None:
    each = [f1_interval(hits, level=level, clusters=groups) for hits, groups in parts]
    return mean_of_intervals(each, level=level) if len(parts) > 1 else None


def _class_scores(rows: _Rows, option: Option, clusters: Clusters, level: float) -> ClassScores:
    (said, of_said), (true, of_true), (either, of_either) = (
        _hits(rows, option, sides, clusters) for sides in ((0,), (1,), (0, 1))
    )
    never_said = Message("the judge never said {option}", option=option)
    never_true = Message("{option} is never the truth", option=option)
    limits = f1_interval(either, level=level, clusters=of_either)
    return ClassScores(
        share_of(said, of_said, level, never_said),
        share_of(true, of_true, level, never_true),
        with_limits(f1(Counter(rows), option), limits, len(rows), clusters, level),
    )


def share_of(
    hits: Sequence[bool], clusters: Clusters, level: float, reason: str = Message("no rows")
) -> Estimate:
    """How many of the rows, with its interval."""
    return estimate_mean([float(hit) for hit in hits], "share", reason, level, clusters)


def baselines(
    truth: Sequence[Option],
    options: Collection[Option],
    longest: Sequence[Option] | None,
    level: float,
) -> dict[str, Estimate]:
    """The accuracy of judges that read nothing: the commonest answer, a guess, and the longest
    response where it is known.
    """
    if not truth:
        return {}
    commonest = Counter(truth).most_common(1)[0][0]
    found = {"majority": share_of([true == commonest for true in truth], None, level)}
    if options:
        found["random"] = Estimate(
            1 / len(options),
            None,
            None,
            len(truth),
            "expected",
            level,
            Message("exact: nothing was drawn"),
        )
    if longest is not None:
        found["longest"] = share_of(
            [one == true for one, true in zip(longest, truth, strict=True)], None, level
        )
    return found
