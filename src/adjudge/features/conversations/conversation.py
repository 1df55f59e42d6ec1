"""A conversation: its messages, calls of tools, and why it ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from adjudge.core.domain.json_types import JsonDict, JsonObject, JsonValue
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.message import Usage
from adjudge.features.agents.trajectory import Step, ToolCall, Trajectory
from adjudge.messages import Message

Speaker = Literal["user", "agent"]
Party = Literal["user", "agent", "environment", "scenario", "limits", "unclear"]
End = Literal[
    "user stopped",
    "handed over",
    "out of scope",
    "script ended",
    "state reached",
    "agent stopped",
    "turn limit",
    "budget",
    "user broken",
    "user failed",
    "application failed",
    "in flight",
    "unknown",
]
"""Reasons for the end of a conversation."""

ENDED_BY: Mapping[End, Party] = {
    "user stopped": "user",
    "handed over": "agent",
    "out of scope": "scenario",
    "script ended": "user",
    "state reached": "agent",
    "agent stopped": "agent",
    "turn limit": "unclear",
    "budget": "limits",
    "user broken": "user",
    "user failed": "environment",
    "application failed": "environment",
    "in flight": "environment",
    "unknown": "unclear",
}
"""The party that caused each end."""
END_WORDS: Mapping[End, Message] = {
    "user stopped": Message("the user ended it"),
    "handed over": Message("the agent handed the user over to a human"),
    "out of scope": Message("the scenario does not contain the answer that the user needed"),
    "script ended": Message("the user's script ended"),
    "state reached": Message("the expected state was reached"),
    "agent stopped": Message("the agent ended it"),
    "turn limit": Message("the turn limit was reached"),
    "budget": Message("the conversation's budget was used up"),
    "user broken": Message("the simulated user wrote no message that can be sent"),
    "user failed": Message("the simulated user's model gave no answer"),
    "application failed": Message("the application gave no answer"),
    "in flight": Message(
        "a message was sent and its answer is unknown, because the run was stopped or the "
        "application failed; sending it again could act twice"
    ),
    "unknown": Message("the record does not say why the conversation ended"),
}
LOST: tuple[End, ...] = ("budget", "user failed", "application failed", "in flight")
"""Ends after which the outcome cannot be known."""


@light_dataclass(frozen=True, kw_only=True)
class Turn:
    """One message, with the tools that were called before it."""

    number: Annotated[int, "from 1"]
    speaker: Speaker
    text: str
    calls: tuple[ToolCall, ...] = ()
    state: Annotated[JsonValue, "of the application after the message, if it is read"] = None
    seconds: float | None = None
    tokens: int = 0
    usd: float | None = None
    off_script: Annotated[bool, "a stored user message after the first deviation"] = False


@light_dataclass(frozen=True, kw_only=True)
class Conversation:
    """A conversation that has ended."""

    turns: tuple[Turn, ...]
    ended: End
    detail: Annotated[str, "more about the end, such as an error"] = ""
    parting: Annotated[bool, "the user's last message ended it, and was answered"] = False
    session: str = ""
    restarts: Annotated[int, "earlier attempts that broke off and count as lost"] = 0
    user: Annotated[str, "what simulated the user"] = ""
    tokens: Annotated[int | None, "of all messages, including ones that were not delivered"] = None
    usd: Annotated[float | None, "of all messages; unknown if a price is unknown"] = None
    seconds: Annotated[float | None, "of waiting for all messages"] = None

    @property
    def is_lost(self) -> bool:
        """True if its outcome cannot be known."""
        return self.ended in LOST

    @property
    def party(self) -> Party:
        """The party that caused the end."""
        return ENDED_BY[self.ended]

    @property
    def state(self) -> JsonValue:
        """The last state of the application; None if it was never read."""
        return next((turn.state for turn in reversed(self.turns) if turn.state is not None), None)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """All tool calls, in order."""
        return tuple(call for turn in self.turns for call in turn.calls)

    @property
    def messages(self) -> list[JsonDict]:
        """The conversation as chat messages."""
        return messages_of(self.turns)

    @property
    def text(self) -> str:
        """The conversation as readable text, with message numbers."""
        return "\n".join(self.lines)

    @property
    def lines(self) -> list[str]:
        """The messages and tool calls as text, with message numbers."""
        lines = []
        for turn in self.turns:
            lines += [f"[{turn.number}] {turn.speaker} calls {call.line}" for call in turn.calls]
            lines.append(f"[{turn.number}] {turn.speaker}: {turn.text}")
        return lines

    def spoken_by(self, speaker: Speaker) -> list[Turn]:
        """Return one speaker's messages."""
        return [turn for turn in self.turns if turn.speaker == speaker]

    def trajectory(self, goal: str) -> Trajectory:
        """Convert the conversation to an agent's trajectory."""
        steps: list[Step] = []
        for turn in self.turns:
            actor = "user" if turn.speaker == "user" else "assistant"
            for call in turn.calls:
                steps.append(Step(len(steps) + 1, actor, "called", call=call))
            if turn.text:
                usage = Usage(calls=1) if turn.speaker == "agent" else None
                steps.append(
                    Step(
                        len(steps) + 1,
                        actor,
                        "said",
                        turn.text,
                        seconds=turn.seconds,
                        usage=usage,
                        usd=turn.usd,
                    )
                )
        answers = [turn.text for turn in self.spoken_by("agent") if turn.text]
        return Trajectory(goal, tuple(steps), answers[-1] if answers else None, ended=self.ended)


def messages_of(turns: tuple[Turn, ...] | list[Turn]) -> list[JsonDict]:
    """Convert turns to chat messages, including tool calls and their results."""
    messages: list[JsonDict] = []
    roles = {"user": "user", "agent": "assistant"}
    for turn in turns:
        if turn.calls:
            calls: list[JsonObject] = [
                {
                    "id": f"call-{turn.number}-{place}",
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for place, call in enumerate(turn.calls, 1)
            ]
            messages.append({"role": roles[turn.speaker], "content": None, "tool_calls": calls})
            messages += [
                {
                    "role": "tool",
                    "tool_call_id": f"call-{turn.number}-{place}",
                    "content": call.result if call.error is None else call.error,
                }
                for place, call in enumerate(turn.calls, 1)
                if call.result is not None or call.error is not None
            ]
        messages.append({"role": roles[turn.speaker], "content": turn.text})
    return messages
