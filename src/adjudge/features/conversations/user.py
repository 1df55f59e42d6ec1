"""The simulated user: a model, a script, or fixed rules over the scenario's facts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from adjudge.core.domain.json_types import JsonDict
from adjudge.core.prompts.renderer import load
from adjudge.core.verdicts.thoughts import without_thoughts
from adjudge.features.conversations.conversation import End, Turn
from adjudge.features.conversations.phrases import ANYTHING_ELSE
from adjudge.features.conversations.scenario import Fact, Scenario
from adjudge.features.conversations.user_checks import asks_for, tells
from adjudge.features.conversations.values import fold

STOP, TRANSFER, OUT_OF_SCOPE = "###STOP###", "###TRANSFER###", "###OUT-OF-SCOPE###"
MARKS: dict[str, End] = {
    STOP: "user stopped",
    TRANSFER: "handed over",
    OUT_OF_SCOPE: "out of scope",
}
"""Marks with which a simulated user ends a conversation, as in tau2-bench."""
PROMPT = "chat_user"
_MARK = re.compile(r"(?<!#)#{2,}\s*(STOP|СТОП|TRANSFER|OUT[ _-]OF[ _-]SCOPE)\s*#*", re.IGNORECASE)
_LABEL = re.compile(r"^\s*(?:user|customer|пользователь|клиент)\s*:\s*", re.IGNORECASE)


class UserMessage(NamedTuple):
    """A simulated user's message, and how the conversation ends if it is the last."""

    text: str
    end: End | None = None

    @property
    def is_broken(self) -> bool:
        """True if it has neither text nor an end mark."""
        return not self.text and self.end is None


def read_message(reply: str) -> UserMessage:
    """Parse a simulated user's reply: its text without reasoning, and its end mark."""
    text = without_thoughts(reply).strip()
    end: End | None = None
    if mark := _MARK.search(text):
        word = re.sub(r"[ _]", "-", mark[1].upper()).replace("СТОП", "STOP")
        end = MARKS[f"###{word}###"]
        text = _MARK.sub(" ", text)
    # models like to begin with "User:" and to quote the whole message
    text = _LABEL.sub("", text.strip()).strip().strip('"').strip()
    return UserMessage(text, end)


def system_prompt(scenario: Scenario, *, again: bool = False) -> str:
    """Return a simulated user's system prompt.

    ``again``: its last reply could not be sent.
    """
    groups = {
        "facts": "freely",
        "withheld": "when asked",
        "secret": "never",
    }
    facts = {
        name: [(fact.name, fact.value) for fact in scenario.known_facts if fact.tell == tell]
        for name, tell in groups.items()
    }
    template = load(PROMPT, scenario.language)
    return template.render(
        "system",
        {
            **facts,
            "goal": scenario.goal,
            "parts": scenario.parts,
            "unknown": scenario.unknown,
            "persona": scenario.persona,
            "stop": scenario.stop,
            "today": scenario.today,
            "tells_all": scenario.tells_all,
            "again": again,
            "marks": {"stop": STOP, "transfer": TRANSFER, "out_of_scope": OUT_OF_SCOPE},
        },
    )


def flip_roles(turns: Sequence[Turn]) -> list[JsonDict]:
    """Return a conversation from the simulated user's point of view, with roles swapped.

    Tool calls are left out, because users do not see them.
    """
    messages: list[JsonDict] = []
    if not turns or turns[0].speaker == "user":
        messages.append({"role": "user", "content": "…"})  # a chat begins with the other side
    for turn in turns:
        role = "assistant" if turn.speaker == "user" else "user"
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] = f"{messages[-1]['content']}\n{turn.text}"
        else:
            messages.append({"role": role, "content": turn.text})
    return messages


_WORDS = {
    "en": {
        "unknown": "I don't know the {name}.",
        "fact": "The {name} is {value}.",
        "yes": "Yes, please.",
        "done": "Thank you, that is all.",
        "else": "That is all I know.",
    },
    "ru": {
        "unknown": "Этого я не знаю: {name}.",
        "fact": "{name}: {value}.",
        "yes": "Да, пожалуйста.",
        "done": "Спасибо, это всё.",
        "else": "Больше я ничего не знаю.",
    },
}
"""Sentences of the user by rules. They are not a prompt, but one side of the conversation."""


def rule_message(scenario: Scenario, turns: Sequence[Turn]) -> UserMessage:
    """Return the next message of a rule-based user.

    The user opens with the goal, tells the facts that the agent asks for, names the next part of
    the goal when the agent asks nothing, and says "yes" to other questions. It ends the
    conversation when no part is left, or when the agent repeats itself.
    """
    words = _WORDS[scenario.language]
    user_turns = [message for message in turns if message.speaker == "user"]
    if len(user_turns) <= sum(message.role == "user" for message in scenario.start):
        return UserMessage(scenario.opening or _opening(scenario))
    agent = [message for message in turns if message.speaker == "agent"]
    question = agent[-1].text if agent else ""
    answers: list[str] = []
    for fact in scenario.known_facts:
        if fact.tell != "never" and asks_for(question, fact):
            answers.append(words["fact"].format(name=fact.name, value=fact.value))
    for name in scenario.unknown:
        if asks_for(question, Fact(name, "")):
            answers.append(words["unknown"].format(name=name))
    if answers:
        return UserMessage(" ".join(answers))
    # the first part is the opening
    waiting = [
        part
        for part in scenario.parts[1:]
        if part and not any(part in message.text for message in user_turns)
    ]
    if ANYTHING_ELSE.search(fold(question)) or "?" not in question:
        if waiting:
            return UserMessage(waiting[0])
        return UserMessage(words["done"], "user stopped")
    # three equal messages: the agent is stuck
    repeated = len(agent) > 2 and agent[-1].text == agent[-2].text == agent[-3].text
    if repeated:
        return UserMessage(words["else"], "user stopped")
    return UserMessage(words["yes"])


def _opening(scenario: Scenario) -> str:
    text = scenario.goals[0]
    free = [
        fact for fact in scenario.known_facts if fact.tell == "freely" and not tells(text, fact)
    ]
    sentences = [
        _WORDS[scenario.language]["fact"].format(name=fact.name, value=fact.value) for fact in free
    ]
    return " ".join([text, *sentences[:1]])
