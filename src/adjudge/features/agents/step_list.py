"""The steps of an agent as a list, on local pages and in HTML reports, for one trajectory and for
two side by side.

Text of a step comes from elsewhere: it is escaped and cut, and control and bidirectional characters
are shown instead of obeyed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal, NamedTuple

import jinja2
from markupsafe import Markup

from adjudge.core.domain.frozen_mapping import plain
from adjudge.core.domain.record import JudgmentRecord
from adjudge.core.domain.verdict import CitationFound
from adjudge.core.reading.foreign_values import as_text
from adjudge.features.agents.record import AgentDetail, agent_detail
from adjudge.features.agents.report import KeptSteps, RowMeasure, StepCounts, trajectory_of
from adjudge.features.agents.step_timeline import time_axis
from adjudge.features.agents.trajectory import Step
from adjudge.features.evidence.quotes import find_quote
from adjudge.messages import Message, term
from adjudge.runs.counts import count_tokens
from adjudge.runs.view.clean_text import visible
from adjudge.runs.view.plots import piece
from adjudge.runs.view.template import environment

SHOWN = 1_200
"""Characters of a text that a list shows: head and tail, 3 : 2."""
_LONGEST_CALL = 300
_LOOKED_INTO = 400_000
"""Characters in which base64 is looked for, and quotes."""
EVIDENCE = "evidence-"
"""How the ids of evidence begin."""
_SHOWN_IN_REPORT = 600
_IN_REPORT = 40
"""Steps of one trajectory that a report shows."""
_ROOM = 2_000_000
"""Characters of steps that one report holds, about; of further trajectories it says how many steps
they have.
"""
_MOST_MARKS = 12
_MOST_PARTS = 50
_DEEPEST = 6
_SHORT = 300
"""Characters of a result that need no click."""
_NAMES_STEP = re.compile(r"(\b(?:steps?|шаг(?:а|у|ом|е|и|ов)?)\s+№?\s*)(\d{1,7})\b", re.IGNORECASE)
_KINDS: Mapping[str, Message] = {
    "said": term("step", "said"),
    "called": term("step", "called"),
    "handed over": term("step", "handed over"),
    "thought": term("step", "thought"),
    "retrieved": term("step", "retrieved"),
    "noted": term("step", "noted"),
}
_MISSING: Mapping[str, Message] = {
    "redacted": term("step", "redacted"),
    "cut": term("step", "cut"),
    "not recorded": term("step", "not recorded"),
}
_FOUND: Mapping[CitationFound, tuple[str, Message]] = {
    "proven": ("✓", Message("the quote is in the step")),
    "moved": ("✓", Message("the quote is in this step, but another one was named")),
    "invented": ("✗", Message("the quote is in no step")),
    "void": ("✗", Message("there is no such step")),
    "absent": ("?", Message("nothing to quote, because the finding is an omission")),
}
MarkKind = Literal["cited", "blamed", "part", "person"]


@dataclass(frozen=True)
class StepMark:
    """A mark on one step, by a measure or a person."""

    kind: MarkKind
    name: str
    text: str = ""
    found: CitationFound | None = None
    link: str | None = None


@dataclass(frozen=True, kw_only=True)
class StepsFrame:
    """The context of a list of steps: marks, links, and the steps that follow."""

    marks: Mapping[int, Sequence[StepMark]] = field(default_factory=dict)
    counts: StepCounts | None = None
    """Figures of all steps: bars are relative to the largest, and agents are named if there are
    several.
    """
    prefix: str = "step-"
    """Prefix of step ids: two lists on one page need two."""
    longest: int = SHOWN
    whole: Callable[[int], str] | None = None
    """Returns the address of a step in full, with its raw JSON."""
    pick: bool = False
    """True if a step can be chosen as the place of the fault."""
    picked: int | None = None
    more: str | None = None
    """The address of further steps."""
    left: int = 0


class ShownPiece(NamedTuple):
    """A piece of a text, marked or not; with a link if it names a step."""

    text: str
    marked: bool = False
    link: str | None = None


@dataclass(frozen=True)
class ShownText:
    pieces: tuple[ShownPiece, ...]
    characters: int
    left_out: int


@dataclass(frozen=True, kw_only=True)
class ShownStep:
    """One step as a page shows it."""

    number: int
    who: str | None
    kind: Message
    classes: str
    call: str | None
    cut_call: bool
    error: ShownText | None
    text: ShownText | None
    result: ShownText | None
    missing: Message | None
    tokens: int
    seconds: float | None
    marks: tuple[StepMark, ...]
    bars: tuple[int, int]
    """Tokens and time in hundredths of the largest."""


def steps_html(steps: Sequence[Step], frame: StepsFrame, language: str) -> Markup:
    """Render steps as the items of an ``<ol class="steps">``."""
    items = [_prepare_step(step, frame) for step in steps]
    return _render(language, "items", items, frame)


def times_html(steps: KeptSteps, link: Callable[[int], str], language: str) -> Markup:
    """Render start and duration of the steps; empty if the trace has no times."""
    return _render(language, "times", time_axis(steps.times, link)) if steps.times else Markup("")


def cited_html(
    detail: AgentDetail,
    explanation: str | None,
    language: str,
    link: Callable[[int], str],
    at: str = EVIDENCE,
) -> Markup:
    """Render why a measure has its value: explanation, evidence and parts, with links to steps.

    An empty link means that the step is not shown. ``at``: the id prefix of the evidence.
    """
    return _render(language, "why", detail, link_steps(explanation, link), link, at)


class StepsOfReport:
    """Renders trajectories for a page with many of them, until the page is full."""

    def __init__(self, language: str, room: int = _ROOM) -> None:
        self._language = language
        self._room = room

    def draw(self, record: JudgmentRecord) -> Markup:
        """Render a judgment's evidence, and its steps if it has a trajectory."""
        trajectory = trajectory_of(record)
        drawn = self.steps(record, trajectory.steps) if trajectory else Markup("")
        return self.why(record, drawn) + drawn

    def why(self, record: JudgmentRecord, drawn: Markup) -> Markup:
        """Render a measure's explanation and evidence, with links to the steps that are rendered.

        Only a row's first measure stores the trajectory, and a long one is not shown in full.
        """
        detail = agent_detail(record)
        if detail is None:
            return Markup("")
        at = _id_prefix(record)
        link = _link_into(drawn, at)
        return cited_html(detail, record.explanation, self._language, link, f"{at}{EVIDENCE}")

    def steps(self, record: JudgmentRecord, steps: Sequence[Step]) -> Markup:
        """Render all steps; for a long trajectory, the first, last, failed and cited ones.

        If the page is full, render only their number.
        """
        if not steps:
            return Markup("")
        if self._room <= 0:
            return self._list([self._gap(len(steps))])
        listed = self._list(self._stretches(record, steps, _id_prefix(record)))
        stored_steps = KeptSteps([plain(step) for step in steps])
        drawn = (
            times_html(stored_steps, _link_into(listed, _id_prefix(record)), self._language)
            + listed
        )
        self._room -= len(drawn)
        return drawn

    def _stretches(
        self, record: JudgmentRecord, steps: Sequence[Step], at: str
    ) -> Iterator[Markup]:
        detail = agent_detail(record)
        measures = (
            [
                RowMeasure(
                    record.criterion, record.verdict, detail.evidence, detail.parts, detail.place
                )
            ]
            if detail
            else []
        )
        marks = marks_of(measures, record.criterion, f"{at}{EVIDENCE}")
        usages = [_tokens(step) for step in steps]
        agents = tuple(dict.fromkeys(step.actor for step in steps if step.actor != "user"))
        seconds = max(step.seconds or 0.0 for step in steps)
        counts = StepCounts(len(steps), (), {}, agents, max(usages), seconds)
        frame = StepsFrame(
            marks=marks, counts=counts, prefix=f"{at}step-", longest=_SHOWN_IN_REPORT
        )
        last_place = -1
        for place in _places_in_report(steps, marks):
            if place > last_place + 1:
                yield self._gap(place - last_place - 1)
            yield steps_html([steps[place]], frame, self._language)
            last_place = place
        if last_place + 1 < len(steps):
            yield self._gap(len(steps) - last_place - 1)

    def _gap(self, count: int) -> Markup:
        return steps_html((), StepsFrame(left=count), self._language)

    def _list(self, items: Iterable[Markup]) -> Markup:
        return Markup('<ol class="steps">{}</ol>').format(Markup("").join(items))


