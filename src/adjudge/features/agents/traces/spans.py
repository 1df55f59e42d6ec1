"""Build a trajectory from the spans of one trace, of any recorder.

Each model call repeats the conversation before it: of every list of messages, only those beyond the
known ones are new.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from adjudge.core.domain.message import Usage
from adjudge.features.agents.traces.builder import Builder, build_trajectory
from adjudge.features.agents.traces.turns import (
    CalledTool,
    HandedOver,
    Retrieved,
    Returned,
    Said,
    TraceTurn,
)
from adjudge.features.agents.trajectory import ToolDefinition, Trajectory

SpanKind = Literal["model", "tool", "agent", "retriever", "handoff", "other"]
_DEEDS = ("model", "tool", "retriever", "handoff")
"""What is a step. An agent around others that does nothing itself is above nobody."""


@dataclass(slots=True, eq=False)
class TraceSpan:
    """One timed operation in a trace."""

    id: str
    parent: str | None = None
    trace: str = ""
    name: str = ""
    kind: SpanKind = "other"
    start: float | None = None
    end: float | None = None
    agent: str = ""
    """The agent that this span represents or belongs to, if it says so."""
    inputs: list[TraceTurn] = field(default_factory=list)
    outputs: list[TraceTurn] = field(default_factory=list)
    call: CalledTool | None = None
    result: Returned | None = None
    error: str | None = None
    usage: Usage | None = None
    usd: float | None = None
    documents: list[str] = field(default_factory=list)
    system: str = ""
    tools: tuple[ToolDefinition, ...] = ()
    goal: str = ""
    """The request, if the span records it as a whole."""
    answer: str = ""
    session: str | None = None
    ended: str | None = None
    to: str = ""
    """The agent that receives a handoff."""

    @property
    def seconds(self) -> float | None:
        if self.start is None or self.end is None or self.end < self.start:
            return None
        return self.end - self.start


def by_trace(spans: Iterable[TraceSpan]) -> dict[str, list[TraceSpan]]:
    """Group spans by trace, in the order in which the traces first appear.

    If a span was exported twice, the last record is used. Spans with the same id but another name
    or start are different spans: some exporters restart their ids in each process.
    """
    traces: dict[str, dict[object, TraceSpan]] = {}
    for span in spans:
        key = (span.id, span.name, span.start) if span.id else id(span)
        traces.setdefault(span.trace, {})[key] = span
    return {trace: list(spans_by_key.values()) for trace, spans_by_key in traces.items()}


def trajectory_of_spans(spans: Sequence[TraceSpan]) -> Trajectory:
    """Build the trajectory from the spans of one trace."""
    tree = _Tree(spans)
    builder = Builder(_tools(spans))
    ordered = tree.ordered
    outer = [span for span in ordered if tree.parent(span) is None]
    tops = _top_spans(ordered)
    builder.add_system(next((text for span in ordered if (text := _system_prompt(span))), ""))
    models = [span for span in ordered if span.kind == "model"]
    if not any(span.inputs for span in models) and tops:
        _add_first_words(builder, tops[0], bool(models))
    threads = _Threads()
    # enclosing agents that do nothing themselves do not count as a level
    outermost = min((tree.depth(span) for span in ordered if span.kind in _DEEDS), default=0)
    for span in ordered:
        actor, depth = tree.agent(span), tree.depth(span) - outermost
        if span.kind == "model":
            new = threads.new(span)
            builder.add_all(_with_place(turn, span, actor, depth) for turn in new)
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
            retrieved = TraceTurn("assistant", [Retrieved(text) for text in span.documents], actor)
            builder.add_step(_with_times(retrieved, span, depth))
        elif span.kind == "handoff" and not builder.join_handoff(span.to, actor):
            handover = TraceTurn("assistant", [HandedOver(span.to)], actor)
            builder.add_step(_with_times(handover, span, depth))
    return _complete(builder, tops, outer)


def _system_prompt(span: TraceSpan) -> str:
    texts = (turn.text for turn in span.inputs if turn.role == "system")
    return span.system or next(texts, "")


def _top_spans(ordered: Sequence[TraceSpan]) -> list[TraceSpan]:
    """Return the spans with the request and answer of the whole run.

    These are the spans without a parent, else the first agent's span. Without either, it is the
    first span with content, unless a model call has messages.
    """
    saying = [span for span in ordered if _has_content(span)]
    if roots := [span for span in saying if span.parent is None]:
        return roots
    if agents := [span for span in saying if span.kind == "agent"]:
        return agents[:1]
    spoken = any(span.kind == "model" and (span.inputs or span.outputs) for span in ordered)
    return [] if spoken else saying[:1]


def _has_content(span: TraceSpan) -> bool:
    """Return True if an agent span or other enclosing span has a request or an answer."""
    content = span.goal or span.answer or span.inputs or span.outputs
    return bool(content) and span.kind in ("agent", "other")


def _complete(
    builder: Builder, tops: Sequence[TraceSpan], outer: Sequence[TraceSpan]
) -> Trajectory:
    """Complete the trajectory with the goal of the first top span and the answer of the last.

    Also add the duration and the error of the outermost spans.
    """
    trajectory = builder.trajectory()
    goal, answer = trajectory.goal, trajectory.answer
    if tops:
        requests = [turn.text for turn in tops[0].inputs if turn.role == "user" and turn.text]
        output_answer = build_trajectory(tops[-1].outputs).answer
        goal = tops[0].goal or (requests[0] if requests else "") or goal
        answer = tops[-1].answer or output_answer or answer
    failed = next((span.error for span in outer if span.error), None)
    times = [span.seconds for span in outer if span.seconds is not None]
    return replace(
        trajectory,
        goal=goal,
        answer=answer,
        ended=trajectory.ended if failed is None else f"error: {failed}",
        seconds=sum(times) if times else None,
    )


def _add_first_words(builder: Builder, top: TraceSpan, has_models: bool) -> None:
    """Add the outermost span's input, which the model calls lack; also its output without model
    calls.
    """
    words = top.inputs or ([TraceTurn("user", [Said(top.goal)])] if top.goal else [])
    builder.add_all(words)
    if not has_models and top.outputs:
        threads = _Threads()
        threads.new(replace(top, outputs=[], kind="model"))
        builder.add_all(threads.new(replace(top, inputs=top.outputs, outputs=[], kind="model")))


def _tools(spans: Iterable[TraceSpan]) -> tuple[ToolDefinition, ...]:
    tools: dict[str, ToolDefinition] = {}
    for span in spans:
        for tool in span.tools:
            tools.setdefault(tool.name, tool)
    return tuple(tools.values())


def _with_place(turn: TraceTurn, span: TraceSpan, actor: str, depth: int) -> TraceTurn:
    """Return a message with its actor, depth and source, without costs."""
    # Only the reply of a call has its cost: other messages repeat earlier ones.
    name = turn.actor or (actor if turn.role == "assistant" else "")
    return replace(turn, actor=name, depth=depth, usage=None, usd=None, source=span.id)


def _with_times(turn: TraceTurn, span: TraceSpan, depth: int) -> TraceTurn:
    """Return a turn recorded by a span itself, with the span's id and times."""
    return replace(turn, source=span.id, depth=depth, seconds=span.seconds, started=span.start)


