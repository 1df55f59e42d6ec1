"""The shapes in which a reply may state its verdict. Nothing else is read.

Each function reads one shape and yields a ``Statement`` per occurrence. A statement without a
verdict means that something other than an option stands in the place of a verdict, so the model is
asked again. ``docs/judges.md`` lists the shapes for users; keep both in step.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from adjudge.domain.json_types import JsonValue
from adjudge.domain.question import Question
from adjudge.verdicts.line_shapes import (
    Statement,
    read_bare,
    read_boxes,
    read_closing,
    read_headings,
    read_labels,
    read_marks,
    read_polar,
    read_ranking,
    read_rows,
    read_tags,
)
from adjudge.verdicts.objects import reading_of
from adjudge.verdicts.parts import Line

Shape = Callable[[Sequence[Line], Question], Iterator[Statement]]
_CALL = re.compile(r"[\[`\s]*+(?P<name>[\w.]{1,60})\((?P<arguments>.*)\)[\]`;\s]*", re.DOTALL)
_KEYWORD = re.compile(r"""(\w{1,40})\s*=\s*("[^"\n]{0,2000}"|'[^'\n]{0,2000}'|[\w.-]{1,40})""")
_PLAIN_VALUES: Final[Mapping[str, JsonValue]] = {"True": True, "False": False, "None": None}
_YAML = re.compile(r"(?P<key>[^\W\d][\w ]{0,30}?)\s*[:=]\s*(?P<value>\S.*)")
_SEVERAL = 2


def read_calls(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    """``submit(verdict="PASS")`` as a whole line; its arguments are read as an object."""
    for line in lines:
        call = _CALL.fullmatch(line.text) if line.text.endswith((")", ")]", ")`")) else None
        arguments = dict(_KEYWORD.findall(call["arguments"])) if call else {}
        if call is None or not arguments:
            continue
        rest = _KEYWORD.sub("", call["arguments"]).strip(" ,")
        data = {
            name: _PLAIN_VALUES.get(text, text.strip("\"'")) for name, text in arguments.items()
        }
        reading = reading_of(data, False, question)
        if reading is None:
            continue
        is_clean = not rest and "not" not in call["name"].split("_")
        yield Statement(reading.verdict if is_clean else None, line.number, line.text, own=line.own)


def read_yaml(lines: Sequence[Line], question: Question) -> Iterator[Statement]:
    """``verdict: FAIL`` among other keys, if every line is a key with its value."""
    pairs = [_YAML.fullmatch(line.text) for line in lines]
    if len(pairs) < _SEVERAL or not all(pairs):
        return
    data = {
        pair["key"]: _PLAIN_VALUES.get(pair["value"].capitalize(), pair["value"].strip("\"'"))
        for pair in pairs
        if pair
    }
    reading = reading_of(data, False, question) if len(data) == len(pairs) else None
    if reading is not None:
        first = next(line for line in lines)
        own = all(line.own for line in lines)
        yield Statement(reading.verdict, first.number, first.text, own=own)


SHAPES: Final[Mapping[str, Shape]] = {
    "label": read_labels,
    "heading": read_headings,
    "pass or fail": read_polar,
    "line": read_bare,
    "mark": read_marks,
    "tag": read_tags,
    "call": read_calls,
    "yaml": read_yaml,
    "box": read_boxes,
    "table": read_rows,
    "ranking": read_ranking,
    "closing": read_closing,
}
"""Every accepted shape besides the object, which ``objects.reading_of`` reads."""


def statements_of(lines: Sequence[Line], question: Question) -> list[Statement]:
    """Return the statements of all shapes, in the order of their lines."""
    continued = {line.number for line in lines if not line.apart}
    stated = [
        statement._replace(decides=statement.decides and statement.line not in continued)
        for shape in SHAPES.values()
        for statement in shape(lines, question)
    ]
    return sorted(stated, key=lambda statement: statement.line)
