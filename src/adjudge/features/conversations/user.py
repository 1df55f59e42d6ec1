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
"""What a simulated user writes to end a conversation; tau2-bench has the same marks."""
PROMPT = "chat_user"
_MARK = re.compile(r"#{2,}\s*(STOP|TRANSFER|OUT[ _-]OF[ _-]SCOPE)\s*#*", re.IGNORECASE)
_LABEL = re.compile(r"^\s*(?:user|customer|пользователь|клиент)\s*:\s*", re.IGNORECASE)


class UserMessage(NamedTuple):
    """What a simulated user says, and whether it ends the conversation."""

    text: str
    end: End | None = None

    @property
    def is_broken(self) -> bool:
        """True if there is nothing that can be sent, and no mark."""
        return not self.text and self.end is None


def read_message(reply: str) -> UserMessage:
    """Read a reply of the simulated user: its text without reasoning, and the mark at its end."""
    said = without_thoughts(reply).strip()
    end: End | None = None
    if found := _MARK.search(said):
        word = re.sub(r"[ _]", "-", found[1].upper())
        end = MARKS[f"###{word}###"]
        said = _MARK.sub(" ", said)
    said = _LABEL.sub("", said.strip()).strip().strip('"').strip()
    return UserMessage(said, end)


def system_prompt(scenario: Scenario, *, again: bool = False) -> str:
    """Return what the model of a simulated user is told.

    ``again``: its last reply could not be sent.
    """
    groups = {
        "facts": "freely",
        "withheld": "when asked",
        "secret": "never",
    }
    facts = {
        name: [(fact.name, fact.value) for fact in scenario.told if fact.tell == tell]
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


def flipped(turns: Sequence[Turn]) -> list[JsonDict]:
    """Return a conversation as the model of the user sees it: the agent is the one who asks. Calls
    of tools are not shown, since no user sees them.
    """
    found: list[JsonDict] = []
    if not turns or turns[0].speaker == "user":
        found.append({"role": "user", "content": "…"})  # a chat begins with the other side
    for one in turns:
        role = "assistant" if one.speaker == "user" else "user"
        if found and found[-1]["role"] == role:
            found[-1]["content"] = f"{found[-1]['content']}\n{one.text}"
        else:
            found.append({"role": role, "content": one.text})
    return found


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
"""What the user by rules says; it is no prompt, but the other side of the conversation."""


def rule_message(scenario: Scenario, turns: Sequence[Turn]) -> UserMessage:
    """Return what a user by fixed rules says: the goal first, a fact when the agent asks for it,
    "yes" to a question, and the end when the agent asks nothing more.
    """
    words = _WORDS[scenario.language]
    mine = [one for one in turns if one.speaker == "user"]
    if len(mine) <= sum(one.role == "user" for one in scenario.start):
        return UserMessage(scenario.opening or _opening(scenario))
    agent = [one for one in turns if one.speaker == "agent"]
    asked = agent[-1].text if agent else ""
    answers: list[str] = []
    for fact in scenario.told:
        if fact.tell != "never" and asks_for(asked, fact):
            answers.append(words["fact"].format(name=fact.name, value=fact.value))
    for name in scenario.unknown:
        if asks_for(asked, Fact(name, "")):
            answers.append(words["unknown"].format(name=name))
    if answers:
        return UserMessage(" ".join(answers))
    waiting = [part for part in scenario.parts[len(mine) :] if part]
    if ANYTHING_ELSE.search(fold(asked)) or "?" not in asked:
        if scenario.parts and len(mine) < len(scenario.parts) and waiting:
            return UserMessage(waiting[0])
        return UserMessage(words["done"], "user stopped")
    repeated = len(agent) > 2 and agent[-1].text == agent[-2].text == agent[-3].text
    if repeated:
        return UserMessage(words["else"], "user stopped")
    return UserMessage(words["yes"])


def _opening(scenario: Scenario) -> str:
    text = scenario.goals[0]
    free = [fact for fact in scenario.told if fact.tell == "freely" and not tells(text, fact)]
    told = [
        _WORDS[scenario.language]["fact"].format(name=one.name, value=one.value) for one in free
    ]
    return " ".join([text, *told[:1]])
