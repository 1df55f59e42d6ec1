"""The corrected mean: known values, laws, the reference implementations, and what is refused in
which words.
"""

from __future__ import annotations

import math
import random
import re
import statistics
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.stats.correction import (
    Stratum,
    corrected_mean,
    from_unit,
    labels_only,
    naive,
    post_stratified,
    prevalences,
    stratify,
    to_unit,
)
from adjudge.stats.distributions import beta_quantile
from adjudge.stats.estimate import Estimate
from adjudge.stats.intervals import (
    design_effect,
    mean_interval,
    share_interval,
    share_limits,
    upper_limit,
    variance_of_mean,
)
from adjudge.stats.named_estimators import ppi_plus_plus, rogan_gladen
from adjudge.stats.refusal import (
    chance_p_value,
    describe_savings,
    doubts,
    labels_needed,
    no_better_than_chance,
    too_few,
)

BITS = st.integers(0, 1)
ROWS = st.lists(
    st.tuples(st.sampled_from(["FAIL", "PASS"]), st.sampled_from([0.0, 1.0, None])),
    min_size=1,
    max_size=80,
)
OPTIONS = ["FAIL", "PASS"]


def strata(fail_rows: int, fails: str, pass_rows: int, passes: str) -> list[Stratum]:
    return [Stratum("FAIL", fail_rows, _labels(fails)), Stratum("PASS", pass_rows, _labels(passes))]


def _labels(text: str) -> tuple[float, ...]:
    return tuple(float(one) for one in text)


def test_the_corrected_rate_weighs_each_verdicts_labels_by_its_rows() -> None:
    """By hand: 0.2 × 3/15 + 0.8 × 40/44. The variance, with three labels more at each end, says how
    many labels of one share these are worth.
    """
    estimate = post_stratified(strata(400, "111" + "0" * 12, 1600, "1" * 40 + "0" * 4))
    value = 0.2 * 3 / 15 + 0.8 * 40 / 44
    assert estimate.value == pytest.approx(value)
    fail, passed = 4.5 / 18, 41.5 / 47
    within = 0.2**2 * fail * (1 - fail) / 15 + 0.8**2 * passed * (1 - passed) / 44
    among = (0.2 * 0.2**2 + 0.8 * (40 / 44) ** 2 - value**2) / 2000
    likely = 0.2 * fail + 0.8 * passed
    worth = likely * (1 - likely) / (within + among)
    limits = share_limits(value * worth, worth)
    assert (estimate.lower, estimate.upper) == (
        pytest.approx(limits.lower),
        pytest.approx(limits.upper),
    )
    assert worth > 59
    assert (estimate.count, estimate.method, estimate.reason) == (59, "post-stratified", "")


def test_labels_of_one_verdict_have_the_interval_of_the_labels_alone() -> None:
    labels = [1.0] * 40 + [0.0] * 9
    found = post_stratified([Stratum("PASS", 500, tuple(labels))])
    assert (found.lower, found.upper) == (
        pytest.approx(labels_only(labels).lower),
        pytest.approx(labels_only(labels).upper),
    )


@given(ROWS)
def test_the_corrected_rate_lies_in_its_interval_and_between_the_labels(
    rows: list[tuple[str, float | None]],
) -> None:
    found = corrected_mean([verdict for verdict, _ in rows], [label for _, label in rows], OPTIONS)
    labels = [label for _, label in rows if label is not None]
    if not labels:
        assert (found.value, found.reason) == (None, "no row with a verdict has a label")
        return
    value, lower, upper = found.value, found.lower, found.upper
    assert lower is not None and upper is not None
    if {verdict for verdict, _ in rows} - {verdict for verdict, label in rows if label is not None}:
        assert value is None and 0 <= lower <= upper <= 1
        return
    assert value is not None
    assert 0 <= lower <= value + 1e-12 and value - 1e-12 <= upper <= 1
    assert min(labels) - 1e-12 <= value <= max(labels) + 1e-12


@given(ROWS)
def test_calling_a_pass_a_fail_and_a_fail_a_pass_mirrors_the_interval(
    rows: list[tuple[str, float | None]],
) -> None:
    other = {"FAIL": "PASS", "PASS": "FAIL"}
    one = corrected_mean([verdict for verdict, _ in rows], [label for _, label in rows], OPTIONS)
    mirrored = [None if label is None else 1 - label for _, label in rows]
    two = corrected_mean([other[verdict] for verdict, _ in rows], mirrored, OPTIONS)
    if one.value is not None and one.lower is not None and two.value is not None:
        assert (two.value, two.upper) == (
            pytest.approx(1 - one.value),
            pytest.approx(1 - one.lower),
        )


