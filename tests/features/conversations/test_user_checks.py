"""Planted mistakes of scripted users are found, and what is right is left alone."""

from __future__ import annotations

import random
import time

import pytest
from benchmarks.conversations import ACCEPTED, CONTROLS, attribution_scores, detection, hold

from adjudge.core.domain.json_types import JsonDict
from adjudge.features.conversations.attribution import attribute
from adjudge.features.conversations.conversation import Conversation, Turn
from adjudge.features.conversations.scenario import Scenario
from adjudge.features.conversations.user_checks import FAULT_KINDS, UserChecks


def test_every_planted_mistake_is_found_and_no_control() -> None:
    scores, flags, examples = detection(14, seed=5)  # 15 mistakes and 9 controls: 336 conversations
    planted = sum(one.planted for one in scores.values())
    found = sum(one.found for one in scores.values())
    assert planted >= 200
    assert found / planted >= 0.95, "\n\n".join(examples[:3])
    assert flags["right"] / (flags["right"] + flags["wrong"]) >= 0.95, "\n\n".join(examples[:3])
    assert all(scores[name].recall >= 0.85 for name in ACCEPTED)


def test_every_kind_of_mistake_is_planted() -> None:
    assert {kind for kinds in ACCEPTED.values() for kind in kinds} == {*FAULT_KINDS}


def test_failures_are_attributed() -> None:
    precision, recall = attribution_scores(300, seed=6)
    assert precision >= 0.95
    assert recall >= 0.95


@pytest.mark.parametrize("plant", CONTROLS)
def test_a_control_that_fails_is_the_agents_fault(plant: str) -> None:
    made = hold(plant, random.Random(3), able=False)
    faults = UserChecks(made.scenario, made.conversation, False).faults()
    assert faults == ()
    if plant != "gives up":
        assert attribute(made.conversation, False, faults).fault == "agent"


def talk(*texts: str, ended: str = "user stopped", parting: bool = False) -> Conversation:
    turns = tuple(
        Turn(number=number, speaker="user" if number % 2 else "agent", text=text)
        for number, text in enumerate(texts, 1)
    )
    return Conversation(turns=turns, ended=ended, parting=parting)  # type: ignore[arg-type]


SCENARIO = Scenario.of(
    {"id": "x", "goal": "Cancel the order 4711.", "withheld": {"email": "ann@example.com"}}
)


def kinds(conversation: Conversation, scenario: Scenario = SCENARIO) -> list[str]:
    return [one.kind for one in UserChecks(scenario, conversation, False).faults()]


def test_a_leak_explains_no_failure_and_doubts_a_pass() -> None:
    said = talk("Cancel 4711, I am ann@example.com", "Done. Anything else?")
    faults = UserChecks(SCENARIO, said, True).faults()
    assert [one.kind for one in faults] == ["told too early"]
    assert attribute(said, True, faults).validity == "unclear"
    assert attribute(said, False, faults).fault == "agent"


def test_a_withheld_fact_explains_a_failure_and_no_pass() -> None:
    said = talk("Cancel 4711.", "What is your email?", "I won't tell.", "Then I can't.")
    faults = UserChecks(SCENARIO, said, False).faults()
    assert [one.kind for one in faults] == ["withheld"]
    assert attribute(said, False, faults).fault == "user"
    assert attribute(said, True, faults).fault == "nobody"


def test_a_judge_may_blame_the_user_where_rules_see_nothing() -> None:
    said = talk("Cancel 4711.", "No.")
    assert attribute(said, False, (), behaved=False).fault == "user"
    assert attribute(said, False, (), behaved=True).fault == "agent"
    assert attribute(said, False, ()).fault == "agent"


def test_a_declined_offer_is_no_early_stop() -> None:
    texts = ("Cancel 4711.", "I can't. Shall I call somebody?", "No, never mind.", "Sure?")
    assert kinds(talk(*texts, parting=True)) == []
    assert kinds(talk(*texts)) == ["stopped early"]


