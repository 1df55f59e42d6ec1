"""Several criteria's verdicts as one score: by a table, and against an independent reading of the
contract.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, cast

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.multi_criteria import MultiCriteria, MultiCriteriaItem
from adjudge.core.domain.multi_results import MultiCriteriaDirectInstanceResult
from adjudge.core.domain.results import DirectInstanceResult, Status
from adjudge.core.pooling.composite import composite
from adjudge.errors import SetupError

INSTANCE = Instance({"response": "x"})


def criteria(name: str = "c", **scores: float | None) -> Criteria:
    return Criteria(
        name, "Which?", [CriteriaOption(option, score=score) for option, score in scores.items()]
    )


STARS = criteria("stars", one=1, two=2, three=3)
YES_NO = criteria("yes or no", yes=1.0, no=0.0)
COLOURS = criteria("colours", red=None, blue=None)


def named(count: int, weight: float | None = None) -> list[MultiCriteriaItem]:
    """Equal items, each under a name of its own."""
    return [
        MultiCriteriaItem(replace(YES_NO, name=f"yes or no {number}"), weight)
        for number in range(count)
    ]


def verdict(item: MultiCriteriaItem, option: str | None) -> DirectInstanceResult:
    status = Status.FAILED if option is None else Status.SCORED
    return DirectInstanceResult(
        instance=INSTANCE, criteria=item.criterion, status=status, option=option
    )


def pooled(multi: MultiCriteria, *options: str | None) -> MultiCriteriaDirectInstanceResult:
    return composite(
        INSTANCE,
        multi,
        [verdict(item, option) for item, option in zip(multi.items, options, strict=True)],
    )


# -- the rule ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "normalised", "option", "score"),
    [
        ({}, True, "one", 0.0),
        ({}, True, "two", 0.5),
        ({}, True, "three", 1.0),
        ({}, False, "two", 2.0),
        ({"target_option": "two"}, True, "two", 1.0),
        ({"target_option": "two"}, True, "three", 0.0),
        ({"target_option": "two"}, False, "two", 1.0),
        ({"score_threshold": 0.5}, True, "two", 0.0),
        ({"score_threshold": 0.49}, True, "two", 1.0),
        ({"score_threshold": 2}, False, "two", 0.0),
        ({"score_threshold": 2}, False, "three", 1.0),
        ({"score_threshold": -1}, True, "one", 1.0),
    ],
)
def test_one_item_scores_by_its_option_target_or_threshold(
    settings: dict[str, Any], normalised: bool, option: str, score: float
) -> None:
    multi = MultiCriteria([MultiCriteriaItem(STARS, **settings)], normalize_scores=normalised)
    assert pooled(multi, option).aggregated_score == pytest.approx(score)


@pytest.mark.parametrize(
    ("required", "options", "score"),
    [
        ((False, False), ("three", "no"), 0.7),
        ((True, False), ("three", "no"), 0.7),
        ((False, True), ("three", "no"), 0.0),
        ((True, True), ("three", "yes"), 1.0),
        ((True, False), ("two", "yes"), 0.0),
        ((False, True), ("two", "yes"), 0.65),
    ],
)
def test_a_required_item_below_its_maximum_makes_the_aggregate_nought(
    required: Any, options: Any, score: float
) -> None:
    items = [
        MultiCriteriaItem(STARS, 0.7, required=required[0]),
        MultiCriteriaItem(YES_NO, 0.3, required=required[1]),
    ]
    assert pooled(MultiCriteria(items), *options).aggregated_score == pytest.approx(score)


def test_a_target_makes_scores_unnecessary() -> None:
    assert (
        pooled(
            MultiCriteria([MultiCriteriaItem(COLOURS, target_option="blue")]), "blue"
        ).aggregated_score
        == 1.0
    )


@pytest.mark.parametrize("count", [1, 2, 3, 7, 10])
def test_equal_weights_of_full_marks_make_exactly_one(count: int) -> None:
    assert pooled(MultiCriteria(named(count)), *["yes"] * count).aggregated_score == 1.0


# -- what is refused ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ((0.5, 0.6), "sum to 1.1"),
        ((0.5, 0.4), "sum to 0.9"),
        ((1.5, -0.5), "none may be negative"),
        ((0.5, None), "give all of them a weight, or none"),
        ((float("nan"), 1.0), "sum to nan"),
    ],
)
def test_weights_that_do_not_sum_to_one_are_refused(weights: Any, message: str) -> None:
    with pytest.raises(SetupError, match=message):
        MultiCriteria([MultiCriteriaItem(YES_NO, weight) for weight in weights])


def test_weights_may_sum_to_one_but_for_rounding() -> None:
    assert len(MultiCriteria(named(10, 0.1)).items) == 10
    assert len(MultiCriteria(named(3, 1 / 3)).items) == 3


@pytest.mark.parametrize(
    ("threshold", "normalised"),
    [(1.0, True), (2.5, True), (3, False), (float("inf"), True), (float("nan"), True)],
)
def test_a_threshold_that_cannot_be_passed_is_refused(threshold: float, normalised: bool) -> None:
    with pytest.raises(SetupError, match="'stars' can never exceed the threshold"):
        MultiCriteria(
            [MultiCriteriaItem(STARS, score_threshold=threshold)], normalize_scores=normalised
        )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: MultiCriteriaItem(STARS, target_option="four"),
            "'stars' has no option 'four'; it has one, two, three",
        ),
        (
            lambda: MultiCriteriaItem(STARS, target_option="one", score_threshold=0.5),
            "keep one of them",
        ),
        (lambda: MultiCriteriaItem(cast(Any, 5)), "not int"),
        (lambda: MultiCriteria([]), "at least one"),
        (
            lambda: MultiCriteria([STARS, YES_NO, replace(COLOURS, name="stars")]),
            "2 criteria are named 'stars'",
        ),
        (lambda: MultiCriteria([MultiCriteriaItem(criteria(a=1, b=1))]), "same score"),
        (lambda: MultiCriteria([MultiCriteriaItem(criteria(a=1, b=float("nan")))]), "not numbers"),
        (lambda: MultiCriteria([MultiCriteriaItem(criteria(a=1, b=float("inf")))]), "not numbers"),
        (
            lambda: MultiCriteria(
                [MultiCriteriaItem(criteria(a=1, b=float("inf")))], normalize_scores=False
            ),
            "not numbers",
        ),
        (
            lambda: MultiCriteria([MultiCriteriaItem(COLOURS, score_threshold=0.5)]),
            "'red' of criterion 'colours' has no score",
        ),
        (
            lambda: MultiCriteria([COLOURS]).check_scores(),
            "'red' of criterion 'colours' has no score",
        ),
    ],
)
def test_what_can_have_no_score_is_refused(make: Any, message: str) -> None:
    with pytest.raises(SetupError, match=message):
        make()


# -- bounds ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "options", "lower", "upper"),
    [
        ({}, (None, "yes"), 0.3, 1.0),
        ({}, ("two", None), 0.35, 0.65),
        ({}, (None, None), 0.0, 1.0),
        ({"target_option": "two"}, (None, "no"), 0.0, 0.7),
        ({"required": True}, (None, "yes"), 0.0, 1.0),
        ({"required": True}, ("two", None), 0.0, 0.0),
        ({"required": True}, ("three", None), 0.7, 1.0),
    ],
)
def test_a_missing_verdict_leaves_bounds(
    settings: Any, options: Any, lower: float, upper: float
) -> None:
    multi = MultiCriteria(
        [MultiCriteriaItem(STARS, 0.7, **settings), MultiCriteriaItem(YES_NO, 0.3)]
    )
    result = pooled(multi, *options)
    assert (result.aggregated_score, result.status) == (None, Status.FAILED)
    assert (result.lower_bound, result.upper_bound) == (pytest.approx(lower), pytest.approx(upper))


def test_bounds_hold_for_scores_below_nought() -> None:
    losses = criteria("losses", small=-1.0, large=-5.0)
    items = [MultiCriteriaItem(losses, 0.5), MultiCriteriaItem(YES_NO, 0.5, required=True)]
    result = pooled(MultiCriteria(items, normalize_scores=False), "large", None)
    assert (result.lower_bound, result.upper_bound) == (-2.0, 0.0)


# -- against an oracle -------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """Random criteria and a verdict, or none, on each."""

    multi: MultiCriteria
    options: tuple[str | None, ...]


@st.composite
def cases(draw: Any) -> Case:
    normalised = draw(st.booleans())
    count = draw(st.integers(1, 4))
    shares = [draw(st.integers(0 if count > 1 else 1, 9)) for _ in range(count)]
    assume(sum(shares) > 0)
    items, options = [], []
    for number, share in enumerate(shares):
        scores = draw(st.lists(st.integers(-3, 5), min_size=2, max_size=4, unique=True))
        names = [f"o{place}" for place in range(len(scores))]
        one = criteria(f"c{number}", **dict(zip(names, map(float, scores), strict=True)))
        rule = draw(st.sampled_from(["score", "target", "threshold"]))
        reach = [0.0, 1.0] if normalised else [float(min(scores)), float(max(scores))]
        items.append(
            MultiCriteriaItem(
                one,
                share / sum(shares),
                target_option=draw(st.sampled_from(names)) if rule == "target" else None,
                score_threshold=reach[0]
                + draw(st.sampled_from([-1, 0, 0.3, 0.6])) * (reach[1] - reach[0])
                if rule == "threshold"
                else None,
                required=draw(st.booleans()),
            )
        )
        options.append(draw(st.sampled_from([*names, None])))
    return Case(MultiCriteria(items, normalize_scores=normalised), tuple(options))


def points(item: MultiCriteriaItem, option: str, normalised: bool) -> float:
    """What the contract says an item scores."""
    table = {one.name: float(one.score or 0) for one in item.criterion.options}
    value = table[option]
    if normalised:
        value = (value - min(table.values())) / (max(table.values()) - min(table.values()))
    if item.target_option is not None:
        value = float(option == item.target_option)
    elif item.score_threshold is not None:
        value = float(value > item.score_threshold)
    return value


def expected(case: Case, options: tuple[str, ...]) -> float:
    """What the contract says they come to."""
    total = 0.0
    for item, option in zip(case.multi.items, options, strict=True):
        best = max(
            points(item, name, case.multi.normalize_scores) for name in item.criterion.option_names
        )
        score = points(item, option, case.multi.normalize_scores)
        if item.required and score != best:
            return 0.0
        total += (item.weight or 0.0) * score
    return total


def completions(case: Case) -> list[tuple[str, ...]]:
    """Every way the missing verdicts could turn out."""
    known = zip(case.multi.items, case.options, strict=True)
    return list(
        product(*([option] if option else item.criterion.option_names for item, option in known))
    )


@given(cases())
def test_the_aggregate_is_what_the_contract_says(case: Case) -> None:
    result = pooled(case.multi, *case.options)
    if None in case.options:
        assert result.aggregated_score is None
    else:
        assert result.aggregated_score == pytest.approx(
            expected(case, completions(case)[0]), abs=1e-9
        )
        assert result.lower_bound == result.upper_bound == result.aggregated_score


@given(cases())
def test_the_aggregate_lies_between_the_bounds_whatever_the_missing_verdicts_are(
    case: Case,
) -> None:
    result = pooled(case.multi, *case.options)
    possible = [expected(case, options) for options in completions(case)]
    assert result.lower_bound == pytest.approx(min(possible), abs=1e-9)
    assert result.upper_bound == pytest.approx(max(possible), abs=1e-9)


@given(cases())
def test_normalised_scores_stay_between_nought_and_one(case: Case) -> None:
    result = pooled(case.multi, *case.options)
    if case.multi.normalize_scores:
        assert -1e-12 <= result.lower_bound <= result.upper_bound <= 1 + 1e-12


@given(cases())
def test_what_the_caller_gave_is_never_changed(case: Case) -> None:
    before = copy.deepcopy(case)
    items = list(case.multi.items)
    pooled(case.multi, *case.options)
    MultiCriteria(items, case.multi.normalize_scores).check_scores()
    assert (case, tuple(items)) == (before, before.multi.items)