def test_a_judge_whose_every_row_is_labelled_leaves_the_mean_of_the_labels() -> None:
    verdicts, labels = ["PASS"] * 6 + ["FAIL"] * 4, [1.0, 1, 1, 0, 1, 1, 0, 0, 1, 0]
    found = corrected_mean(verdicts, labels, OPTIONS).value
    assert found == pytest.approx(statistics.fmean(labels))


def test_a_verdict_without_labels_is_bounded_and_borrows_from_no_other() -> None:
    """Its 20 rows may all be good or all be bad, whatever the labels of the other verdict are."""
    found = post_stratified(strata(20, "", 980, "1" * 50 + "0" * 10))
    passes = post_stratified([Stratum("PASS", 980, _labels("1" * 50 + "0" * 10))])
    assert found.value is None
    assert found.lower is not None and found.upper is not None
    assert passes.lower is not None and passes.upper is not None
    assert found.lower == pytest.approx(0.98 * passes.lower, abs=0.005)
    assert found.upper == pytest.approx(0.98 * passes.upper + 0.02, abs=0.005)
    assert found.reason == (
        "20 rows with a verdict that has no label (FAIL): the mean lies between 0.817 (all of "
        "them 0) and 0.837 (all of them 1)"
    )


def test_the_interval_holds_whatever_a_verdict_without_labels_is() -> None:
    """The rare verdict means a bad row; its neighbour's labels say nothing of that."""
    choice, held = random.Random(3), 0
    for _ in range(200):
        labels = tuple(float(choice.random() < 0.95) for _ in range(60))
        found = post_stratified([Stratum("1", 45, ()), Stratum("5", 955, labels)])
        assert found.lower is not None and found.upper is not None
        held += found.lower <= 0.955 * 0.95 <= found.upper
    assert held >= 186


def test_a_verdict_with_one_label_stands_by_that_label_alone() -> None:
    found = post_stratified(
        [Stratum("1", 10, (0.0,)), Stratum("3", 10, (0.5,) * 30), Stratum("5", 80, (1.0,) * 30)]
    )
    assert found.value == pytest.approx(0.85)


def test_skipped_rows_widen_the_interval_to_whatever_they_are() -> None:
    known = post_stratified(strata(100, "0" * 20, 400, "1" * 40))
    parts = [replace(one, skipped=(1, 2, 3, 4)) for one in strata(100, "0" * 20, 400, "1" * 40)]
    found = post_stratified(parts)
    assert found.value == known.value
    worst = post_stratified(strata(100, "0" * 24, 400, "1" * 40 + "0" * 4))
    best = post_stratified(strata(100, "0" * 20 + "1" * 4, 400, "1" * 44))
    assert (found.lower, found.upper) == (worst.lower, best.upper)
    assert known.lower is not None and found.lower is not None and found.lower < known.lower


