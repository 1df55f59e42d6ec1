"""What changed between two records of how a run judges."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from adjudge.domain.json_types import JsonObject

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
