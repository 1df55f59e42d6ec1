"""Several criteria at once, through the judges; the arithmetic itself is tested
with the pooling.
"""

from __future__ import annotations

import asyncio
import copy
from dataclasses import replace
from typing import Any

import pytest

from adjudge.core.catalog.criteria import criteria as ready_made
from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.instance import DirectInstance
from adjudge.core.domain.message import Request
from adjudge.core.domain.multi_criteria import MultiCriteria, MultiCriteriaItem
from adjudge.core.domain.multi_results import MultiCriteriaDirectInstanceResult
from adjudge.core.domain.results import DirectInstanceResult, Status
from adjudge.core.gateway.providers.scripted import Line, ScriptedModel
from adjudge.core.judges.direct import DirectJudge
from adjudge.core.judges.pairwise import PairwiseJudge
from adjudge.core.pooling.composite import composite
from adjudge.errors import RunError, SetupError
from support.said import always, by, line, says

GRADE = Criteria(
    "grade", "How good is it?", [CriteriaOption(str(number)) for number in range(1, 6)]
)
TONE = Criteria(
    "tone",
    "What is the tone?",
    [CriteriaOption("Kind", score=1.0), CriteriaOption("Rude", score=0.0)],
)
COLOUR = Criteria("colour", "Which colour is it?", [CriteriaOption("red"), CriteriaOption("blue")])
ANSWERS = {
    "How good": "4",
    "the tone": "Kind",
    "it polite": "Yes",
    "it long": "No",
    "it broken": "E",
    "it unsure": "0",
}


def knows(request: Request) -> Line:
    """The answer to each of the questions above."""
    definition = request.prompt.messages[0].content
    return next(line(answer) for words, answer in ANSWERS.items() if words in definition)


def judged(multi: Any, **settings: Any) -> MultiCriteriaDirectInstanceResult:
    (result,) = DirectJudge(
        ScriptedModel(knows), max_repairs=0, **settings
    ).evaluate_multi_criteria(["text"], multi)
    return result


# -- what may be given -------------------------------------------------------------


@pytest.mark.parametrize(
    ("multi", "score"),
    [
        (["Is it polite?", "Is it long?"], 0.5),
        (["Is it polite?"], 1.0),
        ("Is it polite?", 1.0),
        ([TONE, GRADE], (1 + 0.75) / 2),
        (TONE, 1.0),
        ([TONE, "Is it long?", GRADE], 1.75 / 3),
        (MultiCriteria([MultiCriteriaItem(TONE, 0.8), MultiCriteriaItem(GRADE, 0.2)]), 0.8 + 0.15),
        (MultiCriteria([TONE, GRADE]), 0.875),
        ([MultiCriteriaItem(TONE), MultiCriteriaItem(GRADE)], 0.875),
    ],
)
def test_texts_criteria_and_weighted_items_make_one_score(multi: Any, score: float) -> None:
    assert judged(multi).aggregated_score == pytest.approx(score)


def test_weights_left_out_are_equal() -> None:
    result = judged(["Is it polite?", "Is it long?", "Is it broken?"])
    assert [item.weight for item in result.multi_criteria.items] == [pytest.approx(1 / 3)] * 3


def test_every_item_shows_its_result_score_and_weighted_score() -> None:
    result = judged(MultiCriteria([MultiCriteriaItem(TONE, 0.25), MultiCriteriaItem(GRADE, 0.75)]))
    tone, grade = result.item_results
    assert isinstance(tone.result, DirectInstanceResult)
    assert (tone.item.criterion, tone.result.option, tone.score, tone.weighted_score) == (
        TONE,
        "Kind",
        1.0,
        0.25,
    )
    assert (grade.result.score, grade.score, grade.weighted_score) == (
        4.0,
        0.75,
        pytest.approx(0.5625),
    )
    assert result.per_criterion_score == {"tone": 1.0, "grade": 0.75}
    assert result.per_criterion_contribution == {"tone": 0.25, "grade": pytest.approx(0.5625)}
    assert result.to_dict()["per_criterion_score"] == {"tone": 1.0, "grade": 0.75}
    assert result.to_dict()["per_criterion_contribution"] == result.per_criterion_contribution
    assert (result.status, result.lower_bound, result.upper_bound) == (
        Status.SCORED,
        result.aggregated_score,
        result.aggregated_score,
    )


