"""Bias told from noise: a judge whose noise and bias are known is measured rightly, as often as
promised.
"""

from __future__ import annotations

import json
import math
import os
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from statistics import fmean, stdev
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.core.domain.criteria import Criteria, yes_no_criteria
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.message import Request
from adjudge.core.domain.question import Choice
from adjudge.core.domain.results import DirectInstanceResult, Result
from adjudge.core.domain.verdict import Chosen
from adjudge.core.domain.vote import Ballot, Outcome, Vote
from adjudge.core.gateway.providers.scripted import ScriptedModel
from adjudge.core.judges.direct import BaseDirectJudge, DirectJudge
from adjudge.core.judges.pairwise import BasePairwiseJudge
from adjudge.errors import SetupError
from adjudge.stats.bias import BiasReport, positional_bias
from adjudge.stats.student import t_cdf, t_quantile

POLITE = yes_no_criteria("Is it polite?")
NOISE = 0.2
FORWARD, BACKWARD = ("Yes", "No"), ("No", "Yes")


# -- a judge whose mind is known ---------------------------------------------------


def chosen(
    chance: random.Random, truth: str, shown: Sequence[str], noise: float, bias: float
) -> str:
    """The first shown with probability ``bias``; else the truth, but for ``noise``."""
    if chance.random() < bias:
        return shown[0]
    return truth if chance.random() >= noise else next(name for name in shown if name != truth)


@dataclass(kw_only=True, eq=False)
class Known(BaseDirectJudge):
    """Whether a text begins with "yes", said with known noise and known bias."""

    noise: float = NOISE
    bias: float = 0.0
    chance: random.Random = field(default_factory=lambda: random.Random(0))

    async def _run(self, instances: list[Instance], criteria: list[Criteria]) -> list[str]:
        truth = "Yes" if str(instances[0].fields["response"]).startswith("yes") else "No"
        return [chosen(self.chance, truth, criteria[0].option_names, self.noise, self.bias)]


def texts(count: int) -> list[str]:
    return [f"{truth_of(number).lower()} {number}" for number in range(count)]


def truth_of(number: int) -> str:
    return "Yes" if number % 2 else "No"


RUNS = min(int(os.environ.get("ADJUDGE_TABLES", "120")), 1000)


@cache
def runs(bias: float, count: int = RUNS, items: int = 100, samples: int = 3) -> list[BiasReport]:
    """So many runs of the known judge, each with votes of its own; cast without the line in
    between, which takes its time.
    """
    chance = random.Random(7)

    def said(truth: str, shown: Sequence[str]) -> list[str]:
        return [chosen(chance, truth, shown, NOISE, bias) for _ in range(samples)]

    return [
        positional_bias(
            [
                result(*(said(truth_of(item), shown) for shown in (FORWARD, BACKWARD)))
                for item in range(items)
            ]
        )
        for _ in range(count)
    ]


def at_most(share: float, count: int) -> float:
    """So many of ``count`` runs may do what happens with probability ``share``: three standard
    deviations more.
    """
    return share + 3 * math.sqrt(share * (1 - share) / count)


def test_noise_alone_is_called_bias_no_oftener_than_the_level_says() -> None:
    assert fmean(report.detected for report in runs(0.0)) <= at_most(0.05, RUNS)


def test_noise_alone_makes_the_flip_rate_large_and_the_excess_nil() -> None:
    reports = runs(0.0)
    assert fmean(report.flip_rate or 0 for report in reports) == pytest.approx(
        2 * NOISE * (1 - NOISE), abs=0.01
    )
    assert fmean(report.noise_rate or 0 for report in reports) == pytest.approx(
        2 * NOISE * (1 - NOISE), abs=0.01
    )
    assert fmean(report.excess or 0 for report in reports) == pytest.approx(0.0, abs=0.01)


def test_a_bias_of_three_in_ten_is_found() -> None:
    assert fmean(report.detected for report in runs(0.3)) > 0.95


@pytest.mark.parametrize("bias", [0.0, 0.3, 0.6])
def test_the_excess_is_the_square_of_the_bias_and_lies_in_its_interval_at_the_nominal_rate(
    bias: float,
) -> None:
    reports = runs(bias)
    outside = fmean(not report.lower <= bias**2 <= report.upper for report in reports)  # type: ignore[operator]
    assert outside <= at_most(0.05, RUNS)
    assert fmean(report.excess or 0 for report in reports) == pytest.approx(bias**2, abs=0.01)


@pytest.mark.parametrize(
    ("bias", "least", "most"), [(0.0, 0.0, at_most(0.05, 20)), (0.4, 0.9, 1.0)]
)
def test_a_judge_of_ones_own_is_measured_by_its_results(
    bias: float, least: float, most: float
) -> None:
    judge = Known(bias=bias, self_consistency=3, check_positional_bias=True)
    results = judge(texts(20 * 60), POLITE)
    reports = [positional_bias(results[start : start + 60]) for start in range(0, len(results), 60)]
    assert least <= fmean(report.detected for report in reports) <= most


