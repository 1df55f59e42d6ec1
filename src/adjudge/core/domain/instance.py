"""Instances: named text fields that are judged one by one or compared."""

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
"""Names of compared responses in other tools and tables: response_1, Answer A, Ответ Б, …"""
_ANSWERERS = ("model", "system", "модель", "система")
FieldValue = str | tuple[str, ...]
GivenFields = Mapping[str, str | Sequence[str]]
"""Texts by their names: a text, or a list of texts."""
Metadata: TypeAlias = Mapping[str, object]
"""Extra data of an object: anything that its creator put there."""
STEPS = "steps"
"""The field that holds the steps of an agent, each with its number on the first line."""
TRAJECTORY = "trajectory"
"""The metadata key of an instance's trajectory; for rules, the field with its identity."""
UNSEEN = "unseen"
"""The metadata key of fields for checks. A model sees them only if its criterion names them."""
NAMED_ONLY: Mapping[str, str] = {"texts": "not in the file"}
"""Mark of an imported row whose texts are elsewhere: its fields hold names, which no model may
judge.
"""


def names_only(row: object) -> bool:
    """Return True if an imported row holds names in place of its texts, which are stored
    elsewhere.
    """
    return isinstance(row, Mapping) and all(
        row.get(name) == value for name, value in NAMED_ONLY.items()
    )


def cell_of(value: object) -> JsonValue:
    """Return a cell as JSON-ready data; NaN and infinities become None."""
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
    """Named text fields. A value is a text or a list of texts (contexts, compared responses).

    Example: ``Instance({"question": "Capital of France?", "response": "Paris."}, id="7")``
    """

    fields: GivenFields
    """The texts by name; the criterion says which is judged and which are context."""
    id: str | None = None
    """The caller's name for this instance; reports show it."""
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
        """A hash that is equal for instances with the same fields in the same order, whatever their
        ids.
        """
        return identity_of(self.fields)

    @property
    def input(self) -> JsonDict:
        """The source row as a JSON-ready dict of its own columns; empty if a program made the
        instance.
        """
        row = self.metadata.get("row")
        if not isinstance(row, Mapping):
            return {}
        return {str(column): cell_of(value) for column, value in row.items()}

    def value(self, name: str) -> FieldValue | None:
        """Return the field's text or texts, or None if this instance has no such field."""
        value = self.fields.get(name)
        return value if value is None or isinstance(value, str) else tuple(value)


def texts_beside(
    user_input: str | None, reference: str | None, contexts: Sequence[str] | None
) -> dict[str, str | Sequence[str]]:
    """Map the names of these fields, which accompany a response, to their values; leave out those
    that are None.
    """
    texts = {"user_input": user_input, "reference": reference, "contexts": contexts}
    return {name: value for name, value in texts.items() if value is not None}


class DirectInstance(Instance):
    """An instance with one text to judge.

    ``response`` and ``context`` may be given instead of ``fields``:
    ``DirectInstance(response="Paris.", context={"question": "Capital of France?"})``.
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
        response_field = {} if response is None else {"response": response}
        super().__init__(
            {**(context or {}), **(fields or {}), **response_field}, id, metadata or {}
        )


class PairwiseInstance(Instance):
    """An instance whose responses are compared with each other: a list under ``response``.

    ``responses`` and ``context`` may be given instead of ``fields``:
    ``PairwiseInstance(responses=["Paris.", "Lyon."])``. Numbered or lettered fields
    (``response_1``, ``response_2``; ``Answer A``, ``Answer B``) are collected into one.
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
        all_fields = {**(context or {}), **(fields or {})}
        response_field = {} if responses is None else {"response": responses}
        numbered = {} if response_field else {"systems": tuple(_find_numbered(all_fields))}
        super().__init__(
            {**_collect_responses(all_fields), **response_field},
            id,
            {**numbered, **(metadata or {})},
        )


def identity_of(fields: GivenFields) -> str:
    """Return the ``identity`` of an Instance with these fields."""
    content = ""
    for name, value in fields.items():
        if type(value) is str:  # as _encode_field does it: most fields of most rows are a text
            content += f"{len(name)},{len(value)}:{name}{value}"
        else:
            content += _encode_field(name, value)
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _encode_field(name: str, value: str | Sequence[str]) -> str:
    """Encode a field with its lengths in front, so that no text can imitate the end of a field."""
    if isinstance(value, str):
        return f"{len(name)},{len(value)}:{name}{value}"
    return f"{len(name)}[{','.join([str(len(text)) for text in value])}]:{name}{''.join(value)}"


def response_names(fields: Iterable[str]) -> list[str]:
    """Return the fields that are numbered or lettered responses.

    Next to ``response_a`` and ``response_b``, ``model_a`` and ``model_b`` name those who answered.
    """
    kinds: dict[str, list[str]] = {}
    for name in fields:
        if match := NUMBERED.fullmatch(str(name)):
            kinds.setdefault(match[1].lower(), []).append(name)
    texts = [names for kind, names in kinds.items() if kind not in _ANSWERERS]
    has_texts = any(len(names) > 1 for names in texts)
    return [name for names in (texts if has_texts else kinds.values()) for name in names]


def _find_numbered(fields: Iterable[str]) -> list[str]:
    """Return the fields that are numbered or lettered responses, in order; empty if one field holds
    them all.
    """
    kinds: dict[str, dict[tuple[int, str], str]] = {}
    names = list(fields)
    if not {"response", "responses"}.isdisjoint(names):
        return []
    for name in response_names(names):
        if match := NUMBERED.fullmatch(name):
            kinds.setdefault(match[1].lower(), {})[int(match[2] or 0), (match[3] or "").lower()] = (
                name
            )
    several = [places for places in kinds.values() if len(places) > 1]
    return [several[0][place] for place in sorted(several[0])] if len(several) == 1 else []


def _collect_responses(fields: GivenFields) -> dict[str, str | Sequence[str]]:
    """Collect ``response_1, response_2`` (Answer A, Answer B; …) into ``response``, and rename
    ``responses`` to it.
    """
    renamed = {"response" if name == "responses" else name: value for name, value in fields.items()}
    names = _find_numbered(renamed)
    if not names:
        return renamed
    other_fields = {name: value for name, value in renamed.items() if name not in names}
    # They are checked to be texts together with the other fields.
    texts: list[Any] = [renamed[name] for name in names]
    return {**other_fields, "response": texts}


def answer_text(value: object) -> str | None:
    """Return a text as it is, and a finite number or truth value as JSON writes it; None for
    anything else.
    """
    if isinstance(value, str):
        return value
    is_scalar = isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value))
    return json.dumps(value) if is_scalar else None


def _field_value(name: str, value: object) -> FieldValue:
    if (text := answer_text(value)) is not None:
        return text
    # A set has another order in each process.
    if isinstance(value, Iterable) and not isinstance(value, bytes | Mapping | Set):
        items = [answer_text(item) for item in value]
        texts = tuple(item for item in items if item is not None)
        if len(texts) == len(items):
            return texts
    raise SetupError(
        "field {name!r} must be a string or a list of strings, not {value_name}",
        name=name,
        value_name=type(value).__name__,
    )
