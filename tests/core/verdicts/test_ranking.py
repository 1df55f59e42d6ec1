"""Rankings of compared responses: read from a reply, put back into the instance's own order."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjudge.core.domain.criteria import yes_no_criteria
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.message import Reply
from adjudge.core.domain.question import Choice, Comparison, question_of
from adjudge.core.domain.verdict import Chosen, Compared, best_of
from adjudge.core.domain.vote import Ballot, Outcome
from adjudge.core.verdicts.reader import read, read_ballot

LABELS = ("A", "B", "C")
THREE = Comparison((0, 1, 2))


def ballot(order: tuple[int, ...], *, tie: bool = True) -> Ballot:
    return Ballot(
        yes_no_criteria("Which?"),
        Instance({"response": ["x"] * 9}),
        Comparison(order, tie),
        "pairwise",
        "m",
    )


@pytest.mark.parametrize(
    ("value", "groups"),
    [
        (["B", ["A", "C"]], ((1,), (0, 2))),
        (["C", "B", "A"], ((2,), (1,), (0,))),
        ([["A", "B", "C"]], ((0, 1, 2),)),
        ([["B"], ["A"], "C"], ((1,), (0,), (2,))),
        (["b", " a ", '"C".'], ((1,), (0,), (2,))),
        (["Response B", "response A", "**Response C**"], ((1,), (0,), (2,))),
    ],
)
def test_labels_are_read_best_first_with_equal_ones_together(value: Any, groups: Any) -> None:
    assert THREE.ranking(value) == groups


@pytest.mark.parametrize(
    "value",
    [
        None,
        "B, A, C",
        {"B": 1},
        7,
        [],
        ["A", "B"],
        ["A", "B", "B"],
        ["A", "B", "C", "A"],
        ["A", "B", "D"],
        ["A", "B", "tie"],
        ["A", "B", None],
        ["A", "B", 3],
        ["A", [], "B", "C"],
        [[], "A", "B", "C"],
        ["A", ["B", ["C"]]],
        ["A", "B", "worse than C"],
        ["Response", "A", "B"],
    ],
)
def test_what_does_not_name_each_response_once_is_no_ranking(value: Any) -> None:
    assert THREE.ranking(value) is None


def test_equal_ones_are_accepted_only_where_a_tie_is_offered() -> None:
    assert Comparison((0, 1, 2), tie=False).ranking(["B", ["A", "C"]]) is None
    assert Comparison((0, 1, 2), tie=False).ranking(["B", "A", "C"]) == ((1,), (0,), (2,))


@pytest.mark.parametrize(
    ("groups", "top"), [(((1,), (0, 2)), 1), (((0, 2), (1,)), None), (((0, 1, 2),), None)]
)
def test_the_top_is_one_response_or_a_tie(groups: Any, top: int | None) -> None:
    assert best_of(groups) == top


@pytest.mark.parametrize("order", list(permutations(range(3))))
@pytest.mark.parametrize("tie", [True, False])
def test_every_order_is_undone(order: tuple[int, ...], tie: bool) -> None:
    """The best response is the one with index 2, the worst that with index 0, wherever they are
    shown.
    """
    label = {index: LABELS[place] for place, index in enumerate(order)}
    text = json.dumps(
        {
            "explanation": "so",
            "ranking": [label[2], label[1], label[0]],
            "selected_option": label[2],
        }
    )
    verdict = read_ballot(Reply(text), ballot(order, tie=tie)).verdict
    assert verdict == Compared(2, "so", ranking=((2,), (1,), (0,)))


@pytest.mark.parametrize("order", [(4, 7), (7, 4)])
def test_a_contest_of_two_among_many_is_put_back_to_their_own_indexes(
    order: tuple[int, ...],
) -> None:
    for place, name in enumerate("AB"):
        assert Comparison(order).put_back(name) == Compared(order[place])
    assert Comparison(order).put_back("tie") == Compared(None)


def test_verdicts_on_single_texts_are_left_as_they_are() -> None:
    assert Choice(("Yes", "No"), order=(1, 0)).put_back("Yes") == Chosen("Yes")


def test_options_are_offered_in_the_order_in_which_they_are_shown() -> None:
    question = question_of(yes_no_criteria("Is it?"))
    assert isinstance(question, Choice)
    assert (question.labels, question.reverse().labels) == (("Yes", "No"), ("No", "Yes"))


def test_a_ranking_is_asked_for_only_of_three_or_more() -> None:
    reply = Reply('{"explanation": "so", "selected_option": "A"}')
    assert read_ballot(reply, ballot((0, 1))).outcome is Outcome.OK
    assert read_ballot(reply, ballot((0, 1, 2))).outcome is Outcome.UNREADABLE


@pytest.mark.parametrize(
    "text",
    [
        '{"explanation": "so", "selected_option": "Response B"}',
        '{"explanation": "so", "selected_option": "response b"}',
        '{"explanation": "so", "verdict": "**Response B**"}',
        '{"explanation": "so", "selected_option": "Ответ B"}',
        "Verdict: Response B",
        "Response B",
        "B",
    ],
)
def test_the_label_that_was_shown_is_read_as_the_response(text: str) -> None:
    for tie in (True, False):
        verdict = read_ballot(Reply(text), ballot((7, 4), tie=tie)).verdict
        assert verdict is not None
        assert verdict.option == "4"


@pytest.mark.parametrize(
    "text",
    [
        "**Response A:**\nIt is clear.\n\n**Response B:**\nIt is vague.",
        "Best first:\n- Response B\n- Response A",
        "Response B\nResponse A",
        "Response A is clear.\nResponse B",
    ],
)
def test_a_heading_or_a_list_of_responses_is_no_verdict(text: str) -> None:
    assert read_ballot(Reply(text), ballot((0, 1))).verdict is None


@pytest.mark.parametrize(
    "label",
    [
        "Response C",
        "Response",
        "Response tie",
        "Responses A and B",
        "Response B or A",
        "The response B",
    ],
)
def test_what_only_resembles_a_shown_label_is_not_read(label: str) -> None:
    assert (
        read_ballot(Reply(json.dumps({"selected_option": label})), ballot((0, 1))).verdict is None
    )


def test_options_of_single_texts_are_not_responses() -> None:
    assert read(Reply('{"selected_option": "Response B"}'), Choice(("A", "B"))).verdict is None


@given(st.permutations(range(3)), st.lists(st.integers(0, 2), min_size=3, max_size=3))
def test_writing_a_ranking_and_reading_it_gives_it_back(order: list[int], ranks: list[int]) -> None:
    wanted = tuple(
        tuple(index for index in range(3) if ranks[index] == rank) for rank in sorted(set(ranks))
    )
    label = {index: LABELS[place] for place, index in enumerate(order)}
    written = [[label[index] for index in group] for group in wanted]
    top = written[0][0] if len(written[0]) == 1 else "tie"
    verdict = read_ballot(
        Reply(json.dumps({"ranking": written, "selected_option": top})), ballot(tuple(order))
    ).verdict
    assert isinstance(verdict, Compared)
    assert verdict.ranking == wanted
    assert verdict.option == (str(wanted[0][0]) if len(wanted[0]) == 1 else "tie")


@given(
    st.recursive(
        st.sampled_from(["A", "B", "C", "tie", "", "Response A", 1, None]),
        lambda inner: st.lists(inner, max_size=4),
    )
)
def test_whatever_is_read_names_each_response_once(value: Any) -> None:
    groups = THREE.ranking(value)
    if groups is not None:
        assert sorted(index for group in groups for index in group) == [0, 1, 2]
        assert all(groups)


@pytest.mark.parametrize(
    "said", ['{"selected_option": "ничья"}', "Ничья.", '{"selected_option": "Tie"}']
)
def test_a_tie_may_be_called_so_in_russian(said: str) -> None:
    verdict = read_ballot(Reply(said), ballot((0, 1))).verdict
    assert verdict is not None
    assert verdict.option == "tie"
    assert read_ballot(Reply(said), ballot((0, 1), tie=False)).verdict is None
