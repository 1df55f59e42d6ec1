"""One conversation as a plan: given the votes so far, it returns the next ballot, or the ended
conversation.

It has no side effects. Votes are the replies of the simulated user's model and of the application,
in the order in which they were asked for. The messages of a script or of rules are computed again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import Literal, get_args

from adjudge.core.domain.criteria import Criteria
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.json_types import JsonDict, JsonValue
from adjudge.core.domain.question import Choice
from adjudge.core.domain.verdict import Chosen
from adjudge.core.domain.vote import Ballot, Outcome, Vote
from adjudge.core.gateway.opener import OpenModel
from adjudge.core.gateway.prices import PriceTable
from adjudge.core.gateway.targets.answer import TargetAnswer
from adjudge.core.prompts.target import CHAT, FIELD, MESSAGES, ROW, SYSTEM
from adjudge.core.reading.foreign_values import arguments_of
from adjudge.core.reading.places import fill_text
from adjudge.features.agents.trajectory import ToolCall
from adjudge.features.conversations.conversation import LOST, Conversation, End, Turn
from adjudge.features.conversations.outcome import reaches_state
from adjudge.features.conversations.scenario import Scenario, StartMessage
from adjudge.features.conversations.user import (
    UserMessage,
    flip_roles,
    read_message,
    rule_message,
    system_prompt,
)
from adjudge.features.conversations.values import likeness
from adjudge.messages import Message
from adjudge.runs.targets import Variant

Session = Literal["stateless", "idempotent", "reset", "stateful"]
SESSIONS: tuple[Session, ...] = get_args(Session)
UserKind = Literal["model", "script", "rules", "script or rules", "replay"]
"""``script or rules``: the script of a scenario that has one, else rules."""
SIMULATED_USER = Criteria("simulated user", "The next message of a simulated user.")
IN_FLIGHT = "in_flight"
"""The key of a stored reply that stands for a message that may have been received or not."""
_MOST_RESTARTS = 3
_DEVIATES = 0.999


@dataclass(frozen=True, kw_only=True)
class TalkLimits:
    """Limits at which a conversation stops."""

    max_turns: int = 10
    max_tokens: int | None = None
    max_usd: float | None = None
    max_seconds: float | None = None


@dataclass(frozen=True)
class Talker:
    """The simulated user, and the settings of its conversations."""

    kind: UserKind
    model: OpenModel | None = field(default=None, repr=False)
    session: Session = "stateless"
    limits: TalkLimits = TalkLimits()
    stop_at_state: bool = False
    seed: int | None = None
    prices: PriceTable = field(default_factory=PriceTable.load, repr=False, compare=False)

    @property
    def title(self) -> str:
        """The simulated user's name in records.

        Conversations with different simulated users are not compared.
        """
        if self.model is None:
            return self.kind
        temperature = self.temperature
        prompt = sha256("".join(_prompts()).encode()).hexdigest()[:12]
        return f"{self.model.identity} at {temperature:g}, prompt {prompt}"

    @property
    def temperature(self) -> float:
        """The model's own temperature, else 0.7. At 0, all trials would be alike."""
        set_temperature = self.model.temperature if self.model else None
        return 0.7 if set_temperature is None else set_temperature


def _prompts() -> Iterator[str]:
    """Yield the prompt for an empty scenario in each language, to detect changes in wording."""
    for language in ("en", "ru"):
        yield system_prompt(Scenario.of({"id": "x", "goal": "x", "language": language}))


