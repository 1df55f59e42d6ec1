"""JSON as its types: what came from elsewhere, or goes there, and has no shape of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

JsonValue: TypeAlias = (
    bool | int | float | str | Sequence["JsonValue"] | Mapping[str, "JsonValue"] | None
)
JsonObject: TypeAlias = Mapping[str, JsonValue]
JsonDict: TypeAlias = dict[str, JsonValue]
"""A JSON object that is being made, or is the caller's to change."""
