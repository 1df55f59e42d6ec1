"""How well a judge agrees with people, and people among themselves."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import get_args

from adjudge.core.domain.frozen_mapping import some_of
from adjudge.core.domain.json_types import JsonDict, object_in
from adjudge.core.domain.slices import Slicing
from adjudge.core.domain.verdict import TIE
from adjudge.core.reading.types import Number, Word, key
from adjudge.errors import SetupError
from adjudge.messages import Message, plural
from adjudge.stats.agreement import Agreement, Missing, Option, TwoRaters, agreement, share_of
from adjudge.stats.agreement_intervals import (
    LEAST_ROWS,
    Distance,
    above_chance,
    above_even_chance,
    fisher_interval,
    too_few_units,
    with_limits,
)
from adjudge.stats.alt_test import EPSILON, AltTest, alt_test, closeness, share_alike
from adjudge.stats.bootstrap import DRAWS, Draws, bootstrap
from adjudge.stats.correlation import correlation_of, kendall, pearson, spearman
from adjudge.stats.estimate import Estimate, Figure
from adjudge.stats.intervals import Clusters, clusters_at, count_units
from adjudge.stats.probability import probability_figures
from adjudge.stats.raters import Metric, Ratings, gwet_ac1, krippendorff_alpha, rating_places
from adjudge.trust.both_orders import OrderAgreement, order_agreement
from adjudge.trust.judge_among_people import RaterModel, judge_among_people
from adjudge.trust.measure import Measure
from adjudge.trust.rows import Answer, LabelledRow, Rows, stated_probability

GROWN = Message(
    "no figures of agreement: rows were added to the run between the labels, so rows had different "
    "chances to be drawn"
)
CROWD = 12
"""More annotators than these are not compared two by two."""


@dataclass(frozen=True, kw_only=True)
class AgreementSettings:
    """How agreement is measured."""

    missing: Missing = key(
        Word[Missing](get_args(Missing)),
        "What a judgment without a verdict counts as in agreement figures: left out, a tie, or "
        "wrong.",
        "drop",
    )
    epsilon: float = key(
        Number(least=0, most=1),
        "How much worse than a person the judge may be and still replace one: 0.2 for experts, "
        "0.15 skilled, 0.1 crowd.",
        EPSILON,
    )
    draws: Draws = DRAWS


@dataclass(frozen=True)
class AgreementReport:
    """Everything that is said of agreement on one criteria."""

    count: int
    """Labelled rows that it is about."""
    settings: AgreementSettings
    figures: Mapping[str, Estimate]
    left_out: int = 0
    drawn: bool = False
    """True if the rows were drawn among all rows; other figures are about those rows alone."""
    drawn_otherwise: int = 0
    """Labelled rows that were drawn within a verdict or with chances of their own, and are left
    out: they would bias the figures.
    """
    reason: Message | None = None
    """Why there are no figures."""
    baselines: Mapping[str, Estimate] = field(default_factory=dict)
    classes: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict)
    """Option → precision, recall, F1."""
    groups: Mapping[str, TwoRaters] = field(default_factory=dict)
    annotators: Mapping[str, TwoRaters] = field(default_factory=dict)
    """The judge against each person."""
    people: Mapping[tuple[str, str], TwoRaters] = field(default_factory=dict)
    """Each two persons; of a crowd only alpha tells how well they agree."""
    people_alpha: Figure = Figure(None, "one annotator")
    alpha_level: Metric = "nominal"
    """The level of measurement that alpha assumes, of the judge and of people."""
    alt_test: AltTest | None = None
    raters: RaterModel | None = None
    """The judge as one more annotator, where people share too few rows for that test."""
    weighted: bool = False
    """Whether the rows were drawn with chances of their own: the figures are about them alone."""
    orders: Mapping[str, OrderAgreement] = field(default_factory=dict)
    """Of rows that were asked in two orders: all of them under an empty name, then by group."""

    @property
    def notes(self) -> list[Message]:
        """Why there are no figures, or how many labelled rows they leave out because these were
        not drawn among all rows.
        """
        if self.reason is not None:
            return [self.reason]
        if not self.drawn_otherwise:
            return []
        left_out = plural(
            "figures of agreement leave out {count} labelled row that was not drawn among all rows",
            "figures of agreement leave out {count} labelled rows that were not drawn among all "
            "rows",
            self.drawn_otherwise,
        )
        return [left_out]

    def to_dict(self) -> JsonDict:
        told = some_of(self, "raters", "figures", "baselines", "classes", "groups", "annotators")
        figures = object_in(told["figures"])
        return {
            "n": self.count,
            "drawn_at_random": self.drawn,
            "missing": self.settings.missing,
            "left_out": self.left_out,
            "drawn_otherwise": self.drawn_otherwise,
            "reason": self.reason,
            **{name: figures.get(name) for name in ("accuracy", "kappa", "alpha")},
            "alt_test": _alt_test(self.alt_test) if self.alt_test else None,
            **told,
            "people": [
                {"annotators": list(names), **one.to_dict()} for names, one in self.people.items()
            ],
            "people_alpha": self.people_alpha.value,
            "alpha_level": self.alpha_level,
            "orders": {name or "all": one.to_dict() for name, one in self.orders.items()},
            "bootstrap": {"draws": self.settings.draws.count, "seed": self.settings.draws.seed},
        }


def _alt_test(one: AltTest) -> JsonDict:
    return {
        **some_of(one, "winning_rate", "advantage", "passed", "epsilon"),
        "nearby": {f"{epsilon:g}": rate for epsilon, rate in (one.nearby or {}).items()},
        "annotators": [
            {
                "annotator": each.annotator,
                "n": each.rows,
                **some_of(each, "advantage", "p_value", "won"),
            }
            for each in one.comparisons
        ],
        **some_of(one, "skipped", "reason"),
    }


def check_missing(missing: Missing, options: Collection[str], criteria: str) -> None:
    """Refuse to count a missing verdict as a tie if the criterion has no tie among its options."""
    if missing == "tie" and TIE not in options:
        raise SetupError(
            "criterion {criteria!r} has no tie: --missing tie is for comparisons; use drop or "
            "wrong",
            criteria=criteria,
        )


def agreement_of(rows: Rows, settings: AgreementSettings, level: float) -> AgreementReport:
    """Measure agreement on ``rows.compared``."""
    measure, seen = rows.measure, rows.compared
    check_missing(settings.missing, measure.options, rows.scale.name)
    drawn = sum(one.counts for one in rows.labelled)
    counted = any(one.counts for one in seen)
    kept = [one for one in seen if one.truth is not None]
    clusters = clusters_at(rows.together, [one.place for one in kept])
    found = (
        _numbers(kept, measure, settings, clusters, level)
        if measure.is_number
        else _options(kept, measure, settings, clusters, level)
    )
    people = _by_annotator(seen)
    test = _replaceable(seen, people, measure, settings.epsilon) if len(people) > 1 else None
    too_few = test is not None and test.winning_rate is None and not measure.is_number
    return replace(
        found,
        drawn=any(one.random for one in seen),
        drawn_otherwise=drawn - len(seen) if counted else drawn,
        reason=GROWN if drawn and not seen else None,
        weighted=counted and not any(one.random for one in seen),
        groups=_groups(kept, measure, rows.slicing),
        annotators={name: _pair(_beside(seen, own), measure) for name, own in people.items()},
        people=_each_two(seen, people, measure),
        people_alpha=_people_alpha(seen, people, measure)
        if len(people) > 1
        else Figure(None, "one annotator"),
        alpha_level=_alpha_level(measure),
        alt_test=test,
        raters=judge_among_people(seen) if too_few else None,
        orders=_orders(kept, settings, rows.slicing),
    )


def _options(
    rows: Sequence[LabelledRow],
    measure: Measure,
    settings: AgreementSettings,
    clusters: Clusters,
    level: float,
) -> AgreementReport:
    truth = [str(one.truth) for one in rows]
    order = measure.options if measure.is_ordinal else None
    longest = [one.longest for one in rows]
    found = agreement(
        [one.verdict for one in rows],
        truth,
        missing=settings.missing,
        tie=TIE if TIE in measure.options else None,
        order=order,
        offered=() if TIE in measure.options else measure.options,
        longest=[str(one) for one in longest] if all(longest) and longest else None,
        clusters=clusters,
        level=level,
    )
    more = _further(rows, truth, measure, settings, clusters, level)
    figures = {**found.figures, **more, **_wrong_steps(rows, clusters, level)}
    classes = _classes(found)
    return AgreementReport(
        len(rows), settings, figures, found.left_out, baselines=found.baselines, classes=classes
    )


def _wrong_steps(
    rows: Sequence[LabelledRow], clusters: Clusters, level: float
) -> dict[str, Estimate]:
    """How often the judge names the step that people name, and one at most one away from it: over
    rows with a verdict where people name one, of a judge that is asked for a step.
    """
    if all(one.wrong_step is None for one in rows):
        return {}
    known = [
        (place, one.wrong_step, true)
        for place, one in enumerate(rows)
        if one.verdict is not None and (true := one.true_step) is not None
    ]
    together = clusters_at(clusters, [place for place, _, _ in known])
    return {
        name: share_of(
            [said is not None and abs(said - true) <= most for _, said, true in known],
            together,
            level,
            Message("nobody named a step"),
        )
        for name, most in (("wrong step", 0), ("wrong step ±1", 1))
    }


def _classes(found: Agreement) -> dict[str, dict[str, Estimate]]:
    return {
        str(option): {"precision": one.precision, "recall": one.recall, "F1": one.f1}
        for option, one in found.classes.items()
    }


def _further(
    rows: Sequence[LabelledRow],
    truth: Sequence[str],
    measure: Measure,
    settings: AgreementSettings,
    clusters: Clusters,
    level: float,
) -> dict[str, Estimate]:
    """Chance-corrected figures of rows with a verdict, correlations of options that stand in an
    order, and of probabilities.
    """
    judged = [place for place, one in enumerate(rows) if one.verdict is not None]
    pairs = [(str(rows[place].verdict), truth[place]) for place in judged]
    ratings: list[Ratings] = [*pairs]
    own = clusters_at(clusters, judged)
    metric = _alpha_level(measure)
    options = len([one for one in measure.options if one != TIE or _tied(rows)])
    order = measure.options if metric == "ordinal" else None
    found = {
        "AC1": with_limits(
            gwet_ac1(Counter(ratings), options),
            above_even_chance(pairs, max(2, options), clusters=own, level=level) if pairs else None,
            len(pairs),
            own,
            level,
        ),
        "alpha": _alpha(pairs, metric, order, own, level),
    }
    if metric == "ordinal":
        found |= _correlations(
            [(measure.value(a), measure.value(b)) for a, b in pairs], own, settings.draws, level
        )
    return found | _probabilities(rows, measure, level)


def _alpha(
    pairs: Sequence[tuple[Option, Option]],
    metric: Metric,
    order: Sequence[Option] | None,
    clusters: Clusters,
    level: float,
) -> Estimate:
    figure = krippendorff_alpha(Counter(pairs), metric, order)
    if figure.value is None:
        return with_limits(figure, None, len(pairs), clusters, level)
    said = Counter(option for pair in pairs for option in pair)
    places = rating_places(said, metric, order)
    if places is not None:
        low, high = min(places.values()), max(places.values())
        places = {option: (place - low) / (high - low) for option, place in places.items()}
    distance: Distance = "nominal" if places is None else "quadratic"
    limits = above_chance(pairs, distance, places, pooled=True, clusters=clusters, level=level)
    return with_limits(figure, limits, len(pairs), clusters, level)


def _tied(rows: Sequence[LabelledRow]) -> bool:
    """Whether anybody called responses equally good: else nobody was free to, and a tie is no
    option that chance could hit.
    """
    said = (
        answer
        for one in rows
        for answer in (
            one.verdict,
            *one.answers.values(),
            *(vote.option for vote in one.votes),
        )
    )
    return any(answer == TIE for answer in said)


def _correlations(
    pairs: Sequence[tuple[float, float]],
    clusters: Clusters,
    draws: Draws,
    level: float,
) -> dict[str, Estimate]:
    methods = {"Kendall": kendall, "Spearman": spearman, "Pearson": pearson}
    statistics = {name: correlation_of(method) for name, method in methods.items()}
    found = bootstrap(list(pairs), statistics, clusters=clusters, draws=draws, level=level)
    units, few = count_units(pairs, clusters), too_few_units(clusters)
    return {name: _correlation(one, units, few) for name, one in found.items()}


def _correlation(one: Estimate, units: int, few: Message) -> Estimate:
    """The wider one of the limits by rows drawn anew and by Fisher's transformation."""
    if one.value is None or one.lower is None or one.upper is None:
        return one
    if units < LEAST_ROWS:
        return replace(one, lower=None, upper=None, reason=few)
    limits = fisher_interval(one.value, units, level=one.level)
    return replace(one, lower=min(one.lower, limits.lower), upper=max(one.upper, limits.upper))


