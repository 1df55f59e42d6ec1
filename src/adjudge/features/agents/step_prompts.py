"""Render a trajectory for a judge: numbered steps, shortened only as far as the budget requires."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby

from adjudge.features.agents.record import Shortened
from adjudge.features.agents.trajectory import (
    Step,
    ToolCall,
    ToolDefinition,
    Trajectory,
    compact_json,
)
from adjudge.messages import Message, join, plural

_BYTES_A_TOKEN = 4
_HEADER = 8
"""Tokens of a header with its code."""
_LEAST_RESULT, _LEAST_THOUGHT, _LEAST_SAID = 400, 200, 600
_LEAST_ARGUMENT, _LEAST_ERROR = 500, 2000
"""Characters that are left of each, at least."""
_LAST = 2
"""Steps at the end that are not shortened."""
_SENTENCE = re.compile(r"(?:[^.!?。\n]|\.(?=\S))*[.!?。]?")


@dataclass(frozen=True, slots=True)
class ShownTrajectory:
    """A trajectory as it is shown to a judge."""

    steps: tuple[str, ...]
    """Each with its number on the first line; of some, several in one."""
    tools: tuple[str, ...]
    tokens: int
    """Approximate number of tokens; above the budget if it cannot be shortened further."""
    shortened: Shortened | None = None

    @property
    def note(self) -> Message | None:
        """The amount that was left out; None if nothing was."""
        if self.shortened is None:
            return None
        text = Message(
            "shortened: {characters:,} of {total:,} characters of the steps were not shown to "
            "the judge",
            characters=self.shortened.characters,
            total=self.shortened.of,
        )
        if not self.shortened.steps:
            return text
        folded = plural(
            "{count} step was only counted", "{count} steps were only counted", self.shortened.steps
        )
        return join("; ", (text, folded))


def tokens_of(text: str) -> int:
    """Estimate how many tokens a text has, in any language."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // _BYTES_A_TOKEN)


@dataclass(frozen=True, slots=True)
class _Caps:
    """Character limits per kind of text; None: no limit."""

    result: int | None = None
    thought: int | None = None
    said: int | None = None
    argument: int | None = None
    error: int | None = None
    folded: frozenset[int] = frozenset()
    """Places of steps that are only counted."""


@dataclass(slots=True)
class _Scissors:
    """Cuts texts, and counts the characters cut off."""

    language: str
    left_out: int = 0

    def cut(self, text: str, most: int | None) -> str:
        """Keep head and tail (3 : 2), with a note between them of how much was left out.

        A text only slightly over the limit is not cut.
        """
        if most is None or len(text) <= most:
            return text
        removed = len(text) - most
        mark = Message(
            "… {left:,} of {total:,} characters left out …", left=removed, total=len(text)
        ).render(self.language)
        # Cutting so little saves nothing: the mark is as long.
        if removed <= 2 * len(mark):
            return text
        self.left_out += removed
        head = most * 3 // 5
        return f"{text[:head]}\n{mark}\n{text[len(text) - (most - head) :]}"


def show_within(
    trajectory: Trajectory, budget: int, *, tools: bool = False, language: str = "en"
) -> ShownTrajectory:
    """Render the steps, and the tools if requested, within ``budget`` tokens if possible.

    Texts are shortened in this order: tool definitions, call results, thoughts, agents' interim
    messages, long arguments and errors, whole stretches of steps. The goal, the answer, user
    messages and tool names are never shortened.
    """
    drawing = _Drawing(trajectory, language, tools=tools)
    result = drawing.draw(_Caps())
    if result.tokens <= budget:
        return result
    # definitions of tools are shortened first
    drawing = replace(drawing, brief_tools=True)
    caps = _Caps()
    for cap, least, longest in (
        ("result", _LEAST_RESULT, drawing.longest_result),
        ("thought", _LEAST_THOUGHT, drawing.longest_text),
        ("said", _LEAST_SAID, drawing.longest_text),
        ("argument", _LEAST_ARGUMENT, drawing.longest_argument),
        ("error", _LEAST_ERROR, drawing.longest_error),
    ):
        if drawing.draw(caps).tokens > budget and longest > least:

            def fits(size: int, caps: _Caps = caps, cap: str = cap) -> bool:
                capped = replace(caps, **{cap: size})  # type: ignore[arg-type]  # names of sizes
                return drawing.draw(capped).tokens <= budget

            size = _largest(least, longest, fits)
            caps = replace(caps, **{cap: size})  # type: ignore[arg-type]  # names of sizes
    result = drawing.draw(caps)
    if result.tokens <= budget:
        return result
    return drawing.draw(replace(caps, folded=_steps_to_fold(drawing, caps, budget)))


