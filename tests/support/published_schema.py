"""The published schema of ``--json``, to check documents by."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import jsonschema

from adjudge.runs.exporters.json_schema import results_schema

OPEN = ("Judgment", "Criteria", "Run", "ConfiguredRun")
"""Custom judges add keys to these, and a run all facts that it stored."""


@cache
def definitions() -> dict[str, Any]:
    """Return the types of all documents. They allow no key that is not published."""
    published: dict[str, Any] = json.loads(json.dumps(results_schema()["$defs"]))
    for name, definition in published.items():
        if name not in OPEN:
            definition["additionalProperties"] = False
    return published


def validate(document: object, name: str) -> None:
    """Check a document by the type of this name."""
    schema = {"$ref": f"#/$defs/{name}", "$defs": definitions()}
    jsonschema.Draft202012Validator(schema).validate(document)


def validate_output(output: str) -> None:
    """Check what a command printed by the type of its kind."""
    document: Mapping[str, object] = json.loads(output)
    kind = {"enum": [document["kind"]]}
    name = next(
        name
        for name, definition in definitions().items()
        if definition["properties"].get("kind") == kind
    )
    validate(document, name)