def _probabilities(
    rows: Sequence[LabelledRow], measure: Measure, level: float
) -> dict[str, Estimate]:
    """Where the votes state how likely a pass is."""
    if not measure.is_binary:
        return {}
    _, good = measure.ends
    stated = [
        (chance, int(one.truth == good))
        for one in rows
        if (chance := stated_probability(one.votes, good)) is not None
    ]
    return probability_figures(stated, level) if stated else {}


def _numbers(
    rows: Sequence[LabelledRow],
    measure: Measure,
    settings: AgreementSettings,
    clusters: Clusters,
    level: float,
) -> AgreementReport:
    judged = [place for place, one in enumerate(rows) if one.number is not None]
    pairs = [
        (measure.value(number), rows[place].value(measure))
        for place in judged
        if (number := rows[place].number) is not None
    ]
    own = clusters_at(clusters, judged)
    found = _correlations(pairs, own, settings.draws, level)
    figures = {**found, "alpha": _alpha(pairs, _alpha_level(measure), None, own, level)}
    return AgreementReport(len(rows), settings, figures, len(rows) - len(judged))


_People = Mapping[str, Mapping[str, Answer]]


def _by_annotator(rows: Iterable[LabelledRow]) -> _People:
    """Annotator → row → what they say."""
    found: dict[str, dict[str, Answer]] = defaultdict(dict)
    for one in rows:
        for name, answer in one.answers.items():
            found[name][one.unit] = answer
    return {name: found[name] for name in sorted(found)}


