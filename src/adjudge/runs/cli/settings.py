"""Settings of eval files as options of commands: declared once, in the entries of the file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import MISSING, Field
from pathlib import Path
from typing import Any

import click

from adjudge.core.reading.types import (
    FilePath,
    Flag,
    Json,
    Many,
    Text,
    Type,
    WholeNumber,
    Word,
    keys_of,
)
from adjudge.runs.cli.options import PATH, Decorator, given_as
from adjudge.runs.eval_file import JudgeEntry

Settings = Mapping[str, Any]
"""Setting → its value, by the names of an entry's fields."""


def settings(entry: type, *names: str) -> Decorator[Any]:
    """Return the options for these settings of ``entry``, in this order, which give the command
    ``settings``: the values that an entry is made with.

    Type, default, allowed values and help are those that the entry declares. A setting that is a
    record of its own is written ``record.setting``:

        settings(AgentEntry, "policy", "arguments.types")
    """
    fields = {name: _field(entry, name) for name in names}
    options = [_option(field) for field in fields.values()]

    def collect(**typed: Any) -> Settings:
        values: dict[str, Any] = {}
        nested: dict[str, dict[str, Any]] = {}
        for name, field in fields.items():
            record, _, own = name.rpartition(".")
            place = nested.setdefault(record, {}) if record else values
            place[own] = _value(field, typed[field.name])
        records = {
            name: _type(_field(entry, name)).made(**own)  # type: ignore[attr-defined]
            for name, own in nested.items()
        }
        return {**values, **records}

    taken = [field.name for field in fields.values()]
    return given_as("settings", collect, taken, *options)


def typed_settings(options: object, entry: type, but: Collection[str] = ()) -> Settings:
    """Return the settings of ``entry`` that were typed: the fields of the same name in an options
    class that hold a value.
    """
    names = (field.name for field in keys_of(entry).values())
    values = {name: getattr(options, name, None) for name in names if name not in but}
    return {
        name: value for name, value in values.items() if value is not None and value is not False
    }


def typed_for_judges(options: object) -> Settings:
    """Like ``typed_settings``, of every kind of judge. A gate that was typed is the run's, and not
    that of each judge.
    """
    return typed_settings(options, JudgeEntry, but=("fail_under",))


def _field(entry: type, name: str) -> Field[object]:
    record, _, own = name.partition(".")
    field = keys_of(entry)[record]
    return _field(_type(field).made, own) if own else field  # type: ignore[attr-defined]


def _type(field: Field[object]) -> Type[object]:
    kind: Type[object] = field.metadata["type"]
    return kind


def _option(field: Field[object]) -> Decorator[Any]:
    kind, bare = _type(field), field.metadata["bare"]
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
    if "/" in names[-1]:
        more.pop("is_flag", None)  # it has a name for each of its two values
    return click.option(*names, field.name, help=help, **more)


def _click_settings(kind: Type[object]) -> dict[str, Any]:
    """Return how an option is made whose values the type takes."""
    made: dict[str, Any] = {}
    match kind:
        case Flag():
            made = {"is_flag": True}
        case Word(allowed=[word]):  # there is nothing to choose
            made = {"is_flag": True, "flag_value": word, "type": str}
        case Word():
            made = {"type": click.Choice(kind.allowed)}
        case WholeNumber():
            least, most = (None if end is None else int(end) for end in (kind.least, kind.most))
            made = {"type": click.IntRange(least, most)}
        case Many():
            made = {**_click_settings(kind.item), "multiple": True}
        case Json():
            made = {"multiple": True}
        case FilePath():
            made = {"type": PATH}
        case Text():
            pass
        case _:
            raise TypeError(f"{type(kind).__name__} has no option")
    return made


def _value(field: Field[object], typed: Any) -> object:
    """Return what was typed as the entry takes it."""
    kind = _type(field)
    if isinstance(kind, Many) and kind.commas:
        names = (name.strip() for word in typed for name in word.split(","))
        return tuple(filter(None, names))
    return str(typed) if isinstance(typed, Path) else typed
