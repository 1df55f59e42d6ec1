"""Settings of eval files as options of commands: declared once, in the entries of the file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import Field
from typing import Any

from adjudge.core.reading.types import keys_of
from adjudge.runs.cli.declared_options import declared_option, type_of, typed_value
from adjudge.runs.cli.options import Decorator, given_as
from adjudge.runs.eval_file import JudgeEntry

Settings = Mapping[str, Any]
"""Setting → its value, by the names of an entry's fields."""


def settings(entry: type, *names: str, into: str = "settings") -> Decorator[Any]:
    """Return a decorator that adds the options for these settings of ``entry``, in this order.

    The command gets their values as ``into``, ready to make an entry. The entry declares type,
    default, allowed values and help. A setting inside a record is written ``record.setting``:

        settings(AgentEntry, "policy", "arguments.types")
    """
    fields = {name: _field(entry, name) for name in names}
    options = [declared_option(field) for field in fields.values()]

    def collect(**typed: Any) -> Settings:
        values: dict[str, Any] = {}
        nested: dict[str, dict[str, Any]] = {}
        for name, field in fields.items():
            record, _, inner_name = name.rpartition(".")
            place = nested.setdefault(record, {}) if record else values
            place[inner_name] = typed_value(field, typed[field.name])
        records = {
            name: type_of(_field(entry, name)).made(**inner_name)  # type: ignore[attr-defined]
            for name, inner_name in nested.items()
        }
        return {**values, **records}

    taken = [field.name for field in fields.values()]
    return given_as(into, collect, taken, *options)


def typed_settings(options: object, entry: type, but: Collection[str] = ()) -> Settings:
    """Return the settings of ``entry`` that the user typed: same-named fields of an options class.

    None and False mean that a setting was not typed.
    """
    names = (field.name for field in keys_of(entry).values())
    values = {name: getattr(options, name, None) for name in names if name not in but}
    return {
        name: value for name, value in values.items() if value is not None and value is not False
    }


def typed_for_judges(options: object) -> Settings:
    """Like ``typed_settings``, for the settings of all judges except gates, which belong to the
    run.
    """
    return typed_settings(options, JudgeEntry, but=("fail_under",))


def _field(entry: type, name: str) -> Field[object]:
    record, _, inner_name = name.partition(".")
    field = keys_of(entry)[record]
    return _field(type_of(field).made, inner_name) if inner_name else field  # type: ignore[attr-defined]