def _beside(rows: Iterable[LabelledRow], own: Mapping[str, Answer]) -> list[tuple[Answer, Answer]]:
    """What the judge and one person say of the same rows."""
    return [
        (said, own[one.unit]) for one in rows if one.unit in own and (said := one.said) is not None
    ]


def _shared(rows: Iterable[LabelledRow], one: str, other: str) -> list[tuple[Answer, Answer]]:
    """What two persons say of the same rows; a text that stands on several rows counts as often, as
    it does for the judge.
    """
    both = [row.answers for row in rows if one in row.answers and other in row.answers]
    return [(answers[one], answers[other]) for answers in both]


def _by_slice(rows: Iterable[LabelledRow], slicing: Slicing | None) -> dict[str, list[LabelledRow]]:
    if slicing is None:
        return {}
    found: dict[str, list[LabelledRow]] = defaultdict(list)
    for one in rows:
        found[slicing.of_rows[one.place]].append(one)
    return {name: found[name] for name in sorted(found)}


def _orders(
    rows: Sequence[LabelledRow], settings: AgreementSettings, slicing: Slicing | None
) -> dict[str, OrderAgreement]:
    parts = {"": rows, **_by_slice(rows, slicing)}
    found = {name: order_agreement(own, settings.missing) for name, own in parts.items()}
    return {name: one for name, one in found.items() if one is not None}


