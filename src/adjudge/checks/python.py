"""Checks that somebody writes in Python: an expression, or a function of a file."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache, cached_property
from pathlib import Path
from types import CodeType, ModuleType

from adjudge.checks.check import Check, Finding
from adjudge.checks.words import short
from adjudge.domain.instance import Instance
from adjudge.domain.light import light_dataclass
from adjudge.errors import SetupError
from adjudge.messages import Message
from adjudge.reading.types import Text, key

Function = Callable[[str, Instance], object]


@light_dataclass(frozen=True, kw_only=True)
class Python(Check):
    """An expression over ``text``, the fields of the row by their names, and ``row``; or a function
    of ``text`` and ``row``, as ``file.py:name`` or ``module:name``. True, False, or a score from 0
    to 1 of which half is enough.

    It is the program of whoever wrote the eval file, and runs as such: a file from somebody else is
    shown before.
    """

    code: str = key(Text(), "An expression, or file.py:function.")

    @property
    def title(self) -> str:
        return short(self.code)

    @property
    def reads(self) -> tuple[str, ...]:
        """An expression reads what it names; a function may read whatever the row has."""
        return () if is_reference(self.code) else self._expression.co_names

    def beside(self, folder: Path) -> Python:
        place, _, name = self.code.rpartition(":")
        if not is_reference(self.code):
            return self
        if place.endswith(".py"):
            return replace(self, code=f"{folder / place}:{name}")
        file = folder.joinpath(*place.split(".")).with_suffix(".py")
        return replace(self, code=f"{file}:{name}") if file.is_file() else self

    def prepare(self) -> None:
        _ = self._function if is_reference(self.code) else self._expression

    def look(self, text: str, row: Instance) -> Finding:
        try:
            said = (
                self._function(text, row)
                if is_reference(self.code)
                else eval(self._expression, {"text": text, "row": row, **dict(row.fields)})  # noqa: S307 - the user's own program
            )
        except Exception as error:  # noqa: BLE001 - somebody's own program: what it raises is no verdict
            name = type(error).__name__
            return Finding(None, Message("{name}: {error}", name=name, error=str(error)))
        if isinstance(said, bool):
            return Finding(said, Message("it says {said}", said=str(said)))
        if isinstance(said, int | float) and 0 <= said <= 1:
            return Finding(
                said >= 0.5, Message("it says {said:g}", said=float(said)), (), float(said)
            )
        return Finding(
            None,
            Message(
                "it says {said}, which is neither True or False nor a number from 0 to 1",
                said=short(repr(said)),
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
        found = load_function(self.code)
        if inspect.iscoroutinefunction(found):
            raise SetupError("{code} is async: a check is a plain function", code=self.code)
        return found


def is_reference(code: str) -> bool:
    """Whether it names a function: ``file.py:name`` or ``module:name``."""
    module, colon, name = code.rpartition(":")
    names_module = module.endswith(".py") or all(part.isidentifier() for part in module.split("."))
    return bool(colon and module and name.isidentifier() and names_module)


def load_function(reference: str) -> Function:
    """The function that ``file.py:name`` or ``module:name`` means; a SetupError says what is not
    there.
    """
    place, _, name = reference.rpartition(":")
    try:
        module = load_file(Path(place)) if place.endswith(".py") else importlib.import_module(place)
    except SetupError:
        raise
    except Exception as error:
        raise SetupError(
            "{reference} cannot be loaded: {name}: {error}",
            reference=reference,
            name=type(error).__name__,
            error=str(error),
        ) from error
    found = getattr(module, name, None)
    if not callable(found):
        raise SetupError("there is no function {name!r} in {place}", name=name, place=place)
    function: Function = found
    return function


@cache
def load_file(path: Path) -> ModuleType:
    """A file as a module: once for all that name it; what lies beside it can be imported."""
    if not path.is_file():
        raise SetupError("{path} is not a file", path=path)
    spec = importlib.util.spec_from_file_location(f"adjudge_user_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise SetupError("{path} cannot be loaded as Python", path=path)
    module = importlib.util.module_from_spec(spec)
    beside = str(path.absolute().parent)
    sys.path.insert(0, beside)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(beside)
    return module