def _add_reply(builder: Builder, span: TraceSpan, actor: str, depth: int) -> None:
    usage = span.usage or Usage(1)
    if not span.outputs:
        silent = TraceTurn("assistant", [], actor, usage, span.usd, ended=span.ended)
        builder.add(_with_times(silent, span, depth))
    for place, turn in enumerate(span.outputs):
        placed = _with_place(turn, span, actor, depth)
        if place == 0:
            placed = replace(placed, usage=usage, usd=span.usd, ended=span.ended)
            placed = _with_times(placed, span, depth)
        builder.add(placed)


class _Threads:
    """The conversations so far, as a tree in which a common beginning is stored once.

    Sub-agents and planners have separate conversations.
    """

    def __init__(self) -> None:
        self._places: dict[tuple[int, object], int] = {}
        """A place, and the message after it → the place after that; 0 is before all messages."""
        self._threads: list[list[object]] = [[]]
        """Place → the conversation that came there first."""
        self._last: list[object] = []

    def new(self, span: TraceSpan) -> list[TraceTurn]:
        """Return a call's system messages, and its messages that are not known yet."""
        system = [turn for turn in span.inputs if turn.role == "system"]
        turns = [turn for turn in span.inputs if turn.role != "system"]
        keys: list[object] = [turn.key for turn in turns]
        place, known_count = self._longest(keys)
        thread = self._threads[place]
        same = known_count or _overlap(self._last, keys)
        new = turns[same:]
        for earlier in (thread, self._last) if 0 < same < len(thread) else ():
            if (again := _repeated_range(earlier, keys, same)) is not None:
                new = [*turns[same : again.start], *turns[again.stop :]]
                break
        conversation = [*keys, *(turn.key for turn in span.outputs)]
        self._keep(conversation, place, known_count)
        self._last = conversation or self._last
        return [*system, *new]

    def _longest(self, keys: Sequence[object]) -> tuple[int, int]:
        """Return the place where the known beginning of a conversation ends, and its length."""
        place = 0
        for same, key in enumerate(keys):
            next_place = self._places.get((place, key))
            if next_place is None:
                return place, same
            place = next_place
        return place, len(keys)

    def _keep(self, conversation: Sequence[object], place: int, known_count: int) -> None:
        """Store the part after the known beginning: it continues a thread, or starts a new one."""
        thread = self._threads[place]
        if known_count and known_count == len(thread):
            thread.extend(conversation[known_count:])
        else:
            thread = list(conversation)
        for key in conversation[known_count:]:
            next_place = self._places.setdefault((place, key), len(self._threads))
            if next_place == len(self._threads):
                self._threads.append(thread)
            place = next_place


