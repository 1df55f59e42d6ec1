"""What is judged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from adjudge.domain.frozen import FrozenDict
from adjudge.errors import SetupError

FieldValue = str | tuple[str, ...]


@dataclass(frozen=True)
class Instance:
    """Named text fields. A value is a text or a list of texts (contexts, compared responses)."""

    fields: Mapping[str, str | Sequence[str]]
    """The texts by name; which of them is judged and which are context is for the criteria to say."""
    id: str | None = None
    """What the caller calls this instance; reports show it."""
    metadata: Mapping[str, object] = field(default_factory=FrozenDict, compare=False)
    """Carried along, never shown to a model."""

    def __post_init__(self) -> None:
        if not isinstance(self.fields, Mapping) or not self.fields:
            raise SetupError('an Instance needs at least one field, such as Instance(fields={"response": "…"})')
        frozen = {str(name): _field_value(str(name), value) for name, value in self.fields.items()}
        object.__setattr__(self, "fields", FrozenDict(frozen))
        object.__setattr__(self, "metadata", FrozenDict(self.metadata))

    def value(self, name: str) -> FieldValue | None:
        """The field's text or texts, or None where this instance has no such field."""
        value = self.fields.get(name)
        return value if value is None or isinstance(value, str) else tuple(value)


class DirectInstance(Instance):
    """An instance whose one text is judged by itself."""


class PairwiseInstance(Instance):
    """An instance whose responses are compared with each other."""


def _field_value(name: str, value: object) -> FieldValue:
    if isinstance(value, str):
        return value
    if isinstance(value, Iterable) and not isinstance(value, bytes | Mapping | Set):  # a set has another order in each process
        items = tuple(value)
        if all(isinstance(item, str) for item in items):
            return items
    raise SetupError(f"field {name!r} must be a text or a list of texts, not {type(value).__name__}")
