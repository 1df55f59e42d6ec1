"""The attributes of a custom judge that are not dataclass fields: they decide its verdicts too."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import cached_property

from adjudge.core.domain.frozen_mapping import plain
from adjudge.core.domain.json_types import JsonDict, JsonValue

# Characters of an attribute that a run keeps as it is; of a longer one it keeps a hash.
_LONGEST = 2000
_NO_VALUES = (property, cached_property, classmethod, staticmethod)


def own_attributes(judge: object) -> JsonDict:
    """Map a judge's public attributes to JSON-ready values: its own, and those of classes outside
    adjudge.

    Dataclass fields, methods, properties and the models are left out.
    """
    field_names = {entry.name for entry in fields(judge)}  # type: ignore[arg-type]
    return {
        name: _to_json(value) for name, value in sorted(_public(judge)) if name not in field_names
    }


def _public(judge: object) -> Iterator[tuple[str, object]]:
    custom_classes = [
        cls
        for cls in type(judge).__mro__[:-1]
        if cls.__module__.partition(".")[0] not in ("adjudge", "abc", "typing")
    ]
    inherited = {
        name: value for cls in reversed(custom_classes) for name, value in vars(cls).items()
    }
    for name, value in {**inherited, **vars(judge)}.items():
        if (
            name.startswith("_")
            or name == "panel"
            or isinstance(inherited.get(name), cached_property)
        ):
            continue
        if not callable(value) and not isinstance(value, _NO_VALUES):
            yield name, value


def _to_json(value: object) -> JsonValue:
    try:
        text = json.dumps(plain(value), default=_json_default, sort_keys=True)
    except (TypeError, ValueError, RecursionError):
        return type(value).__name__
    return (
        json.loads(text)
        if len(text) <= _LONGEST
        else f"sha256 {hashlib.sha256(text.encode()).hexdigest()[:16]}"
    )


def _json_default(value: object) -> object:
    """Return a set's values sorted, else the type's name: JSON has neither."""
    return sorted(map(str, value)) if isinstance(value, set | frozenset) else type(value).__name__


def attributes_at_start(judge: object) -> Mapping[str, object]:
    """Return the custom judge's attributes as they were at its first request."""
    # Kept from the first request on: a judge may count or remember things in its attributes.
    attributes: Mapping[str, object] = judge.__dict__.setdefault(
        "_attributes", own_attributes(judge)
    )
    return attributes


def mark_code(judge: object, version: str) -> None:
    """Record the hash of the judge's eval file, so that editing the file makes it a different
    judge.
    """
    judge.__dict__["_code"] = version


def code_of(judge: object) -> dict[str, object]:
    """Return the hash from ``mark_code`` as the setting ``code``; an empty dict if none was
    recorded.
    """
    version = judge.__dict__.get("_code")
    return {"code": version} if version else {}
