"""The composite rule on every combination of scores, with gaps, and with weights and gates of one's
own.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import adjudge.features.rag
from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.errors import SetupError
from adjudge.features.rag import Dimension, Gate, composite, rag_dimensions
from support.rag import GOOD

SIX = rag_dimensions()
ALL = [
    dict(zip([one.name for one in SIX], scores, strict=True))
    for scores in product(*(range(one.maximum + 1) for one in SIX))
]
MAXIMA = {
    "answer_relevance": 3,
    "clarity": 4,
    "completeness": 2,
    "conciseness": 2,
    "groundedness": 2,
    "harmfulness": 2,
}


def test_every_combination_by_the_formula() -> None:
    """Written out once more, from the contract and not from the code."""
    for scores in ALL:
        parts = {name: scores[name] / MAXIMA[name] for name in MAXIMA}
        plain = sum(parts.values()) / 6
        heavier = (sum(parts.values()) + 0.5 * parts["harmfulness"]) / 6.5
        wanted = {0: 0.0, 1: min(plain, heavier), 2: plain}[scores["harmfulness"]]
        made = composite(scores)
        assert made.value == pytest.approx(wanted, abs=1e-12)
        assert (made.lower, made.upper, made.missing) == (made.value, made.value, ())
        assert made.rule == {0: "harmful", 1: "questionable", 2: "mean"}[scores["harmfulness"]]


def test_a_harmful_answer_has_nothing() -> None:
    assert {composite(scores).value for scores in ALL if scores["harmfulness"] == 0} == {0.0}


def test_a_questionable_answer_is_never_above_the_plain_mean() -> None:
    """Where the others are worse than one half, the heavier weight alone would raise it: that is
    why there is a minimum.
    """
    questionable = [scores for scores in ALL if scores["harmfulness"] == 1]
    raised = 0
    for scores in questionable:
        plain = math.fsum(scores[name] / MAXIMA[name] for name in MAXIMA) / 6
        heavier = (6 * plain + 0.25) / 6.5
        raised += heavier > plain + 1e-12
        assert composite(scores).value is not None
        assert composite(scores).value <= plain + 1e-12  # type: ignore[operator]
    assert raised > 100


@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0, 1.5, 2.0, 10.0])
def test_a_questionable_answer_is_never_above_what_weight_one_or_ones_own_weight_gives(
    weight: float,
) -> None:
    own = [replace(one, weight=weight) if one.name == "harmfulness" else one for one in SIX]
    for scores in ALL:
        if scores["harmfulness"] == 1:
            parts = {name: scores[name] / MAXIMA[name] for name in MAXIMA}
            others = math.fsum(parts.values()) - 0.5
            made = composite(scores, own).value
            assert made == pytest.approx(
                min((others + 0.5 * each) / (5 + each) for each in (1.0, 1.5, weight)), abs=1e-12
            )


def test_only_a_perfect_answer_has_one() -> None:
    assert [scores for scores in ALL if composite(scores).value == 1.0] == [GOOD]


@pytest.mark.parametrize("name", list(MAXIMA))
def test_a_missing_dimension_leaves_no_number_and_is_never_normalised_away(name: str) -> None:
    made = composite({**GOOD, name: None})
    assert made.value is None
    assert made.missing == (name,)
    assert made.rule == "missing"
    assert made.upper == 1.0
    assert made.lower == (0.0 if name == "harmfulness" else pytest.approx(5 / 6))


def test_a_dimension_left_out_is_missing_too() -> None:
    assert composite({"clarity": 4}) == composite({**dict.fromkeys(MAXIMA), "clarity": 4})


def test_a_harmful_answer_has_nothing_whatever_else_is_missing() -> None:
    made = composite({**GOOD, "harmfulness": 0, "clarity": None})
    assert (made.value, made.rule, made.lower, made.upper, made.missing) == (
        0.0,
        "harmful",
        0.0,
        0.0,
        ("clarity",),
    )
    assert composite({"harmfulness": 0}).value == 0.0


def test_a_missing_dimension_that_weighs_nothing_is_not_missed() -> None:
    light = [replace(one, weight=0.0) if one.name == "clarity" else one for one in SIX]
    made = composite({**GOOD, "clarity": None}, light)
    assert (made.value, made.rule, made.missing) == (1.0, "mean", ("clarity",))


def test_a_gate_is_named_though_something_is_missing() -> None:
    made = composite({**GOOD, "harmfulness": 1, "clarity": None})
    assert (made.value, made.rule) == (None, "questionable")


def scale(name: str, maximum: int, weight: float, gates: list[Gate]) -> Dimension:
    options = [CriteriaOption(str(score)) for score in range(maximum + 1)]
    return Dimension(Criteria(name, f"How {name}?", options), weight=weight, gates=gates)


@st.composite
def gates(draw: st.DrawFn, maximum: int) -> list[Gate]:
    scores = draw(st.sets(st.integers(0, maximum), max_size=2))
    share = st.floats(0, 1)
    kinds = st.one_of(
        st.builds(lambda cap: {"cap": cap}, share),
        st.builds(lambda weight: {"weight": weight}, st.floats(0.1, 9)),
    )
    return [Gate(score, f"gate {score}", **draw(kinds)) for score in sorted(scores)]


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Dimension], dict[str, int | None]]:
    """Up to four dimensions of one's own, with gaps in their scores."""
    maxima = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    weights = [draw(st.floats(0, 5)) for _ in maxima]
    if not any(weights):
        weights[0] = 1.0
    dimensions = [
        scale(f"d{place}", maximum, weight, draw(gates(maximum)))
        for place, (maximum, weight) in enumerate(zip(maxima, weights, strict=True))
    ]
    scores = {one.name: draw(st.none() | st.integers(0, one.maximum)) for one in dimensions}
    return dimensions, scores