def test_annotators_who_skip_bad_rows_do_not_make_the_interval_miss() -> None:
    """They skip 60% of the bad ones: without bounds the labels alone miss far too often."""
    choice, held, alone, blind = random.Random(4), 0, 0, 0
    for _ in range(200):
        parts, sample, missing = [], list[float](), 0
        for name, rows, good in (("FAIL", 500, 0.3), ("PASS", 1500, 0.95)):
            drawn = [float(choice.random() < good) for _ in range(rows // 20)]
            labels = [one for one in drawn if one or choice.random() >= 0.6]
            parts.append(
                Stratum(name, rows, tuple(labels), None, tuple(range(len(labels), len(drawn))))
            )
            sample += labels
            missing += len(drawn) - len(labels)
        truth = 0.25 * 0.3 + 0.75 * 0.95
        for_each = (
            post_stratified(parts),
            labels_only(sample, skipped=range(missing)),
            labels_only(sample),
        )
        hits = [(one.lower or 0) <= truth <= (one.upper or 0) for one in for_each]
        held, alone, blind = held + hits[0], alone + hits[1], blind + hits[2]
    assert held >= 190 and alone >= 190 and blind < 160


def test_exactly_these_rows_have_a_narrower_interval_and_a_census_none() -> None:
    parts = strata(40, "0" * 20, 60, "1" * 27 + "0" * 3)
    like, these = post_stratified(parts), post_stratified(parts, these_rows=True)
    assert like.value == these.value and like.width is not None and these.width is not None
    assert these.width < 0.75 * like.width
    census = post_stratified(strata(3, "001", 5, "11101"), these_rows=True)
    assert (census.lower, census.value, census.upper) == (5 / 8, 5 / 8, 5 / 8)


@pytest.mark.parametrize("rate", [0.02, 0.3, 0.9, 0.99])
def test_of_exactly_these_rows_the_interval_holds(rate: float) -> None:
    choice, held = random.Random(5), 0
    for _ in range(300):
        rows = [(float(choice.random() < rate), choice.random() < 0.2) for _ in range(150)]
        verdicts = ["PASS" if bool(good) != wrong else "FAIL" for good, wrong in rows]
        labels = [good if place < 60 else None for place, (good, _) in enumerate(rows)]
        found = corrected_mean(verdicts, labels, OPTIONS, these_rows=True)
        truth = statistics.fmean(good for good, _ in rows)
        held += (found.lower or 0) <= truth <= (found.upper or 0)
    assert held >= 0.93 * 300


def test_failed_judgments_with_labels_are_a_stratum_of_their_own() -> None:
    verdicts = ["PASS"] * 60 + ["FAIL"] * 20 + [None] * 20
    labels = [1.0] * 10 + [None] * 50 + [0.0] * 10 + [None] * 10 + [0.0] * 6 + [None] * 14
    found = corrected_mean(verdicts, labels, OPTIONS)
    assert found.value == pytest.approx(0.6)
    assert [part.verdict for part in stratify(verdicts, labels, OPTIONS)] == ["FAIL", "PASS", None]


def test_failed_judgments_without_labels_leave_bounds_and_no_number() -> None:
    verdicts = ["PASS"] * 60 + ["FAIL"] * 20 + [None] * 20
    labels = [1.0] * 10 + [None] * 50 + [0.0] * 10 + [None] * 30
    found = corrected_mean(verdicts, labels, OPTIONS)
    assert found.value is None
    assert found.lower is not None and found.upper is not None
    assert found.lower < 0.6 and found.upper > 0.8
    assert found.reason == (
        "20 failed judgments have no label: the mean lies between 0.600 (all of them 0) and "
        "0.800 (all of them 1)"
    )


def test_a_verdict_that_is_no_option_is_an_error() -> None:
    with pytest.raises(ValueError, match="not among the options: MAYBE"):
        stratify(["MAYBE"], [None], OPTIONS)


def test_each_options_share_is_corrected_and_they_add_up_to_one() -> None:
    verdicts = ["a"] * 30 + ["b"] * 30 + ["c"] * 40
    labels = [[*"aaaaab"], [*"bbbbbc"], [*"cccccccc"]]
    shown = [*labels[0], *[None] * 24, *labels[1], *[None] * 24, *labels[2], *[None] * 32]
    found = prevalences(verdicts, [one and {one: 1.0} for one in shown], [*"abc"])
    assert math.fsum(one.value or 0 for one in found.values()) == pytest.approx(1)
    assert found["a"].value == pytest.approx(0.3 * 5 / 6)


def test_scores_of_another_scale_go_there_and_back() -> None:
    labels = [to_unit(score, (1, 5)) for score in (1, 2, 2, 3, 4, 5, 5, 4, 3, 2)]
    verdicts = ["low"] * 5 + ["high"] * 5
    found = from_unit(corrected_mean(verdicts, labels, ["low", "high"]), (1, 5))
    assert found.value == pytest.approx(3.1)
    assert (
        found.lower is not None
        and found.upper is not None
        and 1 <= found.lower < 3.1 < found.upper <= 5
    )


def test_one_label_repeated_within_a_conversation_counts_once() -> None:
    """Ten copies of each row, all of one cluster, leave the interval about as wide as the ten rows
    alone.
    """
    labels = [1.0, 0, 1, 1, 0, 1, 1, 1, 0, 1]
    verdicts = ["PASS"] * 5 + ["FAIL"] * 5
    alone = corrected_mean(verdicts, labels, OPTIONS)
    copies = corrected_mean(verdicts * 10, labels * 10, OPTIONS, clusters=list(range(10)) * 10)
    fooled = corrected_mean(verdicts * 10, labels * 10, OPTIONS)
    assert copies.width is not None and alone.width is not None and fooled.width is not None
    assert copies.width > 0.95 * alone.width > 2 * fooled.width


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 5)), min_size=3, max_size=40))
def test_clustered_errors_are_those_of_statsmodels(rows: list[tuple[float, int]]) -> None:
    api = pytest.importorskip(
        "statsmodels.api", reason="statsmodels is an oracle for development only"
    )
    values, groups = [value for value, _ in rows], [group for _, group in rows]
    if len(set(groups)) < 2:
        return
    fit = api.OLS(values, [1.0] * len(values)).fit(cov_type="cluster", cov_kwds={"groups": groups})
    assert variance_of_mean(values, groups) == pytest.approx(fit.bse[0] ** 2, abs=1e-9)
    assert design_effect(values, groups) >= 1


