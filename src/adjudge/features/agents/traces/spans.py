"""Spans of one trace, whoever recorded them → a trajectory.

Each model call repeats the conversation before it: of every list of messages only what goes beyond
what is known already is new.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from adjudge.core.domain.message import Usage
from adjudge.features.agents.traces.builder import Builder, built
from adjudge.features.agents.traces.turns import (
    CalledTool,
    HandedOver,
    Retrieved,
    Returned,
    Said,
    Turn,
)
from adjudge.features.agents.trajectory import ToolDefinition, Trajectory

SpanKind = Literal["model", "tool", "agent", "retriever", "handoff", "other"]
_DEEDS = ("model", "tool", "retriever", "handoff")
"""What is a step. An agent around others that does nothing itself is above nobody."""


@dataclass(slots=True, eq=False)
class TraceSpan:
    """One thing that was timed."""

    id: str
    parent: str | None = None
    trace: str = ""
    name: str = ""
    kind: SpanKind = "other"
    start: float | None = None
    end: float | None = None
    agent: str = ""
    """The agent that this span is of, or belongs to, where it says so."""
    inputs: list[Turn] = field(default_factory=list)
    outputs: list[Turn] = field(default_factory=list)
    call: CalledTool | None = None
    result: Returned | None = None
    error: str | None = None
    usage: Usage | None = None
    usd: float | None = None
    documents: list[str] = field(default_factory=list)
    system: str = ""
    tools: tuple[ToolDefinition, ...] = ()
    goal: str = ""
    """What was asked, where the span says it as a whole."""
    answer: str = ""
    session: str | None = None
    ended: str | None = None
    to: str = ""
    """Of a handoff: the agent it goes to."""

    @property
    def seconds(self) -> float | None:
        if self.start is None or self.end is None or self.end < self.start:
            return None
        return self.end - self.start


def by_trace(spans: Iterable[TraceSpan]) -> dict[str, list[TraceSpan]]:
    """The spans of each trace, in the order in which the traces first appear; of a span that was
    exported twice the last record.

    Spans that share an id, but neither name nor start, are several spans: some exporters start
    to count again in each process.
    """
    found: dict[str, dict[object, TraceSpan]] = {}
    for span in spans:
        key = (span.id, span.name, span.start) if span.id else id(span)
        found.setdefault(span.trace, {})[key] = span
    return {trace: list(held.values()) for trace, held in found.items()}


def trajectory_of_spans(spans: Sequence[TraceSpan]) -> Trajectory:
    """What the spans of one trace tell."""
    tree = _Tree(spans)
    builder = Builder(_tools(spans))
    ordered = tree.ordered
    outer = [span for span in ordered if tree.parent(span) is None]
    tops = _tops(ordered)
    builder.add_system(next((text for span in ordered if (text := _system(span))), ""))
    models = [span for span in ordered if span.kind == "model"]
    if not any(span.inputs for span in models) and tops:
        _add_first_words(builder, tops[0], bool(models))
    threads = _Threads()
    outermost = min((tree.depth(span) for span in ordered if span.kind in _DEEDS), default=0)
    for span in ordered:
        actor, depth = tree.agent(span), tree.depth(span) - outermost
        if span.kind == "model":
            new = threads.new(span)
            builder.add_all(_placed(turn, span, actor, depth) for turn in new)
            _add_reply(builder, span, actor, depth)
        elif span.kind == "tool" and span.call is not None:
            builder.add_tool(
                span.call,
                span.result or Returned(None, error=span.error),
                actor=actor,
                depth=depth,
                seconds=span.seconds,
                source=span.id,
                started=span.start,
            )
        elif span.kind == "retriever" and span.documents:
            found = Turn("assistant", [Retrieved(text) for text in span.documents], actor)
            builder.add_step(_timed(found, span, depth))
        elif span.kind == "handoff" and not builder.join_handoff(span.to, actor):
            handed = Turn("assistant", [HandedOver(span.to)], actor)
            builder.add_step(_timed(handed, span, depth))
    return _finished(builder, tops, outer)


def _system(span: TraceSpan) -> str:
    """The system prompt of a model call, or of an agent."""
    said = (turn.text for turn in span.inputs if turn.role == "system")
    return span.system or next(said, "")


def _tops(ordered: Sequence[TraceSpan]) -> list[TraceSpan]:
    """The spans that say what was asked and answered as a whole: those without a parent, else the
    first agent's; else the first of all, where no model call says anything.
    """
    saying = [span for span in ordered if _says(span)]
    if roots := [span for span in saying if span.parent is None]:
        return roots
    if agents := [span for span in saying if span.kind == "agent"]:
        return agents[:1]
    spoken = any(span.kind == "model" and (span.inputs or span.outputs) for span in ordered)
    return [] if spoken else saying[:1]


def _says(span: TraceSpan) -> bool:
    """Whether a span that is around others says what was asked or answered."""
    said = span.goal or span.answer or span.inputs or span.outputs
    return bool(said) and span.kind in ("agent", "other")


def _finished(
    builder: Builder, tops: Sequence[TraceSpan], outer: Sequence[TraceSpan]
) -> Trajectory:
    """With the goal of the first span that is around the others, and the answer of the last."""
    made = builder.trajectory()
    goal, answer = made.goal, made.answer
    if tops:
        asked = [turn.text for turn in tops[0].inputs if turn.role == "user" and turn.text]
        said = built(tops[-1].outputs).answer
        goal = tops[0].goal or (asked[0] if asked else "") or goal
        answer = tops[-1].answer or said or answer
    failed = next((span.error for span in outer if span.error), None)
    times = [span.seconds for span in outer if span.seconds is not None]
    return replace(
        made,
        goal=goal,
        answer=answer,
        ended=made.ended if failed is None else f"error: {failed}",
        seconds=sum(times) if times else None,
    )


def _add_first_words(builder: Builder, top: TraceSpan, has_models: bool) -> None:
    """What the outermost span was given, where the model calls do not hold it; and all of it where
    there are no model calls.
    """
    words = top.inputs or ([Turn("user", [Said(top.goal)])] if top.goal else [])
    builder.add_all(words)
    if not has_models and top.outputs:
        new = _Threads()
        new.new(replace(top, outputs=[], kind="model"))
        builder.add_all(new.new(replace(top, inputs=top.outputs, outputs=[], kind="model")))


def _tools(spans: Iterable[TraceSpan]) -> tuple[ToolDefinition, ...]:
    found: dict[str, ToolDefinition] = {}
    for span in spans:
        for tool in span.tools:
            found.setdefault(tool.name, tool)
    return tuple(found.values())


def _placed(turn: Turn, span: TraceSpan, actor: str, depth: int) -> Turn:
    """A message of a conversation; what is not the reply of this call costs nothing here."""
    name = turn.actor or (actor if turn.role == "assistant" else "")
    return replace(turn, actor=name, depth=depth, usage=None, usd=None, source=span.id)


def _timed(turn: Turn, span: TraceSpan, depth: int) -> Turn:
    """What a span itself is the record of."""
    return replace(turn, source=span.id, depth=depth, seconds=span.seconds, started=span.start)


def _add_reply(builder: Builder, span: TraceSpan, actor: str, depth: int) -> None:
    usage = span.usage or Usage(1)
    if not span.outputs:
        silent = Turn("assistant", [], actor, usage, span.usd, ended=span.ended)
        builder.add(_timed(silent, span, depth))
    for place, turn in enumerate(span.outputs):
        placed = _placed(turn, span, actor, depth)
        if place == 0:
            placed = replace(placed, usage=usage, usd=span.usd, ended=span.ended)
            placed = _timed(placed, span, depth)
        builder.add(placed)


class _Threads:
    """The conversations so far, as a tree: what two of them begin with is there once. Sub-agents
    and planners have their own.
    """

    def __init__(self) -> None:
        self._places: dict[tuple[int, object], int] = {}
        """A place, and the message after it → the place after that; 0 is before all messages."""
        self._threads: list[list[object]] = [[]]
        """Place → the conversation that came there first."""
        self._last: list[object] = []

    def new(self, span: TraceSpan) -> list[Turn]:
        """Of the messages that a call was given those beyond what is known."""
        system = [turn for turn in span.inputs if turn.role == "system"]
        turns = [turn for turn in span.inputs if turn.role != "system"]
        keys: list[object] = [turn.key for turn in turns]
        place, known = self._longest(keys)
        thread = self._threads[place]
        same = known or _overlap(self._last, keys)
        new = turns[same:]
        for before in (thread, self._last) if 0 < same < len(thread) else ():
            if (again := _repeated(before, keys, same)) is not None:
                new = [*turns[same : again.start], *turns[again.stop :]]
                break
        whole = [*keys, *(turn.key for turn in span.outputs)]
        self._keep(whole, place, known)
        self._last = whole or self._last
        return [*system, *new]

    def _longest(self, keys: Sequence[object]) -> tuple[int, int]:
        """Where the known beginning of a conversation ends, and how many messages it has."""
        place = 0
        for same, key in enumerate(keys):
            after = self._places.get((place, key))
            if after is None:
                return place, same
            place = after
        return place, len(keys)

    def _keep(self, whole: Sequence[object], place: int, known: int) -> None:
        """What goes beyond the known beginning: the conversation goes on, or another begins."""
        thread = self._threads[place]
        if known and known == len(thread):
            thread.extend(whole[known:])
        else:
            thread = list(whole)
        for key in whole[known:]:
            after = self._places.setdefault((place, key), len(self._threads))
            if after == len(self._threads):
                self._threads.append(thread)
            place = after


def _overlap(before: Sequence[object], keys: Sequence[object]) -> int:
    """How many of the keys repeat the end of the conversation before, where the beginning was left
    out: one message that no conversation begins with, or at least two, since a user may well say
    the same again.
    """
    most = min(len(before), len(keys))
    if not most or before[-1] not in keys:
        return 0
    line = [*keys[:most], object(), *before[-most:]]
    borders = [0] * len(line)
    """Place → how many keys before and at it stand at the beginning of the line, too."""
    for place in range(1, len(line)):
        same = borders[place - 1]
        while same and line[place] != line[same]:
            same = borders[same - 1]
        borders[place] = same + (line[place] == line[same])
    begins = isinstance(before[-1], tuple) and before[-1][0] == "user"
    return 0 if begins and borders[-1] == 1 else borders[-1]


def _acts(key: object) -> bool:
    """Whether a message calls something, or brings what came of it."""
    return isinstance(key, tuple) and key[0] in ("calls", "results")


def _repeated(before: Sequence[object], keys: Sequence[object], start: int) -> range | None:
    """Which of the keys from ``start`` on repeat the end of the conversation before, where its
    middle was left out: a call or a result, or at least two messages.
    """
    if len(before) <= start:
        return None
    stop = next((at + 1 for at in range(len(keys) - 1, start - 1, -1) if keys[at] == before[-1]), 0)
    same = 0
    for left, right in zip(reversed(before), reversed(keys[start:stop]), strict=False):
        if left != right or same == len(before) - start:
            break
        same += 1
    return range(stop - same, stop) if same > 1 or (same and _acts(before[-1])) else None


class _Above(NamedTuple):
    level: int
    """How many spans are above this one."""
    agents: int
    """How many of them are agents, with this one."""
    agent: str
    """The nearest agent's name."""
    start: float
    """When it began; a span without a time begins with the one above it."""


