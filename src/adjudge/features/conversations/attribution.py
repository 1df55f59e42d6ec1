"""Attribution of an outcome: to the agent, to the simulated user or to the environment, if it can
be told.

A mistake of the user counts only if it could have led to this outcome: a leaked fact helps the
agent, so it explains no failure; a fact that was withheld explains no pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple, get_args

from adjudge.features.conversations.conversation import END_WORDS, Conversation
from adjudge.features.conversations.user_checks import FAULT_WORDS, UserFault
from adjudge.features.conversations.values import likeness
from adjudge.messages import Message, join

Fault = Literal["user", "agent", "environment", "cannot tell", "nobody"]
FAULTS: tuple[Fault, ...] = get_args(Fault)
FAULT_TITLES: Mapping[Fault, Message] = {
    "agent": Message("the agent's fault"),
    "user": Message("the simulated user's fault"),
    "environment": Message("the environment's fault"),
    "cannot tell": Message("cannot tell whose fault it was"),
    "nobody": Message("passed without help"),
}
Validity = Literal["valid", "spoiled", "unclear", "lost"]
"""Whether the outcome says something about the agent. "spoiled": the user decided it; "unclear":
the user may have.
"""
_SAME = 0.8


class Attribution(NamedTuple):
    """The party at fault in a conversation, and whether its outcome counts."""

    fault: Fault
    """"nobody" if it passed without a mistake that could have helped."""
    validity: Validity
    reason: str
    turn: int | None = None
    """The message that decides it."""


def attribute(
    conversation: Conversation,
    passed: bool | None,
    faults: Sequence[UserFault],
    behaved: bool | None = None,
) -> Attribution:
    """Decide who is at fault in a conversation.

    ``behaved``: a judge's verdict on the user; None if no judge was asked.
    """
    # before anything else: a mistake of the user explains nothing then
    if conversation.is_lost:
        reason = join(": ", filter(None, (END_WORDS[conversation.ended], conversation.detail)))
        return Attribution("environment", "lost", reason)
    if passed is None:
        return Attribution("cannot tell", "lost", Message("there is no outcome"))
    counted = [
        fault for fault in faults if fault.effect in ("either", "helps" if passed else "hinders")
    ]
    critical = [fault for fault in counted if fault.severity == "critical"]
    if critical:
        return Attribution("user", "spoiled", _describe(critical[0]), critical[0].turn)
    if behaved is False:
        return Attribution("user", "spoiled", Message("a judge found that the user broke its role"))
    # what may or may not have helped is no doubt about a pass that needs no help
    minor = [fault for fault in counted if not passed or fault.effect == "helps"]
    if minor:
        return Attribution("cannot tell", "unclear", _describe(minor[0]), minor[0].turn)
    return _without_fault(conversation, passed=passed)


def _without_fault(conversation: Conversation, *, passed: bool) -> Attribution:
    """Decide who is at fault if the user made no visible mistake."""
    if passed:
        return Attribution("nobody", "valid", Message("the expected end was reached"))
    # an agent that repeats itself until the limit failed; a limit alone may be anybody's fault
    looped = conversation.ended == "turn limit" and _agent_loops(conversation)
    if conversation.ended in ("out of scope", "unknown", "turn limit") and not looped:
        return Attribution("cannot tell", "unclear", END_WORDS[conversation.ended])
    return Attribution("agent", "valid", Message("no visible mistake by the user"))


def _describe(fault: UserFault) -> Message:
    return Message(
        "the simulated user {what}: {reason}", what=FAULT_WORDS[fault.kind], reason=fault.reason
    )


def _agent_loops(conversation: Conversation) -> bool:
    agent = [turn.text for turn in conversation.spoken_by("agent")]
    return len(agent) > 2 and likeness(agent[-1], agent[-2]) >= _SAME <= likeness(
        agent[-2], agent[-3]
    )