def _id_prefix(record: JudgmentRecord) -> str:
    """Return the prefix of a judgment's HTML ids."""
    return f"j{record.judge}-{record.row}-".replace(" ", "_")


def _link_into(drawn: Markup, at: str) -> Callable[[int], str]:
    """Return a function that links to a step in the rendered list; empty if the step is not in
    it.
    """

    def link(number: int) -> str:
        step = f"{at}step-{number}"
        return f"#{step}" if Markup('<li id="{}"').format(step) in drawn else ""

    return link


def _places_in_report(steps: Sequence[Step], marks: Mapping[int, object]) -> list[int]:
    """Return the places of the steps that a report shows."""
    places = range(len(steps))
    if len(steps) <= _IN_REPORT:
        return list(places)
    telling = [
        place
        for place in places
        if steps[place].number in marks or ((call := steps[place].call) and call.error is not None)
    ]
    places_by_priority = (*places[: _IN_REPORT // 2], *places[-_IN_REPORT // 8 :], *telling)
    return sorted(list(dict.fromkeys(places_by_priority))[:_IN_REPORT])


def _tokens(step: Step) -> int:
    return step.usage.tokens if step.usage else 0


def link_steps(text: str | None, link: Callable[[int], str]) -> tuple[ShownPiece, ...]:
    """Link every "step 7" in a text to that step."""
    pieces: list[ShownPiece] = []
    end = 0
    text = visible(text or "")
    for match in _NAMES_STEP.finditer(text):
        pieces += [ShownPiece(text[end : match.start()])]
        pieces += [ShownPiece(match[0], link=link(int(match[2])))]
        end = match.end()
    return tuple(piece for piece in (*pieces, ShownPiece(text[end:])) if piece.text)


def marks_of(
    measures: Sequence[RowMeasure], own: str, evidence: str = EVIDENCE
) -> dict[int, list[StepMark]]:
    """Map steps to the marks of their row's measures. Marks of ``own`` link to its evidence."""
    marks: dict[int, list[StepMark]] = {}

    def add(step: int | None, mark: StepMark) -> None:
        if step is not None and len(marks.setdefault(step, [])) < _MOST_MARKS:
            marks[step].append(mark)

    for measure in sorted(measures, key=lambda measure: measure.criterion != own):
        is_own = measure.criterion == own
        name = f"{measure.criterion}: {measure.verdict}" if measure.verdict else measure.criterion
        for place, citation in enumerate(measure.evidence, 1):
            link = f"#{evidence}{place}" if is_own else None
            add(
                citation["step"],
                StepMark("cited", name, citation["quote"] or "", citation["found"], link),
            )
        if measure.place and measure.place["step"] is not None:
            link = f"#{evidence}place" if is_own else None
            add(
                measure.place["step"],
                StepMark("blamed", name, measure.place["agent"] or "", None, link),
            )
        for place, part in enumerate(measure.parts[:_MOST_PARTS], 1):
            link = f"#{evidence}part-{place}" if is_own else None
            add(part.step, StepMark("part", measure.criterion, str(part.text), None, link))
    return marks


def steps_style() -> str:
    """Return the CSS for a list of steps."""
    return environment("en", html=True).get_template("adjudge.features.agents:steps.css").render()


def raw_json(step: Step, longest: int) -> ShownText:
    """Return a step as JSON, cut if it is too long."""
    text = json.dumps(plain(step), ensure_ascii=False, indent=2, default=str)
    return _cut(text, longest)


def _prepare_step(step: Step, frame: StepsFrame) -> ShownStep:
    marks = tuple(frame.marks.get(step.number, ()))
    quotes = [mark.text for mark in marks if mark.kind == "cited" and mark.text]
    call, counts = step.call, frame.counts
    call_text = None if call is None else visible(call.line)
    error = None if call is None else call.error
    # a failed call may record its error as its result, too: show it once
    result = None if call is None or call.result == error else call.result
    tokens = _tokens(step)
    several = counts is None or len(counts.agents) > 1
    classes = [step.kind.replace(" ", "-"), *(("failed",) if error is not None else ())]
    classes += [mark.kind for mark in marks]
    classes += [f"d{min(step.depth, _DEEPEST)}"] if step.depth > 0 else []
    classes += ["user"] if step.actor == "user" else []
    return ShownStep(
        number=step.number,
        who=visible(step.actor) if several or step.actor == "user" else None,
        kind=_KINDS.get(step.kind, Message(step.kind)),
        classes=" ".join(dict.fromkeys(classes)),
        call=None if call_text is None else call_text[:_LONGEST_CALL],
        cut_call=call_text is not None and len(call_text) > _LONGEST_CALL,
        error=None if error is None else _cut(error, frame.longest, quotes),
        text=_cut(step.text, frame.longest, quotes) if step.text else None,
        result=None if result is None else _cut(result, frame.longest, quotes),
        missing=_MISSING.get(step.missing or ""),
        tokens=tokens,
        seconds=step.seconds,
        marks=marks,
        bars=(
            _hundredths(tokens, counts.most_tokens if counts else 0),
            _hundredths(step.seconds or 0, counts.most_seconds if counts else 0),
        ),
    )


def _hundredths(value: float, most: float) -> int:
    return max(1, round(100 * value / most)) if value > 0 and most > 0 else 0


def _cut(text: str, longest: int, quotes: Sequence[str] = ()) -> ShownText:
    """Return a text with quotes marked; only its head and tail if it is too long."""
    length = len(text)
    # Looking for base64 in a very long text takes too long.
    if length <= _LOOKED_INTO:
        text = as_text(text)
    if len(text) <= longest:
        return ShownText(_mark_quotes(visible(text), quotes), length, 0)
    head = longest * 3 // 5
    tail = text[len(text) - (longest - head) :]
    between = Message(
        "… {left:,} of {total:,} characters left out …", left=len(text) - longest, total=len(text)
    )
    pieces = (
        *_mark_quotes(visible(text[:head]), quotes),
        ShownPiece("\n"),
        ShownPiece(between, link=""),
        ShownPiece("\n"),
        *_mark_quotes(visible(tail), quotes),
    )
    return ShownText(pieces, length, len(text) - longest)


def _mark_quotes(text: str, quotes: Sequence[str]) -> tuple[ShownPiece, ...]:
    spans = sorted(
        (span.start, span.end)
        for quote in quotes[:_MOST_MARKS]
        if (span := find_quote(visible(quote), text)) is not None
    )
    pieces: list[ShownPiece] = []
    end = 0
    for start, stop in spans:
        if start >= end:
            pieces += [ShownPiece(text[end:start]), ShownPiece(text[start:stop], marked=True)]
            end = stop
    return tuple(piece for piece in (*pieces, ShownPiece(text[end:])) if piece.text)


def _render(language: str, macro: str, *values: object) -> Markup:
    html = getattr(_page(language).module, macro)(*values)
    return Markup(html)  # noqa: S704 - the template escapes


@cache
def _page(language: str) -> jinja2.Template:
    jinja_environment = environment(language, html=True)
    jinja_environment.globals |= {
        "count_tokens": count_tokens,
        "found": _FOUND,
        "short": _SHORT,
        "linked": link_steps,
        "piece": piece,
        "visible": visible,
        "size": size,
        "most_parts": _MOST_PARTS,
    }
    return jinja_environment.get_template("adjudge.features.agents:steps.html.jinja")


def size(characters: int) -> Message:
    if characters < 1_000:
        return Message("{count} characters", count=characters)
    if characters < 1_000_000:
        return Message("{count:.1f} kB", count=characters / 1_000)
    return Message("{count:.1f} MB", count=characters / 1_000_000)