_NOTHING_ABOVE = _Above(-1, 0, "", 0.0)


class _Tree:
    """Who is below whom. A parent that is missing, or a circle of parents, ends the way up."""

    def __init__(self, spans: Sequence[TraceSpan]) -> None:
        self._by_id: Mapping[str, TraceSpan] = {span.id: span for span in spans}
        self._above: dict[str, _Above] = {}
        for span in spans:
            self._climb(span)
        self.ordered = sorted(spans, key=self._order)

    def _order(self, span: TraceSpan) -> tuple[float, int]:
        above = self._above[span.id]
        return above.start if span.start is None else span.start, above.level

    def parent(self, span: TraceSpan) -> TraceSpan | None:
        above = self._by_id.get(span.parent) if span.parent else None
        return None if above is span else above

    def depth(self, span: TraceSpan) -> int:
        """How many agents are above the one it belongs to."""
        return max(0, self._above[span.id].agents - 1)

    def agent(self, span: TraceSpan) -> str:
        return span.agent or self._above[span.id].agent

    def _climb(self, span: TraceSpan) -> None:
        """What is above a span, and above all that are above it."""
        path: dict[str, TraceSpan] = {}
        at: TraceSpan | None = span
        while at is not None and at.id not in self._above and at.id not in path:
            path[at.id] = at
            at = self.parent(at)
        above = _NOTHING_ABOVE if at is None else self._above.get(at.id, _NOTHING_ABOVE)
        for id, one in reversed(path.items()):
            is_agent = one.kind == "agent"
            above = self._above[id] = _Above(
                above.level + 1,
                above.agents + is_agent,
                (one.agent or one.name) if is_agent else one.agent or above.agent,
                above.start if one.start is None else one.start,
            )
