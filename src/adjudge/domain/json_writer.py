"""JSON written many times a second, in one way."""

from __future__ import annotations

from collections.abc import Callable
from json import JSONEncoder

_refused = JSONEncoder().default


def json_writer(
    default: Callable[..., object] = _refused,
    *,
    allow_nan: bool = True,
    separators: tuple[str, str] = (", ", ": "),
) -> Callable[[object], str]:
    """As ``json.dumps`` with these settings, of what holds no circles: settings are read once."""
    encoder = JSONEncoder(
        check_circular=False, allow_nan=allow_nan, separators=separators, default=default
    )
    return encoder.encode
