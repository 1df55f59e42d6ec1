"""The record of a conversation: its outcome, whose fault it is, and its messages."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from adjudge.core.domain.json_types import JsonObject
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.domain.record import Detail, JudgmentRecord
from adjudge.core.domain.results import Result
from adjudge.features.conversations.attribution import Fault, Validity
from adjudge.features.conversations.conversation import Conversation
from adjudge.features.conversations.user_checks import UserFault

OUTCOME, ATTRIBUTION = "outcome", "attribution"
"""The measures of a conversation; each has a record."""
PASSED, FAILED = "passed", "failed"


@light_dataclass(frozen=True, kw_only=True)
class ConversationDetail(Detail):
    """The outcome of a conversation, or whose fault it is."""

    kind: ClassVar[str] = "conversation"
    sections: ClassVar[tuple[str, ...]] = ("conversation",)
    unit: ClassVar[Literal["row", "task", "conversation"]] = "conversation"

    measure: Annotated[str, "outcome or attribution"]
    option: str | None
    fault: Annotated[Fault, "whose fault it is; nobody: it passed, and nothing helped"]
    validity: Annotated[Validity, "whether the outcome says something of the agent"]
    reason_of_fault: str
    fault_turn: Annotated[int | None, "the message that decides it"] = None
    user_faults: Annotated[tuple[UserFault, ...], "mistakes of the simulated user"] = ()
    behaved: Annotated[str | None, "what a judge says of the user, if it was asked"] = None
    ended: str = "unknown"
    user: Annotated[str, "what simulated the user"] = ""
    conversation: Annotated[Conversation | None, "with the outcome: what was said"] = None
    scenario: Annotated[JsonObject | None, "with the outcome: the scenario"] = None
    recorded_outcome: Annotated[
        bool | None, "with the outcome: True if another tool recorded a pass, False for a failure"
    ] = None

    @property
    def chosen(self) -> str | None:
        return self.option

    @property
    def has_own_options(self) -> bool:
        return True


@light_dataclass(frozen=True, kw_only=True)
class ConversationResult(Result):
    """The result of a conversation by one measure."""

    details: ConversationDetail = None  # type: ignore[assignment]
    reason_text: str | None = None

    @property
    def verdict(self) -> str | None:
        return self.details.option

    @property
    def reason(self) -> str | None:
        """The reason for a missing score."""
        return self.reason_text or super().reason

    def detail(self) -> ConversationDetail:
        return self.details


def conversation_detail(record: JudgmentRecord) -> ConversationDetail | None:
    """Return a judgment's conversation detail; None for other kinds of judgments."""
    return record.detail if isinstance(record.detail, ConversationDetail) else None


def outcome_detail(record: JudgmentRecord) -> ConversationDetail | None:
    """Return a conversation's outcome detail; None for other measures and other kinds of
    judgments.
    """
    detail = conversation_detail(record)
    return detail if detail and detail.measure == OUTCOME else None