@given(
    st.integers(0, 60).flatmap(
        lambda hits: st.tuples(st.just(hits), st.integers(max(1, hits), 90))
    ),
    st.floats(0.01, 0.3),
)
def test_the_exact_upper_limit_is_scipys(case: tuple[int, int], risk: float) -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is an oracle for development only")
    wanted = stats.binomtest(*case, alternative="less").proportion_ci(1 - risk, "exact").high
    assert upper_limit(*case, risk=risk) == pytest.approx(wanted, abs=1e-9)


@given(st.lists(st.tuples(BITS, BITS), min_size=2, max_size=60))
def test_the_test_against_chance_is_fishers(pairs: list[tuple[int, int]]) -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is an oracle for development only")
    table = [[sum(pair == (a, b) for pair in pairs) for b in (1, 0)] for a in (1, 0)]
    wanted = stats.fisher_exact(table, alternative="greater").pvalue
    assert chance_p_value([f for f, _ in pairs], [y for _, y in pairs]) == pytest.approx(
        wanted, abs=1e-9
    )


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=3, max_size=60))
def test_of_scores_the_test_against_chance_is_that_of_the_correlation(
    pairs: list[tuple[int, int]],
) -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is an oracle for development only")
    one, other = [a / 4 for a, _ in pairs], [b / 4 for _, b in pairs]
    if len(set(one)) > 1 and len(set(other)) > 1 and not {*one, *other} <= {0, 1}:
        wanted = stats.pearsonr(one, other, alternative="greater").pvalue
        assert chance_p_value(one, other) == pytest.approx(wanted, abs=1e-6)


@given(
    st.lists(st.tuples(BITS, BITS), min_size=2, max_size=40),
    st.lists(BITS, min_size=2, max_size=60),
)
def test_ppi_is_that_of_ppi_py(pairs: list[tuple[int, int]], others: list[int]) -> None:
    """ppi_py's formulas, written down from its source: the package itself brings a compiler."""
    numpy = pytest.importorskip("numpy", reason="numpy is an oracle for development only")
    labels, judged = (
        numpy.array([y for y, _ in pairs], float),
        numpy.array([f for _, f in pairs], float),
    )
    rest = numpy.array(others, float)
    found = ppi_plus_plus(labels.tolist(), judged.tolist(), rest.tolist())
    spread = numpy.concatenate([judged, rest]).var(ddof=1)
    weight = 0.0
    if spread > 0:
        together = numpy.mean((labels - labels.mean()) * (judged - judged.mean()))
        weight = float(numpy.clip(together / (spread * (1 + len(labels) / len(rest))), 0, 1))
    value = weight * rest.mean() + (labels - weight * judged).mean()
    error = math.sqrt(
        (labels - weight * judged).var() / len(labels) + weight**2 * rest.var() / len(rest)
    )
    assert found.value == pytest.approx(value, abs=1e-9)
    assert found.lower == pytest.approx(value - 1.959963984540054 * error, abs=1e-9)


def test_ppi_itself_agrees() -> None:
    ppi = pytest.importorskip("ppi_py", reason="ppi-python comes with make test-oracles")
    numpy = pytest.importorskip("numpy", reason="numpy is an oracle for development only")
    choice = random.Random(5)
    for _ in range(30):
        labels = [choice.randint(0, 1) for _ in range(40)]
        judged = [label if choice.random() < 0.8 else 1 - label for label in labels]
        rest = [choice.randint(0, 1) for _ in range(300)]
        wanted = ppi.ppi_mean_ci(
            *(numpy.array(one, float) for one in (labels, judged, rest)), alpha=0.05
        )
        found = ppi_plus_plus(labels, judged, rest)
        assert (found.lower, found.upper) == (
            pytest.approx(wanted[0].item(), abs=1e-9),
            pytest.approx(wanted[1].item(), abs=1e-9),
        )


