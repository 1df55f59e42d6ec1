"""The attributes of a judge of one's own that are not fields: they decide its verdicts as much as
those do.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import cached_property

from adjudge.core.domain.frozen_mapping import plain
from adjudge.core.domain.json_types import JsonDict, JsonValue

_LONGEST = 2000
"""Characters of an attribute that a run keeps as it is; of a longer one it keeps a hash."""
_NO_VALUES = (property, cached_property, classmethod, staticmethod)


def own_attributes(judge: object) -> JsonDict:
    """Name → value, of the object and of the classes that its author wrote; JSON-ready.

    Names with _ in front are private.
    """
    known = {entry.name for entry in fields(judge)}  # type: ignore[arg-type]
    return {name: _recorded(value) for name, value in sorted(_public(judge)) if name not in known}


def _public(judge: object) -> Iterator[tuple[str, object]]:
    own = [
        cls
        for cls in type(judge).__mro__[:-1]
        if cls.__module__.partition(".")[0] not in ("adjudge", "abc", "typing")
    ]
    inherited = {name: value for cls in reversed(own) for name, value in vars(cls).items()}
    for name, value in {**inherited, **vars(judge)}.items():
        if (
            name.startswith("_")
            or name == "panel"
            or isinstance(inherited.get(name), cached_property)
        ):
            continue
        if not callable(value) and not isinstance(value, _NO_VALUES):
            yield name, value


def _recorded(value: object) -> JsonValue:
    try:
        text = json.dumps(plain(value), default=_named, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return type(value).__name__
    return (
        json.loads(text)
        if len(text) <= _LONGEST
        else f"sha256 {hashlib.sha256(text.encode()).hexdigest()[:16]}"
    )


def _named(value: object) -> object:
    """Of a set its values, of anything else that is not data the name of its type."""
    return sorted(map(str, value)) if isinstance(value, set | frozenset) else type(value).__name__


def attributes_at_start(judge: object) -> Mapping[str, object]:
    """What a judge of one's own was given beside the common settings, as it was when it was first
    asked: it may count or remember things.
    """
    kept: Mapping[str, object] = judge.__dict__.setdefault("_attributes", own_attributes(judge))
    return kept


def mark_code(judge: object, version: str) -> None:
    """Keep with a judge of an eval file which file it was made of: edited, it is another judge."""
    judge.__dict__["_code"] = version


def code_of(judge: object) -> dict[str, object]:
    """What ``mark_code`` kept, as a setting; of other judges nothing."""
    version = judge.__dict__.get("_code")
    return {"code": version} if version else {}
