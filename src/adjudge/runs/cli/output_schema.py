"""``--output-schema``: a type as Python writes it, or a file with a JSON schema."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

from click import UsageError

from adjudge.errors import SetupError
from adjudge.messages import Message, reason_of

_TYPES: dict[str, Any] = {
    "int": int,
    "float": float,
    "str": str,
    "bool": bool,
    "list": list,
    "dict": dict,
    "None": type(None),
}


def schema_from(text: str) -> object:
    """Read a schema: ``int``, ``list[int]``, ``dict[str, float] | None``, a JSON schema or the path
    of one.

    Returns None for ``any``.
    """
    if text.strip() in ("any", "Any"):
        return None
    if text.lstrip().startswith("{"):
        try:
            return _json(text, "--output-schema")
        except SetupError as error:  # it was typed, not read from a file
            raise UsageError(str(error)) from None
    if text.endswith(".json"):
        return _json(_read(Path(text)), text)
    try:
        return _type(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError):
        type_names = ", ".join(_TYPES)
        raise UsageError(
            Message(
                "--output-schema {text!r}: write one of {known}, any, list[…], dict[str, "
                "…], or a .json file",
                text=text,
                known=type_names,
            )
        ) from None


def _type(node: ast.expr) -> Any:
    """Convert a type expression. It is read as text and never evaluated."""
    match node:
        case ast.Name(name) if name in _TYPES:
            return _TYPES[name]
        case ast.Constant(None):
            return type(None)
        case ast.Subscript(ast.Name("list"), inner):
            return list[_type(inner)]  # type: ignore[misc]
        case ast.Subscript(ast.Name("dict"), ast.Tuple([ast.Name("str"), inner])):
            return dict[str, _type(inner)]  # type: ignore[misc]
        case ast.BinOp(left, ast.BitOr(), right):
            return _type(left) | _type(right)
    raise ValueError(ast.dump(node))


def _json(text: str, where: str) -> object:
    try:
        schema = json.loads(text)
    except ValueError as error:
        raise SetupError("{where} is not JSON: {error}", where=where, error=error) from None
    if not isinstance(schema, dict):
        raise SetupError("{where} is not a JSON schema: it must be an object", where=where)
    return schema


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise SetupError(
            "{path} cannot be read: {reason}", path=path, reason=reason_of(error)
        ) from error