def test_ppi_with_t_is_wider_and_says_when_it_is_undefined() -> None:
    labels, judged, rest = [1, 0, 1, 1, 0, 1], [1, 0, 1, 0, 0, 1], [1, 0, 1, 1] * 5
    with_t, plain = (
        ppi_plus_plus(labels, judged, rest, with_t=True),
        ppi_plus_plus(labels, judged, rest),
    )
    assert with_t.value == plain.value
    assert (with_t.width or 0) > (plain.width or 0)
    assert ppi_plus_plus([1], [1], rest, with_t=True).reason == "fewer than two labels"
    assert "the labels alone" in ppi_plus_plus(labels, judged, [], with_t=True).reason


def test_ppi_of_clustered_rows_holds_the_true_mean_though_clusters_are_labelled_in_part() -> None:
    """Rows of one conversation, some with a label and some without: as independent rows it holds in
    7 of 10 samples.
    """
    choice, held, alone = random.Random(7), 0, 0
    for _ in range(200):
        labels, judged, rest, own, others = _conversations(choice)
        found = ppi_plus_plus(labels, judged, rest, clusters=(own, others), with_t=True)
        plain = ppi_plus_plus(labels, judged, rest, with_t=True)
        assert found.value == plain.value
        held += (found.lower or 0) <= 0.6 <= (found.upper or 0)
        alone += (plain.lower or 0) <= 0.6 <= (plain.upper or 0)
    assert held >= 180 > 160 >= alone


def _conversations(
    choice: random.Random,
) -> tuple[list[float], list[float], list[float], list[int], list[int]]:
    """Forty of ten rows each; labels of 60 rows, the verdicts beside them, those of the others, and
    the clusters of both.
    """
    rows = []
    for group in range(40):
        base, lean = choice.gauss(0.6, 0.12), choice.gauss(0, 0.05)
        truths = [base + choice.gauss(0, 0.08) for _ in range(10)]
        rows += [
            (truth, 0.8 * truth + 0.1 + lean + choice.gauss(0, 0.05), group) for truth in truths
        ]
    choice.shuffle(rows)
    labelled, rest = rows[:60], rows[60:]
    return (
        [truth for truth, _, _ in labelled],
        [said for _, said, _ in labelled],
        [said for _, said, _ in rest],
        [group for *_, group in labelled],
        [group for *_, group in rest],
    )


def test_ppi_clusters_of_one_row_each_are_independent_rows() -> None:
    labels, judged, rest = (
        [0.9, 0.2, 0.7, 0.4, 0.5],
        [0.8, 0.3, 0.6, 0.6, 0.4],
        [0.1, 0.5, 0.9, 0.7, 0.3, 0.6],
    )
    found = ppi_plus_plus(labels, judged, rest, clusters=(range(5), range(5, 11)), with_t=True)
    plain = ppi_plus_plus(labels, judged, rest, with_t=True)
    assert found.width == pytest.approx(plain.width, rel=0.1)


def test_rogan_and_gladen_by_hand_and_undefined_for_a_judge_that_knows_nothing() -> None:
    found = rogan_gladen(1400, 2000, 72, 80, 12, 20)
    assert found.value == pytest.approx((0.7 + 0.6 - 1) / (0.6 + 0.9 - 1))
    assert (found.lower, found.upper) == (
        pytest.approx(0.382069, abs=1e-6),
        pytest.approx(0.769717, abs=1e-6),
    )
    assert (
        rogan_gladen(1400, 2000, 40, 80, 10, 20).reason
        == "sensitivity and specificity add up to 1 or less"
    )
    assert (
        rogan_gladen(1400, 2000, 40, 80, 0, 0).reason
        == "labels of both kinds are needed: passes and fails"
    )
    assert (
        rogan_gladen(1000, 2000, 100, 1000, 1, 1).reason == "too few labels of one kind for limits"
    )


