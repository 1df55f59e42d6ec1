"""JSON documents: a TypedDict declares the keys once, for the output and for its schema."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import NotRequired, get_origin, get_type_hints

from adjudge.core.domain.frozen_mapping import to_json
from adjudge.core.domain.json_types import JsonDict, JsonValue

type_hints = partial(get_type_hints, localns={"JsonValue": JsonValue}, include_extras=True)
"""Return the annotations of a class. ``JsonValue`` refers to itself by name, which not every module
that uses it imports.
"""

Count = Mapping[str, int]


def fill(shape: type, source: object = None, /, **values: object) -> JsonDict:
    """Return a document with the keys of ``shape``, in its order.

    A key's value is the keyword of that name, else the attribute of ``source``. A key that is
    ``NotRequired`` is left out if its value is empty, or if there is neither keyword nor attribute.

    Example: ``fill(CostShape, cost, unpriced_models=[])``
    """
    document: JsonDict = {}
    for key, is_required in _keys_of(shape).items():
        if key in values:
            value = values.pop(key)
        elif is_required or hasattr(source, key):
            value = getattr(source, key)
        else:
            continue
        if is_required or value:
            document[key] = to_json(value)
    if values:
        raise TypeError(f"{shape.__name__} has no {', '.join(values)}")
    return document


@cache
def _keys_of(shape: type) -> Mapping[str, bool]:
    """Return key → whether every document has it."""
    # ``__required_keys__`` does not see NotRequired in annotations that are still text.
    return {key: get_origin(kind) is not NotRequired for key, kind in type_hints(shape).items()}