def _pair(pairs: Sequence[tuple[Option, Option]], measure: Measure) -> TwoRaters:
    if measure.is_number:
        none = Figure(None, Message("numbers are seldom equal: see the correlations"))
        return TwoRaters(len(pairs), none, none)
    return TwoRaters.of(pairs)


def _each_two(
    rows: Sequence[LabelledRow], people: _People, measure: Measure
) -> dict[tuple[str, str], TwoRaters]:
    if len(people) > CROWD:
        return {}
    return {(a, b): _pair(_shared(rows, a, b), measure) for a, b in combinations(people, 2)}


def _groups(
    rows: Sequence[LabelledRow], measure: Measure, slicing: Slicing | None
) -> dict[str, TwoRaters]:
    members = {
        name: [
            (said, truth)
            for one in own
            if (said := one.said) is not None and (truth := one.truth) is not None
        ]
        for name, own in _by_slice(rows, slicing).items()
    }
    return {name: _pair(pairs, measure) for name, pairs in members.items() if pairs}


def _people_alpha(rows: Sequence[LabelledRow], people: _People, measure: Measure) -> Figure:
    table = Counter(tuple(one.answers.get(name) for name in people) for one in rows)
    level = _alpha_level(measure)
    return krippendorff_alpha(table, level, measure.options if level == "ordinal" else None)


def _alpha_level(measure: Measure) -> Metric:
    if measure.is_number:
        return "interval"
    return "ordinal" if measure.is_ordinal else "nominal"


def _replaceable(
    rows: Sequence[LabelledRow], people: _People, measure: Measure, epsilon: float
) -> AltTest:
    if measure.is_number:
        numbers = {
            name: {row: measure.value(said) for row, said in own.items()}
            for name, own in people.items()
        }
        judge = {one.unit: measure.value(one.number) for one in rows if one.number is not None}
        return alt_test(judge, numbers, epsilon=epsilon, alignment=closeness)
    said = {one.unit: one.verdict for one in rows if one.verdict is not None}
    return alt_test(
        said,
        {name: dict(own) for name, own in people.items()},
        epsilon=epsilon,
        alignment=share_alike,
    )