def _overlap(previous: Sequence[object], keys: Sequence[object]) -> int:
    """Return how many keys repeat the end of the previous conversation, if its beginning is
    missing.

    A single user message does not count, because a user may repeat one.
    """
    most = min(len(previous), len(keys))
    if not most or previous[-1] not in keys:
        return 0
    # Prefix function (Knuth, Morris, Pratt): the border of the whole line is the overlap.
    line = [*keys[:most], object(), *previous[-most:]]
    borders = [0] * len(line)
    """Place → how many keys before and at it stand at the beginning of the line, too."""
    for place in range(1, len(line)):
        same = borders[place - 1]
        while same and line[place] != line[same]:
            same = borders[same - 1]
        borders[place] = same + (line[place] == line[same])
    begins = isinstance(previous[-1], tuple) and previous[-1][0] == "user"
    return 0 if begins and borders[-1] == 1 else borders[-1]


def _acts(key: object) -> bool:
    """Return True if a message holds calls or results."""
    return isinstance(key, tuple) and key[0] in ("calls", "results")


def _repeated_range(previous: Sequence[object], keys: Sequence[object], start: int) -> range | None:
    """Return the range of keys from ``start`` that repeats the end of the previous conversation.

    Its middle may be missing. A repetition is a call or a result, or at least two messages; None if
    there is none.
    """
    if len(previous) <= start:
        return None
    stop = next(
        (at + 1 for at in range(len(keys) - 1, start - 1, -1) if keys[at] == previous[-1]), 0
    )
    same = 0
    for old_key, new_key in zip(reversed(previous), reversed(keys[start:stop]), strict=False):
        if old_key != new_key or same == len(previous) - start:
            break
        same += 1
    return range(stop - same, stop) if same > 1 or (same and _acts(previous[-1])) else None


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
    """The tree of spans. The path upwards ends at a missing parent or a cycle."""

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
        """Return how many agents are above the one to which the span belongs."""
        return max(0, self._above[span.id].agents - 1)

    def agent(self, span: TraceSpan) -> str:
        return span.agent or self._above[span.id].agent

    def _climb(self, span: TraceSpan) -> None:
        """Record what is above a span and above each of its ancestors."""
        path: dict[str, TraceSpan] = {}
        at: TraceSpan | None = span
        while at is not None and at.id not in self._above and at.id not in path:
            path[at.id] = at
            at = self.parent(at)
        above = _NOTHING_ABOVE if at is None else self._above.get(at.id, _NOTHING_ABOVE)
        for id, ancestor in reversed(path.items()):
            is_agent = ancestor.kind == "agent"
            above = self._above[id] = _Above(
                above.level + 1,
                above.agents + is_agent,
                (ancestor.agent or ancestor.name) if is_agent else ancestor.agent or above.agent,
                above.start if ancestor.start is None else ancestor.start,
            )
