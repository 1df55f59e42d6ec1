"""The head: exact left-out scores, groups kept together, the same result whatever the order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from adjudge.features.learning.acceptance import acceptance
from adjudge.features.learning.figures import Sample
from adjudge.features.learning.head import Fit, HeadRows, fitted_curve, folds_of
from adjudge.features.learning.prompt_form import JudgedTexts


def rows_of(count: int) -> tuple[HeadRows, np.ndarray]:
    """Texts whose answer depends on a word, with a state that knows it, too."""
    generator = np.random.default_rng(3)
    answers = np.where(np.arange(count) % 3 == 0, 1.0, -1.0)
    texts = [
        JudgedTexts(
            f"row {place} " + ("splendid" if answer > 0 and place % 2 else "dull"), (), (0, 1)
        )
        for place, answer in enumerate(answers)
    ]
    states = generator.normal(size=(count, 12))
    states[:, 0] += answers
    return HeadRows(texts, states, answers + generator.normal(size=count)), answers


def test_scores_left_out_are_those_of_heads_fitted_without_the_fold() -> None:
    rows, answers = rows_of(45)
    weights = np.linspace(0.5, 1.5, 45)
    folds = folds_of([str(place // 3) for place in range(45)])
    fit = Fit(rows, answers, weights, folds)
    kernel = np.ones((45, 45))
    for block in fit._blocks.values():
        kernel += block.centred @ block.centred.T
    for fold in range(10):
        inside = folds == fold
        kept = np.ix_(~inside, ~inside)
        dual = np.linalg.solve(kernel[kept] + np.diag(0.1 / weights[~inside]), answers[~inside])
        alone = kernel[np.ix_(inside, ~inside)] @ dual
        exact = fit._left_out[min(fit._left_out, key=lambda one: abs(one - 0.1))][inside]
        assert np.allclose(alone, exact)


def test_folded_weights_say_what_the_kernel_says() -> None:
    rows, answers = rows_of(60)
    fit = Fit(rows, answers, np.ones(60), folds_of([str(place) for place in range(60)]))
    head = fit.head()
    kernel = np.ones((60, 60))
    for block in fit._blocks.values():
        kernel += block.centred @ block.centred.T
    scores = kernel @ fit._solve(head.penalty)
    expected = head.curve(scores)
    assert np.allclose(head.log_odds(rows), expected, atol=0.05)


def test_untaught_verdict_counts_but_is_never_reversed() -> None:
    rows, answers = rows_of(60)
    folds = folds_of([str(place) for place in range(60)])
    helpful = Fit(rows, answers, np.ones(60), folds).head()
    assert helpful.zero_shot > 0
    against = replace(rows, zero_shot=-answers)
    head = Fit(against, answers, np.ones(60), folds).head()
    assert head.zero_shot == 0
    without = replace(rows, zero_shot=None)
    assert np.array_equal(
        head.log_odds(against),
        Fit(without, answers, np.ones(60), folds).head().log_odds(without),
    )


def test_one_extreme_verdict_counts_as_no_surer() -> None:
    rows, answers = rows_of(60)
    head = Fit(rows, answers, np.ones(60), folds_of([str(place) for place in range(60)])).head()
    surest = [replace(rows, zero_shot=np.full(60, sure)) for sure in (10.0, 1e6, np.inf)]
    assert len({tuple(head.log_odds(one)) for one in surest}) == 1


def test_scores_that_run_against_the_answers_are_never_reversed() -> None:
    answers = np.array([1.0, -1.0] * 20 + [1.0] * 10)
    curve = fitted_curve(-answers, answers, np.ones(50))
    assert 0 < curve.slope < 0.1
    assert curve(np.zeros(1))[0] == pytest.approx(np.log(30 / 20), abs=0.05)
    right = fitted_curve(answers, answers, np.ones(50))
    assert right.slope > 1


def test_groups_stay_in_one_fold_whatever_the_order() -> None:
    groups = [str(place % 7) for place in range(70)]
    folds = folds_of(groups)
    backwards = folds_of(groups[::-1])[::-1]
    assert (folds == backwards).all()
    assert all(len({*folds[[one == group for one in groups]]}) == 1 for group in groups)


def test_area_with_ties_and_weights() -> None:
    positive = np.array([True, True, False, False])
    sample = Sample(positive, np.array([1.0, 3.0, 1.0, 1.0]), ["a", "b", "c", "d"])
    # the first positive row wins one of two, the second (weight 3) ties with one and wins one
    found = sample.auc(np.array([1.5, 2.0, 1.0, 2.0]))
    assert found.value == pytest.approx((1 * 0.5 + 3 * 0.75) / 4)


def test_perfect_scores_still_have_an_interval() -> None:
    positive = np.arange(40) % 2 == 0
    sample = Sample(positive, np.ones(40), [str(place) for place in range(40)])
    figure = sample.figure(sample.auc(positive.astype(float)))
    assert figure.value == 1.0
    assert figure.lower < 0.99
    gain = sample.difference(sample.auc(positive.astype(float)), sample.auc(np.zeros(40)))
    assert gain.lower < 0.49


def test_flawless_accuracy_reaches_down_to_the_exact_limit() -> None:
    positive = np.arange(80) % 2 == 0
    sample = Sample(positive, np.ones(80), [str(place) for place in range(80)])
    figure = sample.figure(sample.accuracy(positive))
    assert figure.lower == pytest.approx(0.025 ** (1 / 80), abs=0.003)  # Clopper-Pearson: 0.955


class TestAcceptance:
    def test_accepts_what_the_rows_show(self) -> None:
        confidences = [1 - place / 1000 for place in range(200)]
        found = acceptance(confidences, [0] * 100 + [1] * 100, reference="x/dear", proven=True)
        assert found.confidence is not None
        assert found.accepted <= 105
        assert "promise" in str(found.lines()[1])

    def test_never_accepts_on_few_rows(self) -> None:
        found = acceptance([0.9] * 40, [0] * 40, reference="", proven=True)
        assert found.confidence is None
        assert "never accept" in str(found.lines()[0])

    def test_errors_of_the_expensive_judge_count_against_it(self) -> None:
        confidences = [1 - place / 1000 for place in range(150)]
        worse = [1 if place % 25 == 0 else 0 for place in range(150)]
        both = [-1 if place % 10 == 5 else one for place, one in enumerate(worse)]
        alone = acceptance(confidences, worse, reference="", proven=True)
        relative = acceptance(confidences, both, reference="x/dear", proven=True)
        assert alone.accepted < relative.accepted
