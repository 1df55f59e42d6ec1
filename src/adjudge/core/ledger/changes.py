"""Compare two recorded configurations of a run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from typing import NamedTuple

from adjudge.core.domain.json_types import JsonObject, object_in
from adjudge.messages import Message

ATTRIBUTES = "attributes"
"""The key of a custom judge's attributes other than its fields, in its settings."""


_LONGEST = 40
# Characters shown before the place where two long values differ.
_CONTEXT = 12


_NAMES = ("name", "system")
"""The keys that name an entry of a list: a criterion, a target."""


class SettingChange(NamedTuple):
    """A setting that changed: its keys, its old and its new value."""

    path: tuple[str, ...]
    before: object
    now: object

    def __str__(self) -> str:
        """Return the change in a few words; lists and mappings are not shown, and long texts are
        cut.
        """
        name, values = ".".join(self.path), (self.before, self.now)
        if any(isinstance(value, Mapping | list) for value in values):
            return name
        old, new = map(_text_of, values)
        shared = len([*takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False))])
        # Long texts that begin alike would look the same once they are cut at the end.
        if max(len(old), len(new)) > _LONGEST and shared > _CONTEXT:
            old, new = (f"…{text[shared - _CONTEXT :]}" for text in (old, new))
        return f"{name}: {_cut(old)} → {_cut(new)}"


def differences(before: JsonObject, now: JsonObject) -> list[SettingChange]:
    """Return the changed settings, except for versions and the names of dimensions in reports."""
    old_text, new_text = (
        json.dumps(configuration, sort_keys=True) for configuration in (before, now)
    )
    if old_text == new_text:
        return []
    old, new = dict(_flat(before)), dict(_flat(json.loads(new_text)))
    # Older runs did not store attributes, so new ones are not a change.
    unknown = {path[:4] for path in new if path[3:4] == (ATTRIBUTES,)} - {path[:4] for path in old}
    changed = [
        path
        for path in {**old, **new}
        if _comparable_value(path, old) != _comparable_value(path, new)
        and not _may_change(path)
        and path[:4] not in unknown
    ]
    return [SettingChange(path, old.get(path), new.get(path)) for path in changed]


def _comparable_value(path: tuple[str, ...], settings: Mapping[tuple[str, ...], object]) -> object:
    """Return the value of a setting; a boolean self_consistency as the number of votes it means."""
    value = settings.get(path)
    return (
        (1, 3)[value] if path[-1:] == ("self_consistency",) and isinstance(value, bool) else value
    )


def _may_change(path: tuple[str, ...]) -> bool:
    """Return True if the setting decides no question and no verdict."""
    return path[2:3] == ("versions",) or (
        path[2:3] == ("dimensions",) and path[4:5] in (("title",), ("labels",))
    )


def judge_changes(before: JsonObject, now: JsonObject) -> list[SettingChange]:
    """Return the changes of custom judges' attributes: their earlier answers do not apply then."""
    judges = now.get("judges")
    judge_names = judges if isinstance(judges, Mapping) else {}
    return [
        change
        for change in differences(before, now)
        if change.path[3:4] == (ATTRIBUTES,) and change.path[1] in judge_names
    ]


def is_wording(change: SettingChange) -> bool:
    """Return True if only the wording of a prompt changed, which newer versions may do."""
    return change.path[2:3] == ("templates",)


def change_lines(
    changes: Iterable[SettingChange], before: JsonObject, now: JsonObject
) -> Iterator[str]:
    """Yield one line per change. An added, removed or renamed judge is one line, as are all
    reworded prompts of a judge.
    """
    old, new = object_in(before.get("judges")), object_in(now.get("judges"))
    renamed = renamed_judges(before, now)
    gone = sorted({*old} - {*new, *renamed})
    added = sorted({*new} - {*old, *renamed.values()})
    for name, new_name in renamed.items():
        yield Message("judges.{name} is now called {other}", name=name, other=new_name)
    yield from (Message("judges.{name} was removed", name=name) for name in gone)
    yield from (Message("judges.{name} was added", name=name) for name in added)
    reworded: dict[str, list[str]] = {}
    for change in changes:
        if change.path[:1] == ("judges",) and not (change.path[1] in old and change.path[1] in new):
            continue
        if is_wording(change):
            reworded.setdefault(change.path[1], []).append(change.path[-1].removesuffix(".jinja"))
        else:
            yield from map(str, _parts(change))
    for name, templates in reworded.items():
        yield Message(
            "judges.{name}: the wording of prompts changed: {templates}",
            name=name,
            templates=", ".join(sorted(templates)),
        )


def renamed_judges(before: JsonObject, now: JsonObject) -> dict[str, str]:
    """Map old to new names of judges that judge as before."""
    old, new = object_in(before.get("judges")), object_in(now.get("judges"))
    added, renamed = sorted({*new} - {*old}), {}
    for name in sorted({*old} - {*new}):
        matches = [
            candidate
            for candidate in added
            if _without_names(new, candidate) == _without_names(old, name)
        ]
        if matches:
            renamed[name] = matches[0]
            added.remove(matches[0])
    return renamed


def _without_names(judges: JsonObject, name: str) -> object:
    """Return the configuration of a judge without its own and its criteria's names."""
    settings = {
        path: value
        for path, value in _flat(_by_name(judges[name]))
        if path[:1] not in (("versions",), ("templates",)) and path != ("settings", "name")
    }
    return sorted(
        (str(tuple("" if part == name else part for part in path)), str(value))
        for path, value in settings.items()
        if value != name
    )


def _parts(change: SettingChange) -> Iterator[SettingChange]:
    """Yield the changes inside a list of named entries, such as criteria; else the change
    itself.
    """
    old_value, new_value = _by_name(change.before), _by_name(change.now)
    if not (isinstance(old_value, Mapping) and isinstance(new_value, Mapping)):
        yield change
        return
    old, new = dict(_flat(old_value, change.path)), dict(_flat(new_value, change.path))
    for path in {**old, **new}:
        if old.get(path) != new.get(path):
            yield SettingChange(path, old.get(path), new.get(path))


def _by_name(value: object) -> object:
    """Turn lists of named entries into mappings by name, at every depth."""
    if isinstance(value, Mapping):
        return {key: _by_name(entry) for key, entry in value.items()}
    if not isinstance(value, list) or not value:
        return value
    for naming in _NAMES:
        names = [entry.get(naming) if isinstance(entry, Mapping) else None for entry in value]
        if all(isinstance(name, str) for name in names) and len(set(names)) == len(names):
            return {
                str(name): {key: _by_name(part) for key, part in entry.items() if key != naming}
                for name, entry in zip(names, value, strict=True)
            }
    return value


def _flat(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield each setting with its path; a tuple, since a key may contain a full stop."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _flat(inner, (*path, str(key)))
    else:
        yield path, value


def _text_of(value: object) -> str:
    return " ".join(value.split()) if isinstance(value, str) else json.dumps(value)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