def test_every_instance_has_its_own_aggregate_in_order() -> None:
    judge = DirectJudge(
        ScriptedModel(
            lambda request: says("Yes" if "good" in request.prompt.messages[-1].content else "No")
        )
    )
    results = judge.evaluate_multi_criteria(
        ["good", "bad", DirectInstance(response="good")], ["Is it polite?", "Is it long?"]
    )
    assert [result.aggregated_score for result in results] == [1.0, 0.0, 1.0]
    assert [result.instance.value("response") for result in results] == ["good", "bad", "good"]
    assert judge.evaluate_multi_criteria([], ["Is it polite?"]) == []
    again = asyncio.run(judge.aevaluate_multi_criteria("good", ["Is it polite?"]))
    assert (again.aggregated_score, again.score, again.verdict) == (1.0, 1.0, None)


@pytest.mark.parametrize(
    ("multi", "message"),
    [
        ([], "at least one"),
        ([7], "not int"),
        ([""], "empty"),
        ([TONE, COLOUR], "option 'red' of criterion 'colour' has no score"),
        (
            [TONE, replace(GRADE, name="tone")],
            "2 criteria are named 'tone': give each a different name",
        ),
        (
            ["Is it polite?", "Is it long?", "Is it polite?"],
            "2 criteria are named 'Is it polite.'",
        ),
        ([TONE, Criteria("longer", "Which is longer?")], "criterion 'longer' has no options"),
    ],
)
def test_what_makes_no_score_is_refused_before_any_call(multi: Any, message: str) -> None:
    model = always("Yes")
    with pytest.raises(SetupError, match=message):
        DirectJudge(model).evaluate_multi_criteria(["text"], multi)
    assert model.requests == []


# -- without a verdict -------------------------------------------------------------


@pytest.mark.parametrize(
    ("items", "lower", "upper"),
    [
        ([MultiCriteriaItem(TONE, 0.6), MultiCriteriaItem(GRADE, 0.4)], 0.6, 1.0),
        ([MultiCriteriaItem(TONE, 0.6, required=True), MultiCriteriaItem(GRADE, 0.4)], 0.6, 1.0),
        ([MultiCriteriaItem(TONE, 0.6), MultiCriteriaItem(GRADE, 0.4, required=True)], 0.0, 1.0),
        (
            [
                MultiCriteriaItem(TONE, 0.6, target_option="Rude", required=True),
                MultiCriteriaItem(GRADE, 0.4),
            ],
            0.0,
            0.0,
        ),
    ],
)
def test_an_item_without_a_verdict_leaves_bounds_and_no_number(
    items: Any, lower: float, upper: float
) -> None:
    def script(request: Request) -> Line:
        return line("E") if "How good" in request.prompt.text else line("Kind")

    (result,) = DirectJudge(ScriptedModel(script)).evaluate_multi_criteria(
        ["text"], MultiCriteria(items)
    )
    assert (result.aggregated_score, result.status) == (None, Status.FAILED)
    assert (result.lower_bound, result.upper_bound) == (pytest.approx(lower), pytest.approx(upper))
    assert (result.item_results[1].score, result.item_results[1].weighted_score) == (None, None)
    assert result.to_dict()["aggregated_score"] is None


@pytest.mark.parametrize(
    ("question", "status"), [("Is it broken?", Status.FAILED), ("Is it unsure?", Status.ABSTAINED)]
)
def test_a_missing_verdict_is_a_failure_or_an_abstention(question: str, status: Status) -> None:
    assert judged(["Is it polite?", question]).status is status


def test_a_random_stand_in_never_enters_the_aggregate() -> None:
    result = judged(["Is it polite?", "Is it broken?"], on_failure="random")
    assert result.item_results[1].result.fallback == "random"
    assert (result.aggregated_score, result.lower_bound, result.upper_bound) == (None, 0.5, 1.0)