@dataclass(frozen=True)
class Talk:
    """One conversation about a scenario with a variant of the application."""

    scenario: Scenario
    variant: Variant
    talker: Talker
    stored: Conversation | None = None
    """The conversation that is replayed or continued."""

    @property
    def trial(self) -> int:
        return self.variant.sample

    @property
    def name(self) -> str:
        """The conversation's name. All applications share it, so that they get the same user."""
        return f"{self.scenario.id}#{self.trial + 1}"

    def session(self, restarts: int) -> str:
        """Return the session name of an attempt."""
        again = f"-{restarts + 1}" if restarts else ""
        return f"{self.scenario.id}-{self.trial + 1}{again}"

    def next(self, votes: Sequence[Vote]) -> Ballot | Conversation:
        """Return the next ballot, or the conversation if it has ended."""
        return _Course(self, votes).next()

    def assume(self, text: str) -> Iterator[Ballot]:
        """Yield the ballots of a full-length conversation in which every message contains
        ``text``.
        """
        votes: list[Vote] = []
        while isinstance(ballot := self.next(votes), Ballot):
            yield ballot
            reply = f"{text} {len(votes)}"
            if ballot.criteria is not SIMULATED_USER and ballot.template == ROW:
                reply = TargetAnswer(f"{reply}?").to_json()
            verdict = Chosen(reply)
            votes.append(Vote(ballot=ballot, outcome=Outcome.OK, verdict=verdict, text=reply))

    def seed(self, turn: int, speaker: str, usual: int | None) -> int | None:
        """Derive a message's seed, so that a resumed run does not need a random generator's state.

        Without a seed for the user, return ``usual``.
        """
        if self.talker.seed is None:
            return usual
        text = f"{self.talker.seed}\0{self.scenario.id}\0{self.trial}\0{turn}\0{speaker}"
        # 31 bits: it fits into a signed 32-bit integer
        return int.from_bytes(sha256(text.encode()).digest()[:4], "big") >> 1

    def user_ballot(self, turns: Sequence[Turn], *, again: bool) -> Ballot:
        """Return the ballot that asks the simulated user's model for the next message."""
        model = self.talker.model
        if model is None:
            raise RuntimeError("the simulated user has no model")
        row: JsonDict = {
            "conversation": self.name,
            SYSTEM: system_prompt(self.scenario, again=again),
            MESSAGES: flip_roles(turns),
        }
        return Ballot(
            SIMULATED_USER,
            Instance({FIELD: json.dumps(row, ensure_ascii=False)}),
            Choice(()),
            CHAT,
            model.name,
            self.scenario.language,
            sample=self.trial,
            temperature=self.talker.temperature,
            seed=self.seed(len(turns), "user", model.seed_for(self.trial)),
        )

    def agent_ballot(self, turns: Sequence[Turn], restarts: int) -> Ballot:
        """Return the ballot that sends the application the conversation so far."""
        variant, scenario = self.variant, self.scenario
        messages: list[JsonValue] = [
            {"role": "user" if turn.speaker == "user" else "assistant", "content": turn.text}
            for turn in turns
        ]
        session = self.session(restarts)
        count = sum(turn.speaker == "user" for turn in turns)
        row: JsonDict = {
            **dict(scenario.context),
            **({"today": scenario.today} if scenario.today else {}),
            "message": turns[-1].text,
            MESSAGES: messages,
            "session": session,
            "turn": count,
            "turn_key": f"{session}:{count}",
        }
        template = ROW
        if variant.prompt is not None:
            template = CHAT
            row[SYSTEM] = fill_text(variant.prompt.text, row)
        return Ballot(
            variant.criteria,
            Instance({FIELD: json.dumps(row, ensure_ascii=False)}),
            Choice(()),
            template,
            variant.model.name,
            scenario.language,
            sample=self.trial,
            temperature=variant.model.temperature or 0.0,
            seed=self.seed(len(turns), "agent", variant.model.seed_for(self.trial)),
        )

    @cached_property
    def max_turns(self) -> int:
        return self.scenario.max_turns or self.talker.limits.max_turns

    @cached_property
    def user_kind(self) -> UserKind:
        """The kind of user that plays this scenario."""
        if self.talker.kind == "script or rules":
            return "script" if self.scenario.script else "rules"
        return self.talker.kind

    @property
    def user_title(self) -> str:
        """The name of the user that plays this scenario."""
        return self.talker.title if self.talker.model else self.user_kind


