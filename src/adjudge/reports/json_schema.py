"""The types of ``documents`` as JSON schema."""

from __future__ import annotations

import collections.abc
import types
import typing
from typing import get_args, get_origin, get_type_hints, is_typeddict

from adjudge.reports.documents import DOCUMENTS
from adjudge.reports.json_version import SCHEMA

Schema = dict[str, object]
_PLAIN: dict[object, str] = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def results_schema() -> Schema:
    """What every ``--json`` prints."""
    defined: dict[str, Schema] = {}
    documents = [_of(one, defined) for one in DOCUMENTS]
    about = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": SCHEMA}
    return {**about, "oneOf": documents, "$defs": dict(sorted(defined.items()))}


def _of(made: object, defined: dict[str, Schema]) -> Schema:
    if is_typeddict(made):
        return _named(made, defined)  # type: ignore[arg-type]
    parts = get_args(made)
    match get_origin(made):
        case typing.NotRequired:
            found = _of(parts[0], defined)
        case typing.Annotated:
            found = {"description": parts[1], **_of(parts[0], defined)}
        case typing.Literal:
            found = {"enum": list(parts)}
        case typing.Union | types.UnionType:
            found = {"anyOf": [_of(part, defined) for part in parts]}
        case collections.abc.Mapping:
            found = {"type": "object", "additionalProperties": _of(parts[1], defined)}
        case collections.abc.Sequence:
            found = {"type": "array", "items": _of(parts[0], defined)}
        case _:
            found = {"type": name} if (name := _PLAIN.get(made)) else {}
    return found


def _named(made: type, defined: dict[str, Schema]) -> Schema:
    """Once under its name, and a reference to it. A result may say more than it must: a judge of one's own does."""
    name = made.__name__.removesuffix("Shape")
    if name not in defined:
        defined[name] = {}
        hints = get_type_hints(made, include_extras=True)
        fields = {field: _of(kind, defined) for field, kind in hints.items()}
        required = [field for field, kind in hints.items() if get_origin(kind) is not typing.NotRequired]
        about = " ".join((made.__doc__ or "").split())
        defined[name] = {"description": about, "type": "object", "properties": fields, "required": required}
    return {"$ref": f"#/$defs/{name}"}