def test_a_failure_can_be_raised() -> None:
    with pytest.raises(RunError, match="no such model"):
        judged(["Is it polite?", "Is it broken?"], on_failure="raise")


def test_what_the_caller_gave_is_never_changed() -> None:
    items = [MultiCriteriaItem(TONE), MultiCriteriaItem(GRADE, required=True)]
    multi, texts = MultiCriteria(items), ["a", "b"]
    before = copy.deepcopy((items, multi, texts))
    DirectJudge(ScriptedModel(knows)).evaluate_multi_criteria(texts, multi)
    DirectJudge(ScriptedModel(knows)).evaluate_multi_criteria(texts, items)
    assert (items, multi, texts) == before
    assert [item.weight for item in items] == [None, None]


# -- comparisons -------------------------------------------------------------------


def by_question(request: Request) -> str:
    """The longer response, or the one with more letters "a"."""
    count = request.prompt.messages[0].content.count("letters")
    return by(lambda text: text.count("a") if count else len(text))(request)


def compared(multi: Any, responses: Any = ("aaa", "bbbb", "a")) -> Any:
    (result,) = PairwiseJudge(ScriptedModel(by_question)).evaluate_multi_criteria(
        [list(responses)], multi
    )
    return result


LONGER, LETTERS = "Which is longer?", "Which has more letters a?"


def test_win_rates_are_weighted_over_the_criteria() -> None:
    result = compared([LONGER, LETTERS])
    assert result.winrates == (0.75, 0.5, 0.25)
    assert result.selected_option == 0
    assert [one.selected_option for one in result.results] == [1, 0]


@pytest.mark.parametrize(("weight", "selected"), [(0.9, 1), (0.5, "tie"), (0.1, 0)])
def test_the_weights_decide_between_criteria(weight: float, selected: Any) -> None:
    named = [Criteria(text, text, COLOUR.options) for text in (LONGER, LETTERS)]
    items = [MultiCriteriaItem(named[0], weight), MultiCriteriaItem(named[1], 1 - weight)]
    assert compared(MultiCriteria(items), ["a", "bb"]).selected_option == selected


@pytest.mark.parametrize(("weight", "tie"), [(0.9, False), (0.5, True)])
def test_equal_win_rates_are_said_to_be_a_tie_even_where_none_is_allowed(
    weight: float, tie: bool
) -> None:
    named = [Criteria(text, text) for text in (LONGER, LETTERS)]
    items = [MultiCriteriaItem(named[0], weight), MultiCriteriaItem(named[1], 1 - weight)]
    strict = PairwiseJudge(ScriptedModel(by_question), tie_enabled=False)
    (result,) = strict.evaluate_multi_criteria([["a", "bb"]], MultiCriteria(items))
    assert (result.selected_option, result.tie) == (0 if tie else 1, tie)
    assert compared(MultiCriteria(items), ["a", "bb"]).tie is tie


def test_ready_made_comparisons_need_no_scores() -> None:
    criteria = [ready_made("pairwise_helpfulness"), ready_made("pairwise_writing_quality")]
    given = {"user_input": "Why?", "response": ["short", "longer"]}
    (result,) = PairwiseJudge(ScriptedModel(by(len))).evaluate_multi_criteria([given], criteria)
    assert (result.selected_option, result.winrates) == (1, (0.0, 1.0))


def test_comparisons_by_several_criteria_need_no_options() -> None:
    named = [Criteria(text, text) for text in (LONGER, LETTERS)]
    items = [MultiCriteriaItem(one, weight) for one, weight in zip(named, (0.9, 0.1), strict=True)]
    assert compared(MultiCriteria(items), ["a", "bb"]).selected_option == 1


