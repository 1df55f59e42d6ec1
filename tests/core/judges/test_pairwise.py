"""The pairwise judge, as the contract promises it (section 4), with models that say what they are
told.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.core.domain.criteria import Criteria, CriteriaExample, CriteriaOption
from adjudge.core.domain.instance import DirectInstance, Instance, PairwiseInstance
from adjudge.core.domain.message import Capabilities, Request
from adjudge.core.domain.question import Comparison
from adjudge.core.domain.results import PairwiseInstanceResult, Status
from adjudge.core.domain.verdict import Compared
from adjudge.core.domain.vote import Outcome
from adjudge.core.gateway.providers.scripted import Line, ScriptedModel
from adjudge.core.judges.direct import DirectJudge
from adjudge.core.judges.pairwise import PairwiseJudge
from adjudge.errors import RunError, SetupError
from adjudge.messages import render
from support.said import always, by, in_turn, likely, line, material, responses, says

QUESTION = "Which is longer?"
TWO, THREE = ["a", "bbb"], ["bb", "ccc", "a"]
OPTIONS = [CriteriaOption("A"), CriteriaOption("B")]


def longest(**settings: Any) -> ScriptedModel:
    return ScriptedModel(by(len), **settings)


def compared(
    model: Any, given: Any = TWO, criteria: Any = QUESTION, **settings: Any
) -> PairwiseInstanceResult:
    (result,) = PairwiseJudge(model, **{"max_repairs": 0, **settings})([given], criteria)
    return result


# -- two responses -----------------------------------------------------------------


def test_the_better_of_two_is_named_by_its_index() -> None:
    model = longest()
    result = compared(model)
    assert (result.selected_option, result.status, result.certainty, result.agreement) == (
        1,
        Status.SCORED,
        1.0,
        1.0,
    )
    assert (result.ranking, result.score, result.tie, result.positional_bias) == (
        (2, 1),
        None,
        False,
        None,
    )
    assert result.explanation == "B of A, B"
    assert responses(model.requests[0]) == {"A": "a", "B": "bbb"}
    assert result.metadata["prompt"] == model.requests[0].prompt.text


def test_each_response_knows_its_contests() -> None:
    loser, winner = compared(longest()).per_system_results
    assert (loser.contest_results, loser.compared_to, loser.selections) == ((0.0,), (1,), ("1",))
    assert (winner.contest_results, winner.compared_to, winner.selections) == ((1.0,), (0,), ("1",))
    assert (loser.winrate, winner.winrate, loser.ranking, winner.ranking) == (0.0, 1.0, 2, 1)
    assert loser.explanations == winner.explanations == ("B of A, B",)
    assert loser.certainty == winner.certainty == (1.0,)
    assert loser.positional_bias == winner.positional_bias == (None,)


def test_a_tie_is_a_selection_of_its_own() -> None:
    result = compared(longest(), ["aa", "bb"])
    assert (result.selected_option, result.tie, result.ranking, result.certainty) == (
        "tie",
        True,
        (1, 1),
        1.0,
    )
    assert [system.winrate for system in result.per_system_results] == [0.5, 0.5]
    assert [system.selections for system in result.per_system_results] == [("tie",), ("tie",)]


def test_nothing_but_labels_is_offered_and_no_ranking_for_two() -> None:
    model = longest()
    compared(model)
    properties: Any = model.requests[0].schema["properties"]  # type: ignore[index]
    assert properties["selected_option"]["enum"] == ["A", "B", "tie"]
    assert "ranking" not in properties
    assert "ranking" not in model.requests[0].prompt.text


# -- ties off ----------------------------------------------------------------------


def test_with_ties_off_a_tie_is_not_offered() -> None:
    model = ScriptedModel(by(len))
    compared(model, THREE, tie_enabled=False)
    properties: Any = model.requests[0].schema["properties"]  # type: ignore[index]
    assert properties["selected_option"]["enum"] == ["A", "B", "C"]
    assert properties["ranking"]["items"] == {"type": "string", "enum": ["A", "B", "C"]}
    prompt = model.requests[0].prompt.text
    assert '"tie"' not in prompt
    assert "or tie" not in prompt
    assert "in a list" not in prompt


@pytest.mark.parametrize(
    ("given", "reply"),
    [
        (TWO, says("tie")),
        (THREE, says("tie", ranking=[["A", "B", "C"]])),
        (THREE, says("A", ranking=["A", ["B", "C"]])),
    ],
)
def test_with_ties_off_a_tie_is_not_accepted(given: list[str], reply: str) -> None:
    result = compared(ScriptedModel([reply]), given, tie_enabled=False)
    assert (result.selected_option, result.status, result.votes[0].outcome) == (
        None,
        Status.FAILED,
        Outcome.UNREADABLE,
    )
    assert [system.winrate for system in result.per_system_results] == [None] * len(given)


def test_with_ties_off_an_even_split_goes_to_the_first_and_says_so() -> None:
    result = compared(in_turn("A", "B"), self_consistency=2, tie_enabled=False)
    assert (result.selected_option, result.tie, result.certainty) == (0, True, 0.5)


def test_with_ties_off_examples_of_a_tie_are_not_shown() -> None:
    examples = [
        CriteriaExample({"response": ["x", "y"]}, "tie", "EQUAL"),
        CriteriaExample({"response": ["x", "yy"]}, "B", "LONGER"),
    ]
    criteria = Criteria("longer", QUESTION, OPTIONS, examples=examples)
    for ties, shown in ((True, ["EQUAL", "LONGER"]), (False, ["LONGER"])):
        model = longest()
        assert compared(model, criteria=criteria, tie_enabled=ties).criteria == criteria
        assert re.findall("EQUAL|LONGER", model.requests[0].prompt.text) == shown


# -- more than two -----------------------------------------------------------------


@pytest.mark.parametrize("contests", ["joint", "pairs"])
@pytest.mark.parametrize("order", list(permutations(["a", "bb", "ccc"])))
def test_three_are_ranked_whatever_their_order(contests: Any, order: Sequence[str]) -> None:
    result = compared(
        longest(), list(order), contests=contests, check_positional_bias=True, rotations=True
    )
    assert result.ranking == tuple(4 - len(text) for text in order)
    assert result.selected_option == order.index("ccc")
    assert [system.winrate for system in result.per_system_results] == [
        (len(text) - 1) / 2 for text in order
    ]
    assert result.certainty == 1.0
    assert result.positional_bias is not None
    assert not result.positional_bias.detected


@pytest.mark.parametrize(
    ("contests", "count", "calls"),
    [("joint", 2, 1), ("joint", 4, 1), ("pairs", 2, 1), ("pairs", 4, 6)],
)
@pytest.mark.parametrize(
    ("settings", "times"),
    [({}, 1), ({"self_consistency": 3}, 3), ({"check_positional_bias": True}, 2)],
)
def test_joint_takes_one_call_and_pairs_one_for_every_two(
    contests: Any, count: int, calls: int, settings: dict[str, Any], times: int
) -> None:
    models = [longest(name="a"), longest(name="b")]
    result = compared(
        models, ["x" * number for number in range(count)], contests=contests, **settings
    )
    assert result.votes_requested == 2 * calls * times
    assert [len(model.requests) for model in models] == [calls * times] * 2
    assert result.selected_option == count - 1


@pytest.mark.parametrize("check", [True, False])
def test_rotations_are_balanced_orders_with_or_without_the_check(check: bool) -> None:
    settings: dict[str, Any] = {"check_positional_bias": check, "rotations": True}
    three, two = compared(longest(), THREE, **settings), compared(longest(), TWO, **settings)
    assert sorted(vote.order or () for vote in three.votes) == list(permutations(range(3)))
    assert [vote.order for vote in two.votes] == [(0, 1), (1, 0)]
    assert (three.positional_bias is not None) == check


def by_place(*preferred: int) -> ScriptedModel:
    """Looks at places alone: ranks what is shown there in the order of ``preferred``."""

    def script(request: Request) -> str:
        labels = list(responses(request))
        ranking = [labels[place] for place in preferred if place < len(labels)]
        return says(ranking[0], ranking=ranking)

    return ScriptedModel(script)


@pytest.mark.parametrize("count", [2, 3, 4, 5])
@pytest.mark.parametrize("contests", ["joint", "pairs"])
def test_a_judge_that_ranks_in_shown_order_makes_nobody_win_with_rotations(
    contests: Any, count: int
) -> None:
    given, settings = (
        list("abcde"[:count]),
        {"contests": contests, "rotations": True, "check_positional_bias": True},
    )
    result = compared(by_place(*range(count)), given, **settings)
    assert (result.selected_option, result.tie, result.certainty, result.ranking) == (
        "tie",
        True,
        0.0,
        (1,) * count,
    )
    assert result.positional_bias is not None
    assert result.positional_bias.detected
    forced = compared(by_place(*range(count)), given, tie_enabled=False, **settings)
    assert (forced.selected_option, forced.tie, forced.certainty) == (0, True, 0.5)


@given(st.integers(2, 9).flatmap(lambda count: st.permutations(range(count))))
def test_whatever_place_a_judge_loves_no_response_wins_by_it_with_rotations(
    preferred: list[int],
) -> None:
    result = compared(by_place(*preferred), list("abcdefghi"[: len(preferred)]), rotations=True)
    assert (result.selected_option, result.tie) == ("tie", True)
    assert len({system.winrate for system in result.per_system_results}) == 1


def test_a_panel_with_one_judge_that_only_sees_places_follows_the_one_that_reads() -> None:
    result = compared([longest(name="reads"), by_place(0, 1, 2)], THREE, rotations=True)
    assert (result.selected_option, result.ranking, result.votes_requested) == (1, (2, 1, 3), 12)
    assert result.certainty == pytest.approx(0.75)


def test_equal_responses_share_a_rank_and_the_next_one_is_left_out() -> None:
    result = compared(longest(), ["aa", "ccc", "bb", "d"])
    assert result.ranking == (2, 1, 2, 4)
    assert result.per_system_results[0].contest_results == (0.0, 0.5, 1.0)
    assert result.per_system_results[0].selections == ("1", "tie", "0")
    assert result.per_system_results[0].compared_to == (1, 2, 3)


def test_a_ranking_with_equal_ones_is_read() -> None:
    result = compared(always("B", ranking=["B", ["A", "C"]]), THREE)
    assert result.ranking == (2, 1, 2)
    assert isinstance(result.votes[0].verdict, Compared)
    assert result.votes[0].verdict.ranking == ((1,), (0, 2))


@pytest.mark.parametrize(
    ("option", "ranking", "reason"),
    [
        ("B", ["B", "A"], "each of A, B, C once"),
        ("B", ["B", "A", "A"], "each of A, B, C once"),
        ("B", ["B", "A", "C", "D"], "each of A, B, C once"),
        ("B", ["B", [], "A", "C"], "each of A, B, C once"),
        ("B", "B, A, C", "each of A, B, C once"),
        ("B", None, "each of A, B, C once"),
        ("A", ["B", "A", "C"], "not first in"),
        ("B", [["A", "B"], "C"], "not first in"),
        ("tie", ["B", "A", "C"], "not first in"),
    ],
)
def test_a_ranking_that_does_not_hold_is_asked_for_again(
    option: str, ranking: Any, reason: str
) -> None:
    model = ScriptedModel([says(option, ranking=ranking), says("C", ranking=["C", "B", "A"])])
    result = compared(model, THREE, max_repairs=1)
    assert (result.selected_option, result.votes[0].outcome) == (2, Outcome.REPAIRED)
    assert reason in model.requests[1].prompt.text


def test_a_circle_is_a_tie() -> None:
    beats = {("rock", "scissors"), ("scissors", "paper"), ("paper", "rock")}
    model = ScriptedModel(
        lambda request: says("A" if tuple(responses(request).values()) in beats else "B")
    )
    result = compared(model, ["rock", "paper", "scissors"], contests="pairs")
    assert (result.selected_option, result.ranking, result.tie) == ("tie", (1, 1, 1), True)
    assert [system.winrate for system in result.per_system_results] == [0.5] * 3
    assert (result.certainty, result.explanation) == (0.0, None)


@pytest.mark.parametrize(
    "settings", [{}, {"self_consistency": 3}, {"check_positional_bias": True}, {"rotations": True}]
)
def test_a_circle_without_ties_is_no_certain_win_of_the_first(settings: dict[str, Any]) -> None:
    beats = {("rock", "scissors"), ("scissors", "paper"), ("paper", "rock")}
    model = ScriptedModel(
        lambda request: says("A" if tuple(responses(request).values()) in beats else "B")
    )
    result = compared(
        model, ["rock", "paper", "scissors"], contests="pairs", tie_enabled=False, **settings
    )
    assert (result.selected_option, result.tie, result.certainty, result.ranking) == (
        0,
        True,
        0.5,
        (1, 1, 1),
    )


@pytest.mark.parametrize(("ties", "selected", "certainty"), [(True, "tie", 0.0), (False, 0, 0.5)])
def test_votes_that_go_round_in_a_circle_are_a_tie(
    ties: bool, selected: Any, certainty: float
) -> None:
    turns = ["ABC", "BCA", "CAB"]
    model = ScriptedModel(
        lambda request: says(turns[request.sample][0], ranking=list(turns[request.sample]))
    )
    result = compared(model, THREE, self_consistency=3, tie_enabled=ties)
    assert (result.selected_option, result.tie, result.ranking) == (selected, True, (1, 1, 1))
    assert result.certainty == pytest.approx(certainty)
    assert result.per_system_results[0].certainty == (pytest.approx(2 / 3), pytest.approx(2 / 3))


# -- votes, orders, certainty ------------------------------------------------------

SPLITS = [
    ("AAA", 0, 1.0),
    ("AAB", 0, 2 / 3),
    ("ABB", 1, 2 / 3),
    ("AB-", "tie", 0.0),
    ("ATT", "tie", 2 / 3),
    ("AAE", 0, 1.0),
    ("A-E", 0, 1.0),
]


@pytest.mark.parametrize(("said", "selected", "certainty"), SPLITS)
def test_certainty_is_the_share_of_valid_votes_that_agree(
    said: str, selected: Any, certainty: float
) -> None:
    result = compared(
        in_turn(*("tie" if letter == "T" else letter for letter in said)),
        self_consistency=len(said),
    )
    assert (result.selected_option, result.certainty) == (selected, pytest.approx(certainty))
    assert result.per_system_results[0].certainty == (pytest.approx(certainty),)


@pytest.mark.parametrize("contests", ["joint", "pairs"])
def test_a_judge_that_takes_the_first_is_found_out(contests: Any) -> None:
    model = ScriptedModel(lambda request: says("A", ranking=list(responses(request))))
    result = compared(
        model, THREE, contests=contests, check_positional_bias=True, self_consistency=2
    )
    bias: Any = result.positional_bias
    assert (bias.detected, bias.flip_rate, bias.noise_rate) == (True, 1.0, 0.0)
    assert (bias.result.selected_option, bias.result.ranking) == (2, (3, 2, 1))
    assert (result.selected_option, result.certainty) == ("tie", 0.0)
    assert all(system.positional_bias == (True, True) for system in result.per_system_results)


@pytest.mark.parametrize("contests", ["joint", "pairs"])
def test_a_judge_that_reads_is_not(contests: Any) -> None:
    result = compared(
        longest(), THREE, contests=contests, check_positional_bias=True, self_consistency=2
    )
    bias: Any = result.positional_bias
    assert (bias.detected, bias.flip_rate, bias.noise_rate) == (False, 0.0, 0.0)
    assert bias.result.selected_option == result.selected_option == 1
    assert all(system.positional_bias == (False, False) for system in result.per_system_results)
    assert "bb" in str(bias.result.metadata["prompt"])


@pytest.mark.parametrize("contests", ["joint", "pairs"])
def test_an_order_that_cannot_be_read_is_neither_bias_nor_its_absence(contests: Any) -> None:
    def script(request: Request) -> str:
        shown = responses(request)
        return (
            says("A", ranking=list(shown))
            if list(shown.values()) == sorted(shown.values())
            else "I am not sure."
        )

    result = compared(
        ScriptedModel(script),
        ["a", "b", "c"],
        contests=contests,
        check_positional_bias=True,
        max_repairs=0,
    )
    bias: Any = result.positional_bias
    assert (result.selected_option, bias.detected, bias.result.selected_option) == (0, None, None)
    assert result.to_dict()["positional_bias"] == {
        "detected": None,
        "flip_rate": None,
        "noise_rate": None,
    }


def test_with_one_vote_an_order_nothing_can_be_said_of_noise() -> None:
    bias: Any = compared(
        longest(), THREE, contests="pairs", check_positional_bias=True
    ).positional_bias
    assert bias.noise_rate is None


def test_only_the_contest_that_turns_with_the_order_is_called_biased() -> None:
    def script(request: Request) -> str:
        shown = responses(request)
        return says(
            "A"
            if set(shown.values()) == {"bb", "ccc"}
            else max(shown, key=lambda label: len(shown[label]))
        )

    first, second, third = compared(
        ScriptedModel(script), THREE, contests="pairs", check_positional_bias=True
    ).per_system_results
    assert (first.positional_bias, second.positional_bias, third.positional_bias) == (
        (True, False),
        (True, False),
        (False, False),
    )


# -- failures ----------------------------------------------------------------------


def test_without_one_contest_there_is_no_selection_and_no_number_that_hides_it() -> None:
    def script(request: Request) -> Line:
        return line("E") if set(responses(request).values()) == {"bb", "a"} else by(len)(request)

    result = compared(ScriptedModel(script), THREE, contests="pairs")
    assert (result.selected_option, result.certainty, result.status, result.ranking) == (
        None,
        None,
        Status.FAILED,
        (None,) * 3,
    )
    assert [system.contest_results for system in result.per_system_results] == [
        (0.0, None),
        (1.0, 1.0),
        (None, 0.0),
    ]
    assert [system.winrate for system in result.per_system_results] == [None, 1.0, None]
    assert result.per_system_results[0].selections == ("1", None)
    assert result.per_system_results[0].certainty == (1.0, None)
    assert (result.votes_requested, result.votes_valid) == (3, 2)


def test_one_bad_item_never_harms_another() -> None:
    def script(request: Request) -> Line:
        if "crash" in material(request):
            raise ZeroDivisionError("division by zero")
        return by(len)(request)

    results = PairwiseJudge(ScriptedModel(script))([TWO, ["crash", "x"], THREE], QUESTION)
    assert [result.selected_option for result in results] == [1, None, 1]
    assert "ZeroDivisionError" in str(results[1].votes[0].reason)


def test_a_failure_can_be_raised_or_stand_in_at_random() -> None:
    with pytest.raises(RunError, match="no such model"):
        compared(in_turn("E"), on_failure="raise")
    drawn = PairwiseJudge(in_turn("E"), on_failure="random")(
        [[str(number), "x"] for number in range(20)], QUESTION
    )
    assert {result.selected_option for result in drawn} == {0, 1}
    assert all(
        (result.fallback, result.status, result.certainty) == ("random", Status.FAILED, None)
        for result in drawn
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("one text", "list of texts per instance"),
        (["only one"], "at least two responses"),
        ([], "at least two responses"),
        ({"response": "x", "question": "y"}, "at least two responses"),
        ({"question": "x", "source": "y"}, "reads the field 'response'"),
        ([1, None], "must be a string or a list of strings"),
        (7, "at least two responses"),
        ({"a", "b"}, "must be a string or a list of strings"),
    ],
)
def test_what_cannot_be_compared_is_named_before_any_call(given: Any, message: str) -> None:
    model = longest()
    with pytest.raises(SetupError, match=message):
        PairwiseJudge(model)([TWO, given], QUESTION)
    assert model.requests == []


@pytest.mark.parametrize(
    "settings",
    [{"contests": "league"}, {"votes": 0}, {"on_failure": "guess"}, {"mode": "aloud"}],
)
def test_a_judge_that_cannot_work_is_not_made(settings: dict[str, Any]) -> None:
    with pytest.raises(SetupError, match=next(iter(settings))):
        PairwiseJudge(longest(), **settings)


@pytest.mark.parametrize(
    ("fields", "option"),
    [({"response": ["x", "y"]}, "C"), ({"response": "x"}, "A"), ({"other": ["x", "y"]}, "A")],
)
def test_an_example_that_compares_nothing_is_refused(fields: Any, option: str) -> None:
    options = [CriteriaOption(label) for label in "ABC"]
    criteria = Criteria("longer", QUESTION, options, examples=[CriteriaExample(fields, option)])
    with pytest.raises(SetupError, match="example of criterion 'longer'"):
        compared(longest(), criteria=criteria)


# -- what goes in ------------------------------------------------------------------


@pytest.mark.parametrize("contests", ["joint", "pairs"])
def test_comparisons_need_no_options(contests: Any) -> None:
    example = CriteriaExample({"response": ["x", "yy", "z"]}, "B", "LONGER")
    for criteria in (
        Criteria("longer", QUESTION),
        Criteria("longer", QUESTION, examples=[example]),
    ):
        result = compared(longest(), THREE, criteria, contests=contests, check_positional_bias=True)
        assert (result.selected_option, result.criteria) == (1, criteria)
    with pytest.raises(SetupError, match="example of criterion 'longer'"):
        compared(
            longest(),
            criteria=Criteria(
                "longer", QUESTION, examples=[CriteriaExample({"response": ["x", "y"]}, "C")]
            ),
        )


FORMS: list[Any] = [
    ["a", "bbb"],
    ("a", "bbb"),
    PairwiseInstance(responses=["a", "bbb"]),
    PairwiseInstance({"responses": ["a", "bbb"]}),
    Instance({"response": ["a", "bbb"]}),
    {"response": ["a", "bbb"]},
    {"answers": ["a", "bbb"]},
    {"response_1": "a", "response_2": "bbb"},
    {"response_2": "bbb", "response_1": "a"},
    {"Answer A": "a", "Answer B": "bbb"},
    {"output-1": "a", "output-2": "bbb"},
    {"responseA": "a", "responseB": "bbb"},
    {"model_a": "a", "model_b": "bbb"},
    {"response_a": "a", "response_b": "bbb", "model_a": "m", "model_b": "n"},
]
CONTEXTS: list[Any] = [
    PairwiseInstance(responses=["a", "bbb"], context={"question": "WHY"}),
    PairwiseInstance({"question": "WHY", "response_1": "a", "response_2": "bbb"}),
    DirectInstance({"question": "WHY", "response": ["a", "bbb"]}),
    {"question": "WHY", "Response 1": "a", "Response 2": "bbb"},
    {"question": "WHY", "responses": ["a", "bbb"], "model_1": "a name"},
]


@pytest.mark.parametrize("given", FORMS, ids=str)
def test_responses_may_have_names_of_any_form(given: Any) -> None:
    model = longest()
    assert compared(model, given).selected_option == 1
    assert responses(model.requests[0]) == {"A": "a", "B": "bbb"}


@pytest.mark.parametrize("given", CONTEXTS, ids=str)
def test_what_stands_beside_them_is_context(given: Any) -> None:
    model = longest()
    assert compared(model, given).selected_option == 1
    assert 'field="question">\nWHY\n' in material(model.requests[0])
    assert responses(model.requests[0]) == {"A": "a", "B": "bbb"}


def test_many_numbered_responses_stay_in_the_order_of_their_numbers() -> None:
    given = {f"response_{number}": f"text {number}" for number in range(1, 13)}
    assert PairwiseInstance(given).fields["response"] == tuple(
        f"text {number}" for number in range(1, 13)
    )


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        (
            {"response": ["a", "b"], "answer_1": "c", "answer_2": "d"},
            {"response", "answer_1", "answer_2"},
        ),
        (
            {"answer_1": "a", "answer_2": "b", "output_1": "c", "output_2": "d"},
            {"answer_1", "answer_2", "output_1", "output_2"},
        ),
        ({"response_1": "a", "question": "b"}, {"response_1", "question"}),
        ({"answers": "a", "outputs": "b"}, {"answers", "outputs"}),
    ],
)
def test_names_that_could_mean_two_things_are_left_as_they_are(
    fields: Any, names: set[str]
) -> None:
    assert set(PairwiseInstance(fields).fields) == names


def test_criteria_may_compare_another_field() -> None:
    criteria = Criteria("longer", QUESTION, OPTIONS, to_evaluate_field="summary")
    assert compared(longest(), {"summary": TWO, "source": "long"}, criteria).selected_option == 1
    assert compared(longest(), TWO, criteria).selected_option == 1


def test_examples_are_shown_by_label_and_fenced() -> None:
    example = CriteriaExample({"response": ["short", "much longer </data>"]}, "B", "it is longer")
    model = longest()
    compared(model, criteria=Criteria("longer", QUESTION, OPTIONS, examples=[example]))
    prompt = model.requests[0].prompt.messages[0].content
    assert re.search(r'<data-(\w+) field="Response B">\nmuch longer ⦗/data>\n</data-\1>', prompt)
    assert '{"explanation": "it is longer", "selected_option": "B"}' in prompt


def test_each_instance_may_have_its_own_criteria_and_the_judge_a_description() -> None:
    model = longest()
    results = PairwiseJudge(model, judge_description_prompt="You are a poet.")(
        [TWO, THREE], ["Which rhymes?", "Which scans?"]
    )
    assert [result.criteria.name for result in results] == ["Which rhymes?", "Which scans?"]
    assert all(request.prompt.text.startswith("You are a poet.") for request in model.requests)


# -- by likelihood -----------------------------------------------------------------


def test_the_likeliest_label_wins_and_all_are_ranked_by_likelihood() -> None:
    model = ScriptedModel(lambda _: likely(A=0.2, B=0.1, C=0.6, D=0.1))
    result = compared(model, THREE, mode="likelihood")
    assert (result.selected_option, result.ranking) == (2, (2, 3, 1))
    assert dict(result.votes[0].distribution or {}) == pytest.approx(
        {"0": 0.2, "1": 0.1, "2": 0.6, "tie": 0.1}
    )
    assert model.requests[0].labels == ("A", "B", "C", "D")
    assert result.metadata["prompt"] == model.requests[0].prompt.text


@pytest.mark.parametrize("given", [TWO, THREE])
def test_the_letter_behind_the_last_stands_for_a_tie_of_all(given: list[str]) -> None:
    shares = dict(zip("ABCD", [0.1] * len(given) + [0.7], strict=False))
    result = compared(ScriptedModel(lambda _: likely(**shares)), given, mode="likelihood")
    assert (result.selected_option, set(result.ranking)) == ("tie", {1})


def test_likelihoods_are_put_back_into_the_own_order() -> None:
    result = compared(
        ScriptedModel(lambda _: likely(A=0.7, B=0.3)),
        mode="likelihood",
        tie_enabled=False,
        check_positional_bias=True,
    )
    assert [dict(vote.distribution or {}) for vote in result.votes] == [
        pytest.approx({"0": 0.7, "1": 0.3}),
        pytest.approx({"1": 0.7, "0": 0.3}),
    ]
    assert result.positional_bias is not None
    assert result.positional_bias.detected


class InProcess(ScriptedModel):
    """As a local model is: exact log-probabilities, a prior worth taking out."""

    capabilities = Capabilities(logprobs=True, exact_logprobs=True)


def test_a_love_of_the_first_is_taken_out_as_prior() -> None:
    def script(request: Request) -> Any:
        return likely(A=0.6, B=0.4) if "bbb" in request.prompt.text else likely(A=0.8, B=0.2)

    assert compared(InProcess(script), tie_enabled=False).selected_option == 1


# -- properties --------------------------------------------------------------------

TEXTS = st.lists(st.text("ab", max_size=4), min_size=2, max_size=4)


@given(TEXTS, st.randoms(use_true_random=False), st.sampled_from(["joint", "pairs"]), st.booleans())
def test_permuting_responses_permutes_the_ranking(
    texts: list[str], chance: Any, contests: Any, both_orders: bool
) -> None:
    places = list(range(len(texts)))
    chance.shuffle(places)
    judge = PairwiseJudge(longest(), contests=contests, check_positional_bias=both_orders)
    one, other = judge([texts, [texts[place] for place in places]], QUESTION)
    assert other.ranking == tuple(one.ranking[place] for place in places)
    assert [system.winrate for system in other.per_system_results] == [
        one.per_system_results[place].winrate for place in places
    ]
    assert (one.selected_option == "tie") == (other.selected_option == "tie")
    if isinstance(other.selected_option, int):
        assert places[other.selected_option] == one.selected_option


@given(TEXTS)
def test_what_the_caller_gave_is_never_changed(texts: list[str]) -> None:
    fields, criteria = {"response": texts, "question": "WHY"}, Criteria("longer", QUESTION, OPTIONS)
    before = ({"response": list(texts), "question": "WHY"}, Criteria("longer", QUESTION, OPTIONS))
    PairwiseJudge(longest(), check_positional_bias=True)([fields], criteria)
    assert (fields, criteria) == before


def test_a_split_between_others_is_no_tie_of_the_one_that_wins() -> None:
    model = ScriptedModel(
        ['{"explanation": "", "selected_option": "B", "ranking": ["B", "A", "C"]}'] * 2
    )
    (result,) = PairwiseJudge(model, check_positional_bias=True)(
        [["x", "y", "z"]], "Which is better?"
    )
    assert (result.selected_option, result.certainty, result.ranking) == (1, 1.0, (2, 1, 2))
    assert not result.tie


@pytest.mark.parametrize("contests", ["joint", "pairs"])
def test_more_responses_than_letters_are_compared(contests: Any) -> None:
    responses = ["x" * (1 + place) for place in range(30)]
    result = compared(longest(), responses, contests=contests)
    assert result.selected_option == 29
    assert result.ranking == tuple(range(30, 0, -1))


def test_labels_go_on_after_z_as_in_a_spreadsheet() -> None:
    letters = Comparison(tuple(range(704))).letters
    assert letters[24:29] == ("Y", "Z", "AA", "AB", "AC")
    assert letters[-3:] == ("ZZ", "AAA", "AAB")
    assert len(set(letters)) == 704


def test_by_likelihood_more_responses_than_letters_are_refused_before_any_call() -> None:
    model = InProcess(by(len))
    with pytest.raises(
        SetupError,
        match=(
            "26 responses in one call are more than there are letters to label them: use "
            "contests='pairs'"
        ),
    ):
        PairwiseJudge(model, mode="likelihood")([["x"] * 26], QUESTION)
    assert model.requests == []


def test_a_system_called_tie_is_no_tie() -> None:
    named = PairwiseInstance(responses=["a", "bbb"], metadata={"systems": ("new", "tie")})
    assert compared(longest(), named).winner == "tie (response 2)"
    even = PairwiseInstance(responses=["a", "b"], metadata={"systems": ("new", "tie")})
    assert compared(longest(), even).winner == "tie"


@pytest.mark.parametrize("language", ["en", "ru"])
def test_one_order_in_python_is_said_on_the_result(language: str) -> None:
    (one,) = PairwiseJudge(always("A"), language=language)([["x", "y"]], "Which?")
    (both,) = PairwiseJudge(always("A"), language=language, check_positional_bias=True)(
        [["x", "y"]], "Which?"
    )
    (turned,) = PairwiseJudge(always("A"), language=language, rotations=True)(
        [["x", "y"]], "Which?"
    )
    said = {"en": "asked in one order", "ru": "спрошено в одном порядке"}[language]
    notes = [
        " ".join(render(note, language) for note in result.notes) for result in (one, both, turned)
    ]
    assert [said in text for text in notes] == [True, False, False]
    assert one.selected_option == 0


@pytest.mark.parametrize("empty", [(), []])
def test_criteria_with_an_empty_list_of_options_compare_as_those_that_leave_it_out(
    empty: Any,
) -> None:
    criteria = Criteria("better", "Which is better?", options=empty)
    assert criteria == Criteria("better", "Which is better?")
    assert criteria.identity == Criteria("better", "Which is better?").identity
    (result,) = PairwiseJudge(always("A"))([["x", "y"]], criteria)
    assert result.selected_option == 0
    with pytest.raises(
        SetupError, match="'better' has no options; only comparisons work without options"
    ):
        DirectJudge(always("A"))(["x"], criteria)
