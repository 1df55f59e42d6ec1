"""One conversation as a plan, with models that say what a test wants."""

from __future__ import annotations

import pytest

from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.message import Usage
from adjudge.core.domain.verdict import Chosen
from adjudge.core.domain.vote import Ballot, Outcome, Vote
from adjudge.core.gateway.opener import open_model
from adjudge.core.gateway.targets.answer import TargetAnswer
from adjudge.core.prompts.target import ROW, render_target
from adjudge.features.agents.trajectory import ToolCall
from adjudge.features.conversations.conversation import Conversation, Turn
from adjudge.features.conversations.outcome import outcome_of
from adjudge.features.conversations.scenario import Scenario
from adjudge.features.conversations.talk import Talk, Talker, TalkLimits, UserKind, with_start
from adjudge.features.conversations.user import (
    STOP,
    TRANSFER,
    flip_roles,
    read_message,
    rule_message,
    system_prompt,
)
from adjudge.runs.targets import Variant

SCENARIO: JsonObject = {
    "id": "x",
    "goal": "Cancel the order.",
    "withheld": {"email": "ann@example.com"},
}
USER = open_model(lambda _: "?")
BOT = open_model(lambda _: "?")


def course(talk: Talk, *replies: str | None) -> tuple[Ballot | Conversation, list[Vote]]:
    """Give the replies to the ballots of a talk, one after the other; None: it failed."""
    votes: list[Vote] = []
    for reply in replies:
        ballot = talk.next(votes)
        assert isinstance(ballot, Ballot), ballot
        if reply is None:
            votes.append(Vote(ballot=ballot, outcome=Outcome.MODEL_ERROR, reason="no answer"))
            continue
        text = TargetAnswer(reply).to_json() if ballot.template == ROW else reply
        votes.append(Vote(ballot=ballot, outcome=Outcome.OK, verdict=Chosen(text), text=text))
    return talk.next(votes), votes


def talk_of(more: JsonObject | None = None, **talker: object) -> Talk:
    scenario = Scenario.of({**SCENARIO, **(more or {})})
    made = Talker("model", USER, **talker)  # type: ignore[arg-type]
    return Talk(scenario, Variant("bot", BOT), made)


def ended(found: Ballot | Conversation) -> Conversation:
    assert isinstance(found, Conversation)
    return found


def test_a_text_next_to_the_stop_mark_is_delivered_and_answered() -> None:
    found, _ = course(talk_of(), "Cancel it.", "Sure?", f"Yes, go ahead. {STOP}", "Done.")
    conversation = ended(found)
    assert [one.text for one in conversation.turns] == [
        "Cancel it.",
        "Sure?",
        "Yes, go ahead.",
        "Done.",
    ]
    assert (conversation.ended, conversation.parting) == ("user stopped", True)


def test_a_bare_mark_ends_it_at_once() -> None:
    found, _ = course(talk_of(), "Cancel it.", "I'll get a colleague.", TRANSFER)
    assert ended(found).ended == "handed over"
    assert not ended(found).parting


def test_a_broken_message_is_asked_for_once_more() -> None:
    found, votes = course(talk_of(), "Cancel it.", "Ok?", "<think>hm</think>", "Yes.")
    assert isinstance(found, Ballot)
    assert "Your last reply was empty" in render_target(votes[3].ballot).text
    assert "Your last reply" not in render_target(votes[2].ballot).text
    found, _ = course(talk_of(), "Cancel it.", "Ok?", "", "  ")
    assert ended(found).ended == "user broken"


def test_failures_say_whose_they_are() -> None:
    assert ended(course(talk_of(), None)[0]).ended == "user failed"
    assert ended(course(talk_of(), "Hello.", None)[0]).ended == "application failed"


