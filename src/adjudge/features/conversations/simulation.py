"""Judges of conversations that are held first: simulated users talk to the file's targets, and a
judge evaluates the messages.

Every message is a ballot, so the ledger stores it before anything waits for it. A run that is
killed continues at the same message, and sends none twice.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from secrets import token_hex
from typing import Any

from adjudge.core.data.conversations import row_of_part
from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import STEPS, TRAJECTORY, Instance
from adjudge.core.domain.json_types import JsonDict
from adjudge.core.domain.message import ChatMessage, Prompt, Reply
from adjudge.core.domain.reading import Reading
from adjudge.core.domain.results import Result, Status
from adjudge.core.domain.verdict import Chosen
from adjudge.core.domain.vote import Ballot, Outcome, Vote
from adjudge.core.engine.ask import ask_with
from adjudge.core.engine.session import session
from adjudge.core.gateway.opener import OpenModel
from adjudge.core.judges.settings import ModelPanel
from adjudge.core.ledger.key import key_of
from adjudge.core.prompts.target import FIELD, ROW, asks_target, render_target
from adjudge.core.verdicts.reader import read_written
from adjudge.errors import HALTS, SetupError
from adjudge.features.conversations.conversation import END_WORDS, Conversation, Turn
from adjudge.features.conversations.scenario import Scenario
from adjudge.features.conversations.talk import IN_FLIGHT, SIMULATED_USER, Talk, Talker
from adjudge.messages import Message, join
from adjudge.runs.judge_wrapper import JudgeAround, without_verdict
from adjudge.runs.ready_judge import ReadyJudge
from adjudge.runs.targets import SharedAnswers, Variant, ask_target

SCENARIO, CONVERSATION = "scenario", "conversation"
"""Metadata keys of an instance: its scenario and its conversation."""
_RUN_NAME = "conversations"
"""The fact of a run that its sessions begin with: another run is another session for a server."""
_ASSUMED = "x" * 200
_SENT = "sent"
_FIRST = Turn(number=1, speaker="user", text="…")


class SharedTalks(SharedAnswers):
    """Messages shared by a run's judges: each is sent once, however many judges read it."""

    def __init__(self) -> None:
        super().__init__()
        self._prefix: str | None = None
        self._lock = asyncio.Lock()

    async def prefix(self) -> str:
        """Return the prefix of this run's session ids, which is stored in the run."""
        async with self._lock:
            # two conversations may begin at once: without the lock, each would make its own prefix
            if self._prefix is None:
                partial = session().partial
                ledger = partial.run.ledger if partial and partial.run else None
                stored = ledger.fact(_RUN_NAME) if ledger else None
                self._prefix = str(stored or token_hex(4))
                if ledger and stored is None:
                    await ledger.note(_RUN_NAME, self._prefix)
            return self._prefix


@dataclass(frozen=True)
class TalkItem:
    """A conversation to hold, and the index of the wanted result among the judge's results."""

    instance: Instance
    talk: Talk
    place: int

    @property
    def id(self) -> str | None:
        return self.instance.id


