"""Agreement: known values, the public implementations on random tables, and None with a reason
where nothing is defined.
"""

from __future__ import annotations

import json
import math
import random
import warnings
from collections import Counter
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from statistics import fmean, pvariance, stdev
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.stats.agreement import (
    Agreement,
    Table,
    Weights,
    accuracy,
    agreement,
    balanced_accuracy,
    baselines,
    cohen_kappa,
    f1,
    macro,
    precision,
    recall,
    rows_with_missing,
)
from adjudge.stats.bootstrap import Draws, binomial, bootstrap, redraw
from adjudge.stats.correlation import Correlation, correlation_of, kendall, pearson, spearman
from adjudge.stats.estimate import Figure
from adjudge.stats.probability import auc, brier, calibration_error
from adjudge.stats.raters import Metric, Ratings, gwet_ac1, krippendorff_alpha
from support.oracle_tables import many_raters, two_raters

FEW_DRAWS = Draws(200, 1)
KEPT = Path(__file__).parent / "second_oracles.json"


@pytest.fixture(scope="session")
def sklearn() -> ModuleType:
    return pytest.importorskip(
        "sklearn.metrics", reason="scikit-learn comes with make test-oracles"
    )


@pytest.fixture(scope="session")
def scipy() -> ModuleType:
    return pytest.importorskip("scipy.stats", reason="scipy is an oracle for development only")


def same(found: Figure, wanted: float) -> None:
    if math.isnan(wanted):
        assert found.value is None and found.reason
    else:
        assert found.value == pytest.approx(wanted, abs=1e-9) and not found.reason


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_kappa_is_scikit_learns(sklearn: ModuleType, weights: Weights) -> None:
    for first, second in two_raters(f"kappa {weights}"):
        with warnings.catch_warnings(action="ignore"):
            wanted = sklearn.cohen_kappa_score(first, second, weights=weights)
        same(cohen_kappa(Counter(zip(first, second, strict=True)), weights), wanted)


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_kappa_is_what_its_definition_says(weights: Weights) -> None:
    """Every pair of rows against every other: observed distance over the expected one."""
    power = {"linear": 1, "quadratic": 2}
    for first, second in two_raters(f"definition {weights}"):
        place = {option: at for at, option in enumerate(sorted({*first, *second}))}

        def apart(one: int, other: int, place: dict[int, int] = place) -> float:
            return (
                float(one != other)
                if weights is None
                else abs(place[one] - place[other]) ** power[weights]
            )

        expected = math.fsum(apart(a, b) for a in first for b in second) / len(first)
        observed = math.fsum(apart(a, b) for a, b in zip(first, second, strict=True))
        wanted = 1 - observed / expected if expected else math.nan
        same(cohen_kappa(Counter(zip(first, second, strict=True)), weights), wanted)


def test_accuracies_and_class_scores_are_scikit_learns(sklearn: ModuleType) -> None:
    for first, second in two_raters("scores"):
        table: Table = Counter(zip(first, second, strict=True))
        with warnings.catch_warnings(action="ignore"):
            same(accuracy(table), sklearn.accuracy_score(second, first))
            if len(set(second)) > 1:  # of one option there is nothing to balance
                same(balanced_accuracy(table), sklearn.balanced_accuracy_score(second, first))
            wanted = sklearn.precision_recall_fscore_support(
                second, first, labels=range(5), zero_division=math.nan
            )
        for option in range(5):
            for figure, values in zip((precision, recall, f1), wanted, strict=False):
                same(figure(table, option), values[option])


@pytest.mark.parametrize(
    ("method", "name"), [(pearson, "pearsonr"), (spearman, "spearmanr"), (kendall, "kendalltau")]
)
def test_correlations_are_scipys(scipy: ModuleType, method: Correlation, name: str) -> None:
    for first, second in two_raters(name):
        wanted = math.nan
        if len(set(first)) > 1 and len(set(second)) > 1:
            wanted = getattr(scipy, name)(first, second).statistic
        same(correlation_of(method)(Counter(zip(first, second, strict=True))), float(wanted))


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=30))
def test_kendall_of_values_without_ties_is_scipys(pairs: list[tuple[float, float]]) -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is an oracle for development only")
    one, other = [a for a, _ in pairs], [b for _, b in pairs]
    if len(set(one)) > 1 and len(set(other)) > 1:
        assert kendall(one, other) == pytest.approx(
            stats.kendalltau(one, other).statistic, abs=1e-9
        )
    assert kendall(one, other) == kendall(other, one)


