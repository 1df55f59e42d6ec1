"""How well two raters agree: a judge and a person, or two people.

Each figure is a function of a table: how often the first rater said this where the second said
that. It is None, with a reason, exactly where its formula divides nothing by nothing; it is never
NaN.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeVar

from adjudge.domain.json_types import JsonDict
from adjudge.messages import Message
from adjudge.stats.bootstrap import DRAWS, Draws, bootstrap
from adjudge.stats.correction import label_interval
from adjudge.stats.estimate import Estimate, Figure, undefined
from adjudge.stats.intervals import Clusters

Option = str | int | float
Table = Mapping[tuple[Option, Option], int]
"""How often the first rater (the judge) said the one where the second (the
truth) said the other.
"""
Missing = Literal["drop", "tie", "wrong"]
NO_VERDICT = Message("(no verdict)")
"""What a missing verdict counts as under the policy "wrong": an option that nobody else uses."""
Kept = TypeVar("Kept")


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
    return Figure(_agreed(table) / total) if total else Figure(None, Message("no rows"))


def _agreed(table: Table) -> int:
    return sum(count for (one, other), count in table.items() if one == other)


def balanced_accuracy(table: Table) -> Figure:
    """The mean recall over the options that the truth holds."""
    _, true = _margins(table)
    shares = [table.get((option, option), 0) / count for option, count in true.items()]
    return Figure(math.fsum(shares) / len(shares)) if shares else Figure(None, Message("no rows"))


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
    said = _margins(table)[0][option]
    return (
        Figure(table.get((option, option), 0) / said)
        if said
        else Figure(None, Message("the judge never said {option}", option=option))
    )


def recall(table: Table, option: Option) -> Figure:
    """Where the truth said ``option``, how often the judge did."""
    true = _margins(table)[1][option]
    return (
        Figure(table.get((option, option), 0) / true)
        if true
        else Figure(None, Message("{option} is never the truth", option=option))
    )


def f1(table: Table, option: Option) -> Figure:
    """The harmonic mean of precision and recall."""
    first, second = _margins(table)
    total = first[option] + second[option]
    return (
        Figure(2 * table.get((option, option), 0) / total)
        if total
        else Figure(None, Message("nobody said {option}", option=option))
    )


def macro(
    table: Table, figure: Callable[[Table, Option], Figure], options: Sequence[Option]
) -> Figure:
    """The plain mean of a figure over the options."""
    if not options:
        return Figure(None, Message("no rows"))
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
        return Figure(None, Message("no rows"))
    place = _places(first.keys() | second.keys(), order) if weights else {}
    distance = partial(_distance, weights=weights, place=place)
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


def _places(options: set[Option], order: Sequence[Option] | None) -> dict[Option, int]:
    chosen = sorted(options, key=_sort_key) if order is None else order
    return {option: place for place, option in enumerate(chosen)}


def _sort_key(option: Option) -> tuple[bool, float, str]:
    return (True, 0.0, option) if isinstance(option, str) else (False, option, "")


def _distance(
    one: Option, other: Option, *, weights: Weights, place: Mapping[Option, int]
) -> float:
    if weights is None:
        return float(one != other)
    apart = abs(place[one] - place[other])
    return float(apart * apart if weights == "quadratic" else apart)


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

    def to_dict(self) -> JsonDict:
        """This as a JSON-ready dict."""
        return {
            "n": self.count,
            "accuracy": self.accuracy.value,
            "kappa": self.kappa.value,
            "reason": self.kappa.reason,
        }


@dataclass(frozen=True, slots=True)
class ClassScores:
    """One option: precision and recall with Wilson's limits, F1 by bootstrap."""

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
    draws: Draws


