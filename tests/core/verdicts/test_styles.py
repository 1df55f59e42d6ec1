"""The ways in which well-known judges write their verdicts."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from adjudge.core.verdicts import styles
from adjudge.core.verdicts.styles import Margin


@pytest.mark.parametrize(
    ("read", "reply", "verdict"),
    [
        (styles.margin, "My final verdict is: [[a>>b]]", Margin(0, 3)),
        (styles.margin, "[B>A]", Margin(1, 1)),
        (styles.margin, "[[A=B]]", Margin("tie", 1)),
        (styles.margin, "[[A<<B]]", Margin(1, 3)),
        (styles.margin, "A > B", None),
        (styles.rating, "Rating: [[7.5]]", 7.5),
        (styles.rating, "Rating: [7]", 7.0),
        (styles.rating, "7", None),
        (styles.read_two_ratings, "8 7.5\nThe first …", (8.0, 7.5)),
        (styles.read_two_ratings, "text [[8, 7]]", (8.0, 7.0)),
        (styles.read_two_ratings, "First, I solve 3x + 10 = 5", None),
        (styles.read_two_ratings, "", None),
        (styles.grade, "GRADE: I … GRADE: C", "C"),
        (styles.grade, "a grade of C", None),
        (styles.decision, "So, the final decision is Response 2.", 1),
        (styles.decision, "Decision: Output (a)", 0),
        (styles.decision, "the final decision is Tie", "tie"),
    ],
)
def test_verdicts_are_read_as_their_tools_write_them(
    read: Callable[[str], object], reply: str, verdict: object
) -> None:
    assert read(reply) == verdict


def test_different_verdicts_in_one_reply_are_none_by_the_named_policy() -> None:
    assert styles.margin("[[A>B]] or [[B>A]]") == Margin(1, 1)
    assert styles.margin("[[A>B]] or [[B>A]]", one_only=True) is None
    assert styles.margin("[[A>B]] … [[A>B]]", one_only=True) == Margin(0, 1)


def test_a_verdict_on_swapped_responses_is_turned_round() -> None:
    assert styles.put_back(0, swapped=True) == 1
    assert styles.put_back("tie", swapped=True) == "tie"
    assert styles.put_back(0, swapped=False) == 0


@pytest.mark.parametrize(("policy", "counted"), [("drop", None), ("tie", "tie"), ("wrong", 0)])
def test_unreadable_replies_count_as_the_policy_says(
    policy: styles.UnreadablePolicy, counted: object
) -> None:
    assert styles.unreadable_as(policy, truth=1) == counted