def test_series_of_different_length_have_no_kendall() -> None:
    with pytest.raises(ValueError, match="of 2 and 1"):
        kendall([1, 2], [1])


@pytest.mark.parametrize("metric", ["nominal", "ordinal", "interval"])
def test_alpha_is_krippendorffs(metric: Metric) -> None:
    package = pytest.importorskip(
        "krippendorff", reason="krippendorff comes with make test-oracles"
    )
    numpy = pytest.importorskip("numpy", reason="numpy is an oracle for development only")
    for raters in many_raters(f"alpha {metric}"):
        data = numpy.array(
            [[math.nan if one is None else float(one) for one in rater] for rater in raters]
        )
        try:
            with warnings.catch_warnings(action="ignore"):
                wanted = float(package.alpha(data, level_of_measurement=metric))
        except ValueError:
            wanted = math.nan
        same(krippendorff_alpha(_rows(raters), metric), _defined(raters, wanted))


def _rows(raters: list[list[int | None]]) -> Counter[Ratings]:
    return Counter(zip(*raters, strict=True))


def _defined(raters: list[list[int | None]], wanted: float) -> float:
    """The package calls one value seen twice a perfect 1; nothing varies there,
    so nothing is said.
    """
    paired = [
        one
        for row in zip(*raters, strict=True)
        if len(row) - row.count(None) > 1
        for one in row
        if one is not None
    ]
    return wanted if len(set(paired)) > 1 else math.nan


@pytest.mark.parametrize("metric", ["nominal", "ordinal", "interval"])
def test_alpha_is_what_its_definition_says(metric: Metric) -> None:
    """Over all ordered pairs of values: within rows, and among all of them."""
    for raters in many_raters(f"definition {metric}"):
        units = [
            found
            for row in zip(*raters, strict=True)
            if len(found := [one for one in row if one is not None]) > 1
        ]
        values = [value for unit in units for value in unit]
        sizes = Counter(values)

        def apart(one: int, other: int, sizes: Counter[int] = sizes) -> float:
            if metric == "nominal" or one == other:
                return float(one != other)
            low, high = sorted((one, other))
            between = sum(size for value, size in sizes.items() if low <= value <= high)
            return float(
                (between - (sizes[low] + sizes[high]) / 2) ** 2
                if metric == "ordinal"
                else (one - other) ** 2
            )

        expected = math.fsum(apart(a, b) for a, b in permutations(values, 2)) / max(
            1, len(values) - 1
        )
        observed = math.fsum(
            apart(a, b) / (len(unit) - 1) for unit in units for a, b in permutations(unit, 2)
        )
        same(
            krippendorff_alpha(_rows(raters), metric),
            1 - observed / expected if expected else math.nan,
        )


def test_ac1_is_that_of_its_authors_package() -> None:
    """irrCAC's answers, kept by tests/tools/second_oracles.py."""
    for case in json.loads(KEPT.read_text(encoding="utf-8"))["ac1"]:
        ratings = {one for row in case["rows"] for one in row} - {None}
        wanted = (
            math.nan if case["ac1"] is None or len(ratings) == 1 else case["ac1"]
        )  # one option only: the package says 1
        same(gwet_ac1(Counter(tuple(row) for row in case["rows"])), wanted)


def test_ac1_of_raters_who_agree_is_one_and_of_one_option_needs_to_know_of_the_others() -> None:
    assert gwet_ac1({("a", "a"): 3, ("b", "b"): 1}).value == pytest.approx(1)
    assert gwet_ac1({("a", "a"): 3}) == Figure(None, "every rating is the same")
    assert gwet_ac1({("a", "a"): 3}, options=2).value == pytest.approx(1)
    assert gwet_ac1({("a", None): 3}) == Figure(None, "no row was rated twice")