def test_bias_is_found_through_prompts_and_replies_too() -> None:
    def script(request: Request) -> str:
        shown = re.findall(r"^- (Yes|No)$", request.prompt.text, re.MULTILINE)
        text = str(re.search(r">\n(.*)\n<", request.prompt.messages[-1].content))
        chance = random.Random(f"{text} {shown} {request.sample}")
        option = chosen(chance, "Yes" if "yes" in text else "No", shown, NOISE, 0.5)
        return json.dumps({"explanation": "", "selected_option": option})

    judge = DirectJudge(ScriptedModel(script), self_consistency=3, check_positional_bias=True)
    report = positional_bias(judge(texts(80), POLITE))
    assert report.detected
    assert report.lower <= 0.25 <= report.upper  # type: ignore[operator]


@dataclass(kw_only=True, eq=False)
class LovesTheFirst(BasePairwiseJudge):
    """The longer response, said with known bias for the one that is shown first."""

    bias: float = 0.0
    chance: random.Random = field(default_factory=lambda: random.Random(1))

    async def _run(self, instances: list[Instance], criteria: list[Criteria]) -> list[int]:
        responses = instances[0].fields["response"]
        best = max(range(len(responses)), key=lambda place: len(responses[place]))
        return [0 if self.chance.random() < self.bias else best]


@pytest.mark.parametrize("contests", ["joint", "pairs"])
@pytest.mark.parametrize(("bias", "found"), [(0.0, False), (0.5, True)])
def test_comparisons_are_measured_contest_by_contest(
    contests: Any, bias: float, found: bool
) -> None:
    judge = LovesTheFirst(
        bias=bias, contests=contests, self_consistency=3, check_positional_bias=True, rotations=True
    )
    report = positional_bias(judge([["a", "bb", "ccc"]] * 40, POLITE))
    assert (report.detected, report.items) == (found, 40)
    assert report.noise_rate == 0.0 if not bias else report.noise_rate > 0.2  # type: ignore[operator]


# -- the arithmetic ----------------------------------------------------------------


SHOWN = Instance({"response": "x"})


@cache
def ballot(model: str, number: int, sample: int) -> Ballot:
    question = Choice(POLITE.option_names, order=[None, (1, 0), (0, 1)][number])
    return Ballot(POLITE, SHOWN, question, "direct", model, sample=sample)


def result(*orders: Sequence[str], model: str = "m") -> Result:
    """Votes in the listed order and in the other ones; "-" is a vote without a verdict."""
    votes = [
        Vote(
            ballot=ballot(model, number, sample),
            outcome=Outcome.UNREADABLE if letter == "-" else Outcome.OK,
            verdict=None if letter == "-" else Chosen(letter),
        )
        for number, said in enumerate(orders)
        for sample, letter in enumerate(said)
    ]
    return DirectInstanceResult(instance=SHOWN, criteria=POLITE, votes=tuple(votes))


def excess_of(one: Result) -> float:
    found = positional_bias([one]).excess
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("orders", "flips", "noise"),
    [
        (("YY", "YY"), 0.0, 0.0),
        (("YY", "NN"), 1.0, 0.0),
        (("YN", "YN"), 0.5, 1.0),
        (("YN", "YY"), 0.5, 0.5),
        (("YYN", "NNN"), 2 / 3, 1 / 3),
        (("YYN-", "NN-"), 2 / 3, 1 / 3),
        (("YY", "NN", "YY"), 2 / 3, 0.0),
        (("YY", "NN", "Y"), 1.0, 0.0),
    ],
)
def test_pairs_of_votes_are_compared_between_and_within_orders(
    orders: Any, flips: float, noise: float
) -> None:
    report = positional_bias([result(*orders)])
    assert (report.flip_rate, report.noise_rate) == (pytest.approx(flips), pytest.approx(noise))
    assert report.excess == pytest.approx(flips - noise)


@pytest.mark.parametrize(
    "orders", [("YY",), ("Y", "N"), ("YY", "N"), ("YY", "N-"), ("--", "--"), ("", "")]
)
def test_items_without_two_votes_in_two_orders_are_left_out_and_counted(orders: Any) -> None:
    report = positional_bias([result("YY", "NN"), result(*orders), result("YY", "YY")])
    assert (report.items, report.left_out, report.excess) == (2, 1, 0.5)


def test_models_are_compared_only_with_themselves() -> None:
    yes, no = result("YY", "YY", model="a"), result("NN", "NN", model="b")
    both = DirectInstanceResult(
        instance=yes.instance, criteria=POLITE, votes=(*yes.votes, *no.votes)
    )
    assert positional_bias([both]).flip_rate == 0.0


def test_without_any_item_there_is_no_number() -> None:
    report = positional_bias([result("Y", "N")])
    assert (report.flip_rate, report.noise_rate, report.excess, report.p_value, report.lower) == (
        None,
    ) * 5
    assert (report.detected, report.items, report.left_out) == (False, 0, 1)


