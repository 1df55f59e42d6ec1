"""Variables in files: ``$NAME`` as a whole value, ``${NAME}`` and ``${NAME:-otherwise}`` anywhere
in one. ``$$`` is a literal dollar sign before either. Also reads ``.env``, the file that sets them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import field, replace
from functools import partial
from pathlib import Path

from adjudge.core.domain.json_types import JsonValue
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.gateway.redaction import looks_like_a_key
from adjudge.core.reading.values import Items, Place, Scalar, YamlMapping, text_in

ENV_FILE = ".env"
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_ALONE = re.compile(rf"\$(\$?)({_NAME})")
_INSIDE = re.compile(rf"\$(\$?)\{{({_NAME})(?::-([^{{}}]*))?\}}")
_SECRET = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)$", re.IGNORECASE)
_LINE = re.compile(rf"\s*(?:export\s+)?({_NAME})\s*=\s*(.*?)\s*")
_QUOTED = re.compile(r"""(["'])(.*)\1\s*(?:#.*)?""")
_NOT_OURS = re.compile(
    r"(?:LD_|DYLD_|PYTHON|ADJUDGE_|SSL_|GIT_).*|.*_PROXY|.*_CA_BUNDLE|PATH|HOME|IFS|SHELL",
    re.IGNORECASE,
)
"""Variables that decide how programs run and whom they trust. A file that came with others must not
set them.
"""


def with_variables(
    value: JsonValue,
    place: Place,
    but: Collection[str] = (),
    environ: Mapping[str, str] | None = None,
) -> JsonValue:
    """Return ``value`` with its variables replaced.

    ``but``: keys below which nothing is replaced. ``environ``: the variables' values, by default
    those of this process.
    """
    if isinstance(value, YamlMapping):
        filled = YamlMapping()
        filled.lines, filled.key_lines = value.lines, value.key_lines
        for name, inner in value.items():
            filled[name] = (
                inner if name in but else with_variables(inner, place.at(name), but, environ)
            )
        return filled
    if isinstance(value, Items):
        items = Items(
            with_variables(inner, place.item(number), but, environ)
            for number, inner in enumerate(value, 1)
        )
        items.lines = value.lines
        return items
    if isinstance(value, Scalar) and "$" in value:
        alone = _ALONE.fullmatch(value.strip())
        fill = partial(_look_up, place=place, environ=os.environ if environ is None else environ)
        text = fill(alone) if alone else _INSIDE.sub(fill, value)
        return value if text == value else Scalar(text, _parse_scalar(text))
    return value


def variables_in(
    value: JsonValue, field: str = "", but: Collection[str] = ()
) -> Iterator[tuple[str, str]]:
    """Yield name and field of every variable that ``with_variables`` would replace."""
    if isinstance(value, YamlMapping):
        for name, inner in value.items():
            if name not in but:
                yield from variables_in(inner, f"{field}.{name}" if field else name, but)
    elif isinstance(value, Items):
        for number, inner in enumerate(value, 1):
            yield from variables_in(inner, f"{field}[{number}]", but)
    elif isinstance(value, Scalar) and "$" in value:
        alone = _ALONE.fullmatch(value.strip())
        for match in [alone] if alone else _INSIDE.finditer(value):
            if not match[1]:
                yield match[2], field


def _look_up(match: re.Match[str], place: Place, environ: Mapping[str, str]) -> str:
    """Return a variable's value, or its default. Keys are refused, because files are stored and
    shown.
    """
    escaped, name = match[1], match[2]
    if escaped:
        return match[0][1:]
    value = environ.get(name, "") or (match[3] if match.lastindex == 3 else None)
    if value is None:
        raise place.wrong(
            "the environment variable {name} is not set: set it, or put it into {file} next to "
            "this file; for the literal text write $${name}",
            name=name,
            file=ENV_FILE,
        )
    if _SECRET.search(name) or looks_like_a_key(value):
        raise place.wrong(
            "{name} contains a key, which would be stored with the run: name the variable with "
            "api_key_env, or in a header",
            name=name,
        )
    return value


def _parse_scalar(said: str) -> object:
    """Convert a text to bool, int or float if it looks like one."""
    if said in ("true", "false"):
        return said == "true"
    for number in (int, float):
        with suppress(ValueError):
            return number(said)
    return said


@light_dataclass(frozen=True)
class EnvFile:
    """The ``.env`` next to an eval file: its text, and the variables that it would set."""

    path: Path
    text: str = ""
    names: tuple[str, ...] = ()
    """All that it may set, also those that are set here already."""
    values: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def beside(cls, folder: Path) -> EnvFile:
        """Read the ``.env`` in ``folder``, if any. Variables that are already set keep their
        values.
        """
        path = folder / ENV_FILE
        if not path.is_file():
            return cls(path)
        text = text_in(path)
        allowed = {
            name: value
            for name, value in _parse_env(text, path).items()
            if not _NOT_OURS.fullmatch(name)
        }
        values = {name: value for name, value in allowed.items() if name not in os.environ}
        return cls(path, text, tuple(sorted(allowed)), values)

    def apply(self) -> None:
        """Set the variables in this process."""
        os.environ.update(self.values)


def _parse_env(text: str, path: Path) -> Mapping[str, str]:
    """Parse lines of ``NAME=value``; quotes and ``export`` are allowed. Errors omit the value,
    which may be secret.
    """
    values: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        # os.environ refuses null bytes
        if match is None or "\0" in line:
            place = replace(Place(str(path)), line=number)
            raise place.wrong("a line must be NAME=value or begin with #")
        quoted = _QUOTED.fullmatch(match[2])
        values[match[1]] = quoted[2] if quoted else re.split(r"\s#", match[2])[0].strip()
    return values