def _steps_to_fold(drawing: _Drawing, caps: _Caps, budget: int) -> frozenset[int]:
    """Return the indices of the steps to replace with a count: as few as possible."""
    places = drawing.foldable

    def without(stay: int) -> frozenset[int]:
        return frozenset(places[: len(places) - stay])

    def fits(stay: int) -> bool:
        return drawing.draw(replace(caps, folded=without(stay))).tokens <= budget

    return without(_largest(0, len(places), fits))


def _largest(least: int, most: int, fits: Callable[[int], bool]) -> int:
    """Return the largest number from ``least`` to ``most`` that fits; ``least`` if none does."""
    if not fits(least):
        return least
    while least < most:
        middle = (least + most + 1) // 2
        if fits(middle):
            least = middle
        else:
            most = middle - 1
    return least


@dataclass(frozen=True, slots=True)
class _Block:
    text: str
    tokens: int
    left_out: int

    @classmethod
    def of(cls, text: str, left_out: int) -> _Block:
        return cls(text, tokens_of(text) + _HEADER, left_out)


@dataclass(frozen=True)
class _Drawing:
    trajectory: Trajectory
    language: str
    tools: bool
    brief_tools: bool = False
    _drawn: dict[_Caps, dict[int, _Block]] = field(default_factory=dict, repr=False, compare=False)
    """Caps → the blocks that were drawn so: the last caps, and none."""

    def draw(self, caps: _Caps) -> ShownTrajectory:
        """Render the trajectory with these caps."""
        scissors = _Scissors(self.language)
        steps = self.trajectory.steps
        folded = {
            place
            for run in _consecutive(sorted(caps.folded))
            if len(run) > 1  # a line about one step says less, and is hardly shorter
            for place in run
        }
        blocks: list[_Block] = []
        drawn = self._blocks_with(replace(caps, folded=frozenset()))
        for is_folded, places in groupby(range(len(steps)), folded.__contains__):
            if is_folded:
                blocks.append(_Block.of(self._fold(tuple(places)), 0))
            else:
                blocks += [drawn[place] for place in places]
        defined = [self._tool(tool, scissors) for tool in self.trajectory.tools if self.tools]
        uncut = self._blocks_with(_Caps())
        left_out = scissors.left_out + sum(block.left_out for block in blocks)
        left_out += sum(len(uncut[place].text) for place in folded)
        return ShownTrajectory(
            tuple(block.text for block in blocks),
            tuple(defined),
            sum(block.tokens for block in blocks) + sum(map(tokens_of, defined)),
            Shortened(characters=left_out, of=self._total, steps=len(folded)) if left_out else None,
        )

    @cached_property
    def _total(self) -> int:
        """Number of characters of the uncut steps and tools."""
        defined = [tool.text for tool in self.trajectory.tools if self.tools]
        blocks = self._blocks_with(_Caps()).values()
        return sum(map(len, defined)) + sum(len(block.text) for block in blocks)

    def _blocks_with(self, caps: _Caps) -> Mapping[int, _Block]:
        """Return the blocks of all steps with these caps, none of them folded."""
        cached = self._drawn.get(caps)
        if cached is not None:
            return cached
        # Most steps are shorter than the caps: their blocks are those without caps.
        uncut = {} if caps == _Caps() else self._blocks_with(_Caps())
        blocks = {
            place: uncut[place]
            if uncut and self._largest_parts[place] <= _least_of(caps)
            else self._block(place, caps)
            for place in range(len(self.trajectory.steps))
        }
        # Keep the latest caps only: a search tries many.
        for old_caps in [cached_caps for cached_caps in self._drawn if cached_caps != _Caps()]:
            del self._drawn[old_caps]
        self._drawn[caps] = blocks
        return blocks

    @cached_property
    def _largest_parts(self) -> Sequence[int]:
        """Number of characters of each step's longest part that could be cut."""
        return [_largest_part(step) for step in self.trajectory.steps]

    def _block(self, place: int, caps: _Caps) -> _Block:
        scissors = _Scissors(self.language)
        step = self.trajectory.steps[place]
        late = place >= len(self.trajectory.steps) - _LAST
        text_cap = None if late or place == 0 or self._is_answer(step) else caps.said
        header = step.header
        body: list[str] = []
        if step.call is None:
            if step.actor == "user":
                cap = None
            elif step.kind == "retrieved":
                cap = None if late else caps.result
            else:
                cap = caps.thought if step.kind == "thought" else text_cap
            body.append(scissors.cut(step.text, cap))
        else:
            call = _with_short_arguments(step.call, caps.argument, scissors)
            header = header if call is step.call else replace(step, call=call).header
            body.append(scissors.cut(step.text, text_cap))
            if call.error is not None:
                body.append(f"error: {scissors.cut(call.error, caps.error)}")
            if call.result is None:
                body.append(Message("(no result was recorded)").render(self.language))
            elif call.result != call.error:
                most = caps.error if call.error is not None else None if late else caps.result
                body.append(scissors.cut(call.result, most))
        if step.missing is not None:
            body.append(_MISSING[step.missing].render(self.language))
        text = "\n".join((f"step {step.number}", header, *filter(None, body)))
        return _Block.of(text, scissors.left_out)

    def _is_answer(self, step: Step) -> bool:
        return step.call is None and bool(step.text) and step.text == self.trajectory.answer

    @property
    def foldable(self) -> list[int]:
        """Indices of the steps that may be replaced with a count, the middle ones first."""
        steps = self.trajectory.steps
        places = [
            place
            for place, step in enumerate(steps[1:-_LAST], 1)
            if step.actor != "user"
            and step.kind != "handed over"
            and not (step.call is not None and step.call.error is not None)
            and not self._is_answer(step)
        ]
        middle = (len(steps) - 1) / 2
        return sorted(places, key=lambda place: (abs(place - middle), place))

    def _fold(self, places: Sequence[int]) -> str:
        steps = [self.trajectory.steps[place] for place in places]
        calls = Counter(step.call.name for step in steps if step.call is not None)
        kinds = Counter(str(step.kind) for step in steps if step.call is None)
        parts = []
        if calls:
            names = ", ".join(f"{name[:200]} {count}" for name, count in calls.most_common())
            count = plural("{count} call", "{count} calls", calls.total())
            parts.append(f"{count.render(self.language)}: {names}")
        parts += [f"{name} {count}" for name, count in kinds.most_common()]
        return f"steps {steps[0].number}–{steps[-1].number}\n{'; '.join(parts)}"

    def _tool(self, tool: ToolDefinition, scissors: _Scissors) -> str:
        if not self.brief_tools:
            return tool.text
        sentence = _SENTENCE.match(tool.description.strip())
        brief = f"{tool.name}: {sentence[0] if sentence else ''}"
        scissors.left_out += max(0, len(tool.text) - len(brief))
        return brief

    @property
    def longest_result(self) -> int:
        steps = self.trajectory.steps
        results = [step.call.result or "" for step in steps if step.call]
        retrieved = [step.text for step in steps if step.kind == "retrieved"]
        return max(map(len, [*results, *retrieved]), default=0)

    @property
    def longest_text(self) -> int:
        return max((len(step.text) for step in self.trajectory.steps), default=0)

    @property
    def longest_argument(self) -> int:
        values = (
            value for step in self.trajectory.calls if step.call for value in _values(step.call)
        )
        return max(map(len, values), default=0)

    @property
    def longest_error(self) -> int:
        calls = [step.call for step in self.trajectory.calls if step.call and step.call.error]
        texts = [text for call in calls for text in (call.error, call.result) if text]
        return max(map(len, texts), default=0)


