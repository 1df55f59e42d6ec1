"""Worker process for checks in Python: each line on standard input is a call, each line of output
its answer.
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

# Seconds after its time at which the process ends itself, in case its parent is gone.
_LONGER = 2.0


@dataclass(frozen=True)
class CheckCall:
    """Code to run on a row."""

    code: str
    """An expression, or a reference to a function."""
    text: str
    row: Instance
    seconds: float

    def to_line(self) -> str:
        return base64.b64encode(pickle.dumps(self)).decode("ascii")


def serve() -> None:
    """Answer lines until the input ends. Prints of a check go to standard error, and its standard
    input is empty.
    """
    lines, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w", encoding="utf-8")
    with Path(os.devnull).open() as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    print(file=answers, flush=True)
    for line in lines:
        # the line comes from our own process
        check_call: CheckCall = pickle.loads(base64.b64decode(line))  # noqa: S301
        print(json.dumps(_answer(check_call)), file=answers, flush=True)


def _answer(check_call: CheckCall) -> dict[str, Any]:
    # Not available on Windows.
    end = getattr(signal, "setitimer", None)
    if end:
        end(signal.ITIMER_REAL, check_call.seconds + _LONGER)
    try:
        value = _run(check_call)
        scalar = isinstance(value, bool | int | float)
        return {"said": value} if scalar else {"other": repr(value)}
    # User code may raise anything; that is not a verdict.
    except (Exception, SystemExit) as error:  # noqa: BLE001
        return {"raised": type(error).__name__, "error": str(error)}
    finally:
        if end:
            end(signal.ITIMER_REAL, 0)


def _run(check_call: CheckCall) -> object:
    if is_reference(check_call.code):
        return load_code(check_call.code)(check_call.text, _with_columns(check_call.row))
    return eval(  # noqa: S307
        _compile(check_call.code),
        {"text": check_call.text, "row": check_call.row, **check_call.row.fields},
    )


def _with_columns(row: Instance) -> Instance:
    """Return the row with its own columns as further fields, because a function may read any of
    them.
    """
    texts = ((name, answer_text(value)) for name, value in row.input.items())
    columns = {name: text for name, text in texts if text is not None}
    return replace(row, fields={**columns, **row.fields})


@cache
def _compile(code: str) -> CodeType:
    return compile(code, "<check>", "eval")