@pytest.mark.parametrize(
    ("fail_rows", "fails", "pass_rows", "passes", "text"),
    [
        (
            400,
            "0" * 6,
            1600,
            "1" * 6,
            "too few labels: 12; needed: 8 more; recommended: 38 more, of which 9 among FAIL",
        ),
        (
            400,
            "000",
            1600,
            "1" * 60,
            "too few labels: 63; needed: 2 among FAIL more; recommended: 12 among FAIL more",
        ),
        (
            400,
            "0000",
            1600,
            "1" * 32,
            "too few labels: 36; needed: 1 among FAIL more; recommended: 14 more, of which 11 "
            "among FAIL",
        ),
        (
            400,
            "",
            1600,
            "",
            "too few labels: 0; needed: 20 more, of which 5 among FAIL and 5 among PASS; "
            "recommended: 50 more, of which 15 among FAIL",
        ),
        (
            400,
            "00",
            1600,
            "1",
            "too few labels: 3; needed: 17 more, of which 3 among FAIL and 4 among PASS; "
            "recommended: 47 more, of which 13 among FAIL",
        ),
        (
            400,
            "00",
            8,
            "1" * 18,
            "too few labels: 20; needed: 3 among FAIL more; recommended: 30 more",
        ),
        (400, "0" * 5, 1600, "1" * 15, None),
        (50, "0", 1950, "1" * 30, None),
    ],
)
def test_too_few_labels_are_refused_with_the_number_that_would_do(
    fail_rows: int, fails: str, pass_rows: int, passes: str, text: str | None
) -> None:
    found = too_few(strata(fail_rows, fails, pass_rows, passes))
    assert (found and found.text) == text


@pytest.mark.parametrize(("fails", "passes"), [(0, 0), (4, 32), (2, 1), (6, 6), (12, 7), (0, 19)])
def test_the_labels_that_are_needed_are_enough_and_one_less_is_not(fails: int, passes: int) -> None:
    found = too_few(strata(400, "0" * fails, 1600, "1" * passes))
    assert found is not None
    needed = re.search(r"needed: ([^;]*)", found.text)
    assert needed is not None
    among = {name: int(count) for count, name in re.findall(r"(\d+) among (FAIL|PASS)", needed[1])}
    total = re.match(r"(\d+) more", needed[1])
    more = int(total[1]) if total else sum(among.values())

    def with_more(less: int) -> object:
        rest = more - sum(among.values()) - less
        new_fails = fails + among.get("FAIL", 0) + min(rest, 0)
        new_passes = passes + among.get("PASS", 0) + max(rest, 0)
        return too_few(strata(400, "0" * new_fails, 1600, "1" * new_passes))

    assert with_more(0) is None
    assert with_more(1) is not None


def test_a_small_run_whose_every_row_is_labelled_is_not_too_few() -> None:
    assert too_few(strata(4, "0000", 8, "1" * 8)) is None


def test_of_a_judge_at_chance_it_is_said_and_of_a_good_one_not() -> None:
    verdicts, labels = [1, 0] * 25, [1, 1, 0, 0] * 12 + [1, 0]
    found = no_better_than_chance(verdicts, labels)
    assert found is not None and found.startswith(
        "on your labels the verdict says nothing about the truth (agreement 0.52, chance 0.50)"
    )
    assert no_better_than_chance(labels, labels) is None
    constant = no_better_than_chance([0.5] * 30, [0.25, 0.75] * 15)
    assert constant is not None and "one of them never varies" in constant


def test_it_is_said_how_many_labels_a_judge_saves() -> None:
    alone = Estimate(0.5, 0.4, 0.6, 100, "labels only")
    found = describe_savings(Estimate(0.5, 0.42, 0.58, 100, "post-stratified"), alone)
    assert found == (
        "the judge saves about 56 labels: without it, an interval this narrow would take 156 "
        "labels instead of 100"
    )
    found = describe_savings(Estimate(0.5, 0.404, 0.6, 100, "post-stratified"), alone)
    assert found == "the judge saves no labels: ±0.098 corrected, ±0.100 with the labels alone"