_MISSING: Mapping[str, Message] = {
    "redacted": Message("(redacted in the trace)"),
    "cut": Message("(cut in the trace)"),
    "not recorded": Message("(not recorded in the trace)"),
}


def _least_of(caps: _Caps) -> float:
    sizes = (caps.result, caps.thought, caps.said, caps.argument, caps.error)
    return min((size for size in sizes if size is not None), default=math.inf)


def _largest_part(step: Step) -> int:
    call = step.call
    call_texts = () if call is None else (call.error or "", call.result or "", *_values(call))
    return max(map(len, (step.text, *call_texts)))


def _values(call: ToolCall) -> Iterator[str]:
    """Yield the arguments as text, each value separately."""
    if isinstance(call.arguments, str):
        yield call.arguments
        return
    for value in call.arguments.values():
        yield value if isinstance(value, str) else compact_json(value)


def _with_short_arguments(call: ToolCall, most: int | None, scissors: _Scissors) -> ToolCall:
    if most is None or all(len(value) <= most for value in _values(call)):
        return call
    if isinstance(call.arguments, str):
        return replace(call, arguments=scissors.cut(call.arguments, most))
    pairs = zip(call.arguments.items(), _values(call), strict=True)
    return replace(
        call,
        arguments={
            name: value if len(text) <= most else scissors.cut(text, most)
            for (name, value), text in pairs
        },
    )


def _consecutive(places: Sequence[int]) -> Iterator[list[int]]:
    """Yield lists of consecutive places."""
    for _, run in groupby(enumerate(places), lambda pair: pair[1] - pair[0]):
        yield [place for _, place in run]
