"""Check values by a JSON schema (draft 2020-12).

Nothing is fetched: a ``$ref`` may only point into its own schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec

from adjudge.core.domain.json_types import JsonObject
from adjudge.errors import SetupError

JsonSchema = JsonObject


def check_json_schema(schema: JsonSchema) -> None:
    """Raise a SetupError if ``schema`` is not valid, or jsonschema is not installed."""
    if find_spec("jsonschema") is None:
        raise SetupError(
            "an output_schema that is a JSON schema needs jsonschema: pip install 'adjudge[schema]'"
        )
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        raise SetupError(
            "output_schema{place} is not a JSON schema: {said}",
            place=_place(error.absolute_path),
            said=error.message,
        ) from None
    _check_references(schema)


def mismatch(value: object, schema: JsonSchema) -> str | None:
    """Return why and where ``value`` violates ``schema``, or None."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match
    from referencing import Registry

    error = best_match(Draft202012Validator(schema, registry=Registry()).iter_errors(value))
    return f"output{_place(error.absolute_path)}: {error.message}" if error else None


def _check_references(schema: JsonSchema) -> None:
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    resolver = Registry().resolver_with_root(DRAFT202012.create_resource(schema))
    for reference in _references(schema):
        try:
            resolver.lookup(reference)
        except Unresolvable:
            raise SetupError(
                "output_schema refers to {reference!r}, which is not in it: put it under $defs",
                reference=reference,
            ) from None


def _references(schema: object) -> Iterator[str]:
    if isinstance(schema, Mapping):
        if isinstance(reference := schema.get("$ref"), str):
            yield reference
        schema = list(schema.values())
    if isinstance(schema, list):
        for part in schema:
            yield from _references(part)


def _place(path: Iterable[str | int]) -> str:
    return "".join(f"[{step!r}]" for step in path)