def test_only_the_number_of_labels_refuses_a_corrected_rate() -> None:
    parts = strata(400, "0" * 18 + "11", 1600, "1" * 76 + "0000")
    verdicts, labels = [0.0] * 20 + [1.0] * 80, [*parts[0].labels, *parts[1].labels]
    (saved,) = doubts(verdicts, labels, post_stratified(parts), labels_only(labels))
    assert saved.startswith("the judge saves about")
    found = too_few(strata(400, "0", 1600, "1"))
    assert found is not None and found.code == "too_few_labels"
    for said in ("1" * 30, "0" * 30, "10" * 15):
        assert too_few(strata(400, said, 1600, said)) is None


def test_rows_that_belong_together_do_not_make_a_coin_look_better() -> None:
    """Ten rows of a cluster share the verdict and the label, which have nothing to do with each
    other.
    """
    choice, called = random.Random(8), 0
    for _ in range(400):
        verdicts, labels = (
            [one for _ in range(20) for one in [float(choice.random() < 0.5)] * 10]
            for _ in range(2)
        )
        clusters = [place // 10 for place in range(200)]
        called += chance_p_value(verdicts, labels, clusters) <= 0.05
    assert called <= 0.075 * 400


def test_labels_needed_reach_the_width_and_save_some() -> None:
    parts = strata(4000, "111" + "0" * 12, 16000, "1" * 40 + "0" * 4)
    found = labels_needed(parts, 0.1)
    assert (
        found.labels is not None
        and found.labels_alone is not None
        and found.labels_alone > found.labels
    )
    share = found.labels / 20000
    many = [Stratum(one.verdict, one.rows, _spread(one, round(one.rows * share))) for one in parts]
    width = post_stratified(many).width
    assert width == pytest.approx(0.1, abs=0.003)
    assert sum(found.by_verdict.values()) == found.more
    assert (found.labels - 59) <= (found.more or 0) <= found.labels


def test_labels_that_are_there_and_those_still_needed_add_up_and_failed_rows_are_called_so() -> (
    None
):
    parts = [*strata(81, "00001" * 6, 279, "11110" * 14), Stratum(None, 40, _labels("1101" * 4))]
    found = labels_needed(parts, 0.1)
    assert found.labels == 30 + 70 + 16 + (found.more or 0)
    assert {*found.by_verdict} == {"FAIL", "PASS", "failed"}


def _spread(stratum: Stratum, count: int) -> tuple[float, ...]:
    hits = round(count * (stratum.mean or 0))
    return (1.0,) * hits + (0.0,) * (count - hits)


GRADED = [
    Stratum("bad", 30, (0.0,) * 9 + (0.3,) * 6),
    Stratum("fair", 30, (0.0,) * 2 + (0.3,) * 9 + (1.0,) * 4),
    Stratum("good", 60, (0.3,) * 6 + (0.5,) * 4 + (1.0,) * 20),
]
"""Half of the rows are labelled; the labels are grades, and some lie between two of them."""


def test_grades_are_planned_with_their_own_variance_and_not_with_that_of_a_share() -> None:
    fully = [replace(one, labels=one.labels * 2) for one in GRADED]
    assert f"it would be about {post_stratified(fully).width:.3f}" in (
        labels_needed(GRADED, 0.01).reason
    )
    these = labels_needed(GRADED, 0.01, these_rows=True)
    assert these.labels is not None and 110 < these.labels <= 120  # all labelled: known


def test_the_plan_goes_on_from_the_width_that_the_labels_have() -> None:
    width = post_stratified(GRADED).width or 0.0
    assert (found := labels_needed(GRADED, width - 0.0001)).more is not None
    assert 0 < found.more <= 3
    alone = labels_needed(GRADED, 0.17).labels_alone
    labels = [label for part in GRADED for label in part.labels]
    assert alone == next(
        count
        for count in range(60, 121)
        if (labels_only(_alike(labels, count)).width or 0) <= 0.1705
    )


def _alike(labels: Sequence[float], count: int) -> list[float]:
    """So many labels, each as often as the others or once more."""
    return [sorted(labels)[(2 * place + 1) * len(labels) // (2 * count)] for place in range(count)]


def test_labels_drawn_apart_are_planned_as_they_were_drawn() -> None:
    """The rare kind was drawn as often as the common one: further labels are, too."""
    parts = [
        Stratum("PASS (rare)", 30, _labels("1" * 9 + "0" * 6)),
        Stratum("PASS (common)", 300, _labels("1" * 6 + "0" * 9)),
    ]
    found = labels_needed(parts, 0.2, like_labels=True)
    assert found.labels is not None and not found.by_verdict
    later = [
        replace(parts[0], labels=parts[0].labels * 2),
        replace(parts[1], labels=_spread(parts[1], found.labels - 30)),
    ]
    assert post_stratified(later).width == pytest.approx(0.2, abs=0.002)


def test_a_width_that_no_labels_reach_has_a_reason() -> None:
    found = labels_needed(strata(40, "111" + "0" * 12, 160, "1" * 40 + "0" * 4), 0.01)
    assert found.labels is None
    assert "with all 200 rows labelled it would be about 0." in found.reason
    assert (
        labels_needed(strata(40, "", 160, ""), 0.1).reason
        == "no labels to plan with: label a few rows at random first"
    )


def test_plain_estimates_are_means_with_honest_limits_or_a_reason() -> None:
    assert naive([1.0] * 9 + [0.0]).value == pytest.approx(0.9)
    assert naive([1.0] * 20).lower == pytest.approx(share_limits(20, 20).lower)
    assert labels_only([]).reason == "no row has a label"
    assert naive([]).reason == "no row has a verdict"


def test_eight_rows_of_four_conversations_have_no_interval_and_of_eight_have_a_wider_one() -> None:
    values, conversations = [1.0, 1.0, 0.0, 0.0] * 8, [place // 2 for place in range(32)]
    assert mean_interval(values[:8], clusters=conversations[:8]) is None
    alone, clustered = mean_interval(values), mean_interval(values, clusters=conversations)
    assert alone is not None and clustered is not None
    assert clustered.upper - clustered.lower > 1.25 * (alone.upper - alone.lower)
    assert clustered.lower == pytest.approx(beta_quantile(0.025, 8, 9))  # 8 of 16 conversations
    assert share_interval(values, clusters=conversations).upper > share_interval(values).upper


def test_conversations_that_reach_over_both_verdicts_widen_the_interval() -> None:
    """Where a conversation is good its passes and its fails are both labelled good: the two means
    move together.
    """
    verdicts, labels, clusters = (
        ["PASS", "PASS", "FAIL", "FAIL"] * 20,
        [1.0] * 40 + [0.0] * 40,
        [place // 4 for place in range(80)],
    )
    labels[0:4], labels[76:80] = [0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0]
    together = corrected_mean(verdicts, labels, OPTIONS, clusters=clusters).width
    apart = [f"{cluster} {verdict}" for cluster, verdict in zip(clusters, verdicts, strict=True)]
    separate = corrected_mean(verdicts, labels, OPTIONS, clusters=apart).width
    assert together is not None and separate is not None and together > 1.25 * separate


def test_no_limit_of_a_rate_lies_above_1() -> None:
    """PPI++ of a judge that nearly always passes said 1.002."""
    found = ppi_plus_plus([1.0] * 39 + [0.0], [1.0] * 40, [1.0, 1.0, 1.0, 0.0] * 40)
    assert found.upper is not None and found.upper > 1
    assert from_unit(found, (0, 1)).upper == 1
    assert from_unit(found, (1, 5)).upper == 5
    assert (from_unit(found, (0, 1)).lower, from_unit(found, (0, 1)).value) == (
        found.lower,
        found.value,
    )


@pytest.mark.parametrize("label", [1.0, 1 / 3, 0.0])
@pytest.mark.parametrize("counts", [(1372, 2674, 107), (2705, 1089, 441), (128, 631, 805)])
def test_labels_that_all_agree_have_limits_however_many_verdicts_there_are(
    counts: tuple[int, ...], label: float
) -> None:
    """The shares of these verdicts do not add up to 1 exactly."""
    parts = [Stratum(str(rows), rows, (label,) * 20) for rows in counts]
    found = post_stratified(parts)
    assert found.lower is not None and found.upper is not None and found.upper <= 1
    assert found.lower <= label <= found.upper and found.width is not None and found.width > 0.05


def test_few_clusters_say_less_than_as_many_rows() -> None:
    """How much clusters vary is estimated from them: of 24 that is Student's quantile."""
    verdicts = ["PASS", "FAIL"] * 12
    labels = [float(place % 4 != 3) for place in range(24)]
    order = ["FAIL", "PASS"]
    alone = corrected_mean(verdicts, labels, order)
    clustered = corrected_mean(verdicts, labels, order, clusters=[*range(24)])
    assert alone.width is not None and clustered.width is not None
    assert clustered.width > 1.02 * alone.width