def test_alpha_of_words_needs_their_order() -> None:
    rows: Counter[tuple[str | int | float | None, ...]] = Counter(
        zip(["low", "high", "mid"], ["low", "mid", "mid"], strict=True)
    )
    with pytest.raises(ValueError, match="give the order"):
        krippendorff_alpha(rows, "ordinal")
    words = krippendorff_alpha(rows, "interval", ["low", "mid", "high"])
    numbers = krippendorff_alpha(Counter(zip([0, 2, 1], [0, 1, 1], strict=True)), "interval")
    assert words == numbers


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 1)), min_size=1, max_size=40))
def test_probabilities_are_judged_as_their_definitions_say(rows: list[tuple[int, int]]) -> None:
    stated = [(eighths / 8, true) for eighths, true in rows]
    table = Counter(stated)
    true, false = [p for p, y in stated if y], [p for p, y in stated if not y]
    wins = [(a > b) + (a == b) / 2 for a in true for b in false]
    same(auc(table), math.fsum(wins) / len(wins) if wins else math.nan)
    same(brier(table), math.fsum((p - y) ** 2 for p, y in stated) / len(stated))


def test_probabilities_are_judged_as_scikit_learn_does(sklearn: ModuleType) -> None:
    for first, second in two_raters("auc"):
        truth = [one % 2 for one in second]
        table = Counter((one / 5, true) for one, true in zip(first, truth, strict=True))
        same(brier(table), sklearn.brier_score_loss(truth, [one / 5 for one in first]))
        if len(set(truth)) == 2:
            same(auc(table), sklearn.roc_auc_score(truth, first))


def test_calibration_error_is_the_mean_gap_of_the_bins() -> None:
    """Less what chance makes of it: of ten rows at .9 that is mean |hits - 9| over 10."""
    error, by_chance = calibration_error({(0.9, 1): 5, (0.9, 0): 5})
    wanted = math.fsum(
        math.comb(10, hits) * 0.9**hits * 0.1 ** (10 - hits) * abs(hits - 9) / 10
        for hits in range(11)
    )
    assert by_chance.value == pytest.approx(wanted)
    assert error.value == pytest.approx(0.4 - wanted)
    assert error.lower is None and "fewer than 30" in error.reason
    assert calibration_error({(1.0, 1): 5, (0.0, 0): 5})[0].value == 0
    assert calibration_error({})[0].reason == brier({}).reason == "no rows"


def test_a_calibrated_judge_has_a_calibration_error_that_may_be_nothing() -> None:
    choice, held = random.Random(5), 0
    for _ in range(100):
        stated = [round(choice.betavariate(5, 2), 2) for _ in range(40)]
        error, _ = calibration_error(Counter((p, int(choice.random() < p)) for p in stated))
        assert error.lower is not None and error.upper is not None and error.value is not None
        assert error.lower <= error.value < error.upper
        held += error.lower == 0
    assert held >= 95


@pytest.mark.parametrize(
    "figure",
    [accuracy, balanced_accuracy, cohen_kappa, correlation_of(kendall), krippendorff_alpha, auc],
)
def test_nothing_to_compare_gives_none_and_a_reason(
    figure: Callable[[dict[object, int]], Figure],
) -> None:
    found = figure({})
    assert found.value is None and found.reason


def test_a_class_that_nobody_names_has_no_scores() -> None:
    table: Table = {("a", "a"): 3, ("a", "b"): 1}
    assert precision(table, "b") == Figure(None, "the judge never said b")
    assert recall(table, "c") == Figure(None, "c is never the truth")
    assert f1(table, "c") == Figure(None, "no annotator said c")
    assert macro(table, precision, ["a", "b"]).reason == "the judge never said b"


def test_missing_verdicts_follow_the_named_policy() -> None:
    judge, truth = ["1", None, "2", None], ["1", "0", "1", "2"]
    assert rows_with_missing(judge, truth, "drop") == [("1", "1"), ("2", "1")]
    assert accuracy(Counter(rows_with_missing(judge, truth, "tie", tie="0"))).value == 0.5
    assert accuracy(Counter(rows_with_missing(judge, truth, "wrong"))).value == 0.25
    with pytest.raises(ValueError, match="needs the option that means a tie"):
        rows_with_missing(judge, truth, "tie")