@dataclass(frozen=True)
class SimulatedJudge(JudgeAround[TalkItem]):
    """Holds conversations first, then has a judge judge them."""

    variants: tuple[Variant, ...]
    talker: Talker
    counts: bool = True
    """True for the first judge of a run: what the conversations took is counted with it."""
    parallel: int | None = None
    role: str | None = None
    """The role of the application, for criteria that read it."""
    talks: SharedTalks = field(default_factory=SharedTalks, repr=False, compare=False)

    @property
    def max_in_flight(self) -> int:
        return self.parallel or max(self.panel.max_in_flight, 1)

    def open_models(self) -> ModelPanel:
        user = self.talker.model
        user_models = {user.name: user} if user else {}
        return ModelPanel({**user_models, **self._targets, **self.judge.panel})

    @cached_property
    def _targets(self) -> Mapping[str, OpenModel]:
        return {variant.model.name: variant.model for variant in self.variants}

    @cached_property
    def _by_criteria(self) -> Mapping[tuple[str, str], Variant]:
        return {
            (variant.model.name, variant.criteria.identity): variant for variant in self.variants
        }

    # -- rows ----------------------------------------------------------------------------

    def rows(self, instance: Instance) -> list[TalkItem]:
        """Return one item per target, trial and criterion of a scenario."""
        scenario, stored = scenario_in(instance), instance.metadata.get(CONVERSATION)
        previous = stored if isinstance(stored, Conversation) else None
        return [
            TalkItem(instance, talk, place)
            for variant in self.variants
            for talk in [Talk(scenario, variant, self.talker, previous)]
            for place in range(self._width(talk))
        ]

    def _width(self, talk: Talk) -> int:
        """Return the largest number of results that a conversation can have."""
        parts = talk.max_turns + len(talk.scenario.start) if self._has_parts else 1
        return parts * self._criteria_count

    @property
    def _has_parts(self) -> bool:
        return self.ready.per in ("turn", "topic")

    @property
    def _criteria_count(self) -> int:
        return len(self.ready.criteria) or 1

    def check(self, item: TalkItem) -> None:
        """Raise a SetupError if the scenario lacks a column that its target needs."""
        ballot = item.talk.agent_ballot([_FIRST], 0)
        sent = json.loads(str(ballot.instance.fields[FIELD]))
        for name in item.talk.variant.needs:
            if name not in sent:
                raise SetupError(
                    "{system} needs the column {name!r}; a conversation sends: {names}. Add it to "
                    "the context of the scenario",
                    system=item.talk.variant.system,
                    name=name,
                    names=", ".join(sent),
                )

    # -- plan and pool -------------------------------------------------------------------

    def plan(self, item: TalkItem, votes: Sequence[Vote]) -> Sequence[Ballot]:
        """Return the next message's ballot until the conversation has ended, then the judge's
        ballots.
        """
        messages, judge_votes = _split_votes(votes)
        step = item.talk.next(messages)
        if isinstance(step, Ballot):
            return (step,)
        inner = self._inner(item, step)
        return () if inner is None else self.judge.plan(inner, judge_votes)

    def plan_all(self, item: TalkItem) -> Sequence[Ballot]:
        """Return ballots for an estimate: a conversation of full length, with messages of
        assumed length.
        """
        messages = list(item.talk.assume(_ASSUMED))
        if item.place >= self._criteria_count:
            return messages
        turn = replace(_FIRST, text=_ASSUMED * item.talk.max_turns)
        conversation = Conversation(turns=(turn,), ended="unknown")
        instance = self._instance(item, conversation)
        items = replace(self.ready, per="row").items(instance)
        return [*messages, *self.judge.plan_if_allowed(items[item.place])]

    def pool(self, item: TalkItem, votes: Sequence[Vote]) -> Result:
        messages, judge_votes = _split_votes(votes)
        # what the conversation cost is counted with one result only
        paid = tuple(messages) if self.counts and item.place == 0 else ()
        conversation = item.talk.next(messages)
        if isinstance(conversation, Ballot):
            raise RuntimeError("the conversation has not ended")
        inner = self._inner(item, conversation)
        if inner is not None:
            result: Result = self.judge.pool(inner, judge_votes)
            return replace(result, made_by=(*paid, *result.made_by))
        return replace(self._skip_judging(item, conversation, messages), made_by=paid)

    def _inner(self, item: TalkItem, conversation: Conversation) -> Any:
        """Return the judge's item; None if there is nothing to judge."""
        if conversation.is_lost and not self._takes_lost:
            return None
        items = self._items(item, conversation)
        return items[item.place] if item.place < len(items) else None

    @property
    def _takes_lost(self) -> bool:
        return bool(getattr(self.judge, "takes_lost", False))

    def _items(self, item: TalkItem, conversation: Conversation) -> Sequence[Any]:
        try:
            return self.ready.items(self._instance(item, conversation))
        except SetupError:  # no question was answered, so there is no turn
            return ()

    def _skip_judging(
        self, item: TalkItem, conversation: Conversation, messages: Sequence[Vote]
    ) -> Result:
        """Return a result without a verdict, for a lost conversation or a missing turn.

        In a lost conversation, each message of the user counts as a turn that was lost.
        """
        number = item.place // self._criteria_count + 1
        is_lost = conversation.is_lost and number <= max(1, len(conversation.spoken_by("user")))
        instance = self._instance(item, conversation)
        if self._has_parts:
            instance = replace(
                instance,
                id=f"{instance.id} {self.ready.per} {number}",
                metadata={**instance.metadata, "row": row_of_part(instance, number)},
            )
        ready_for_rows = replace(self.ready, per="row")
        inner = ready_for_rows.items(instance)[item.place % self._criteria_count]
        result = without_verdict(
            self.judge.pool(inner, ()), Status.FAILED if is_lost else Status.SKIPPED
        )
        if not is_lost:
            return replace(result, explanation=Message("the conversation has no such turn"))
        reason = join(": ", filter(None, (END_WORDS[conversation.ended], conversation.detail)))
        votes = [
            replace(vote, verdict=None, outcome=Outcome.UNREADABLE, reason=reason)
            for vote in messages[-1:]
        ]
        return replace(result, votes=tuple(votes))

    def _instance(self, item: TalkItem, conversation: Conversation) -> Instance:
        talk = item.talk
        several = len({variant.system for variant in self.variants}) > 1
        columns: JsonDict = {"trial": talk.trial + 1}
        if several:
            columns |= {"system": talk.variant.system, "answered_row": talk.scenario.id}
        name = talk.scenario.id
        if several:
            name += f" [{talk.variant.system}]"
        if len({variant.sample for variant in self.variants}) > 1:
            name += f" #{talk.trial + 1}"
        reads = {
            field
            for criterion in self.ready.criteria
            for field in (criterion.to_evaluate_field, *(criterion.context_fields or ()))
        }
        return conversation_instance(
            talk.scenario,
            conversation,
            name,
            columns,
            with_steps=STEPS in reads,
            role=self.role,
        )

    # -- asking --------------------------------------------------------------------------

    async def ask(self, ballot: Ballot) -> Vote:
        """Send one message of a conversation, or cast one of the judge's ballots."""
        if not asks_target(ballot):
            return await self.judge.ask(ballot)
        if ballot.criteria.name == SIMULATED_USER.name and self.talker.model is not None:
            return await self.talks.ask(ballot, lambda: self._ask_user(ballot))
        variant = self._by_criteria[ballot.model, ballot.criteria.identity]
        return await self.talks.ask(ballot, lambda: self._ask_target(ballot, variant))

    def _ask_user(self, ballot: Ballot) -> Coroutine[object, object, Vote]:
        model = self.talker.model
        assert model is not None
        return ask_with(ballot, model, render_target(ballot), _read_user)

    async def _ask_target(self, ballot: Ballot, variant: Variant) -> Vote:
        if ballot.template != ROW:
            return await ask_target(ballot, variant.model)
        prefix = await self.talks.prefix()
        row = json.loads(str(ballot.instance.fields[FIELD]))
        # another run of the same scenario must not continue this run's session at the server
        row |= {name: f"{prefix}-{row[name]}" for name in ("session", "turn_key")}
        prompt = Prompt((ChatMessage("user", json.dumps(row, ensure_ascii=False)),))
        asking = ask_with(ballot, variant.model, prompt, read_written)
        if self.talker.session in ("stateless", "idempotent"):
            return await asking
        return await self._ask_once(ballot, asking)

    async def _ask_once(self, ballot: Ballot, asking: Coroutine[object, object, Vote]) -> Vote:
        """Send a message that must never be sent twice.

        A mark is stored before it is sent. If a resumed run finds the mark, the message counts as
        lost in flight.
        """
        partial = session().partial
        keep: Callable[[Vote], Any] | None = None
        if partial is not None and partial.run is not None:
            ledger, key = partial.run.ledger, partial.key
            keep = lambda vote: ledger.keep(key, vote)  # noqa: E731
            if partial.vote is not None and partial.vote.metadata.get(_SENT):
                # the mark says that it was sent before: it may have been received
                asking.close()
                partial.vote = None
                return _in_flight(ballot, Message("the run was stopped before the answer came"))
            partial.vote = None
        mark = Vote(ballot=ballot, outcome=Outcome.UNREADABLE, unfinished=True)
        if keep:
            await keep(replace(mark, metadata={_SENT: True}))
        try:
            vote = await asking
        except HALTS:
            if keep:
                await keep(replace(mark, metadata={_SENT: False}))
            raise
        # an application that failed may have acted before that
        return vote if vote.valid else _in_flight(ballot, vote.reason or "")

    def vote_keys(self) -> Callable[[Ballot, Mapping[str, str]], bytes]:
        judge_key, user = self.judge.vote_keys(), self.talker.model
        targets = {name: model.identity for name, model in self._targets.items()}

        def key(ballot: Ballot, wordings: Mapping[str, str]) -> bytes:
            if not asks_target(ballot):
                return judge_key(ballot, wordings)
            if ballot.criteria.name == SIMULATED_USER.name and user is not None:
                return key_of(ballot, user.identity, {})
            return key_of(ballot, targets[ballot.model], {})

        return key

    def ballots_of_result(self, ballots: Sequence[Ballot]) -> Sequence[Ballot]:
        """Return only the judge's ballots, because messages are not votes."""
        own = [ballot for ballot in ballots if not asks_target(ballot)]
        return self.judge.ballots_of_result(own)

    def configuration(self, criteria: Sequence[Criteria] = ()) -> JsonDict:
        """Return the judge's configuration, plus the targets and the simulated user."""
        talker, limits = self.talker, self.talker.limits
        return {
            **self.judge.configuration(criteria),
            "target": [variant.describe() for variant in self.variants],
            "conversations": {
                "user": talker.title,
                "session": talker.session,
                "seed": talker.seed,
                "stop_at_state": talker.stop_at_state,
                "limits": dict(vars(limits)),
            },
        }


