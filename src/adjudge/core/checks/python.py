"""Custom checks in Python: an expression, or a function in a file."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import CodeType

from adjudge.core.aio.side_process import ProcessEnded, SideProcess, TookTooLong
from adjudge.core.checks.check import Check, Observation
from adjudge.core.checks.python_worker import CheckCall
from adjudge.core.checks.words import short
from adjudge.core.domain.instance import Instance
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.reading.types import Number, Text, key
from adjudge.core.reading.user_code import is_reference, load_code, locate_code, on_forgetting
from adjudge.errors import SetupError
from adjudge.messages import Message

Function = Callable[[str, Instance], object]
_SERVE = """\
import sys
sys.path[:] = sys.argv[1:]
from adjudge.core.checks.python_worker import serve
serve()
"""
_CALLER = SideProcess(lambda: [sys.executable, "-c", _SERVE, *sys.path], shows_errors=True)
on_forgetting.append(_CALLER.restart)


@light_dataclass(frozen=True, kw_only=True)
class Python(Check):
    """A Python expression over ``text``, the fields of the row by name, and ``row``; or a function
    of ``text`` and ``row``, as ``file.py:name`` or ``module:name``.

    The result is True, False, or a score from 0 to 1, which passes from 0.5. The code runs with the
    rights of the user: eval files from others are shown before they run.
    """

    code: str = key(Text(), "An expression, or file.py:function.")
    timeout: float = key(Number(above=0), "Time limit per row, in seconds.", 10.0)
    folder: Path = Path()
    """Folder of the code file."""

    @property
    def title(self) -> str:
        if not is_reference(self.code):
            return short(self.code)
        place, _, name = self.code.rpartition(":")
        return short(f"{Path(place).name}:{name}")

    @property
    def reads(self) -> tuple[str, ...]:
        """Names in an expression. A function may read any field of the row."""
        return () if is_reference(self.code) else self._expression.co_names

    def beside(self, folder: Path) -> Python:
        return replace(self, folder=folder)

    @property
    def runs(self) -> str:
        return self.code

    def prepare(self) -> None:
        _ = self._function if is_reference(self.code) else self._expression

    def look(self, text: str, row: Instance) -> Observation:
        code = locate_code(self.code, self.folder) if is_reference(self.code) else self.code
        call = CheckCall(code, text, row, float(self.timeout))
        try:
            answer = json.loads(_CALLER.ask(call.to_line(), call.seconds))
        except TookTooLong:
            late = Message("it took longer than {seconds:g} s", seconds=call.seconds)
            return Observation(None, late)
        except ProcessEnded:
            return Observation(None, Message("it ended its own process"))
        if "raised" in answer:
            raised = Message("{name}: {error}", name=answer["raised"], error=answer["error"])
            return Observation(None, raised)
        answer_value = answer.get("said")
        if isinstance(answer_value, bool):
            return Observation(answer_value, Message("it says {said}", said=str(answer_value)))
        if isinstance(answer_value, int | float) and 0 <= answer_value <= 1:
            return Observation(
                answer_value >= 0.5,
                Message("it says {said:g}", said=float(answer_value)),
                (),
                float(answer_value),
            )
        return Observation(
            None,
            Message(
                "it returned {said} instead of True, False or a number from 0 to 1",
                said=short(answer.get("other", repr(answer_value))),
            ),
        )

    @cached_property
    def _expression(self) -> CodeType:
        try:
            return compile(self.code, "<check>", "eval")
        except (SyntaxError, ValueError) as error:
            raise SetupError(
                "the expression {code!r} cannot be parsed: {reason}",
                code=self.code,
                reason=getattr(error, "msg", str(error)),
            ) from error

    @cached_property
    def _function(self) -> Function:
        function = load_code(locate_code(self.code, self.folder))
        if inspect.iscoroutinefunction(function):
            raise SetupError("{code} is async: a check must be a plain function", code=self.code)
        return function