def report(copies: int, clusters: bool = False) -> Agreement:
    judge: list[str | None] = ["good", "good", "bad", "fair", None, "bad", "good", "fair"]
    truth = ["good", "fair", "bad", "fair", "bad", "bad", "good", "good"]
    groups = [place // 2 for place in range(8 * copies)] if clusters else None
    order = ["bad", "fair", "good"]
    longest = ["good"] * 8 * copies
    return agreement(
        judge * copies,
        truth * copies,
        order=order,
        longest=longest,
        clusters=groups,
    )


def test_a_report_holds_every_figure_with_its_count_interval_and_baselines() -> None:
    found = report(5)
    assert (found.count, found.left_out) == (35, 5)
    assert found.figures["accuracy"].value == pytest.approx(5 / 7)
    kappas, macros = (
        {"kappa", "linear kappa", "quadratic kappa"},
        {"macro precision", "macro recall", "macro F1"},
    )
    assert set(found.figures) == {"accuracy", "balanced accuracy"} | kappas | macros
    for one in (*found.figures.values(), *(score.f1 for score in found.classes.values())):
        assert one.value is not None and one.lower is not None and one.upper is not None
        assert one.lower <= one.value <= one.upper
    assert report(4).figures["kappa"].reason == "no interval: fewer than 30 labelled rows"
    assert (
        found.baselines["majority"].value
        == found.baselines["longest"].value
        == pytest.approx(3 / 7)
    )
    assert found.baselines["random"].value == pytest.approx(1 / 3)
    assert list(found.classes) == ["bad", "fair", "good"]
    assert found.classes["good"].precision.value == pytest.approx(2 / 3)


def test_rows_that_belong_together_widen_the_interval() -> None:
    judge: list[str | None] = [*["a"] * 180, *["b"] * 180]
    truth = [*["a"] * 120, *["b"] * 180, *["a"] * 60]
    alone = agreement(judge, truth).figures["kappa"]
    tens = agreement(judge, truth, clusters=[place // 10 for place in range(360)]).figures["kappa"]
    assert alone.width is not None and tens.width is not None and tens.width > 1.5 * alone.width


def test_intervals_that_cannot_be_had_say_why() -> None:
    one = agreement(["a"], ["b"]).figures["kappa"]
    wanted = (0.0, None, "no interval: fewer than 30 labelled rows")
    assert (one.value, one.lower, one.reason) == wanted
    rows: list[tuple[str | int | float, str | int | float]] = [("a", "a"), ("a", "a"), ("b", "b")]
    rare = bootstrap(rows, {"kappa": cohen_kappa}, draws=FEW_DRAWS)["kappa"]
    assert rare.value == 1 and rare.lower is None and "too few rows for an interval" in rare.reason
    assert baselines([], ["a"], None, 0.95) == {}


def test_a_guess_may_fall_on_an_option_that_nobody_gave() -> None:
    found = agreement(["a", "a"], ["a", "a"], offered=["a", "b"])
    assert (found.baselines["random"].value, list(found.classes)) == (0.5, ["a"])


@pytest.mark.parametrize(
    ("tries", "share"), [(100_000, 0.3), (5000, 0.97), (5000, 0.001), (40, 0.5), (7, 0.0), (7, 1.0)]
)
def test_many_tries_hit_as_often_as_one_by_one(tries: int, share: float) -> None:
    choice = random.Random(1)
    hits = [binomial(choice, tries, share) for _ in range(2000)]
    spread = tries * share * (1 - share)
    assert abs(fmean(hits) - tries * share) <= 4 * math.sqrt(spread / 2000)
    assert abs(pvariance(hits) - spread) <= 0.2 * spread


@pytest.mark.parametrize("size", [1, 5])
def test_rows_that_are_alike_are_drawn_at_once_and_give_the_same_interval(size: int) -> None:
    """Of 6,000 pairs, in clusters of one or five: the spread of what is drawn is that of the rows
    drawn one by one.
    """
    rows = [("a", "a")] * 3000 + [("a", "b")] * 1500 + [("b", "b")] * 1500
    clusters = None if size == 1 else [place // size for place in range(len(rows))]
    drawn = [table["a", "b"] for table in redraw(rows, clusters, Draws(400))]
    assert all(sum(table.values()) == 6000 for table in redraw(rows, clusters, Draws(3)))
    assert stdev(drawn) == pytest.approx(math.sqrt(6000 * 0.25 * 0.75 * size), rel=0.15)
