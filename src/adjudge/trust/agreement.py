"""Agreement of a judge with people, and of people with each other."""

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
from adjudge.stats.agreement import Missing, Option, TwoRaters, agreement, share_of
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

ONE_ANNOTATOR = Figure(None, Message("only one annotator"))
GROWN = Message(
    "no figures of agreement: rows were added to the run between the labels, so rows had different "
    "chances to be drawn"
)
CROWD = 12
"""More annotators than these are not compared two by two."""


@dataclass(frozen=True, kw_only=True)
class AgreementSettings:
    """Settings of the agreement figures."""

    missing: Missing = key(
        Word[Missing](get_args(Missing)),
        "How agreement figures count a judgment without a verdict: left out, as a tie, or as "
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
    """The agreement of the judge with people on one criterion, and of people with each other."""

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
    people_alpha: Figure = ONE_ANNOTATOR
    alpha_level: Metric = "nominal"
    """The level of measurement that alpha assumes, of the judge and of people."""
    alt_test: AltTest | None = None
    raters: RaterModel | None = None
    """The judge as one more annotator, if people share too few rows for that test."""
    weighted: bool = False
    """True if the rows were drawn with unequal chances: the figures are only about them."""
    orders: Mapping[str, OrderAgreement] = field(default_factory=dict)
    """Rows that were asked in two orders: all of them under an empty name, then by group."""

    @property
    def notes(self) -> list[Message]:
        """Notes: why there are no figures, or how many labelled rows they leave out."""
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
        parts = some_of(self, "raters", "figures", "baselines", "classes", "groups", "annotators")
        figures = object_in(parts["figures"])
        return {
            "n": self.count,
            "drawn_at_random": self.drawn,
            "missing": self.settings.missing,
            "left_out": self.left_out,
            "drawn_otherwise": self.drawn_otherwise,
            "reason": self.reason,
            **{name: figures.get(name) for name in ("accuracy", "kappa", "alpha")},
            "alt_test": _alt_test(self.alt_test) if self.alt_test else None,
            **parts,
            "people": [
                {"annotators": list(names), **pair.to_dict()} for names, pair in self.people.items()
            ],
            "people_alpha": self.people_alpha.value,
            "alpha_level": self.alpha_level,
            "orders": {name or "all": pair.to_dict() for name, pair in self.orders.items()},
            "bootstrap": {"draws": self.settings.draws.count, "seed": self.settings.draws.seed},
        }


def _alt_test(test: AltTest) -> JsonDict:
    return {
        **some_of(test, "winning_rate", "advantage", "passed", "epsilon"),
        "nearby": {f"{epsilon:g}": rate for epsilon, rate in (test.nearby or {}).items()},
        "annotators": [
            {
                "annotator": comparison.annotator,
                "n": comparison.rows,
                **some_of(comparison, "advantage", "p_value", "won"),
            }
            for comparison in test.comparisons
        ],
        **some_of(test, "skipped", "reason"),
    }


def check_missing(missing: Missing, options: Collection[str], criteria: str) -> None:
    """Raise if missing verdicts should count as ties although the criterion has no tie."""
    if missing == "tie" and TIE not in options:
        raise SetupError(
            "criterion {criteria!r} has no tie: --missing tie is for comparisons; use drop or "
            "wrong",
            criteria=criteria,
        )


def agreement_of(rows: Rows, settings: AgreementSettings, level: float) -> AgreementReport:
    """Measure agreement on the rows in ``rows.compared``."""
    measure, compared = rows.measure, rows.compared
    check_missing(settings.missing, measure.options, rows.scale.name)
    drawn = sum(row.counts for row in rows.labelled)
    counted = any(row.counts for row in compared)
    rows_with_truth = [row for row in compared if row.truth is not None]
    clusters = clusters_at(rows.together, [row.place for row in rows_with_truth])
    report = (
        _numbers(rows_with_truth, measure, settings, clusters, level)
        if measure.is_number
        else _options(rows_with_truth, measure, settings, clusters, level)
    )
    people = _by_annotator(compared)
    test = (
        _test_replacement(compared, people, measure, settings.epsilon) if len(people) > 1 else None
    )
    too_few = test is not None and test.winning_rate is None and not measure.is_number
    slices = {"": rows_with_truth, **_by_slice(rows_with_truth, rows.slicing)}
    by_slice = {name: order_agreement(part, settings.missing) for name, part in slices.items()}
    return replace(
        # Only rows that were drawn among all rows are compared, if there are any: other draws would
        # bias the figures.
        report,
        drawn=any(row.random for row in compared),
        drawn_otherwise=drawn - len(compared) if counted else drawn,
        reason=GROWN if drawn and not compared else None,
        weighted=counted and not any(row.random for row in compared),
        groups=_groups(rows_with_truth, measure, rows.slicing),
        annotators={
            name: _pair(_judge_pairs(compared, answers), measure)
            for name, answers in people.items()
        },
        people=_pairs_of_people(compared, people, measure),
        people_alpha=_people_alpha(compared, people, measure) if len(people) > 1 else ONE_ANNOTATOR,
        alpha_level=_alpha_level(measure),
        alt_test=test,
        # The alternative annotator test needs rows that several people labelled. With too few of
        # them, model the raters instead.
        raters=judge_among_people(compared) if too_few else None,
        orders={name: orders for name, orders in by_slice.items() if orders is not None},
    )


def _options(
    rows: Sequence[LabelledRow],
    measure: Measure,
    settings: AgreementSettings,
    clusters: Clusters,
    level: float,
) -> AgreementReport:
    truth = [str(row.truth) for row in rows]
    order = measure.options if measure.is_ordinal else None
    longest = [row.longest for row in rows]
    overall = agreement(
        [row.verdict for row in rows],
        truth,
        missing=settings.missing,
        tie=TIE if TIE in measure.options else None,
        order=order,
        offered=() if TIE in measure.options else measure.options,
        longest=[str(row) for row in longest] if all(longest) and longest else None,
        clusters=clusters,
        level=level,
    )
    more = _reliability_figures(rows, truth, measure, settings, clusters, level)
    figures = {**overall.figures, **more, **_wrong_steps(rows, clusters, level)}
    classes = {
        str(option): {"precision": scores.precision, "recall": scores.recall, "F1": scores.f1}
        for option, scores in overall.classes.items()
    }
    return AgreementReport(
        len(rows), settings, figures, overall.left_out, baselines=overall.baselines, classes=classes
    )


def _wrong_steps(
    rows: Sequence[LabelledRow], clusters: Clusters, level: float
) -> dict[str, Estimate]:
    """Measure how often the judge names the same wrong step as people, exactly or at most one step
    off.

    Only rows with a verdict count for which people name a step. Empty if the judge names no steps.
    """
    if all(row.wrong_step is None for row in rows):
        return {}
    steps = [
        (place, row.wrong_step, true)
        for place, row in enumerate(rows)
        if row.verdict is not None and (true := row.true_step) is not None
    ]
    together = clusters_at(clusters, [place for place, _, _ in steps])
    return {
        name: share_of(
            [
                named_step is not None and abs(named_step - true) <= most
                for _, named_step, true in steps
            ],
            together,
            level,
            Message("no annotator named a step"),
        )
        for name, most in (("wrong step", 0), ("wrong step ±1", 1))
    }


def _reliability_figures(
    rows: Sequence[LabelledRow],
    truth: Sequence[str],
    measure: Measure,
    settings: AgreementSettings,
    clusters: Clusters,
    level: float,
) -> dict[str, Estimate]:
    """Return chance-corrected figures for rows with a verdict.

    Includes correlations if the options are ordinal, and figures for stated probabilities.
    """
    places = [place for place, row in enumerate(rows) if row.verdict is not None]
    pairs = [(str(rows[place].verdict), truth[place]) for place in places]
    ratings: list[Ratings] = [*pairs]
    row_clusters = clusters_at(clusters, places)
    metric = _alpha_level(measure)
    options = len([option for option in measure.options if option != TIE or _has_tie(rows)])
    order = measure.options if metric == "ordinal" else None
    figures = {
        "AC1": with_limits(
            gwet_ac1(Counter(ratings), options),
            above_even_chance(pairs, max(2, options), clusters=row_clusters, level=level)
            if pairs
            else None,
            len(pairs),
            row_clusters,
            level,
        ),
        "alpha": _alpha(pairs, metric, order, row_clusters, level),
    }
    if metric == "ordinal":
        figures |= _correlations(
            [(measure.value(a), measure.value(b)) for a, b in pairs],
            row_clusters,
            settings.draws,
            level,
        )
    return figures | _probabilities(rows, measure, level)


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
    counts = Counter(option for pair in pairs for option in pair)
    places = rating_places(counts, metric, order)
    if places is not None:
        low, high = min(places.values()), max(places.values())
        places = {option: (place - low) / (high - low) for option, place in places.items()}
    distance: Distance = "nominal" if places is None else "quadratic"
    limits = above_chance(pairs, distance, places, pooled=True, clusters=clusters, level=level)
    return with_limits(figure, limits, len(pairs), clusters, level)


def _has_tie(rows: Sequence[LabelledRow]) -> bool:
    """Return True if anyone chose a tie. Otherwise it was not an option, and chance could not hit
    it.
    """
    answers = (
        answer
        for row in rows
        for answer in (
            row.verdict,
            *row.answers.values(),
            *(vote.option for vote in row.votes),
        )
    )
    return any(answer == TIE for answer in answers)


def _correlations(
    pairs: Sequence[tuple[float, float]],
    clusters: Clusters,
    draws: Draws,
    level: float,
) -> dict[str, Estimate]:
    methods = {"Kendall": kendall, "Spearman": spearman, "Pearson": pearson}
    statistics = {name: correlation_of(method) for name, method in methods.items()}
    estimates = bootstrap(list(pairs), statistics, clusters=clusters, draws=draws, level=level)
    units, few = count_units(pairs, clusters), too_few_units(clusters)
    return {name: _correlation(estimate, units, few) for name, estimate in estimates.items()}


def _correlation(estimate: Estimate, units: int, few: Message) -> Estimate:
    """Return the wider of the bootstrap limits and Fisher's limits; no limits with too few rows."""
    if estimate.value is None or estimate.lower is None or estimate.upper is None:
        return estimate
    if units < LEAST_ROWS:
        return replace(estimate, lower=None, upper=None, reason=few)
    limits = fisher_interval(estimate.value, units, level=estimate.level)
    return replace(
        estimate, lower=min(estimate.lower, limits.lower), upper=max(estimate.upper, limits.upper)
    )


def _probabilities(
    rows: Sequence[LabelledRow], measure: Measure, level: float
) -> dict[str, Estimate]:
    """Return figures for stated probabilities; empty unless the votes state how likely a pass
    is.
    """
    if not measure.is_binary:
        return {}
    _, good = measure.ends
    stated = [
        (chance, int(row.truth == good))
        for row in rows
        if (chance := stated_probability(row.votes, good)) is not None
    ]
    return probability_figures(stated, level) if stated else {}


def _numbers(
    rows: Sequence[LabelledRow],
    measure: Measure,
    settings: AgreementSettings,
    clusters: Clusters,
    level: float,
) -> AgreementReport:
    places = [place for place, row in enumerate(rows) if row.number is not None]
    pairs = [
        (measure.value(number), rows[place].value(measure))
        for place in places
        if (number := rows[place].number) is not None
    ]
    row_clusters = clusters_at(clusters, places)
    correlations = _correlations(pairs, row_clusters, settings.draws, level)
    figures = {
        **correlations,
        "alpha": _alpha(pairs, _alpha_level(measure), None, row_clusters, level),
    }
    return AgreementReport(len(rows), settings, figures, len(rows) - len(places))


_People = Mapping[str, Mapping[str, Answer]]


def _by_annotator(rows: Iterable[LabelledRow]) -> _People:
    """Group answers: annotator → drawn unit → answer."""
    answers: dict[str, dict[str, Answer]] = defaultdict(dict)
    for row in rows:
        for name, answer in row.answers.items():
            answers[name][row.unit] = answer
    return {name: answers[name] for name in sorted(answers)}


def _judge_pairs(
    rows: Iterable[LabelledRow], labels: Mapping[str, Answer]
) -> list[tuple[Answer, Answer]]:
    """Pair the judge's answers with one person's, on the rows that both answered."""
    return [
        (answer, labels[row.unit])
        for row in rows
        if row.unit in labels and (answer := row.judge_answer) is not None
    ]


def _by_slice(rows: Iterable[LabelledRow], slicing: Slicing | None) -> dict[str, list[LabelledRow]]:
    if slicing is None:
        return {}
    slices: dict[str, list[LabelledRow]] = defaultdict(list)
    for row in rows:
        slices[slicing.of_rows[row.place]].append(row)
    return {name: slices[name] for name in sorted(slices)}


def _pair(pairs: Sequence[tuple[Option, Option]], measure: Measure) -> TwoRaters:
    if measure.is_number:
        none = Figure(None, Message("numbers are rarely equal, so see the correlations"))
        return TwoRaters(len(pairs), none, none)
    return TwoRaters.of(pairs)


def _pairs_of_people(
    rows: Sequence[LabelledRow], people: _People, measure: Measure
) -> dict[tuple[str, str], TwoRaters]:
    if len(people) > CROWD:
        return {}
    # a text that several rows hold counts as often as it does for the judge
    answers = [row.answers for row in rows]
    return {
        (a, b): _pair([(both[a], both[b]) for both in answers if a in both and b in both], measure)
        for a, b in combinations(people, 2)
    }


def _groups(
    rows: Sequence[LabelledRow], measure: Measure, slicing: Slicing | None
) -> dict[str, TwoRaters]:
    pairs_by_group = {
        name: [
            (answer, truth)
            for row in members
            if (answer := row.judge_answer) is not None and (truth := row.truth) is not None
        ]
        for name, members in _by_slice(rows, slicing).items()
    }
    return {name: _pair(pairs, measure) for name, pairs in pairs_by_group.items() if pairs}


def _people_alpha(rows: Sequence[LabelledRow], people: _People, measure: Measure) -> Figure:
    table = Counter(tuple(row.answers.get(name) for name in people) for row in rows)
    level = _alpha_level(measure)
    return krippendorff_alpha(table, level, measure.options if level == "ordinal" else None)


def _alpha_level(measure: Measure) -> Metric:
    if measure.is_number:
        return "interval"
    return "ordinal" if measure.is_ordinal else "nominal"


def _test_replacement(
    rows: Sequence[LabelledRow], people: _People, measure: Measure, epsilon: float
) -> AltTest:
    if measure.is_number:
        numbers = {
            name: {unit: measure.value(answer) for unit, answer in answers.items()}
            for name, answers in people.items()
        }
        judge = {row.unit: measure.value(row.number) for row in rows if row.number is not None}
        return alt_test(judge, numbers, epsilon=epsilon, alignment=closeness)
    verdicts = {row.unit: row.verdict for row in rows if row.verdict is not None}
    return alt_test(
        verdicts,
        {name: dict(answers) for name, answers in people.items()},
        epsilon=epsilon,
        alignment=share_alike,
    )