def _read_user(reply: Reply) -> Reading:
    """Read a simulated user's reply; a truncated one is used as it is."""
    if reply.finish == "refusal":
        return read_written(reply)
    return Reading(Outcome.OK, Chosen(reply.text))


def _in_flight(ballot: Ballot, reason: str) -> Vote:
    """Return an answer saying that the message may or may not have been received."""
    text = json.dumps({IN_FLIGHT: str(reason)}, ensure_ascii=False)
    return Vote(ballot=ballot, outcome=Outcome.OK, verdict=Chosen(text), text=text)


def _split_votes(votes: Sequence[Vote]) -> tuple[list[Vote], list[Vote]]:
    """Split votes into the conversation's messages and the judge's votes."""
    messages = [vote for vote in votes if asks_target(vote.ballot)]
    return messages, [vote for vote in votes if not asks_target(vote.ballot)]


def scenario_in(instance: Instance) -> Scenario:
    """Return a row's scenario; raise a SetupError if it has none."""
    scenario = instance.metadata.get(SCENARIO)
    if not isinstance(scenario, Scenario):
        raise SetupError("{id} is not a scenario", id=instance.id or Message("the row"))
    return scenario


def conversation_instance(
    scenario: Scenario,
    conversation: Conversation,
    name: str,
    columns: JsonDict,
    *,
    with_steps: bool = False,
    role: str | None = None,
) -> Instance:
    """Return a conversation as a row, with fields for judges and the scenario as metadata."""
    run = conversation.trajectory(scenario.goal)
    fields: dict[str, str | Sequence[str]] = {
        "scenario": describe(scenario),
        "user_input": scenario.goal,
        **({"role": role} if role else {}),
        "response": conversation.text or "–",
    }
    if with_steps and run.steps:
        fields[STEPS] = [step.canonical for step in run.steps]
    row: JsonDict = {
        "scenario": scenario.id,
        "task_id": scenario.id,
        **columns,
        "messages": conversation.messages,
    }
    return Instance(
        fields,
        name,
        {
            "place": name,
            "row": row,
            TRAJECTORY: run,
            SCENARIO: scenario,
            CONVERSATION: conversation,
        },
    )


