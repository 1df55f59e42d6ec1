"""Build a trajectory from turns: join results to their calls and number the steps."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from adjudge.core.domain.message import Usage
from adjudge.features.agents.traces.messages import handed_to, plain_name
from adjudge.features.agents.traces.turns import (
    CalledTool,
    HandedOver,
    Retrieved,
    Returned,
    Said,
    Thought,
    TraceTurn,
    TurnPart,
)
from adjudge.features.agents.trajectory import (
    Missing,
    Step,
    StepKind,
    ToolCall,
    ToolDefinition,
    Trajectory,
)

ASSISTANT = "assistant"
_NEAR = 1000
"""How many calls back one without an id is looked for."""


@dataclass(slots=True, eq=False)
class _Draft:
    """A step under construction; its result may still arrive."""

    actor: str
    kind: StepKind
    text: str = ""
    call: CalledTool | None = None
    result: Returned | None = None
    said_back: bool = False
    """True if the result is the one that the model was shown."""
    depth: int = 0
    missing: Missing | None = None
    seconds: float | None = None
    usage: Usage | None = None
    usd: float | None = None
    source: str | None = None
    started: float | None = None
    turn: int = 0
    """Which message it came in."""
    joined: bool = False
    """True if the tool's own record was joined to the call."""
    handed_to: str | None = None
    """The agent, if a record of a handoff was joined to the call."""

    def step(self, number: int, agents: Container[str]) -> Step:
        kind, text, call, back = self.kind, self.text, None, self.result or Returned(None)
        if self.call is not None:
            call = ToolCall(self.call.name, self.call.arguments, back.text, back.error)
            to = self.handed_to or handed_to(self.call, back.text, agents)
            kind, text = "called" if to is None else "handed over", to or ""
        return Step(
            number,
            self.actor,
            kind,
            text,
            call,
            self.depth,
            self.missing or back.missing,
            self.seconds,
            self.usage,
            self.usd,
            self.source,
            self.started,
        )


class _Waiting:
    """Calls that wait for something, looked up by id or as the latest ones."""

    def __init__(self) -> None:
        self._calls: dict[_Draft, None] = {}
        self._by_id: dict[str, list[_Draft]] = {}

    def add(self, draft: _Draft, id: str | None) -> None:
        self._calls[draft] = None
        if id is not None:
            self._by_id.setdefault(id, []).append(draft)

    def remove(self, draft: _Draft) -> None:
        del self._calls[draft]
        id = None if draft.call is None else draft.call.id
        if id is not None:
            same = self._by_id[id]
            # Remove the latest entry of this draft; ids repeat in a run.
            del same[next(at for at in range(-1, -len(same) - 1, -1) if same[at] is draft)]
            if not same:
                del self._by_id[id]

    def __contains__(self, draft: _Draft) -> bool:
        return draft in self._calls

    @property
    def have_ids(self) -> bool:
        return bool(self._by_id)

    def with_id(self, id: str) -> list[_Draft]:
        return self._by_id.get(id, [])[-_NEAR:]

    def last(self) -> list[_Draft]:
        return [*islice(reversed(self._calls), _NEAR)][::-1]


@dataclass(slots=True)
class _Reply:
    """An agent's consecutive turns, until another actor takes a turn."""

    before: str | None
    said: str = ""
    acts: bool = False


