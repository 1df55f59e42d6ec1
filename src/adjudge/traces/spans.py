"""Spans of one trace, whoever recorded them → a trajectory.

Each model call repeats the conversation before it: of every list of messages only what goes beyond
what is known already is new.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from adjudge.domain.message import Usage
from adjudge.domain.trajectory import ToolDefinition, Trajectory
from adjudge.traces.build import Builder, built
from adjudge.traces.turns import CalledTool, HandedOver, Retrieved, Returned, Said, Turn

SpanKind = Literal["model", "tool", "agent", "retriever", "handoff", "other"]


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
    """
    found: dict[str, dict[object, TraceSpan]] = {}
    for span in spans:
        found.setdefault(span.trace, {})[span.id or id(span)] = span
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
    for span in ordered:
        actor, depth = tree.agent(span), tree.depth(span)
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
            )
        elif span.kind == "retriever" and span.documents:
            found = Turn("assistant", [Retrieved(text) for text in span.documents], actor)
            builder.add_step(replace(found, source=span.id, depth=depth, seconds=span.seconds))
        elif span.kind == "handoff":
            handed = Turn("assistant", [HandedOver(span.to)], actor, source=span.id, depth=depth)
            builder.add_step(handed)
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
        seconds=sum(times) if times else made.seconds,
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


def _add_reply(builder: Builder, span: TraceSpan, actor: str, depth: int) -> None:
    usage = span.usage or Usage(1)
    if not span.outputs:
        builder.add(
            Turn("assistant", [], actor, usage, span.usd, span.seconds, span.id, depth, span.ended)
        )
    for place, turn in enumerate(span.outputs):
        placed = _placed(turn, span, actor, depth)
        if place == 0:
            placed = replace(
                placed, usage=usage, usd=span.usd, seconds=span.seconds, ended=span.ended
            )
        builder.add(placed)


class _Threads:
    """The conversations so far. Sub-agents and planners have their own."""

    def __init__(self) -> None:
        self._known: dict[object, list[list[object]]] = {}
        self._last: list[object] = []

    def new(self, span: TraceSpan) -> list[Turn]:
        """Of the messages that a call was given those beyond what is known."""
        system = [turn for turn in span.inputs if turn.role == "system"]
        turns = [turn for turn in span.inputs if turn.role != "system"]
        keys: list[object] = [turn.key for turn in turns]
        thread, same = self._longest(keys)
        if same == 0 and (seen := _overlap(self._last, keys)):
            same = seen
        new = turns[same:]
        for before in (thread, self._last) if thread and 0 < same < len(thread) else ():
            if (again := _repeated(before[same:], keys[same:])) is not None:
                new = [*new[: again.start], *new[again.stop :]]
                break
        whole = [*keys, *(turn.key for turn in span.outputs)]
        if thread is not None and same == len(thread):
            thread[:] = whole
        elif whole:
            thread = whole
            self._known.setdefault(whole[0], []).append(whole)
        self._last = whole or self._last
        return [*system, *new]

    def _longest(self, keys: Sequence[object]) -> tuple[list[object] | None, int]:
        best: list[object] | None = None
        most = 0
        for thread in self._known.get(keys[0], ()) if keys else ():
            same = _common(thread, keys)
            if same > most or (same == most and best is None):
                best, most = thread, same
        return best, most


def _common(one: Sequence[object], other: Sequence[object]) -> int:
    same = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        same += 1
    return same


def _overlap(before: Sequence[object], keys: Sequence[object]) -> int:
    """How many of the keys repeat the end of the conversation before, where the beginning was left
    out; at least two, since one message may well be said again.
    """
    most = min(len(before), len(keys))
    return next((n for n in range(most, 1, -1) if list(before[-n:]) == list(keys[:n])), 0)


def _repeated(before: Sequence[object], keys: Sequence[object]) -> range | None:
    """Which of the keys repeat the end of the conversation before, where its middle was left out:
    a call or a result, or at least two messages.
    """
    if not before or before[-1] not in keys:
        return None
    stop = len(keys) - list(reversed(keys)).index(before[-1])
    same = _common(before[::-1], keys[:stop][::-1])
    acts = isinstance(before[-1], tuple) and before[-1][0] in ("calls", "results")
    return range(stop - same, stop) if same > 1 or acts else None


class _Tree:
    """Who is below whom. A parent that is missing, or a circle of parents, ends the way up."""

    def __init__(self, spans: Sequence[TraceSpan]) -> None:
        self._by_id: Mapping[str, TraceSpan] = {span.id: span for span in spans}
        self._above: dict[str, tuple[int, int, str]] = {}
        for span in spans:
            self._climb(span)
        places = {id(span): place for place, span in enumerate(spans)}
        self.ordered = sorted(
            spans, key=lambda one: (self._start(one), self._above[one.id][0], places[id(one)])
        )

    def _start(self, span: TraceSpan) -> float:
        """A span without a time begins with the one above it."""
        seen: set[str] = set()
        at: TraceSpan | None = span
        while at is not None and at.start is None and at.id not in seen:
            seen.add(at.id)
            at = self.parent(at)
        return at.start if at is not None and at.start is not None else 0.0

    def parent(self, span: TraceSpan) -> TraceSpan | None:
        above = self._by_id.get(span.parent) if span.parent else None
        return None if above is span else above

    def depth(self, span: TraceSpan) -> int:
        """How many agents are above the one it belongs to."""
        return max(0, self._above[span.id][1] - 1)

    def agent(self, span: TraceSpan) -> str:
        return span.agent or self._above[span.id][2]

    def _climb(self, span: TraceSpan) -> None:
        """(spans above, agents above or here, the nearest agent's name), for a span and all above
        it.
        """
        path: list[TraceSpan] = []
        seen: set[str] = set()
        at: TraceSpan | None = span
        while at is not None and at.id not in self._above and at.id not in seen:
            path.append(at)
            seen.add(at.id)
            at = self.parent(at)
        level, agents, name = (
            self._above[at.id] if at is not None and at.id in self._above else (-1, 0, "")
        )
        for one in reversed(path):
            is_agent = one.kind == "agent"
            level, agents = level + 1, agents + is_agent
            name = (one.agent or one.name) if is_agent else one.agent or name
            self._above[one.id] = (level, agents, name)
