"""The screen of an annotator: a row's texts and the question, and nothing that depends on a
verdict.

Plain lines without colour or cursor movement work alike over ssh, in a pipe and in a screen reader.
"""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Sequence

from adjudge.core.domain.label import LabelScale, labels
from adjudge.core.domain.verdict import TIE
from adjudge.features.agents.report import KeptSteps, steps_in
from adjudge.messages import Message, plural, render
from adjudge.runs.view.clean_text import clean
from adjudge.trust.labels.scales import keys_of, read_fields
from adjudge.trust.labels.session import LabelProgress, ShownRow

_NARROWEST, _WIDEST = 40, 100
_FIRST_STEPS = 30
"""Steps of a trajectory that a screen shows at once; the others come by key."""
_LONGEST_BODY = 2_000
_OF_STEPS = ("steps", "contexts", "tools")
_BAR = "| "
"""Before every line of a row's text, so that none of it can pass for ours."""


def width() -> int:
    """Return the number of columns to write in; 80 is assumed without a terminal.

    It is the terminal's width less one, within limits.
    """
    return max(_NARROWEST, min(shutil.get_terminal_size((80, 24)).columns, _WIDEST)) - 1


def screen(row: ShownRow, scale: LabelScale, progress: LabelProgress, language: str) -> str:
    """Return the row, the question and the keys; only the first of many steps are shown."""
    lines = [
        "-" * width(),
        render(
            Message("{done} of {total} labelled", done=progress.done, total=progress.total),
            language,
        ),
        "",
    ]
    lines += _wrap(scale.criteria.titled_definition)
    steps = steps_in(row.fields)
    for name, value in read_fields(row.fields, scale):
        if steps is None or name not in _OF_STEPS:
            lines += ["", *_field(name, value, scale, language)]
    if steps is not None:
        lines += [
            line
            for at in range(min(len(steps), _FIRST_STEPS))
            for line in step_lines(steps, at, language)
        ]
        if (remaining := len(steps) - _FIRST_STEPS) > 0:
            more = plural("{count} more step", "{count} more steps", remaining)
            lines += ["", render(more, language)]
    lines += ["", *_keys(scale, len(row.order), language)]
    if steps is not None:
        keys = Message("j k next and previous step   e next failed step   f the fault is at it")
        lines += [render(keys, language)]
    lines += [render(Message("? unsure   s skip   n note   u undo   q quit"), language)]
    return "\n".join(lines)


def step_lines(steps: KeptSteps, place: int, language: str) -> list[str]:
    """Return one step, from place 0 on: the actor, the action and its result, shortened."""
    step = steps.at(place)
    title = Message("step {number} of {count}", number=step.number, count=len(steps))
    body = step.body
    if len(body) > _LONGEST_BODY:
        omitted = len(body) - _LONGEST_BODY
        between = Message(
            "… {left:,} of {total:,} characters left out …", left=omitted, total=len(body)
        )
        # more of the beginning than of the end
        head = _LONGEST_BODY * 3 // 5
        tail = body[len(body) - (_LONGEST_BODY - head) :]
        body = f"{body[:head]}\n{render(between, language)}\n{tail}"
    failed = step.call is not None and step.call.error is not None
    sign = "✗ " if failed else ""
    header = step.header[:_LONGEST_BODY]
    return ["", f"{sign}{render(title, language)}", *_quote_lines(f"{header}\n{body}".rstrip())]


def _field(
    name: str, value: str | Sequence[str], scale: LabelScale, language: str
) -> Iterator[str]:
    if isinstance(value, str):
        yield _one_line(name)
        yield from _quote_lines(value)
        return
    compared = scale.compares and name == scale.criteria.to_evaluate_field
    for place, (label, text) in enumerate(zip(labels(len(value)), value, strict=True)):
        if place:
            yield ""
        yield (
            render(Message("Response {label}", label=label), language)
            if compared
            else f"{_one_line(name)} {place + 1}"
        )
        yield from _quote_lines(text)


def _keys(scale: LabelScale, responses: int, language: str) -> Iterator[str]:
    if scale.range:
        lowest, highest = scale.range
        yield render(
            Message(
                "a number from {lowest} to {highest}, then Enter",
                lowest=f"{lowest:g}",
                highest=f"{highest:g}",
            ),
            language,
        )
        return
    about = {option.name: option.description for option in scale.criteria.options}
    for key, name in keys_of(scale, responses).items():
        if scale.compares:
            title = (
                render(Message("equally good"), language)
                if name == TIE
                else render(Message("Response {label}", label=name), language)
            )
        else:
            title = ": ".join(filter(None, (name if name != key else "", about[name]))) or name
        yield from _wrap(title, f"{key:>3}  ", " " * 5)


def _quote_lines(text: str) -> Iterator[str]:
    for line in text.splitlines() or [""]:
        yield from _wrap(line, _BAR, _BAR)


def _wrap(text: str, indent: str = "", hanging: str = "") -> list[str]:
    """Wrap text to lines, without characters that a terminal would obey."""
    plain = clean(text.expandtabs(4)) if indent == _BAR else _one_line(text)
    return textwrap.wrap(plain, width(), initial_indent=indent, subsequent_indent=hanging) or [
        indent.rstrip()
    ]


def _one_line(text: str) -> str:
    return clean(" ".join(text.split()))