class _Course:
    """Replays a talk's votes once to find its next step."""

    def __init__(self, talk: Talk, votes: Sequence[Vote]) -> None:
        self._talk = talk
        self._votes = iter(votes)
        self._restarts = 0
        self._spent_tokens, self._spent_usd, self._seconds = 0, 0.0, 0.0
        self._is_priced = True
        self._user_vote: Vote | None = None
        self._off_script = False
        self._begin()

    def _begin(self) -> None:
        self._turns = [
            Turn(
                number=number,
                speaker="user" if message.role == "user" else "agent",
                text=message.content,
                calls=self._earlier_calls(number),
            )
            for number, message in enumerate(self._talk.scenario.start, 1)
        ]
        self._said = 0

    def _earlier_calls(self, number: int) -> tuple[ToolCall, ...]:
        """Return the tool calls of a message that was exchanged before this conversation."""
        stored = self._talk.stored
        return stored.turns[number - 1].calls if stored and number <= len(stored.turns) else ()

    def next(self) -> Ballot | Conversation:
        # ends, since every round consumes a vote, and the votes are finite
        while True:
            if (limit := self._limit()) is not None:
                return self._end(*limit)
            message = self._user_message()
            if not isinstance(message, UserMessage):
                return message
            if not message.text:
                nothing = Message("the simulated user wrote nothing, twice")
                return self._end(message.end or "user broken", "" if message.end else nothing)
            self._add_message(message.text)
            self._said += 1
            vote = next(self._votes, None)
            if vote is None:
                return self._talk.agent_ballot(self._turns, self._restarts)
            self._count(vote)
            if _lost(vote) is not None and self._may_restart():
                self._restarts += 1
                self._begin()
            elif (conversation := self._add_reply(vote, message.end)) is not None:
                return conversation

    def _may_restart(self) -> bool:
        return self._talk.talker.session == "reset" and self._restarts < _MOST_RESTARTS

    def _add_reply(self, vote: Vote, end: End | None) -> Conversation | None:
        """Add the application's answer; return the conversation if it ends here."""
        if (lost := _lost(vote)) is not None:
            return self._end("in flight", lost)
        if not vote.valid:
            return self._end("application failed", vote.reason or "")
        self._add_answer(vote)
        talk = self._talk
        if talk.talker.stop_at_state and reaches_state(talk.scenario, self._turns[-1].state):
            return self._end("state reached")
        if end is None:
            return None
        is_cut = talk.user_kind == "replay" and end in LOST
        cut = Message("in the recording, which has no further message") if is_cut else ""
        return self._end(end, cut, parting=True)

    def _user_message(self) -> UserMessage | Ballot | Conversation:
        talk, scenario, count = self._talk, self._talk.scenario, self._said
        if talk.user_kind == "replay":
            if talk.stored is None:
                raise RuntimeError("there is no conversation to replay")
            begun = len(scenario.start)
            mine = [turn.text for turn in talk.stored.spoken_by("user") if turn.number > begun]
            return _next_of(mine, count, talk.stored.ended)
        if talk.user_kind == "script":
            message = _next_of(scenario.script, count, "script ended")
            last_message = read_message(message.text)
            return last_message if last_message.end else message
        if talk.user_kind == "rules":
            return rule_message(scenario, self._turns)
        if count == 0 and scenario.opening:
            return UserMessage(scenario.opening)
        return self._model_message()

    def _model_message(self) -> UserMessage | Ballot | Conversation:
        # a broken reply is asked for once more, with a hint in the prompt
        for again in (False, True):
            vote = next(self._votes, None)
            if vote is None:
                return self._talk.user_ballot(self._turns, again=again)
            self._count(vote)
            self._user_vote = vote
            if vote.text is None:
                return self._end("user failed", vote.reason or "")
            message = read_message(vote.text)
            if not message.is_broken:
                return message
        return UserMessage("")

    def _limit(self) -> tuple[End, str] | None:
        limits = self._talk.talker.limits
        if self._said >= self._talk.max_turns:
            return "turn limit", Message("{count} user messages", count=self._said)
        if limits.max_tokens is not None and self._spent_tokens >= limits.max_tokens:
            return "budget", Message("max_tokens={limit}", limit=limits.max_tokens)
        if limits.max_usd is not None and self._spent_usd >= limits.max_usd:
            return "budget", Message("max_usd={limit}", limit=limits.max_usd)
        if limits.max_seconds is not None and self._seconds >= limits.max_seconds:
            return "budget", Message("max_seconds={limit}", limit=limits.max_seconds)
        return None

    def _count(self, vote: Vote) -> None:
        self._spent_tokens += vote.usage.tokens
        usd = self._usd(vote)
        self._spent_usd += usd or 0.0
        self._is_priced = self._is_priced and (usd is not None or not vote.usage.tokens)
        self._seconds += vote.latency

    def _usd(self, vote: Vote) -> float | None:
        return self._talk.talker.prices.cost(vote.model, vote.usage) if vote.usage.tokens else None

    def _add_message(self, text: str) -> None:
        vote = self._user_vote
        self._turns.append(
            Turn(
                number=len(self._turns) + 1,
                speaker="user",
                text=text,
                seconds=vote.latency if vote else None,
                tokens=vote.usage.tokens if vote else 0,
                usd=self._usd(vote) if vote else None,
                off_script=self._off_script,
            )
        )
        self._user_vote = None

    def _add_answer(self, vote: Vote) -> None:
        text = vote.text or ""
        is_model = self._talk.variant.prompt is not None
        answer = TargetAnswer(text) if is_model else TargetAnswer.of_json(text)
        self._turns.append(
            Turn(
                number=len(self._turns) + 1,
                speaker="agent",
                text=answer.text,
                calls=tuple(_calls(answer.tool_calls)),
                state=answer.state,
                seconds=vote.latency,
                tokens=vote.usage.tokens,
                usd=self._usd(vote),
            )
        )
        stored = self._talk.stored
        if stored is not None and self._talk.talker.kind == "replay":
            place = len(self._turns) - 1
            same = place < len(stored.turns) and stored.turns[place].speaker == "agent"
            if not same or likeness(stored.turns[place].text, answer.text) < _DEVIATES:
                self._off_script = True

    def _end(self, end: End, detail: str = "", *, parting: bool = False) -> Conversation:
        return Conversation(
            turns=tuple(self._turns),
            ended=end,
            detail=detail,
            parting=parting,
            session=self._talk.session(self._restarts),
            restarts=self._restarts,
            user=self._talk.user_title,
            tokens=self._spent_tokens,
            usd=self._spent_usd if self._is_priced else None,
            seconds=self._seconds,
        )


