"""JSON text → typed members in one step, by msgspec: the fast way to what ``typed_json`` reads.

``JsonDecoder`` accepts only what gives exactly the values that ``read_as`` would give. For anything
else it returns None, and the caller reads the text with ``json`` and ``read_as``, which accept half
of an emoji and name the member that is wrong.
"""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, cast, get_args, get_origin

from adjudge.core.domain.json_document import type_hints
from adjudge.core.reading.typed_json import Reader, WrongType, is_json, reader_of

if TYPE_CHECKING:
    from collections.abc import Callable

# Whole numbers that a C long holds; ``read_as`` decides about others.
_LEAST, _MOST = -(2**63), 2**63 - 1
# Errors that msgspec raises, besides its own, for texts nested too deep or without UTF-8.
_UNREADABLE = (RecursionError, UnicodeEncodeError)


class JsonDecoder:
    """Decodes the text of an object with these members.

    ``hints``: annotations; ``defaults``: of members that may be missing; ``refused``: names that no
    member may have; ``tag``: name and text of the member that tells objects apart.
    """

    def __init__(
        self,
        hints: Mapping[str, object],
        defaults: Mapping[str, object],
        refused: Iterable[str] = (),
        tag: tuple[str, str] | None = None,
    ) -> None:
        import msgspec  # heavy: only for commands that read a ledger

        self._errors = (msgspec.DecodeError, WrongType, *_UNREADABLE)
        self._readers: list[tuple[str, Reader, object]] = []
        members: list[Any] = []
        for name, hint in hints.items():
            native = _native(hint)
            if native is None:
                self._readers.append((name, reader_of(hint), defaults.get(name, MISSING)))
                native = Any
            if name in defaults:
                members.append((name, native, _default(defaults[name])))
            else:
                members.append((name, native))
        unset = msgspec.UnsetType
        members += [(name, unset, msgspec.UNSET) for name in refused]
        tag_field, tag_text = tag or (None, None)
        struct = msgspec.defstruct(
            "Members", members, tag_field=tag_field, tag=tag_text, gc=False, kw_only=True
        )
        self._decode: Callable[[str], Any] = msgspec.json.Decoder(struct).decode

    def decode(self, text: object) -> Any | None:
        """Return an object with the members as attributes; None if ``read_as`` has to read it."""
        if not isinstance(text, str):
            return None
        try:
            decoded_object = self._decode(text)
            for name, read, default in self._readers:
                if (value := getattr(decoded_object, name)) is not default:
                    setattr(decoded_object, name, read(value))
        except self._errors:
            return None
        return decoded_object


def text_decoder(kind: object) -> Callable[[object], Any | None]:
    """Return a function that decodes a text as ``kind``, such as a mapping of texts; None if
    ``read_as`` has to read it.
    """
    import msgspec  # heavy: only for commands that read a ledger

    native = _native(kind)
    if native is None:
        raise TypeError(f"msgspec has no type for {kind}")
    decode = msgspec.json.Decoder(native).decode
    errors = (msgspec.DecodeError, *_UNREADABLE)

    def decode_text(text: object) -> Any | None:
        try:
            return decode(text) if isinstance(text, str) else None
        except errors:
            return None

    return decode_text


def hints_and_defaults(kind: type) -> tuple[dict[str, object], dict[str, object]]:
    """Return the annotations of a dataclass, and the defaults of the fields that have one."""
    hints = type_hints(kind)
    own_fields = fields(cast(Any, kind))
    return (
        {own_field.name: hints[own_field.name] for own_field in own_fields},
        {
            own_field.name: own_field.default
            for own_field in own_fields
            if own_field.default is not MISSING
        },
    )


def _default(value: object) -> Any:
    """Return a default in the form that msgspec takes: mappings must come from a factory."""
    import msgspec

    # An empty mapping as a default would be shared; msgspec refuses it.
    if isinstance(value, dict):
        return msgspec.field(default_factory=lambda: value)
    return value


def _native(hint: object) -> Any | None:
    """Return a type with which msgspec decodes exactly the values that ``reader_of`` gives for an
    annotation; None if there is no such type.
    """
    from msgspec import Meta

    if hint is float:  # ``float`` alone would turn 1 into 1.0
        return Union[Annotated[int, Meta(ge=_LEAST, le=_MOST)], float]  # noqa: UP007 - at run time
    if hint is object or is_json(hint):
        return Any
    origin, parts = get_origin(hint), get_args(hint)
    if hint in _SAME or origin is Literal:
        return hint
    if origin is Annotated:
        return _native(parts[0])
    if origin in (Union, types.UnionType):
        return _union(parts)
    return _collection(origin, parts)


# Types that msgspec reads as ``reader_of`` does.
_SAME = (str, int, bool, type(None))


def _collection(origin: object, parts: Sequence[object]) -> Any | None:
    if origin is tuple and parts[1:] == (...,):
        return _generic(parts[0], lambda inner: tuple[inner, ...])  # type: ignore[valid-type]
    if origin is list:
        return _generic(parts[0], lambda inner: list[inner])  # type: ignore[valid-type]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _generic(parts[1], lambda inner: dict[str, inner])  # type: ignore[valid-type]
    return None


def _generic(part: object, make: Callable[[Any], Any]) -> Any | None:
    inner = _native(part)
    return None if inner is None else make(inner)


def _union(parts: Sequence[object]) -> Any | None:
    """Return a union of native types, if msgspec can tell them apart."""
    import msgspec

    inner = [_native(part) for part in parts if part is not type(None)]
    if any(native is None or native is Any for native in inner):
        return None
    nothing = [None] if type(None) in parts else []
    union: Any = functools.reduce(operator.or_, [*nothing, *inner])
    try:
        msgspec.json.Decoder(union)
    except TypeError:
        return None
    return union
