"""JSON written many times a second, in one way."""

from __future__ import annotations

from collections.abc import Callable
from json import JSONEncoder
from json.encoder import c_make_encoder, encode_basestring_ascii  # type: ignore[attr-defined]

_refused = JSONEncoder().default


def json_writer(
    default: Callable[..., object] = _refused,
    *,
    allow_nan: bool = True,
    separators: tuple[str, str] = (", ", ": "),
) -> Callable[[object], str]:
    """As ``json.dumps`` with these settings, of what holds no circles: settings are read once."""
    if c_make_encoder is None:  # a Python without it
        return JSONEncoder(
            check_circular=False, allow_nan=allow_nan, separators=separators, default=default
        ).encode
    between, behind_key = separators
    parts = c_make_encoder(
        None, default, encode_basestring_ascii, None, behind_key, between, False, False, allow_nan
    )
    return lambda value: "".join(parts(value, 0))