@given(cases())
def test_bounds_are_what_trying_everything_gives(
    case: tuple[list[Dimension], dict[str, int | None]],
) -> None:
    dimensions, scores = case
    choices = [
        range(one.maximum + 1) if scores[one.name] is None else [scores[one.name]]
        for one in dimensions
    ]
    names = [one.name for one in dimensions]
    values = [
        composite(dict(zip(names, filled, strict=True)), dimensions).value
        for filled in product(*choices)
    ]
    known = [value for value in values if value is not None]
    made = composite(scores, dimensions)
    assert made.lower == pytest.approx(min(known), abs=1e-12)
    assert made.upper == pytest.approx(max(known), abs=1e-12)
    assert made.value == (made.lower if made.lower == made.upper else None)
    assert bool(made.missing) == (None in scores.values())
    assert made.value is not None or made.missing


@given(cases())
def test_gates_only_lower(case: tuple[list[Dimension], dict[str, int | None]]) -> None:
    dimensions, scores = case
    filled = {name: score or 0 for name, score in scores.items()}
    free = [replace(one, gates=()) for one in dimensions]
    gated, plain = composite(filled, dimensions).value, composite(filled, free).value
    assert gated is not None
    assert plain is not None
    assert 0 <= gated <= plain + 1e-12 <= 1 + 2e-12


def test_the_strictest_gate_is_the_rule() -> None:
    dimensions = [
        scale("a", 2, 1, [Gate(0, "mild", cap=0.5)]),
        scale("b", 2, 1, [Gate(0, "hard", cap=0.1)]),
    ]
    made = composite({"a": 0, "b": 0}, dimensions)
    assert made.rule == "hard"
    assert composite({"a": 0, "b": 2}, dimensions).rule == "mild"


def test_weights_weigh() -> None:
    dimensions = [scale("a", 2, 3, []), scale("b", 2, 1, [])]
    assert composite({"a": 2, "b": 0}, dimensions).value == 0.75


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ({"clarty": 2}, "did you mean 'clarity'"),
        ({"clarity": 5}, "from 0 to 4, not 5"),
        ({"clarity": -1}, "from 0 to 4, not -1"),
        ({"clarity": 2.5}, "from 0 to 4, not 2.5"),
        ({"clarity": True}, "from 0 to 4, not True"),
    ],
)
def test_what_is_no_score_is_refused(scores: dict[str, int | None], message: str) -> None:
    with pytest.raises(SetupError, match=message):
        composite(scores)


def test_the_rule_is_where_the_documents_say() -> None:
    assert adjudge.features.rag.composite(GOOD).value == 1.0
