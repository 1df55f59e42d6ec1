"""Headers that a gateway asks for.

Their values may hold variables: ``Authorization: Bearer $TOKEN``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import field

from adjudge.core.domain.frozen_mapping import FrozenDict
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.gateway.redaction import MARK, looks_like_a_key, slow_hash
from adjudge.errors import KeyMissing, SetupError

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VARIABLE = re.compile(r"\$(?:\$|([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})")
_CREDENTIAL = re.compile(
    r"auth(?!ors?\b)|key|token|secret|cookie|passw|cred|jwt|bearer", re.IGNORECASE
)
# Headers that describe the request itself and are set here.
_MADE_HERE = frozenset({"content-type", "content-length", "content-encoding", "transfer-encoding"})


@light_dataclass(frozen=True)
class Headers:
    """Headers with the variables in their values filled in.

    Example: ``Headers.of({"Authorization": "Bearer $TOKEN"}).sent``
    """

    sent: Mapping[str, str] = field(default_factory=FrozenDict, repr=False)
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    """Contents of the variables: never to be shown."""

    @classmethod
    def of(cls, written: Mapping[str, str] | None) -> Headers:
        """Fill in the variables of ``written``. Raises SetupError for a variable that is
        not set.
        """
        templates = written or {}
        for name, value in templates.items():
            _check_name(name)
            _check_variables(name, value)
        sent = {name: _fill_in(value) for name, value in templates.items()}
        for name, value in sent.items():
            if not value.isascii() or not value.isprintable():
                raise SetupError(
                    "the value of the header {name} contains invalid characters",
                    name=name,
                )
        return cls(FrozenDict(sent), frozenset(_secret_values(templates.values())))

    @property
    def carry_credentials(self) -> bool:
        """True if a header identifies the caller."""
        return any(map(is_credential, self.sent))

    def over(self, own: Mapping[str, str]) -> dict[str, str]:
        """Return ``own`` headers, overridden by these. The case of names does not matter."""
        names = {name.lower() for name in self.sent}
        return {
            **{name: value for name, value in own.items() if name.lower() not in names},
            **self.sent,
        }


def is_credential(name: str) -> bool:
    """Return True if a header of this name identifies the caller."""
    return bool(_CREDENTIAL.search(name))


def header_marks(written: Mapping[str, str]) -> dict[str, str]:
    """Return a mark for each header that changes with its value and does not show it.

    If the header holds a key, only the names of its variables count: a new key is not another
    request.
    """
    marks = {}
    for name, template in written.items():
        value = _fill_in(template)
        counts = template if is_credential(name) or looks_like_a_key(value) else value
        marks[name.lower()] = slow_hash(counts, name.lower())[:MARK]
    return marks


def parse_header(text: str) -> tuple[str, str]:
    """Read ``Name: value`` as it is typed; raise SetupError if it is malformed or holds a plain
    key.
    """
    name, colon, value = text.partition(":")
    if not colon or not _NAME.fullmatch(name.strip()):
        raise SetupError(
            "a header must have the form 'Name: value', such as 'X-Team: search' or 'api-key: "
            "$GATEWAY_KEY'"
        )
    check_written(name.strip(), value.strip())
    return name.strip(), value.strip()


def check_written(name: str, value: str) -> None:
    """Raise SetupError for a header that must not be in a command line or file, such as a plain
    key.
    """
    _check_name(name)
    if not value:
        raise SetupError("the header {name} has no value", name=name)
    if not _VARIABLE.search(value.replace("$$", "")) and (
        is_credential(name) or looks_like_a_key(value)
    ):
        raise SetupError(
            "the header {name} contains a key, which does not belong on a command line or in a "
            "file. Put it into an environment variable, and write '{name}: $VARIABLE'",
            name=name,
        )


def check_variable(name: str) -> str:
    """Return the name of an environment variable. A key in its place is refused, and not repeated
    in the message.
    """
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or looks_like_a_key(name):
        raise SetupError(
            "must be the name of an environment variable, such as GATEWAY_KEY, not the key itself"
        )
    return name


def key_in(variable: str) -> str:
    """Return the key in an environment variable; raise KeyMissing if it is not set."""
    if not os.environ.get(variable, "").strip():
        raise KeyMissing(
            "the environment variable {variable}, which should contain the API key, is not set",
            variable=variable,
        )
    return os.environ[variable]


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise SetupError("{name!r} is not a valid header name", name=name)
    if name.lower() in _MADE_HERE:
        raise SetupError(
            "the header {name} is part of the request itself and cannot be set", name=name
        )


def _check_variables(name: str, value: str) -> None:
    for variable in _variables(value):
        if not os.environ.get(variable, "").strip():
            raise SetupError(
                "the header {name} uses ${variable}, but that environment variable is not set",
                name=name,
                variable=variable,
            )


def _variables(value: str) -> list[str]:
    return [plain or braced for plain, braced in _VARIABLE.findall(value) if plain or braced]


def _fill_in(value: str) -> str:
    return _VARIABLE.sub(
        lambda match: os.environ[match[1] or match[2]].strip() if match[1] or match[2] else "$",
        value,
    )


def _secret_values(values: Iterable[str]) -> set[str]:
    """Return the variables' values, and the last word of each, such as ``abc`` in ``Bearer
    abc``.
    """
    contents = {os.environ[variable].strip() for value in values for variable in _variables(value)}
    return contents | {text.rpartition(" ")[2] for text in contents}
