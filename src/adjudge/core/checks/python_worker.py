"""What runs checks in Python, in a process of its own: a line says what is called on what, a line
answers.
"""

from __future__ import annotations

import base64
import json
import os
import pickle
import signal
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

from adjudge.core.domain.instance import Instance, answer_text
from adjudge.core.reading.user_code import is_reference, load_code

_LONGER = 2.0
"""Seconds after its time at which the process ends itself, should nobody be left to end it."""


@dataclass(frozen=True)
class CheckCall:
    """What is run on which row."""

    code: str
    """An expression, or a reference to a function."""
    text: str
    row: Instance
    seconds: float

    def to_line(self) -> str:
        return base64.b64encode(pickle.dumps(self)).decode("ascii")


def serve() -> None:
    """Answer lines until there are no more. What a check prints goes to standard error, and it has
    nothing to read.
    """
    lines, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w", encoding="utf-8")
    with Path(os.devnull).open() as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    print(file=answers, flush=True)
    for line in lines:
        asked: CheckCall = pickle.loads(base64.b64decode(line))  # noqa: S301 - from our own process
        print(json.dumps(_answer(asked)), file=answers, flush=True)


def _answer(asked: CheckCall) -> dict[str, Any]:
    end = getattr(signal, "setitimer", None)
    if end:
        end(signal.ITIMER_REAL, asked.seconds + _LONGER)
    try:
        said = _run(asked)
        scalar = isinstance(said, bool | int | float)
        return {"said": said} if scalar else {"other": repr(said)}
    # somebody's own program: what it raises is no verdict
    except (Exception, SystemExit) as error:  # noqa: BLE001
        return {"raised": type(error).__name__, "error": str(error)}
    finally:
        if end:
            end(signal.ITIMER_REAL, 0)


def _run(asked: CheckCall) -> object:
    if is_reference(asked.code):
        return load_code(asked.code)(asked.text, _with_columns(asked.row))
    return eval(  # noqa: S307
        _compiled(asked.code), {"text": asked.text, "row": asked.row, **asked.row.fields}
    )


def _with_columns(row: Instance) -> Instance:
    """With the row's own columns as further fields: nobody knows which of them a function reads."""
    texts = ((name, answer_text(value)) for name, value in row.input.items())
    columns = {name: text for name, text in texts if text is not None}
    return replace(row, fields={**columns, **row.fields})


@cache
def _compiled(code: str) -> CodeType:
    return compile(code, "<check>", "eval")