def test_limits_of_one_conversation() -> None:
    assert (
        ended(course(talk_of(limits=TalkLimits(max_turns=1)), "Hi.", "Hi.")[0]).ended
        == "turn limit"
    )
    scenario = {"max_turns": 2}
    talk = talk_of(scenario, limits=TalkLimits(max_turns=1))
    assert isinstance(course(talk, "Hi.", "Hi.")[0], Ballot)


def test_an_opening_costs_nothing() -> None:
    found = talk_of({"opening": "Hello there."}).next(())
    assert isinstance(found, Ballot)
    assert found.template == ROW


def test_the_application_never_sees_the_scenario() -> None:
    found, _ = course(talk_of({"persona": "A pirate"}), "Hello.")
    assert isinstance(found, Ballot)
    sent = render_target(found).text
    for secret in ("Cancel the order", "ann@example.com", "pirate"):
        assert secret not in sent


def test_trials_scenarios_and_seeds_share_no_ballot() -> None:
    first = talk_of(seed=1)
    second = Talk(first.scenario, Variant("bot", BOT, sample=1), first.talker)
    other = talk_of({"id": "y"}, seed=1)
    third = talk_of(seed=2)
    ballots = [one.next(()) for one in (first, second, other, third)]
    assert len({one.id for one in ballots if isinstance(one, Ballot)}) == 4
    again = talk_of(seed=1).next(())
    assert isinstance(again, Ballot)
    assert again.id in {one.id for one in ballots if isinstance(one, Ballot)}


def test_a_changed_reply_changes_what_follows_and_nothing_before() -> None:
    _, one = course(talk_of(), "Hi.", "What?", "Cancel.", "Ok.")
    _, two = course(talk_of(), "Hi.", "Why?", "Cancel.", "Ok.")
    same = [first.ballot.id == second.ballot.id for first, second in zip(one, two, strict=True)]
    assert same == [True, True, False, False]


def test_the_user_hears_the_agent_and_not_its_tools() -> None:
    found, votes = course(talk_of(), "Hi.", "Your email?")
    assert isinstance(found, Ballot)
    prompt = render_target(found)
    assert [one.role for one in prompt.messages] == ["system", "user", "assistant", "user"]
    assert prompt.messages[-1].content == "Your email?"
    assert flip_roles(()) == [{"role": "user", "content": "…"}]
    assert len(votes) == 2


@pytest.mark.parametrize("language", ["en", "ru"])
def test_the_prompt_tells_facts_by_how_they_may_be_told(language: str) -> None:
    scenario = Scenario.of(
        {
            **SCENARIO,
            "facts": {"name": "Ann {x}"},
            "secret": {"code": "77"},
            "unknown": ["phone"],
            "language": language,
        }
    )
    text = system_prompt(scenario)
    for value in ("Ann {x}", "ann@example.com", "77", "phone", STOP):
        assert value in text


@pytest.mark.parametrize(
    ("reply", "text", "end"),
    [
        ("Yes.", "Yes.", None),
        ("###STOP###", "", "user stopped"),
        ("Bye ## stop ##", "Bye", "user stopped"),
        ("<think>I stop</think>Hello", "Hello", None),
        ('User: "Hello"', "Hello", None),
        ("###OUT-OF-SCOPE###", "", "out of scope"),
    ],
)
def test_replies_are_read(reply: str, text: str, end: str | None) -> None:
    assert read_message(reply) == (text, end)


def test_a_reply_that_looks_like_a_mark_of_ours_is_a_reply() -> None:
    found, _ = course(talk_of(), "Hi.", '{"in_flight": "no"}', STOP)
    assert ended(found).turns[1].text == '{"in_flight": "no"}'