def test_one_item_has_a_rate_and_no_test() -> None:
    report = positional_bias([result("YY", "NN")])
    assert (report.excess, report.p_value, report.lower, report.upper, report.detected) == (
        1.0,
        None,
        None,
        None,
        False,
    )


@pytest.mark.parametrize(
    ("orders", "p_value", "detected"), [(("YY", "NN"), 0.0, True), (("YY", "YY"), 1.0, False)]
)
def test_items_that_are_all_alike_leave_no_doubt(
    orders: Any, p_value: float, detected: bool
) -> None:
    report = positional_bias([result(*orders)] * 5)
    assert (report.p_value, report.detected, report.lower) == (p_value, detected, report.upper)


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, 5])
def test_a_level_that_is_no_probability_is_refused(level: float) -> None:
    with pytest.raises(SetupError, match="level"):
        positional_bias([], level)


def test_a_stricter_level_widens_the_interval_and_finds_less() -> None:
    results = [*[result("YY", "NN")] * 3, *[result("YY", "YY")] * 9]
    loose, strict = positional_bias(results, 0.2), positional_bias(results, 0.001)
    assert strict.lower < loose.lower < loose.upper < strict.upper  # type: ignore[operator]
    assert loose.p_value == strict.p_value
    assert (loose.detected, strict.detected) == (True, False)


def test_a_report_worked_out_by_hand() -> None:
    """Three items of twelve turn with the order: mean 1/4, standard error 0.1306, t = 1.915 with 11
    degrees of freedom.
    """
    results = [*[result("YY", "NN")] * 3, *[result("YY", "YY")] * 9]
    report = positional_bias(results)
    assert (report.flip_rate, report.noise_rate, report.excess, report.items) == (
        0.25,
        0.0,
        0.25,
        12,
    )
    assert report.p_value == pytest.approx(0.0409, abs=1e-4)
    assert (report.lower, report.upper) == (
        pytest.approx(-0.0374, abs=1e-4),
        pytest.approx(0.5374, abs=1e-4),
    )
    assert [positional_bias(results, level).detected for level in (0.05, 0.042, 0.04)] == [
        True,
        True,
        False,
    ]


TABLE = [
    (0.975, 1, 12.7062),
    (0.975, 2, 4.30265),
    (0.95, 3, 2.35336),
    (0.975, 10, 2.22814),
    (0.995, 29, 2.75639),
]


@pytest.mark.parametrize(
    ("share", "freedom", "t"), [*TABLE, (0.975, 120, 1.97993), (0.975, 5000, 1.96044)]
)
def test_students_distribution_is_that_of_the_tables(share: float, freedom: int, t: float) -> None:
    assert t_quantile(share, freedom) == pytest.approx(t, abs=1e-4)
    assert t_cdf(t, freedom) == pytest.approx(share, abs=1e-5)
    assert t_cdf(-t, freedom) == pytest.approx(1 - share, abs=1e-5)


SAID = st.text("YN", min_size=2, max_size=4)


@given(st.lists(st.tuples(SAID, SAID), min_size=2, max_size=12))
def test_the_report_is_that_of_a_t_test_over_the_items(said: list[tuple[str, str]]) -> None:
    results = [result(*orders) for orders in said]
    excesses = [excess_of(one) for one in results]
    report = positional_bias(results)
    assert report.excess == pytest.approx(fmean(excesses))
    assert report.excess == pytest.approx((report.flip_rate or 0) - (report.noise_rate or 0))
    if stdev(excesses) > 1e-9:
        t = fmean(excesses) / (stdev(excesses) / math.sqrt(len(excesses)))
        assert report.p_value == pytest.approx(1 - t_cdf(t, len(excesses) - 1), abs=1e-9)
    assert (report.lower is None) == (report.upper is None) == (report.items < 8)
    if report.items >= 8:
        assert report.lower <= report.excess <= report.upper  # type: ignore[operator]


def test_scipy_gives_the_same_numbers() -> None:
    stats = pytest.importorskip(
        "scipy.stats", reason="scipy is not installed: the tables above stand in for it"
    )
    results = [result("YY", "NN"), result("YY", "YN"), result("YN", "YN"), result("YY", "YY")] * 3
    report = positional_bias(results)
    test = stats.ttest_1samp([excess_of(one) for one in results], 0.0, alternative="greater")
    assert report.p_value == pytest.approx(test.pvalue)
    both = stats.ttest_1samp([excess_of(one) for one in results], 0.0).confidence_interval(0.95)
    assert (report.lower, report.upper) == pytest.approx((both.low, both.high))


def test_turning_every_order_round_changes_nothing() -> None:
    results = [("YYN", "NNN"), ("YNN", "YNN"), ("NN", "YN")]
    assert positional_bias([result(*said) for said in results]) == positional_bias(
        [result(*said[::-1]) for said in results]
    )