def describe(scenario: Scenario) -> str:
    """Describe a scenario as text for judges."""
    lines = [f"goal: {scenario.goal}"]
    lines += [f"part of the goal: {part}" for part in scenario.parts]
    lines += [f"fact ({fact.tell}): {fact.name} = {fact.value}" for fact in scenario.known_facts]
    lines += [f"unknown to the user: {name}" for name in scenario.unknown]
    if scenario.persona:
        lines.append(f"persona: {scenario.persona}")
    if scenario.stop:
        lines.append(f"the user ends it: {scenario.stop}")
    lines += [f"expected: {path} = {value!r}" for path, value in scenario.expect.state]
    lines += [f"expected call: {call.name}" for call in scenario.expect.calls]
    return "\n".join(lines)


def simulated_first(
    ready: ReadyJudge,
    variants: Sequence[Variant],
    talker: Talker,
    talks: SharedTalks,
    *,
    is_counted: bool,
    parallel: int | None,
    role: str | None = None,
) -> ReadyJudge:
    """Wrap a judge so that the conversations are simulated before it judges them."""
    if ready.compares:
        raise SetupError(
            "{name} compares, but conversations can only be judged one by one", name=ready.name
        )
    judge = SimulatedJudge(
        ready,
        variants=tuple(variants),
        talker=talker,
        counts=is_counted,
        parallel=parallel,
        role=role,
        talks=talks,
    )
    systems = tuple(dict.fromkeys(variant.system for variant in variants))
    return replace(
        ready,
        judge=judge,
        first_step=None,
        columns=None,
        per="row",
        each_row=judge.rows,
        systems=systems if len(systems) > 1 else (),
        results_per_row=len(variants),
    )
