"""Rows of conversations: scenarios, or the conversations of a run, a cassette or another tool."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from adjudge.core.data.dataset import OddRows
from adjudge.core.data.sources.row import BadRow
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.ledger.file import holds_run
from adjudge.core.reading.values import Place
from adjudge.errors import NothingToJudge, SetupError
from adjudge.features.conversations.cassette import holds_cassettes, read_cassettes
from adjudge.features.conversations.conversation import Conversation
from adjudge.features.conversations.judge import SAID_OUTCOME
from adjudge.features.conversations.record import outcome_detail
from adjudge.features.conversations.recorded import holds_conversations, read_conversations
from adjudge.features.conversations.scenario import Scenario, read_scenarios
from adjudge.features.conversations.simulation import (
    CONVERSATION,
    SCENARIO,
    conversation_instance,
    describe,
)
from adjudge.features.conversations.stored_conversation import StoredConversation
from adjudge.features.conversations.talk import with_start
from adjudge.messages import Message, plural
from adjudge.runs.folder import records_of

if TYPE_CHECKING:
    from adjudge.features.conversations.kind import ConversationEntry
    from adjudge.runs.eval_file import EvalFile


def conversation_rows(
    file: EvalFile, entry: ConversationEntry, tell: Callable[[OddRows], None]
) -> Iterator[Instance]:
    """Yield an eval file's rows: conversations, or scenarios if users are simulated.

    Conversations to be replayed or continued are rows with their scenario.
    """
    source = file.local_source
    stored = stored_conversations(source, tell, file.data.as_)
    if file.target and stored is not None and (entry.from_turn or entry.talker_kind == "replay"):
        yield from _again(stored, entry, source, tell)
    elif file.target:
        if stored is not None:
            raise SetupError(
                "{source} contains conversations, not scenarios: leave out the target to judge "
                "them, set user: replay to send the same messages to the target, or from_turn to "
                "continue them",
                source=source,
            )
        if entry.talker_kind == "replay":
            raise SetupError(
                "{source} contains scenarios, not conversations: user: replay sends the messages "
                "of a run or of recordings; name one as data, or set user: rules",
                source=source,
            )
        if entry.from_turn is not None:
            raise SetupError(
                "{source} contains scenarios, not conversations: from_turn continues those of a "
                "run or of recordings; name one as data, or leave from_turn out",
                source=source,
            )
        scenarios = read_scenarios(source)
        if entry.talker_kind == "script":
            for number, scenario in enumerate(scenarios, 1):
                entry_name = Message("scenario {number}", number=number)
                _check_script(scenario, Place(str(source), entry_name))
        for scenario in scenarios:
            if scenario.proposed:
                raise SetupError(
                    "{path}: {id} was proposed by a model: review it with adjudge conversations "
                    "review {path}",
                    path=source,
                    id=scenario.id,
                )
            yield scenario_instance(scenario)
    elif stored is None:
        raise SetupError(
            "{source} contains scenarios: add a target that the simulated users talk to",
            source=source,
        )
    else:
        yield from _stored_rows(stored, source, entry)


def _check_script(scenario: Scenario, place: Place) -> None:
    """Raise a SetupError if a scenario has no script to be played by."""
    if not scenario.script:
        raise place.wrong(
            "{id} has no script, which user: script needs: add a script, or leave user out to "
            "play scenarios without a script by rules",
            id=scenario.id,
        )


def scenario_instance(scenario: Scenario, stored: Conversation | None = None) -> Instance:
    """Return a scenario as a row. ``stored``: the conversation that is replayed or continued."""
    about = {"place": scenario.id, "row": {"scenario": scenario.id}, SCENARIO: scenario}
    more = {CONVERSATION: stored} if stored else {}
    return Instance({"scenario": describe(scenario)}, scenario.id, {**about, **more})


def stored_conversations(
    source: Path, tell: Callable[[OddRows], None], format: str | None = None
) -> Iterator[StoredConversation] | None:
    """Return the conversations in a run, in cassettes or in another tool's file.

    Return None if the path holds scenarios.
    """
    if holds_run(source):
        return conversations_of_run(source)
    if holds_cassettes(source):
        return read_cassettes(source)
    if format is not None or holds_conversations(source):
        return read_conversations(source, format, tell)
    return None


def _again(
    stored: Iterator[StoredConversation],
    entry: ConversationEntry,
    source: Path,
    tell: Callable[[OddRows], None],
) -> Iterator[Instance]:
    """Yield one row for each stored scenario to replay, or to continue from ``from_turn``.

    Only the first conversation of a scenario is used, or the first that is long enough to be
    continued. Scenarios without one are reported.
    """
    if entry.from_turn and entry.session != "stateless":
        raise SetupError(
            "from_turn needs session: stateless, because the other application never saw the "
            "earlier messages"
        )
    if entry.from_turn and entry.talker_kind == "replay":
        raise SetupError(
            "from_turn asks the agent again from a message on, but user: replay only repeats what "
            "was said: leave one of them out"
        )
    scenario_ids: set[str] = set()
    longest: dict[str, int] = {}
    for stored_conversation in stored:
        id = stored_conversation.scenario.id
        if id in scenario_ids:
            continue  # trials are repeated with repeat
        count = len(stored_conversation.conversation.spoken_by("user"))
        if entry.from_turn is not None and count < entry.from_turn:
            longest[id] = max(count, longest.get(id, 0))
            continue
        scenario_ids.add(id)
        longest.pop(id, None)
        if entry.talker_kind == "script":
            _check_script(stored_conversation.scenario, Place(str(source)))
        if entry.from_turn is None:
            yield scenario_instance(stored_conversation.scenario, stored_conversation.conversation)
        else:
            yield scenario_instance(
                with_start(
                    stored_conversation.scenario, stored_conversation.conversation, entry.from_turn
                ),
                stored_conversation.conversation,
            )
    if not scenario_ids:
        raise NothingToJudge(Message("there is no conversation to continue"))
    for id, count in longest.items():
        tell(
            BadRow(
                id,
                plural(
                    "it cannot be continued from user message {turn}, because it has only {count} "
                    "user message",
                    "it cannot be continued from user message {turn}, because it has only {count} "
                    "user messages",
                    count,
                    turn=entry.from_turn,
                ),
            )
        )


def _stored_rows(
    stored: Iterator[StoredConversation], source: Path, entry: ConversationEntry
) -> Iterator[Instance]:
    from dataclasses import replace

    count = 0
    for count, recorded in enumerate(stored, 1):  # noqa: B007 - it is read after the loop
        columns: JsonDict = {**recorded.columns, "trial": recorded.trial}
        name = f"{recorded.scenario.id} #{recorded.trial}"
        if recorded.system:
            columns |= {"system": recorded.system, "answered_row": recorded.scenario.id}
            name = f"{recorded.scenario.id} [{recorded.system}] #{recorded.trial}"
        instance = conversation_instance(
            recorded.scenario,
            recorded.conversation,
            name,
            columns,
            with_steps=True,
            role=entry.role,
        )
        recorded_outcome = {} if recorded.passed is None else {SAID_OUTCOME: recorded.passed}
        yield replace(instance, metadata={**instance.metadata, **recorded_outcome})
    if not count:
        raise NothingToJudge("{path} contains no readable conversation", path=source)


def conversations_of_run(folder: Path) -> Iterator[StoredConversation]:
    """Yield the conversations stored in a run, with their scenarios."""
    for record in records_of(folder):
        detail = outcome_detail(record)
        if detail is None or detail.conversation is None or detail.scenario is None:
            continue
        trial = record.input.get("trial")
        yield StoredConversation(
            Scenario.of(detail.scenario, str(record.id)),
            detail.conversation,
            trial if isinstance(trial, int) else 1,
            record.answered_by,
            detail.recorded_outcome,
        )
