"""Options of commands that are declared as settings: fields of a dataclass made with ``key``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field
from pathlib import Path
from typing import Any, TypeVar

import click

from adjudge.core.reading.types import (
    FilePath,
    Flag,
    Json,
    Many,
    Number,
    Record,
    Text,
    Type,
    WholeNumber,
    Word,
)
from adjudge.messages import Message

F = TypeVar("F", bound=Callable[..., Any])


class RenamedOption(click.Option):
    """An option with older names, which help and errors do not show."""

    def __init__(self, *names: Any, aliases: Sequence[str] = (), **settings: Any) -> None:
        super().__init__(*names, **settings)
        self.aliases = tuple(aliases)

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        listed = self.opts
        self.opts = [*listed, *self.aliases]  # only while the parser takes its copy
        try:
            super().add_to_parser(parser, ctx)
        finally:
            self.opts = listed


def _only_one(
    context: click.Context, option: click.Parameter, values: tuple[str, ...]
) -> str | None:
    if len(values) > 1:
        raise click.BadParameter(
            Message("takes one column, not {count}", count=len(values)), context, option
        )
    return values[0] if values else None


ONE_COLUMN: Mapping[str, Any] = {"multiple": True, "callback": _only_one}
"""Settings of an option that takes one column and refuses a second, which would replace the
first.
"""


def type_of(field: Field[object]) -> Type[object]:
    kind: Type[object] = field.metadata["type"]
    return kind


def declared_option(field: Field[object]) -> Callable[[F], F]:
    """Return the option of a declared setting, which supplies its type, default and help."""
    kind, bare = type_of(field), field.metadata["bare"]
    names = field.metadata["option"] or (f"--{field.name.replace('_', '-')}",)
    more = _click_settings(kind)
    help = field.metadata["help"]
    if isinstance(kind, Many) and kind.commas:
        help = f"{help} Repeatable, or separated by commas."
    elif more.get("multiple"):
        help = f"{help} Repeatable."
    if bare is not None:
        more |= {"is_flag": False, "flag_value": bare}
        help = f"{help} Without a value: {bare}."
    if not more.get("multiple") and field.default not in (MISSING, None):
        more["default"] = field.default
    if field.default is MISSING and not more.get("multiple"):
        more["required"] = True
    if field.metadata["metavar"]:
        more["metavar"] = field.metadata["metavar"]
    if field.metadata["metavar"] == "COLUMN" and not more.get("multiple"):
        more |= ONE_COLUMN
    if "/" in names[-1]:
        more.pop("is_flag", None)  # it has a name for each of its two values
    if field.metadata["aliases"]:
        older = [f"--{name.replace('_', '-')}" for name in field.metadata["aliases"]]
        more |= {"cls": RenamedOption, "aliases": older}
    return click.option(*names, field.name, help=help, **more)


def _click_settings(kind: Type[object]) -> dict[str, Any]:
    """Return the arguments of ``click.option`` for values of this type."""
    settings: dict[str, Any] = {}
    match kind:
        case Flag():
            settings = {"is_flag": True}
        case Word(allowed=[word]):  # there is nothing to choose
            settings = {"is_flag": True, "flag_value": word, "type": str}
        case Word():
            settings = {"type": click.Choice(kind.allowed)}
        case WholeNumber(least=None, most=None):
            settings = {"type": int}
        case WholeNumber():
            least, most = (None if end is None else int(end) for end in (kind.least, kind.most))
            settings = {"type": click.IntRange(least, most)}
        case Number(least=None, most=None, above=None, below=None):
            settings = {"type": float}
        case Number():
            lower = kind.least if kind.above is None else kind.above
            upper = kind.most if kind.below is None else kind.below
            open_ends = {"min_open": kind.above is not None, "max_open": kind.below is not None}
            settings = {"type": click.FloatRange(lower, upper, **open_ends)}
        case Many():
            settings = {**_click_settings(kind.item), "multiple": True}
        case Json():
            settings = {"multiple": True}
        case FilePath():
            settings = {"type": click.Path(path_type=Path)}
        case Text() | Record(short=str()):  # of a record, the key that a bare text sets
            pass
        case _:
            raise TypeError(f"{type(kind).__name__} has no option")
    return settings


def typed_value(field: Field[object], typed: Any) -> object:
    """Convert a typed value to the form that the setting's entry takes."""
    kind = type_of(field)
    if isinstance(kind, Many) and kind.commas:
        names = (name.strip() for word in typed for name in word.split(","))
        return tuple(filter(None, names))
    if isinstance(kind, Record) and kind.short and typed is not None:
        return kind.made(**{kind.short: typed})
    return str(typed) if isinstance(typed, Path) else typed
