"""The fixture of the marker ``conversations``: one conversation of a cassette, a run or another
tool, judged by rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from adjudge.core.data.dataset import OddRows
from adjudge.errors import SetupError
from adjudge.features.conversations.attribution import Attribution, attribute
from adjudge.features.conversations.conversation import Conversation
from adjudge.features.conversations.outcome import ScenarioOutcome, outcome_of
from adjudge.features.conversations.rows import stored_conversations
from adjudge.features.conversations.scenario import Scenario
from adjudge.features.conversations.stored_conversation import StoredConversation
from adjudge.features.conversations.user_checks import FaultKind, UserChecks, UserFault
from adjudge.messages import Message, join
from adjudge.runs.view.clean_text import clean


@dataclass(frozen=True)
class JudgedConversation:
    """A conversation with its outcome and the party at fault.

    Example: ``conversation.must_pass(allowed=("repetition",))``.
    """

    stored: StoredConversation

    @property
    def name(self) -> str:
        """The scenario's id and the trial's number."""
        return f"{self.scenario.id} #{self.stored.trial}"

    @property
    def scenario(self) -> Scenario:
        return self.stored.scenario

    @property
    def conversation(self) -> Conversation:
        return self.stored.conversation

    @cached_property
    def outcome(self) -> ScenarioOutcome:
        """The recorded outcome, or else the verdict of the rules; undecided if it is lost."""
        if self.conversation.is_lost:
            return ScenarioOutcome(None, Message("the conversation is lost"))
        if self.stored.passed is not None:
            return ScenarioOutcome(self.stored.passed, Message("as recorded"))
        return outcome_of(self.scenario, self.conversation)

    @cached_property
    def user_faults(self) -> tuple[UserFault, ...]:
        """The simulated user's mistakes."""
        return UserChecks(self.scenario, self.conversation, self.outcome.passed).faults()

    @cached_property
    def attribution(self) -> Attribution:
        return attribute(self.conversation, self.outcome.passed, self.user_faults)

    def must_pass(self, *, allowed: tuple[FaultKind, ...] = ()) -> None:
        """Fail the test unless the conversation passed and the user made no mistakes but
        ``allowed`` ones.

        The failure message says who is at fault.
        """
        __tracebackhide__ = True
        wrong = [fault for fault in self.user_faults if fault.kind not in allowed]
        if self.outcome.passed and not wrong:
            return
        cause = self.attribution
        reasons = [
            self.outcome.reason,
            Message("{fault}: {why}", fault=cause.fault, why=cause.reason),
        ]
        raise AssertionError(clean(join("\n", (self.name, *reasons, self.conversation.text))))


def judged_conversations(path: Path) -> Iterator[JudgedConversation]:
    """Yield the conversations in a cassette, a folder of cassettes, a run, or another tool's
    file.
    """
    stored = stored_conversations(path, _refuse)
    if stored is None:
        raise SetupError("{path} contains no conversations", path=path)
    yield from map(JudgedConversation, stored)


def _refuse(rows: OddRows) -> None:
    raise SetupError(str(rows))
