"""The types of ``documents`` as JSON schema: what commands print, and the record of a judgment."""

from __future__ import annotations

import collections.abc
import json
import types
import typing
from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, cast, get_args, get_origin, is_typeddict

from adjudge.core.domain.record import JudgmentRecord, VoteRecord
from adjudge.core.ledger.codec import DETAILS
from adjudge.core.reading.typed_json import type_hints
from adjudge.runs.exporters.documents import DOCUMENTS, CriteriaShape
from adjudge.runs.exporters.json_version import SCHEMA
from adjudge.runs.sections import SECTIONS

Schema = dict[str, object]
_RENAMED = {"index": "row", "criterion": "criteria"}
_NOT_ALWAYS = ("input", "excluded_models", "decided_by", "steps", "judge_identity", "votes")
_NOT_SHOWN = ("detail", "used", "named")
_NOT_SHOWN_OF_A_VOTE = (
    *("usage", "score", "at", "answered_before", "fingerprint", "persona"),
    *("repairs", "metadata", "prompt", "unfinished"),
)
_PLACE_AND_TEXTS = ("judge", "row", "id", "fields", "input", "judge_identity", "votes")
_COUNTS = ("prompt_tokens", "completion_tokens", "calls")
_PLAIN: dict[object, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}

_CLASSES: dict[str, type] = {}
"""Name in the schema → the class that it is made of."""


def results_schema() -> Schema:
    """What every ``--json`` prints."""
    defined: dict[str, Schema] = {}
    documents = [_of(one, defined) for one in DOCUMENTS]
    about = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": SCHEMA}
    return {**about, "oneOf": documents, "$defs": dict(sorted(defined.items()))}


def openapi_schemas() -> dict[str, Schema]:
    """``Judgment``, a row of a run with its parts, and ``Result``, the same without where it
    stands and what was judged: components of OpenAPI.
    """
    defined: dict[str, Schema] = {}
    _of(JudgmentRecord, defined)
    whole = defined["Judgment"]
    properties, required = cast(Schema, whole["properties"]), cast(list[str], whole["required"])
    defined["Result"] = {
        "type": "object",
        "properties": {
            name: one for name, one in properties.items() if name not in _PLACE_AND_TEXTS
        },
        "required": [name for name in required if name not in _PLACE_AND_TEXTS],
    }
    said = json.dumps(defined).replace("#/$defs/", "#/components/schemas/")
    return cast(dict[str, Schema], json.loads(said))


def _of(made: object, defined: dict[str, Schema]) -> Schema:
    if made is JudgmentRecord:
        return _judgment(defined)
    if made is VoteRecord:
        return _vote(defined)
    if is_typeddict(made) or is_dataclass(made):
        return _named(cast(type, made), defined)
    parts = get_args(made)
    match get_origin(made):
        case typing.NotRequired:
            found = _of(parts[0], defined)
        case typing.Annotated:
            found = {"description": parts[1], **_of(parts[0], defined)}
        case typing.Literal:
            found = {"enum": list(parts)}
        case typing.Union | types.UnionType:
            found = _any_of(parts, defined)
        case collections.abc.Mapping:
            found = {"type": "object", "additionalProperties": _of(parts[1], defined)}
        case collections.abc.Sequence:
            found = {"type": "array", "items": _of(parts[0], defined)}
        case origin if origin is tuple:
            found = {
                "type": "array",
                "items": _any_of([part for part in parts if part is not ...], defined),
            }
        case _:
            found = {"type": name} if (name := _PLAIN.get(made)) else {}
    return found


def _any_of(kinds: Iterable[object], defined: dict[str, Schema]) -> Schema:
    found: list[Schema] = []
    for kind in kinds:
        one = _of(kind, defined)
        found += [] if one in found else [one]
    return found[0] if len(found) == 1 else {"anyOf": found}


def _named(made: type, defined: dict[str, Schema]) -> Schema:
    """Once under its name, and a reference to it.

    A result may say more than it must: a judge of one's own does.
    """
    name = made.__name__.removesuffix("Shape").removesuffix("Record")
    if _CLASSES.setdefault(name, made) is not made:
        raise TypeError(f"{made} and {_CLASSES[name]} would both be called {name}")
    if name not in defined:
        defined[name] = {}
        kept = {one.name: one.default is None for one in fields(made)} if is_dataclass(made) else {}
        hints = {key: kind for key, kind in type_hints(made).items() if key in kept or not kept}
        if made is CriteriaShape:
            for section in SECTIONS.load_all():
                hints |= type_hints(section.shape) if section.shape else {}
        optional = [
            key
            for key, kind in hints.items()
            if kept.get(key) or get_origin(kind) is typing.NotRequired
        ]
        defined[name] = _object(
            made, {key: _of(kind, defined) for key, kind in hints.items()}, optional
        )
    return {"$ref": f"#/$defs/{name}"}


def _object(made: type, properties: Mapping[str, Schema], optional: Collection[str]) -> Schema:
    required = [key for key in properties if key not in optional]
    about = " ".join((made.__doc__ or "").split())
    return {
        "description": about,
        "type": "object",
        "properties": dict(properties),
        "required": required,
    }


def _judgment(defined: dict[str, Schema]) -> Schema:
    """What ``JudgmentRecord.to_dict`` says: what all of them have, and behind it what each kind has
    of its own.
    """
    if "Judgment" not in defined:
        defined["Judgment"] = {}
        hints = type_hints(JudgmentRecord)
        common = {_RENAMED.get(name, name): hints[name] for name in hints if name not in _NOT_SHOWN}
        common["input"] = Annotated[Mapping[str, object], "the row by its own columns"]
        common["row"] = Annotated[int, "its place among the judge's judgments, from 1"]
        common["decided_by"] = Annotated[
            str | None, "cascades: the step whose verdict it is; null where none was accepted"
        ]
        own: dict[str, list[object]] = {}
        for kind in (DETAILS[name] for name in DETAILS.ours):
            known = type_hints(kind)
            for one in fields(cast(Any, kind)):
                own.setdefault(one.name, []).append(known[one.name])
        properties = {name: _of(kind, defined) for name, kind in common.items()}
        properties |= {name: _any_of(kinds, defined) for name, kinds in own.items()}
        defined["Judgment"] = _object(JudgmentRecord, properties, (*_NOT_ALWAYS, *own))
    return {"$ref": "#/$defs/Judgment"}


def _vote(defined: dict[str, Schema]) -> Schema:
    """What ``VoteRecord.to_dict`` says: the usage among the rest."""
    if "Vote" not in defined:
        hints = {
            **type_hints(VoteRecord),
            **dict.fromkeys(_COUNTS, int),
            "tokens_estimated": bool,
        }
        properties = {
            name: _of(kind, defined)
            for name, kind in hints.items()
            if name not in _NOT_SHOWN_OF_A_VOTE
        }
        defined["Vote"] = _object(
            VoteRecord, properties, [one.name for one in fields(VoteRecord) if one.default is None]
        )
    return {"$ref": "#/$defs/Vote"}
