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
    """Return the options for these settings of ``entry``, in this order, which give the command
    ``into``: the values that an entry is made with.

    Type, default, allowed values and help are those that the entry declares. A setting that is a
    record of its own is written ``record.setting``:

        settings(AgentEntry, "policy", "arguments.types")
    """
    fields = {name: _field(entry, name) for name in names}
    options = [declared_option(field) for field in fields.values()]

    def collect(**typed: Any) -> Settings:
        values: dict[str, Any] = {}
        nested: dict[str, dict[str, Any]] = {}
        for name, field in fields.items():
            record, _, own = name.rpartition(".")
            place = nested.setdefault(record, {}) if record else values
            place[own] = typed_value(field, typed[field.name])
        records = {
            name: type_of(_field(entry, name)).made(**own)  # type: ignore[attr-defined]
            for name, own in nested.items()
        }
        return {**values, **records}

    taken = [field.name for field in fields.values()]
    return given_as(into, collect, taken, *options)


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
    return _field(type_of(field).made, own) if own else field  # type: ignore[attr-defined]
