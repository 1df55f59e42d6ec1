"""Labels, log-probabilities and the prior: pure arithmetic."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge import Criteria, CriteriaOption, SetupError
from adjudge.core.domain.question import Choice
from adjudge.core.verdicts.likelihood import (
    Labels,
    distribution,
    label_logprobs,
    labels_for,
    mean_logprobs,
)

YES_NO = Labels("yes_no", ("PASS", "FAIL"), ("Yes", "No"))


def criteria(*names: str) -> Criteria:
    return Criteria("c", "d", [CriteriaOption(name) for name in names])


@pytest.mark.parametrize(
    ("names", "kind", "options", "tokens"),
    [
        (("PASS", "FAIL"), "yes_no", ("PASS", "FAIL"), ("Yes", "No")),
        (("No", "Yes"), "yes_no", ("Yes", "No"), ("Yes", "No")),
        (("0", "1", "2"), "number", ("0", "1", "2"), ("0", "1", "2")),
        (("A", "B"), "letter", ("A", "B"), ("A", "B")),
        (("good", "bad", "ugly"), "letter", ("good", "bad", "ugly"), ("A", "B", "C")),
        (("9", "10"), "letter", ("9", "10"), ("A", "B")),
        (("1", "12"), "letter", ("1", "12"), ("A", "B")),
        (("ABC", "NO"), "letter", ("ABC", "NO"), ("A", "B")),
    ],
)
def test_every_kind_of_option_has_its_labels(
    names: Any, kind: Any, options: Any, tokens: Any
) -> None:
    labels = labels_for(Choice(tuple(names)))
    assert (labels.kind, labels.options, labels.tokens) == (kind, options, tokens)


def test_an_order_moves_options_not_labels() -> None:
    labels = labels_for(Choice(("good", "bad", "ugly"), order=(2, 0, 1)))
    assert labels.options == ("ugly", "good", "bad")
    assert labels.tokens == ("A", "B", "C")


def test_more_options_than_letters_cannot_be_labelled() -> None:
    with pytest.raises(SetupError, match="mode='generate'"):
        labels_for(Choice(tuple(f"option {i}" for i in range(27))))


def test_spellings_of_a_label_add_up() -> None:
    found = label_logprobs(
        {"Yes": math.log(0.3), " Yes": math.log(0.3), "No": math.log(0.2), "Well": math.log(0.1)},
        YES_NO,
    )
    assert found is not None
    assert math.exp(found["PASS"]) == pytest.approx(0.75)


def test_a_label_beyond_the_reported_tokens_gets_the_least_of_them() -> None:
    found = label_logprobs({"Yes": math.log(0.8), "Well": math.log(0.1)}, YES_NO)
    assert found is not None
    assert math.exp(found["FAIL"]) == pytest.approx(0.1 / 0.9)


def test_without_any_label_there_is_no_reading() -> None:
    assert label_logprobs({"Well": -0.1}, YES_NO) is None


def test_the_prior_is_taken_out() -> None:
    prior = {"PASS": math.log(0.9), "FAIL": math.log(0.1)}
    assert distribution(prior, prior) == pytest.approx({"PASS": 0.5, "FAIL": 0.5})
    assert distribution({"PASS": math.log(0.8), "FAIL": math.log(0.2)}, prior)["FAIL"] > 0.5


logs = st.floats(min_value=-60, max_value=0)


@given(
    st.dictionaries(st.sampled_from("ABCDE"), logs, min_size=2),
    st.floats(min_value=-5, max_value=5),
)
def test_a_distribution_sums_to_one_and_ignores_what_all_options_share(
    reading: Any, shift: Any
) -> None:
    shares = distribution(reading)
    assert math.fsum(shares.values()) == pytest.approx(1)
    moved = distribution({option: value + shift for option, value in reading.items()})
    assert moved == pytest.approx(shares)


@given(st.lists(st.fixed_dictionaries({"a": logs, "b": logs}), min_size=1))
def test_the_mean_does_not_depend_on_the_order_of_readings(readings: Any) -> None:
    assert mean_logprobs(readings) == pytest.approx(mean_logprobs(readings[::-1]))