@pytest.mark.parametrize(
    ("kind", "script", "first", "played"),
    [
        ("rules", ["Hello."], "Cancel the order.", "rules"),
        ("script or rules", ["Hello."], "Hello.", "script"),
        ("script or rules", [], "Cancel the order.", "rules"),
    ],
)
def test_the_user_that_is_recorded_is_the_one_that_played(
    kind: UserKind, script: list[str], first: str, played: str
) -> None:
    scenario = Scenario.of({**SCENARIO, **({"script": script} if script else {})})
    talk = Talk(scenario, Variant("bot", BOT), Talker(kind, limits=TalkLimits(max_turns=1)))
    conversation = ended(course(talk, "Ok.")[0])
    assert (conversation.turns[0].text, conversation.user) == (first, played)


def test_every_call_is_in_the_cost_of_a_conversation() -> None:
    """The last reply of a user who only stops belongs to no message."""
    talk = talk_of()
    votes: list[Vote] = []
    for reply in ("Hi.", "Hello.", STOP):
        ballot = talk.next(votes)
        assert isinstance(ballot, Ballot)
        text = TargetAnswer(reply).to_json() if ballot.template == ROW else reply
        usage = Usage(1, 100, 10)
        votes.append(
            Vote(
                ballot=ballot,
                outcome=Outcome.OK,
                verdict=Chosen(text),
                text=text,
                usage=usage,
                latency=0.5,
            )
        )
    conversation = ended(talk.next(votes))
    assert sum(turn.tokens for turn in conversation.turns) == 220
    assert (conversation.tokens, conversation.seconds) == (330, 1.5)
    assert conversation.usd is None  # the price of the model is unknown


def test_rules_name_every_part_of_the_goal() -> None:
    parts = ["Cancel the order 4711.", "Refund the order 4712."]
    scenario = Scenario.of({**SCENARIO, "parts": parts})
    turns: list[Turn] = []
    for reply in ("What is your email?", "Done. Anything else?", "Done. Anything else?"):
        turns.append(Turn(number=len(turns) + 1, speaker="user", text=user(scenario, turns)))
        turns.append(Turn(number=len(turns) + 1, speaker="agent", text=reply))
    told = [turn.text for turn in turns if turn.speaker == "user"]
    assert told == [parts[0], "The email is ann@example.com.", parts[1]]
    assert rule_message(scenario, turns).end == "user stopped"


def user(scenario: Scenario, turns: list[Turn]) -> str:
    return rule_message(scenario, turns).text


def test_what_was_said_before_is_not_said_again() -> None:
    start = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Yes?"}]
    scenario = Scenario.of({**SCENARIO, "start": start, "script": ["One.", "Two.", "Three."]})
    talk = Talk(scenario, Variant("bot", BOT), Talker("script"))
    first = ended(course(talk, "Fine.", "Fine.", "Fine.")[0])
    replayed = Talk(scenario, Variant("bot", BOT), Talker("replay"), first)
    second = ended(course(replayed, "Fine.", "Fine.", "Fine.")[0])
    assert [turn.text for turn in second.turns] == [turn.text for turn in first.turns]
    # the second message of the script is the third of the user
    continued = with_start(scenario, first, 3)
    assert continued.script == ("Two.", "Three.")


def test_a_continued_conversation_keeps_its_tool_calls() -> None:
    cancel = ToolCall("cancel", {}, "done")
    turns = (
        Turn(number=1, speaker="user", text="Cancel it."),
        Turn(number=2, speaker="agent", text="Done.", calls=(cancel,)),
        Turn(number=3, speaker="user", text="Thanks."),
    )
    stored = Conversation(turns=turns, ended="user stopped")
    # what the earlier agent did is done, and is not this agent's mistake
    for expect in ({"calls": ["cancel"]}, {"no_calls": ["cancel"]}):
        scenario = with_start(Scenario.of({**SCENARIO, "expect": expect}), stored, 2)
        talk = Talk(scenario, Variant("bot", BOT), Talker("rules"), stored)
        later = ended(course(talk, "Bye.", "Bye.")[0])
        assert outcome_of(scenario, later).passed
    assert not outcome_of(Scenario.of({**SCENARIO, "expect": expect}), stored).passed