def test_an_unsaid_part_of_the_goal_is_the_users_fault() -> None:
    scenario = Scenario.of(
        {"id": "x", "goal": "Two things.", "parts": ["Cancel the order.", "Ask for a receipt."]}
    )
    assert kinds(talk("Please cancel the order.", "Done."), scenario) == ["stopped early"]
    assert kinds(talk("Cancel the order, and send a receipt", "Done."), scenario) != []


def test_a_user_who_must_not_know_may_hear_it_first() -> None:
    said = talk("Cancel my order.", "Is it under ann@example.com?", "Yes, ann@example.com.", "Ok.")
    assert kinds(said) == []


def test_a_lost_conversation_is_the_environments_fault() -> None:
    said = talk("Cancel 4711.", ended="application failed")
    assert attribute(said, None, ()).fault == "environment"


def test_huge_and_odd_messages_are_read() -> None:
    words = " ".join(f"w{number}" for number in range(3_000))
    said = talk("1 " * 20_000, "\ud83d", "(" * 5_000 + "?", "x" * 50_000, words, "“" * 9_000)
    started = time.process_time()
    assert isinstance(kinds(said), list)
    # a regular expression that begins anew at each letter needs minutes
    assert time.process_time() - started < 20


def test_a_value_that_only_the_goal_has_leaves_the_fault_open() -> None:
    """The agent was blamed for an order number that the user never told."""
    ask = "What is your order number?"
    said = talk("Hello there", ask, "Please do it", ask, ended="script ended")
    faults = UserChecks(SCENARIO, said, False).faults()
    assert [(one.kind, one.severity) for one in faults] == [("withheld", "minor")]
    assert attribute(said, False, faults).fault == "cannot tell"
    assert kinds(talk("Cancel 4711.", ask, "Please do it", ask, ended="script ended")) == []
    assert kinds(talk("Hello there", "Do you like it here?", "Yes.", "Bye.")) == []


def test_a_quoted_name_of_the_goal_is_asked_for_too() -> None:
    scenario = Scenario.of({"id": "x", "goal": "Return the book “Dead Souls”."})
    ask = "Which book is it?"
    assert kinds(talk("Hello there", ask, "A good one", ask), scenario) == ["withheld"]
    assert kinds(talk("Hello there", ask, "Dead Souls", "No."), scenario) == []


def test_a_script_may_tell_more_than_the_facts_and_nothing_else() -> None:
    texts = ("Cancel 4711.", "What is your email?", "It is wrong@example.com.", "No.")
    script = Scenario.of({**SCENARIO.to_dict(), "script": [texts[0], texts[2]]})
    assert kinds(talk(*texts), script) == ["contradiction"]
    more = ("Cancel 4711.", "Your email and phone?", "ann@example.com, +1 555 123 4567", "No.")
    script = Scenario.of({**SCENARIO.to_dict(), "script": [more[0], more[2]]})
    assert kinds(talk(*more), script) == []


def test_russian_words_are_known_in_every_case() -> None:
    """Endings hid that the agent asked for a fact; +7 and 8 begin the same number."""
    row: JsonDict = {
        "id": "р",
        "goal": "Отменить заказ.",
        "language": "ru",
        "withheld": {"почта": "anna@example.com", "телефон": "+7 912 345-67-89"},
    }
    asks = ("Назовите вашу почту.", "Подскажите номер телефона.")
    scenario = Scenario.of(row)

    def found(*answers: str) -> list[str]:
        texts = ["Отмените заказ.", asks[0], answers[0], asks[1], answers[1], "Не получилось."]
        turns = tuple(
            Turn(number=place, speaker="user" if place % 2 else "agent", text=text)
            for place, text in enumerate(texts, 1)
        )
        said = Conversation(turns=turns, ended="user stopped")
        return [fault.kind for fault in UserChecks(scenario, said, False).faults()]

    assert found("anna@example.com", "8 (912) 345-67-89") == []
    assert found("Не скажу.", "89123456789") == ["withheld"]
    assert found("anna@example.com", "8 912 345-67-88") == ["contradiction"]
