"""The three kinds of question: what may be answered, how an answer is recognised, and what it is in
the instance's own order.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge import DirectJudge, ScriptedModel
from adjudge.core.domain.criteria import Criteria, CriteriaOption
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.question import Choice, Comparison, Question, Rating, question_of
from adjudge.core.domain.verdict import Chosen, Compared, Rated, Verdict
from adjudge.core.domain.vote import Ballot

POLITE = Criteria(
    "polite", "Is it polite?", [CriteriaOption("Yes", score=1.0), CriteriaOption("No", score=0.0)]
)
INTEGERS = Criteria("custom prompt", "How many?", [CriteriaOption("<integer>")])
YES_NO = question_of(POLITE)
ONE, THREE = Instance({"response": "Thanks."}), Instance({"response": ["a", "b", "c"]})
TURNED = Choice(POLITE.option_names, POLITE.points, (1, 0))


@pytest.mark.parametrize(
    ("ballot", "id"),
    [
        (
            Ballot(POLITE, ONE, YES_NO, "direct", "m"),
            "8634b6bb0342405958e7aa3fbb1791c7b4dfd438b6a7be9e1ce6a6df7c4db333",
        ),
        (
            Ballot(POLITE, ONE, TURNED, "direct", "m", "ru", sample=2, temperature=1, seed=7),
            "6504c2ae7c889da19291c1289638c69defedaff999e7dbdfcc6459996ffdb89d",
        ),
        (
            Ballot(POLITE, THREE, Comparison((2, 0)), "pairwise", "m"),
            "c02f0740f1474faaf1409e4101bcb9caca1f3934e4e986f5d7eb73edcde462ac",
        ),
        (
            Ballot(POLITE, THREE, Comparison((2, 0, 1), tie=False), "pairwise", "m"),
            "5f3e678456004461a503878053a4392ad4a7c7bc766c11c0c8759577e0b0fd89",
        ),
        (
            Ballot(
                Criteria("QuantitativeCriteria", "How complex is it?", to_evaluate_field="code"),
                Instance({"code": "x = 1"}),
                Rating((0.0, 10.0)),
                "quantitative",
                "m",
            ),
            "6fdd58020a7763d91e3cd3970b4f9bd7541002290db569ea2b90687222ece710",
        ),
        (
            Ballot(
                INTEGERS, Instance({"prompt": "How many?"}), question_of(INTEGERS), "custom", "m"
            ),
            "4009a73408735177ca8cf11dcc95e88041e214b5915ebb04c8259e19b9c37423",
        ),
    ],
)
def test_ballots_are_found_in_the_ledgers_of_earlier_versions(ballot: Ballot, id: str) -> None:
    assert ballot.id == id


@pytest.mark.parametrize(
    ("question", "labels", "words"),
    [
        (YES_NO, ("Yes", "No"), "one of Yes, No"),
        (TURNED, ("No", "Yes"), "one of No, Yes"),
        (Comparison((4, 7)), ("A", "B", "tie"), "one of A, B, tie"),
        (Comparison((4, 7, 1), tie=False), ("A", "B", "C"), "one of A, B, C"),
        (Rating((0.0, 7.5)), (), "a number from 0 to 7.5"),
        (Rating(), (), "an integer"),
    ],
)
def test_a_question_says_what_may_be_answered_in_the_order_it_is_shown(
    question: Question, labels: Any, words: str
) -> None:
    assert (question.labels, str(question)) == (labels, words)


@pytest.mark.parametrize(
    ("question", "value", "verdict"),
    [
        (TURNED, "yes", Chosen("Yes")),
        (TURNED, "perhaps", None),
        (Comparison((4, 7)), "B", Compared(7)),
        (Comparison((4, 7)), "tie", Compared(None)),
        (Comparison((4, 7), tie=False), "tie", None),
        (Comparison((4, 7)), "C", None),
        (Rating((0.0, 10.0)), "7/10", Rated(7.0)),
        (Rating((0.0, 10.0)), 11, None),
        (Rating(), "12345678901234567890", Rated(12345678901234567890)),
        (Rating(), "7.5", None),
        (Rating(), "seven", None),
    ],
)
def test_an_answer_is_recognised_and_put_back(
    question: Question, value: object, verdict: Verdict | None
) -> None:
    assert question.match(value) == verdict


@pytest.mark.parametrize(
    ("question", "value", "verdict"),
    [
        (Comparison((4, 7)), "Response B", Compared(7)),
        (Choice(("1", "2")), "2: clear", Chosen("2")),
        (Rating((0.0, 10.0)), "2: clear", Rated(2.0)),
        (YES_NO, "Yes: clear", None),
    ],
)
def test_what_can_be_nothing_else_is_recognised_with_words_around_it(
    question: Question, value: object, verdict: Verdict | None
) -> None:
    assert question.match(value) is None
    assert question.match(value, certain=True) == verdict


QUESTIONS = st.one_of(
    st.just(YES_NO),
    st.just(TURNED),
    st.tuples(st.permutations(range(5)), st.integers(2, 5), st.booleans()).map(
        lambda made: Comparison(tuple(made[0][: made[1]]), made[2])
    ),
)


@given(QUESTIONS, st.data())
def test_every_label_is_matched_put_back_and_read_from_a_ledger_as_the_same_verdict(
    question: Question, data: Any
) -> None:
    label = data.draw(st.sampled_from(question.labels))
    verdict = question.put_back(label)
    assert question.match(label) == question.match(label, certain=True) == verdict
    assert (
        question.restore(verdict.option, None, json.loads(json.dumps(verdict.details))) == verdict
    )
    assert label in json.dumps(question.schema())


@given(st.floats(0, 10) | st.integers(-(10**40), 10**40))
def test_numbers_come_back_from_a_ledger_to_the_last_digit(number: float) -> None:
    question, verdict = Rating() if isinstance(number, int) else Rating((0.0, 10.0)), Rated(number)
    assert (
        question.restore(verdict.option, None, json.loads(json.dumps(verdict.details))) == verdict
    )


def test_an_integer_of_an_earlier_ledger_is_its_written_form() -> None:
    assert Rating().restore("42", "so", {}) == Rated(42, "so")


@pytest.mark.parametrize(
    ("question", "keys"),
    [
        (YES_NO, ["explanation", "feedback", "selected_option"]),
        (Comparison((0, 1)), ["explanation", "feedback", "selected_option"]),
        (Comparison((0, 1, 2)), ["explanation", "feedback", "ranking", "selected_option"]),
        (Rating((0.0, 1.0)), ["explanation", "feedback", "score"]),
        (Rating(), ["explanation", "feedback", "selected_option"]),
    ],
)
def test_the_schema_asks_for_the_explanation_first_and_for_nothing_else(
    question: Question, keys: list[str]
) -> None:
    schema: Any = question.schema(feedback=True)
    assert list(schema["properties"]) == schema["required"] == keys
    assert question.answer_key == keys[-1]
    assert "feedback" not in question.schema()["properties"]  # type: ignore[operator]


def test_any_integer_is_asked_for_again_in_words_and_no_vote_is_spared() -> None:
    asked: list[str] = []

    def model(prompt: str) -> str:
        asked.append(prompt)
        if len(asked) == 1:
            return '{"explanation": "e", "selected_option": "many"}'
        return json.dumps({"explanation": "e", "selected_option": 3 if len(asked) == 2 else 4})

    judge = DirectJudge(model, self_consistency=3, early_stop=True, temperature=0)
    (result,) = judge.evaluate_with_custom_prompt("How many?")
    assert (result.option, result.score, result.votes_valid) == ("4", 4.0, 3)
    assert sum('"selected_option" being an integer' in prompt for prompt in asked) == 1


def test_criteria_over_integers_are_asked_in_writing_whatever_the_model_would_do() -> None:
    (result,) = DirectJudge(ScriptedModel(['{"selected_option": 7}']), check_positional_bias=True)(
        ["x"], INTEGERS
    )
    assert (result.option, result.score, result.votes_requested) == ("7", 7.0, 1)
    assert result.positional_bias is not None
    assert result.positional_bias.detected is None