def _next_of(messages: Sequence[str], count: int, end: End) -> UserMessage:
    """Return the next of the given messages; the last one ends the conversation."""
    if count >= len(messages):
        return UserMessage("", end)
    return UserMessage(messages[count], end if count == len(messages) - 1 else None)


def _lost(vote: Vote) -> str | None:
    """Return why it is unknown whether a message was received; None if that is known."""
    if vote.text is None or vote.ballot.template != ROW:
        return None
    reply = json.loads(vote.text)  # written by us, with the application's words as values
    return str(reply[IN_FLIGHT]) if IN_FLIGHT in reply else None


def _calls(text: str) -> Iterator[ToolCall]:
    """Yield the tool calls in the application's report, in any of the usual forms."""
    if not text:
        return
    content = json.loads(text)
    for entry in content if isinstance(content, list) else [content]:
        if not isinstance(entry, Mapping):
            continue
        inner = entry.get("function")
        # OpenAI's shape nests name and arguments under "function"
        call = {**entry, **inner} if isinstance(inner, Mapping) else entry
        name = call.get("name") or call.get("tool") or (inner if isinstance(inner, str) else "")
        arguments: object = next(
            (call[key] for key in ("arguments", "args", "input", "kwargs") if key in call), {}
        )
        result = next((call[key] for key in ("result", "output") if key in call), None)
        error = call.get("error")
        yield ToolCall(
            str(name or "unknown"),
            arguments_of(arguments),
            None if result is None else _text(result),
            None if error in (None, False, "") else _text(error),
        )


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def with_start(scenario: Scenario, conversation: Conversation, turn: int) -> Scenario:
    """Return a scenario that resumes a conversation at the user's message number ``turn``.

    Earlier messages are given, and that message is sent again.
    """
    user_turns = conversation.spoken_by("user")
    begin = user_turns[turn - 1]
    start = tuple(
        StartMessage(
            role="user" if earlier_turn.speaker == "user" else "assistant",
            content=earlier_turn.text,
        )
        for earlier_turn in conversation.turns
        if earlier_turn.number < begin.number
    )
    # the script begins after the messages that the scenario starts with
    scripted = max(turn - sum(message.role == "user" for message in scenario.start), 0)
    script = (begin.text, *scenario.script[scripted:]) if scenario.script else ()
    return replace(scenario, start=start, opening=begin.text, script=script)
