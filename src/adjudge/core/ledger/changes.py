"""What changed between two records of how a run judges."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from adjudge.core.domain.json_types import JsonObject, object_in
from adjudge.messages import Message

ATTRIBUTES = "attributes"
"""Under the settings of a judge of one's own: what it was given beside its fields."""


_LONGEST = 40


class SettingChange(NamedTuple):
    """A setting that changed: the keys that lead to it, what it was and what it is."""

    path: tuple[str, ...]
    before: object
    now: object

    def __str__(self) -> str:
        """In a few words: a value that takes a page is not shown."""
        name, values = ".".join(self.path), (self.before, self.now)
        if any(isinstance(value, Mapping | list) for value in values):
            return name
        return f"{name}: {_shown(self.before)} → {_shown(self.now)}"


def differences(before: JsonObject, now: JsonObject) -> list[SettingChange]:
    """What changed. Versions may change, and what a dimension is called in reports."""
    then, today = (json.dumps(one, sort_keys=True) for one in (before, now))
    if then == today:
        return []
    old, new = dict(_flat(before)), dict(_flat(json.loads(today)))
    unknown = {path[:4] for path in new if path[3:4] == (ATTRIBUTES,)} - {path[:4] for path in old}
    """Older runs did not keep them."""
    changed = [
        path
        for path in {**old, **new}
        if _votes(path, old) != _votes(path, new)
        and not _may_change(path)
        and path[:4] not in unknown
    ]
    return [SettingChange(path, old.get(path), new.get(path)) for path in changed]


def _votes(path: tuple[str, ...], settings: Mapping[tuple[str, ...], object]) -> object:
    """What is set; of self-consistency, which may be said as yes or no, the number of votes that it
    means.
    """
    value = settings.get(path)
    return (
        (1, 3)[value] if path[-1:] == ("self_consistency",) and isinstance(value, bool) else value
    )


def _may_change(path: tuple[str, ...]) -> bool:
    """Whether it has no part in any question or verdict."""
    return path[2:3] == ("versions",) or (
        path[2:3] == ("dimensions",) and path[4:5] in (("title",), ("labels",))
    )


def judge_changes(before: JsonObject, now: JsonObject) -> list[SettingChange]:
    """What changed in judges of one's own, whose earlier answers do not apply then."""
    judges = now.get("judges")
    own = judges if isinstance(judges, Mapping) else {}
    return [
        one
        for one in differences(before, now)
        if one.path[3:4] == (ATTRIBUTES,) and one.path[1] in own
    ]


def is_wording(change: SettingChange) -> bool:
    """Whether it is only how a prompt is worded, which a newer version may do otherwise."""
    return change.path[2:3] == ("templates",)


def change_lines(
    changes: Iterable[SettingChange], before: JsonObject, now: JsonObject
) -> Iterator[str]:
    """Each change in a line; of a judge that only one of them has, just that, and of one that is
    only called otherwise, its two names.
    """
    old, new = object_in(before.get("judges")), object_in(now.get("judges"))
    renamed = renamed_judges(before, now)
    gone = sorted({*old} - {*new, *renamed})
    added = sorted({*new} - {*old, *renamed.values()})
    for name, other in renamed.items():
        yield Message("judges.{name} is now called {other}", name=name, other=other)
    yield from (Message("judges.{name} is not there any more", name=name) for name in gone)
    yield from (Message("judges.{name} was not there", name=name) for name in added)
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
            "judges.{name}: prompts are worded otherwise: {templates}",
            name=name,
            templates=", ".join(sorted(templates)),
        )


def renamed_judges(before: JsonObject, now: JsonObject) -> dict[str, str]:
    """The judges that are called otherwise now, and judge as they did."""
    old, new = object_in(before.get("judges")), object_in(now.get("judges"))
    added, renamed = sorted({*new} - {*old}), {}
    for name in sorted({*old} - {*new}):
        same = [one for one in added if _nameless(new, one) == _nameless(old, name)]
        if same:
            renamed[name] = same[0]
            added.remove(same[0])
    return renamed


def _nameless(judges: JsonObject, name: str) -> object:
    """How a judge judges, whatever it and its criteria are called."""
    found = {
        path: value
        for path, value in _flat(_by_name(judges[name]))
        if path[:1] not in (("versions",), ("templates",)) and path != ("settings", "name")
    }
    return sorted(
        (str(tuple("" if part == name else part for part in path)), str(value))
        for path, value in found.items()
        if value != name
    )


def _parts(change: SettingChange) -> Iterator[SettingChange]:
    """What changed inside of a list whose entries have names, such as criteria; else the change."""
    before, now = _by_name(change.before), _by_name(change.now)
    if not (isinstance(before, Mapping) and isinstance(now, Mapping)):
        yield change
        return
    old, new = dict(_flat(before, change.path)), dict(_flat(now, change.path))
    for path in {**old, **new}:
        if old.get(path) != new.get(path):
            yield SettingChange(path, old.get(path), new.get(path))


def _by_name(value: object) -> object:
    """Lists of things that have a name as mappings from it, at every depth."""
    if isinstance(value, Mapping):
        return {key: _by_name(one) for key, one in value.items()}
    if not isinstance(value, list) or not value:
        return value
    names = [one.get("name") if isinstance(one, Mapping) else None for one in value]
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        return value
    return {
        str(name): {key: _by_name(part) for key, part in one.items() if key != "name"}
        for name, one in zip(names, value, strict=True)
    }


def _flat(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """Each setting with the keys that lead to it: a key may hold a full stop."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _flat(inner, (*path, str(key)))
    else:
        yield path, value


def _shown(value: object) -> str:
    text = " ".join(value.split()) if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
