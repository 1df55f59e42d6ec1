"""Named text fields that are judged, one by one or compared."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.domain.json_types import JsonDict, JsonValue
from adjudge.errors import SetupError

NUMBERED = re.compile(
    r"(response|answer|output|completion|model|system|ответ|модель|система)"
    r"(?:[\s_-]*(\d+)|(?:[\s_-]+|(?-i:(?=[A-ZА-Я])))([a-zа-я]))",
    re.IGNORECASE,
)
"""How tools, and people, name the responses they compare: response_1, Answer A, Ответ Б, …"""
FieldValue = str | tuple[str, ...]
GivenFields = Mapping[str, str | Sequence[str]]
"""Texts by their names: a text, or a list of texts."""
Metadata: TypeAlias = Mapping[str, object]
"""What is kept beside a thing: anything that whoever made it put there."""
STEPS = "steps"
"""The field that holds the steps of an agent, each with its number on the first line."""
TRAJECTORY = "trajectory"
"""Under which name an instance carries its trajectory; of rules, the field with its identity."""
NAMED_ONLY: Mapping[str, str] = {"texts": "not in the file"}
"""What is kept of an imported row whose texts are elsewhere: its fields hold names, which a model
must not be asked about.
"""


def names_only(row: object) -> bool:
    """Whether a row, as it was read, has names in place of its texts."""
    return isinstance(row, Mapping) and all(
        row.get(name) == value for name, value in NAMED_ONLY.items()
    )


def cell_of(value: object) -> JsonValue:
    """A cell as JSON-ready data; a number that JSON does not know is nothing."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): cell_of(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [cell_of(item) for item in value]
    return str(value)


@dataclass(frozen=True)
class Instance:
    """Named text fields. A value is a text or a list of texts (contexts, compared responses)."""

    fields: GivenFields
    """The texts by name; which of them is judged and which are context is for
    the criteria to say.
    """
    id: str | None = None
    """What the caller calls this instance; reports show it."""
    metadata: Metadata = field(default_factory=FrozenDict, compare=False)
    """Carried along, never shown to a model."""

    def __post_init__(self) -> None:
        if not isinstance(self.fields, Mapping) or not self.fields:
            raise SetupError(
                'an Instance needs at least one field, such as Instance(fields={"response": "…"})'
            )
        frozen = {
            str(name): value if type(value) is str else _field_value(str(name), value)
            for name, value in self.fields.items()
        }
        object.__setattr__(self, "fields", FrozenDict(frozen))
        if self.id is not None:
            object.__setattr__(self, "id", str(self.id))
        object.__setattr__(self, "metadata", FrozenDict(self.metadata or {}))

    @cached_property
    def identity(self) -> str:
        """Equal for instances that show the same: what the caller calls them is left out, the order
        of the fields is not.
        """
        return identity_of(self.fields)

    @property
    def input(self) -> JsonDict:
        """The row as it was read, by its own columns, JSON-ready; empty where a program made the
        instance.
        """
        row = self.metadata.get("row")
        if not isinstance(row, Mapping):
            return {}
        return {str(column): cell_of(value) for column, value in row.items()}

    def value(self, name: str) -> FieldValue | None:
        """The field's text or texts, or None where this instance has no such field."""
        value = self.fields.get(name)
        return value if value is None or isinstance(value, str) else tuple(value)


def texts_beside(
    user_input: str | None, reference: str | None, contexts: Sequence[str] | None
) -> dict[str, str | Sequence[str]]:
    """The fields that may accompany a response, those that were given."""
    given = {"user_input": user_input, "reference": reference, "contexts": contexts}
    return {name: value for name, value in given.items() if value is not None}


class DirectInstance(Instance):
    """An instance whose one text is judged by itself.

    ``response`` and ``context`` may be given instead of ``fields``.
    """

    def __init__(
        self,
        fields: GivenFields | None = None,
        id: str | None = None,
        metadata: Metadata | None = None,
        *,
        response: str | None = None,
        context: Mapping[str, str] | None = None,
    ) -> None:
        given = {} if response is None else {"response": response}
        super().__init__({**(context or {}), **(fields or {}), **given}, id, metadata or {})


class PairwiseInstance(Instance):
    """An instance whose responses are compared with each other: a list under ``response``.

    ``responses`` and ``context`` may be given instead of ``fields``, and fields that are numbered
    or lettered (``response_1``, ``response_2``; ``Answer A``, ``Answer B``) are taken together.
    """

    def __init__(
        self,
        fields: GivenFields | None = None,
        id: str | None = None,
        metadata: Metadata | None = None,
        *,
        responses: Sequence[str] | None = None,
        context: Mapping[str, str] | None = None,
    ) -> None:
        named = {**(context or {}), **(fields or {})}
        given = {} if responses is None else {"response": responses}
        numbered = {} if given else {"systems": tuple(_numbered(named))}
        super().__init__({**_together(named), **given}, id, {**numbered, **(metadata or {})})


def identity_of(fields: GivenFields) -> str:
    """``Instance.identity`` of fields that one was made of, as a ledger keeps them."""
    said = "".join([_measured(name, value) for name, value in fields.items()])
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _measured(name: str, value: str | Sequence[str]) -> str:
    """With the lengths before the texts, nothing in a text can pass for the end of it."""
    if isinstance(value, str):
        return f"{len(name)},{len(value)}:{name}{value}"
    return f"{len(name)}[{','.join([str(len(text)) for text in value])}]:{name}{''.join(value)}"


def _numbered(fields: Iterable[str]) -> list[str]:
    """The fields that are responses by their numbers or letters, in that order; none where a field
    holds them all.
    """
    kinds: dict[str, dict[tuple[int, str], str]] = {}
    for name in fields:
        if name in ("response", "responses"):
            return []
        if match := NUMBERED.fullmatch(name):
            kinds.setdefault(match[1].lower(), {})[int(match[2] or 0), (match[3] or "").lower()] = (
                name
            )
    several = [places for places in kinds.values() if len(places) > 1]
    return [several[0][place] for place in sorted(several[0])] if len(several) == 1 else []


def _together(fields: GivenFields) -> dict[str, str | Sequence[str]]:
    """``response_1, response_2`` (Answer A, Answer B; …) → ``response: [.., ..]``; ``responses`` is
    the same as ``response``.
    """
    found = {"response" if name == "responses" else name: value for name, value in fields.items()}
    names = _numbered(found)
    if not names:
        return found
    rest = {name: value for name, value in found.items() if name not in names}
    texts: list[Any] = [
        found[name] for name in names
    ]  # whether they are texts is checked with the other fields
    return {**rest, "response": texts}


def answer_text(value: object) -> str | None:
    """A text as it is, and a number or a truth value as JSON writes it; None of anything else, of
    NaN and infinity too.
    """
    if isinstance(value, str):
        return value
    is_scalar = isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value))
    return json.dumps(value) if is_scalar else None


def _field_value(name: str, value: object) -> FieldValue:
    if (text := answer_text(value)) is not None:
        return text
    if isinstance(value, Iterable) and not isinstance(
        value, bytes | Mapping | Set
    ):  # a set has another order in each process
        items = [answer_text(item) for item in value]
        texts = tuple(item for item in items if item is not None)
        if len(texts) == len(items):
            return texts
    raise SetupError(
        "field {name!r} must be a text or a list of texts, not {value_name}",
        name=name,
        value_name=type(value).__name__,
    )