def test_equal_sums_of_weights_are_a_tie_whatever_the_rounding() -> None:
    weights = [0.1, 0.2, 0.3, 0.4]
    criteria = [
        Criteria(name, name, COLOUR.options)
        for name in ("letters 1", "letters 2", "longer 1", "letters 3")
    ]
    items = [MultiCriteriaItem(one, weight) for one, weight in zip(criteria, weights, strict=True)]
    swapped = MultiCriteria([items[0], items[3], items[1], items[2]])
    assert compared(MultiCriteria(items), ["a", "bb"]).winrates == (
        pytest.approx(0.7),
        pytest.approx(0.3),
    )
    assert (
        compared(swapped, ["a", "bb"]).winrates
        == compared(MultiCriteria(items), ["a", "bb"]).winrates
    )


def test_a_comparison_without_a_verdict_leaves_no_selection() -> None:
    model = ScriptedModel(
        lambda request: line("E") if "letters" in request.prompt.text else line("A")
    )
    (result,) = PairwiseJudge(model).evaluate_multi_criteria([["x", "y"]], [LONGER, LETTERS])
    assert (result.selected_option, result.winrates) == (None, (None, None))


@pytest.mark.parametrize(
    "duty", [{"required": True}, {"target_option": "Kind"}, {"score_threshold": 0.5}]
)
def test_comparisons_have_weights_and_nothing_else(duty: dict[str, Any]) -> None:
    with pytest.raises(SetupError, match="'tone' compares responses"):
        compared([MultiCriteriaItem(TONE, **duty)])


def test_a_score_at_the_threshold_is_not_above_it_however_it_is_rounded() -> None:
    """(.2 - .1) / (.3 - .1) is 0.5000000000000001 to a computer."""
    options = [
        CriteriaOption(name, score=score)
        for name, score in (("low", 0.1), ("middle", 0.2), ("high", 0.3))
    ]
    item = MultiCriteriaItem(Criteria("level", "How high is it?", options), score_threshold=0.5)
    multi = MultiCriteria([item])
    assert [multi.score(multi.items[0], name) for name in ("low", "middle", "high")] == [
        0.0,
        0.0,
        1.0,
    ]


# -- what every result has ---------------------------------------------------------


def test_an_aggregate_says_what_its_votes_came_to() -> None:
    whole = judged([GRADE, TONE], votes=2)
    assert (len(whole.votes), whole.votes_requested, whole.votes_valid) == (4, 4, 4)
    assert (whole.agreement, whole.tie, whole.fallback) == (1.0, False, None)
    part = judged([TONE, "Is it broken?"], on_failure="random")
    assert (part.votes_requested, part.votes_valid) == (2, 1)
    assert (part.agreement, part.fallback, part.status) == (None, "random", Status.FAILED)


@pytest.mark.parametrize(("said", "status"), [("A", Status.SCORED), ("E", Status.FAILED)])
def test_so_does_one_of_comparisons(said: str, status: Status) -> None:
    (found,) = PairwiseJudge(always(said), max_repairs=0).evaluate_multi_criteria(
        [["x", "y"]], ["Which is longer?", "Which is kinder?"]
    )
    valid = 2 if status is Status.SCORED else 0
    assert (found.status, found.votes_requested, found.votes_valid) == (status, 2, valid)


# -- results of EvalAssist -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "score", "normalized", "aggregated"),
    [
        ("Good", 1.0, True, 1.0),  # EvalAssist's test_normalized_scores
        ("Bad", 0.0, True, 0.0),
        ("Good", 10.0, True, 1.0),
        ("Good", 2.5, True, 0.25),  # the judge's own score
        ("Good", 1.0, False, 1.0),
        ("Good", None, True, 1.0),
    ],
)
def test_a_score_may_be_the_normalised_one_of_its_option(
    option: str, score: float | None, normalized: bool, aggregated: float
) -> None:
    criterion = Criteria(
        "quality",
        "How good is it?",
        [CriteriaOption("Good", score=10.0), CriteriaOption("Bad", score=0.0)],
    )
    result = DirectInstanceResult(criteria=criterion, selected_option=option, score=score)
    multi = MultiCriteria([MultiCriteriaItem(criterion, 1.0)], normalize_scores=normalized)
    found = composite(DirectInstance({"response": "text"}), multi, [result])
    assert found.aggregated_score == aggregated
