"""No reply is read as another verdict than it says, and few that say one are asked for again."""

from __future__ import annotations

from replies_table import Case, cases

MOST_NEEDLESS = 0.15
"""Share of the replies that a person understands at once. Most of them explain the option after a
dash, a comma or in brackets, which is no accepted shape.
"""
ALL = tuple(cases())


def told(some: list[Case]) -> str:
    return "\n".join(
        f"{one.family}/{one.name} ({one.question}) says {one.says}, read {one.read}: {one.why}"
        for one in some
    )


def test_no_reply_is_read_as_another_verdict_than_it_says() -> None:
    wrong = [one for one in ALL if (read := one.read) is not None and not one.fits(read)]
    assert not wrong, f"{len(wrong)} of {len(ALL)} replies are read wrongly:\n{told(wrong)}"


def test_few_replies_that_say_a_verdict_are_asked_for_again() -> None:
    needless = [one for one in ALL if one.says is not None and not one.hard and one.read is None]
    easy = sum(one.says is not None and not one.hard for one in ALL)
    assert len(needless) <= MOST_NEEDLESS * easy, f"{len(needless)} of {easy}:\n{told(needless)}"