def agreement(
    judge: Sequence[Option | None],
    truth: Sequence[Option],
    *,
    missing: Missing = "drop",
    tie: Option | None = None,
    order: Sequence[Option] | None = None,
    longest: Sequence[Option] | None = None,
    clusters: Clusters = None,
    draws: Draws = DRAWS,
    level: float = 0.95,
) -> Agreement:
    """Accuracy, balanced accuracy, kappas, macro and per-class figures, each with its interval, and
    the baselines.

    ``order`` are the options from worst to best; with it the kappas are weighted too. ``longest``
    is what a judge would say that always takes the longest response.
    """
    rows = rows_with_missing(judge, truth, missing, tie)
    kept = _kept([*range(len(truth))], judge, missing)
    groups = None if clusters is None else [clusters[place] for place in kept]
    options = _options(rows, order)
    per_class = {f"F1 {option}": partial(f1, option=option) for option in options}
    figures = bootstrap(
        rows,
        {**_statistics(options, order), **per_class},
        clusters=groups,
        draws=draws,
        level=level,
    )
    figures["accuracy"] = _share([one == other for one, other in rows], groups, level)
    f1s = {option: figures.pop(f"F1 {option}") for option in options}
    classes = {
        option: ClassScores(*_class_shares(rows, option, groups, level), f1s[option])
        for option in options
    }
    guesses = None if longest is None else [longest[place] for place in kept]
    return Agreement(
        len(rows),
        len(truth) - len(rows),
        figures,
        classes,
        baselines([true for _, true in rows], options, guesses, level),
        draws,
    )


def _kept(places: Sequence[Kept], judge: Sequence[Option | None], missing: Missing) -> list[Kept]:
    return [
        place
        for place, said in zip(places, judge, strict=True)
        if said is not None or missing != "drop"
    ]


def _options(rows: Sequence[tuple[Option, Option]], order: Sequence[Option] | None) -> list[Option]:
    seen = {option for row in rows for option in row} - {NO_VERDICT}
    return (
        [option for option in order if option in seen]
        if order is not None
        else sorted(seen, key=_sort_key)
    )


def _statistics(
    options: Sequence[Option], order: Sequence[Option] | None
) -> dict[str, Callable[[Table], Figure]]:
    found: dict[str, Callable[[Table], Figure]] = {
        "accuracy": accuracy,
        "balanced accuracy": balanced_accuracy,
        "kappa": cohen_kappa,
        "macro precision": partial(macro, figure=precision, options=options),
        "macro recall": partial(macro, figure=recall, options=options),
        "macro F1": partial(macro, figure=f1, options=options),
    }
    if order is not None:
        scale = [*order, NO_VERDICT]
        found["linear kappa"] = partial(cohen_kappa, weights="linear", order=scale)
        found["quadratic kappa"] = partial(cohen_kappa, weights="quadratic", order=scale)
    return found


def _class_shares(
    rows: Sequence[tuple[Option, Option]], option: Option, clusters: Clusters, level: float
) -> tuple[Estimate, Estimate]:
    found = []
    for side, reason in (
        (0, Message("the judge never said {option}", option=option)),
        (1, Message("{option} is never the truth", option=option)),
    ):
        places = [place for place, row in enumerate(rows) if row[side] == option]
        groups = None if clusters is None else [clusters[place] for place in places]
        found.append(
            _share([rows[place][0] == rows[place][1] for place in places], groups, level, reason)
        )
    return found[0], found[1]


def _share(
    hits: Sequence[bool], clusters: Clusters, level: float, reason: str = Message("no rows")
) -> Estimate:
    if not hits:
        return undefined("Wilson", 0, reason, level=level)
    interval = label_interval([float(hit) for hit in hits], level=level, clusters=clusters)
    return Estimate(
        sum(hits) / len(hits), interval.lower, interval.upper, len(hits), "Wilson", level
    )


def baselines(
    truth: Sequence[Option],
    options: Sequence[Option],
    longest: Sequence[Option] | None = None,
    level: float = 0.95,
) -> dict[str, Estimate]:
    """The accuracy of judges that read nothing: the commonest answer, a guess, and the longest
    response where it is known.
    """
    if not truth:
        return {}
    commonest = Counter(truth).most_common(1)[0][0]
    found = {"majority": _share([true == commonest for true in truth], None, level)}
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
        found["longest"] = _share(
            [one == true for one, true in zip(longest, truth, strict=True)], None, level
        )
    return found
