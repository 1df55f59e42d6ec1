"""The types of ``documents`` as JSON schema: what commands print, and the record of a judgment."""

from __future__ import annotations

import collections.abc
import json
import types
import typing
from collections.abc import Collection, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import fields, is_dataclass
from typing import Annotated, Any, cast, get_args, get_origin, is_typeddict

from adjudge.core.domain.json_document import type_hints
from adjudge.core.domain.record import JudgmentRecord, VoteRecord
from adjudge.core.ledger.codec import DETAILS
from adjudge.errors import SetupError
from adjudge.plugins import Parts, warn
from adjudge.runs.exporters.documents import CriteriaShape
from adjudge.runs.exporters.json_version import SCHEMA
from adjudge.runs.sections import SECTIONS

Schema = dict[str, object]
_RENAMED = {"index": "row", "criterion": "criteria"}
_NOT_ALWAYS = (
    *("input", "excluded_models", "replaced_models", "decided_by", "steps", "judge_identity"),
    *("second_opinion", "votes"),
)
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

DOCUMENTS: Parts[type] = Parts("documents")
"""The documents of commands, ours and those that packages bring."""
_CLASSES: dict[str, type] = {}
"""Name in the schema → the class that it is made of."""


def results_schema() -> Schema:
    """Return the JSON schema of every ``--json`` output."""
    defined: dict[str, Schema] = {}
    documents: list[Schema] = []
    for name in DOCUMENTS:
        try:
            documents.append(_document(name, defined))
        except SetupError as error:
            if name in DOCUMENTS.ours:
                raise
            warn(str(error))
    about = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": SCHEMA}
    return {**about, "oneOf": documents, "$defs": dict(sorted(defined.items()))}


def _document(name: str, defined: dict[str, Schema]) -> Schema:
    """Return the schema of a command's document. An invalid one is blamed on its package."""
    part = DOCUMENTS.find(name)
    with part.blame_package() if part else nullcontext():
        added = dict(defined)  # of a document that cannot be described, nothing is left behind
        document = _of(DOCUMENTS[name], added)
        defined |= added
        return document


def openapi_schemas() -> dict[str, Schema]:
    """Return OpenAPI components: ``Judgment``, and ``Result``, which lacks the row's place and
    texts.
    """
    defined: dict[str, Schema] = {}
    _of(JudgmentRecord, defined)
    judgment = defined["Judgment"]
    properties, required = (
        cast(Schema, judgment["properties"]),
        cast(list[str], judgment["required"]),
    )
    defined["Result"] = {
        "type": "object",
        "properties": {
            name: schema for name, schema in properties.items() if name not in _PLACE_AND_TEXTS
        },
        "required": [name for name in required if name not in _PLACE_AND_TEXTS],
    }
    text = json.dumps(defined).replace("#/$defs/", "#/components/schemas/")
    return cast(dict[str, Schema], json.loads(text))


def _of(annotation: object, defined: dict[str, Schema]) -> Schema:
    if annotation is JudgmentRecord:
        return _judgment(defined)
    if annotation is VoteRecord:
        return _vote(defined)
    if is_typeddict(annotation) or is_dataclass(annotation):
        return _define(cast(type, annotation), defined)
    parts = get_args(annotation)
    match get_origin(annotation):
        case typing.NotRequired:
            schema = _of(parts[0], defined)
        case typing.Annotated:
            schema = {"description": parts[1], **_of(parts[0], defined)}
        case typing.Literal:
            schema = {"enum": list(parts)}
        case typing.Union | types.UnionType:
            schema = _any_of(parts, defined)
        case collections.abc.Mapping:
            schema = {"type": "object", "additionalProperties": _of(parts[1], defined)}
        case collections.abc.Sequence:
            schema = {"type": "array", "items": _of(parts[0], defined)}
        case origin if origin is tuple:
            schema = {
                "type": "array",
                "items": _any_of([part for part in parts if part is not ...], defined),
            }
        case _:
            schema = {"type": name} if (name := _PLAIN.get(annotation)) else {}
    return schema


def _any_of(kinds: Iterable[object], defined: dict[str, Schema]) -> Schema:
    schemas: list[Schema] = []
    for kind in kinds:
        schema = _of(kind, defined)
        schemas += [] if schema in schemas else [schema]
    return schemas[0] if len(schemas) == 1 else {"anyOf": schemas}


def _define(class_: type, defined: dict[str, Schema]) -> Schema:
    """Define a class once under its name, and return a reference to it.

    Further keys are allowed, since custom judges add some.
    """
    name = class_.__name__.removesuffix("Shape").removesuffix("Record")
    if _CLASSES.setdefault(name, class_) is not class_:
        raise TypeError(f"{class_} and {_CLASSES[name]} would both be called {name}")
    if name not in defined:
        defined[name] = {}
        field_defaults = (
            {field.name: field.default is None for field in fields(class_)}
            if is_dataclass(class_)
            else {}
        )
        hints = {
            key: kind
            for key, kind in type_hints(class_).items()
            if key in field_defaults or not field_defaults
        }
        if class_ is CriteriaShape:
            for section in SECTIONS.load_all():
                hints |= type_hints(section.shape) if section.shape else {}
        optional = [
            key
            for key, kind in hints.items()
            if field_defaults.get(key) or get_origin(kind) is typing.NotRequired
        ]
        defined[name] = _object(
            class_, {key: _of(kind, defined) for key, kind in hints.items()}, optional
        )
    return {"$ref": f"#/$defs/{name}"}


def _object(class_: type, properties: Mapping[str, Schema], optional: Collection[str]) -> Schema:
    required = [key for key in properties if key not in optional]
    description = " ".join((class_.__doc__ or "").split())
    return {
        "description": description,
        "type": "object",
        "properties": dict(properties),
        "required": required,
    }


def _judgment(defined: dict[str, Schema]) -> Schema:
    """Return the schema of ``JudgmentRecord.to_dict``: common keys, then those of each kind."""
    if "Judgment" not in defined:
        defined["Judgment"] = {}
        hints = type_hints(JudgmentRecord)
        common = {_RENAMED.get(name, name): hints[name] for name in hints if name not in _NOT_SHOWN}
        common["input"] = Annotated[Mapping[str, object], "the row by its own columns"]
        common["row"] = Annotated[int, "its place among the judge's judgments, from 1"]
        common["decided_by"] = Annotated[
            str | None, "cascades: the step whose verdict it is; null where none was accepted"
        ]
        kinds_by_name: dict[str, list[object]] = {}
        for kind in (DETAILS[name] for name in DETAILS.ours):
            hints_of_kind = type_hints(kind)
            for field in fields(cast(Any, kind)):
                kinds_by_name.setdefault(field.name, []).append(hints_of_kind[field.name])
        properties = {name: _of(kind, defined) for name, kind in common.items()}
        properties |= {name: _any_of(kinds, defined) for name, kinds in kinds_by_name.items()}
        defined["Judgment"] = _object(JudgmentRecord, properties, (*_NOT_ALWAYS, *kinds_by_name))
    return {"$ref": "#/$defs/Judgment"}


def _vote(defined: dict[str, Schema]) -> Schema:
    """Return the schema of ``VoteRecord.to_dict``, with usage flattened into it."""
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
            VoteRecord,
            properties,
            [field.name for field in fields(VoteRecord) if field.default is None],
        )
    return {"$ref": "#/$defs/Vote"}
