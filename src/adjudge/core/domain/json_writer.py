"""A fast writer of JSON for repeated use."""

from __future__ import annotations

from collections.abc import Callable
from json import JSONEncoder, encoder
from typing import Any

_refused = JSONEncoder().default


def json_writer(
    default: Callable[..., object] = _refused,
    *,
    allow_nan: bool = True,
    separators: tuple[str, str] = (", ", ": "),
    ensure_ascii: bool = True,
    sort_keys: bool = False,
) -> Callable[[object], str]:
    """Like ``json.dumps`` with these settings, but reads the settings once and does not check for
    cycles.
    """
    comma, colon = separators
    escape = encoder.encode_basestring_ascii if ensure_ascii else encoder.encode_basestring
    make: Any = getattr(encoder, "c_make_encoder", None)
    # JSONEncoder.encode creates such an encoder per value. Its arguments are not documented.
    try:
        parts = make(None, default, escape, None, colon, comma, sort_keys, False, allow_nan)
    except TypeError:
        return JSONEncoder(
            check_circular=False,
            allow_nan=allow_nan,
            separators=separators,
            default=default,
            ensure_ascii=ensure_ascii,
            sort_keys=sort_keys,
        ).encode
    return lambda value: "".join(parts(value, 0))