@dataclass(slots=True)
class Builder:
    """Builds a trajectory from turns in chronological order."""

    tools: tuple[ToolDefinition, ...] = ()
    _drafts: dict[_Draft, None] = field(default_factory=dict)
    """In the order of the steps."""
    _systems: dict[str, bool] = field(default_factory=dict)
    """System prompt → whether it comes before everything else."""
    _turn: int = 0
    _open: _Waiting = field(default_factory=_Waiting)
    """Calls without a result that the model was shown."""
    _unjoined: _Waiting = field(default_factory=_Waiting)
    """Calls of models that no tool's own record was joined to yet."""
    _records: _Waiting = field(default_factory=_Waiting)
    """Calls that only the tool recorded so far."""
    _recorded: set[str | None] = field(default_factory=set)
    """The results that tools themselves recorded."""
    _retold: set[tuple[object, ...]] = field(default_factory=set)
    """Calls and results that a model was told as texts."""
    _answered: dict[str, _Draft] = field(default_factory=dict)
    """Call id → the last call with this id that got its result."""
    _waiting: TraceTurn | None = None
    """A model call of which nothing but its cost is recorded."""
    _reply: _Reply | None = None
    _asked: bool = False
    """True if the user spoke after the agent's last action."""
    goal: str | None = None
    answer: str | None = None
    ended: str | None = None

    def add_all(self, turns: Iterable[TraceTurn]) -> None:
        for turn in turns:
            self.add(turn)

    def add(self, turn: TraceTurn) -> list[_Draft]:
        """Add a turn; return the drafts of the steps that it started."""
        self.ended = turn.ended or self.ended
        self._turn += 1
        if turn.role == "system":
            self.add_system(turn.text)
            return []
        # only the cost of this call is recorded; a following step may be its output
        if turn.usage is not None and not turn.parts:
            self.flush()
            self._waiting = turn
            return []
        drafts: list[_Draft] = []
        fallback = {"user": "user", "tool": "tool"}.get(turn.role, ASSISTANT)
        actor = turn.actor or fallback
        for part in turn.parts:
            if self._is_retold(part, actor):
                continue
            if isinstance(part, Returned):
                drafts += self._join(part, turn)
            elif not (isinstance(part, CalledTool) and self._is_of_record(part)):
                drafts.append(self._append(_draft_of(part, actor, turn)))
        self._assign_cost(turn, drafts)
        texts = [part.text for part in turn.parts if isinstance(part, Said) and part.text.strip()]
        is_request = turn.role == "user" and actor == "user" and turn.depth == 0
        if is_request and texts:
            self._asked = True
            if self.goal is None:
                self.goal, self.answer = "\n".join(texts), None
        self._update_answer(turn)
        return drafts

    def _update_answer(self, turn: TraceTurn) -> None:
        """Update the answer: the agent's text with no call after it, in one or several messages.

        An earlier text is no longer the answer once the user has spoken and the agent goes on.
        """
        if turn.role != "assistant":
            self._reply = None
        if turn.role != "assistant" or turn.depth:
            return
        if self._asked and turn.parts:
            self._asked, self.answer = False, None
        acts = any(isinstance(part, CalledTool | HandedOver) for part in turn.parts)
        if self._reply is not None and self._reply.acts and not acts:
            self._reply = None
        for part in turn.parts:
            if isinstance(part, Returned):
                self._reply = None
                continue
            if self._reply is None:
                self._reply = _Reply(self.answer)
            if isinstance(part, CalledTool | HandedOver):
                self._reply.acts = True
            elif isinstance(part, Said) and part.text.strip() and turn.actor != "system":
                self._reply.said = part.text
            if self._reply.acts:
                self.answer = self._reply.before
            elif self._reply.said:
                self.answer = self._reply.said

    def add_system(self, text: str) -> None:
        """Add a system prompt, unless it is blank or known. One after other steps also becomes
        a step.
        """
        if not text.strip() or text in self._systems:
            return
        if self._drafts:
            self._drafts[_Draft("system", "noted", text)] = None
        self._systems[text] = not self._drafts

    def add_tool(
        self,
        call: CalledTool,
        result: Returned,
        *,
        actor: str = "",
        depth: int = 0,
        seconds: float | None = None,
        source: str | None = None,
        started: float | None = None,
    ) -> None:
        """Add a tool's own record of a call.

        If a model made the call, the record is joined to it and the call moves to where the tool
        ran.
        """
        draft = self._model_call_of(call)
        if draft is None:
            draft = _Draft(actor or ASSISTANT, "called", call=call, depth=depth, joined=True)
            self._append(draft)
            self._assign_waiting_cost(draft)
        else:
            self._drafts[draft] = self._drafts.pop(draft)
            self._unjoined.remove(draft)
        draft.joined, draft.source = True, source or draft.source
        draft.started = started if draft.started is None else draft.started
        if seconds is not None:  # in addition to the time of the model call
            draft.seconds = (draft.seconds or 0.0) + seconds
        if draft.result is None or not draft.said_back:
            draft.result = result
        elif result.error and not draft.result.error:
            draft.result = Returned(draft.result.text, error=result.error)
        self._recorded.add(draft.result.text)
        self._reply = None

    def add_step(self, turn: TraceTurn) -> None:
        """Add a step that was not made by a model call, such as a retrieval or a handoff."""
        for draft in self.add(turn):
            self._assign_waiting_cost(draft)

    def join_handoff(self, to: str, actor: str) -> bool:
        """Join the record of a handoff to the model's call; return False if there is none.

        The call either names the agent (``transfer_to_weather``), or is the only unrecorded call in
        the actor's last message whose tool is not defined.
        """
        calls = [
            draft_call
            for draft_call in self._unjoined.last()
            if draft_call.call and draft_call.actor == actor
        ]
        calls_by_name = [
            draft_call
            for draft_call in calls
            if draft_call.call
            and plain_name(handed_to(draft_call.call, None, {plain_name(to)}) or "")
            == plain_name(to)
        ]
        defined = {tool.name for tool in self.tools}
        latest = [draft_call for draft_call in calls if draft_call.turn == calls[-1].turn]
        undefined = [
            draft_call
            for draft_call in latest
            if draft_call.call and draft_call.call.name not in defined
        ]
        matches = calls_by_name[-1:] or (undefined if len(undefined) == 1 else [])
        for draft in matches:
            draft.handed_to, draft.joined = to, True
            self._unjoined.remove(draft)
        return bool(matches)

    def flush(self) -> None:
        """Turn a waiting model call without recorded output into a step without text."""
        if (turn := self._waiting) is None:
            return
        self._waiting = None
        draft = _draft_of(Said("", "not recorded"), turn.actor or ASSISTANT, turn)
        self._drafts[draft] = None
        self._assign_cost(turn, [draft])

    def trajectory(self) -> Trajectory:
        self.flush()
        agents = {plain_name(draft.actor) for draft in self._drafts}
        steps = tuple(draft.step(number, agents) for number, draft in enumerate(self._drafts, 1))
        costs = [step.usd for step in steps if step.usd is not None]
        usage = [step.usage for step in steps if step.usage is not None]
        return Trajectory(
            self.goal or "",
            steps,
            self.answer,
            "\n\n".join(text for text, is_leading in self._systems.items() if is_leading),
            self.tools,
            self.ended,
            sum(usage[1:], usage[0]) if usage else None,
            sum(costs) if costs else None,
        )

    def _append(self, draft: _Draft) -> _Draft:
        draft.turn = self._turn
        self._drafts[draft] = None
        if draft.call is not None:
            self._open.add(draft, draft.call.id)
            (self._records if draft.joined else self._unjoined).add(draft, draft.call.id)
        return draft

    def _is_retold(self, part: TurnPart, actor: str) -> bool:
        """Return True if another conversation, such as a planner's, already contained this call
        or result.
        """
        if not (isinstance(part, CalledTool | Returned) and part.retold):
            return False
        if isinstance(part, Returned):
            is_known = ("result", part.id, part.text) in self._retold
            self._retold.add(("result", part.id, part.text))
            # ids repeat: another agent's call may wait for an equal result
            return is_known and not (part.id and self._open.with_id(part.id))
        call = (actor, part.id, part.name, str(part.arguments))
        is_known = call in self._retold
        self._retold.add(call)
        return is_known

    def _is_of_record(self, call: CalledTool) -> bool:
        """Return True if the tool recorded this call before the model's message arrived.

        The record then takes over the model's call with its arguments.
        """
        same = [] if call.id is None else self._records.with_id(call.id)
        if call.retold and not same:  # the tool did not know the id
            same = [
                record
                for record in self._records.last()
                if record.call is not None
                and record.call.id is None
                and (record.call.name, record.call.arguments) == (call.name, call.arguments)
            ][:1]
        if not same:
            return False
        record = same[-1]
        self._records.remove(record)
        if record in self._open:
            self._open.remove(record)
            self._open.add(record, call.id)
        record.call = call
        return True

    def _assign_cost(self, turn: TraceTurn, drafts: Sequence[_Draft]) -> None:
        if drafts:
            first_draft = drafts[0]
            first_draft.usage, first_draft.usd, first_draft.seconds = (
                turn.usage,
                turn.usd,
                turn.seconds,
            )
            first_draft.started = turn.started

    def _assign_waiting_cost(self, draft: _Draft) -> None:
        """Assign the cost of the waiting model call to this step, if it is by the same actor."""
        if (turn := self._waiting) is not None and (turn.actor or ASSISTANT) == draft.actor:
            self._waiting = None
            draft.usage, draft.usd = turn.usage, turn.usd

    def _join(self, back: Returned, turn: TraceTurn) -> list[_Draft]:
        """Join a result to its call; without a call, return it as a step of its own.

        A result with an id belongs to an open call with that id; one without, to an open call,
        matched by name if it has one. Ids repeat in a run: the first call of the latest message is
        used.
        """
        draft = self._open_call(back)
        if draft is not None:
            self._open.remove(draft)
            earlier = draft.result
            draft.said_back = True
            error = earlier.error if earlier is not None and back.error is None else back.error
            text = back.text if back.text is not None or earlier is None else earlier.text
            draft.result = Returned(text, error=error, missing=back.missing)
            if back.id is not None:
                self._answered[back.id] = draft
            if draft.joined:
                self._recorded.add(text)
        elif (failed_call := self._call_with_output(back)) is not None:
            printed = failed_call.result or Returned("")
            text = f"{printed.text or ''}\n{back.text or ''}".strip()
            failed_call.result = Returned(text, error=back.error, missing=printed.missing)
        # without an id, a text that a tool's own record has is a copy of it
        elif back.id is not None or back.text not in self._recorded:
            text = back.error if back.text is None and back.error else back.text or ""
            note = _Draft(
                back.name or "tool", "noted", text, depth=turn.depth, missing=back.missing
            )
            return [self._append(note)]
        return []

    def _call_with_output(self, back: Returned) -> _Draft | None:
        """Return the call that an error belongs to, if its output came first, as in smolagents."""
        call = self._answered.get(back.id or "") if back.retold and back.error else None
        return call if call is not None and call.result and not call.result.error else None

    def _open_call(self, back: Returned) -> _Draft | None:
        if back.id is not None:
            same = self._open.with_id(back.id)
            if same:
                return _first_of_latest(same)
            if self._open.have_ids:
                return None
        candidates = [
            draft
            for draft in self._open.last()
            if draft.call is not None and (not back.name or draft.call.name == back.name)
        ]
        return _first_of_latest(candidates) if candidates else None

    def _model_call_of(self, call: CalledTool) -> _Draft | None:
        """Return the model's call that a tool's record belongs to; None if there is none.

        Calls are matched by id, else by name and arguments. The name alone suffices if the record's
        arguments are plain text.
        """
        same = [] if call.id is None else self._unjoined.with_id(call.id)
        if same:
            return _first_of_latest(same)
        free = self._unjoined.last()
        if call.id is not None:
            free = [draft for draft in free if draft.call and draft.call.id is None]
        same_name = [draft for draft in free if draft.call and draft.call.name == call.name]
        exact = [
            draft for draft in same_name if draft.call and draft.call.arguments == call.arguments
        ]
        if exact:
            return exact[0]
        return same_name[0] if same_name and isinstance(call.arguments, str) else None


def _first_of_latest(drafts: list[_Draft]) -> _Draft:
    """Return the first draft of the latest message."""
    return next(draft for draft in drafts if draft.turn == drafts[-1].turn)


def _draft_of(
    part: Said | Thought | CalledTool | Retrieved | HandedOver, actor: str, turn: TraceTurn
) -> _Draft:
    depth, source = turn.depth, turn.source
    if isinstance(part, CalledTool):
        return _Draft(actor, "called", call=part, depth=depth, missing=part.missing, source=source)
    kind = _KINDS.get(type(part), "noted" if actor == "system" else "said")
    missing = part.missing if isinstance(part, Said) else None
    return _Draft(actor, kind, part.text, depth=depth, missing=missing, source=source)


_KINDS: Mapping[type, StepKind] = {
    HandedOver: "handed over",
    Retrieved: "retrieved",
    Thought: "thought",
}


def build_trajectory(
    turns: Iterable[TraceTurn], *, tools: tuple[ToolDefinition, ...] = (), system: str = ""
) -> Trajectory:
    """Build a trajectory from turns in chronological order."""
    builder = Builder(tools)
    builder.add_system(system)
    builder.add_all(turns)
    return builder.trajectory()
