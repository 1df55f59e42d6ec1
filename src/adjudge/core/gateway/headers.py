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
from adjudge.core.gateway.redaction import looks_like_a_key
from adjudge.errors import KeyMissing, SetupError

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VARIABLE = re.compile(r"\$(?:\$|([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})")
_CREDENTIAL = re.compile(
    r"auth(?!ors?\b)|key|token|secret|cookie|passw|cred|jwt|bearer", re.IGNORECASE
)
_MADE_HERE = frozenset({"content-type", "content-length", "content-encoding", "transfer-encoding"})
"""What describes the request itself."""


@light_dataclass(frozen=True)
class Headers:
    """Headers with the variables in their values filled in."""

    sent: Mapping[str, str] = field(default_factory=FrozenDict, repr=False)
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    """What the variables held: never to be shown."""

    @classmethod
    def of(cls, written: Mapping[str, str] | None) -> Headers:
        """``written`` with its variables filled in; a SetupError names one that is not set."""
        given = written or {}
        for name, value in given.items():
            _check_name(name)
            _check_variables(name, value)
        sent = {name: _filled(value) for name, value in given.items()}
        for name, value in sent.items():
            _check_value(name, value)
        return cls(FrozenDict(sent), frozenset(_held(given.values())))

    @property
    def carry_credentials(self) -> bool:
        """Whether one of them shows who asks."""
        return any(map(is_credential, self.sent))

    def over(self, own: Mapping[str, str]) -> dict[str, str]:
        """These and ``own`` ones; a name counts in any case."""
        names = {name.lower() for name in self.sent}
        return {
            **{name: value for name, value in own.items() if name.lower() not in names},
            **self.sent,
        }


def is_credential(name: str) -> bool:
    """Whether a header of this name shows who asks."""
    return bool(_CREDENTIAL.search(name))


def parse_header(text: str) -> tuple[str, str]:
    """``Name: value`` as it is typed."""
    name, colon, value = text.partition(":")
    if not colon or not _NAME.fullmatch(name.strip()):
        raise SetupError(
            "a header is written 'Name: value', such as 'X-Team: search' or 'api-key: $GATEWAY_KEY'"
        )
    check_written(name.strip(), value.strip())
    return name.strip(), value.strip()


def check_written(name: str, value: str) -> None:
    """What a command line or a file may hold: of a key, only the name of its variable."""
    _check_name(name)
    if not value:
        raise SetupError("the header {name} has no value", name=name)
    if not _VARIABLE.search(value.replace("$$", "")) and (
        is_credential(name) or looks_like_a_key(value)
    ):
        raise SetupError(
            "the header {name} holds a key, which belongs neither on a command line nor in "
            "a file: put it into an environment variable, and write '{name}: $VARIABLE'",
            name=name,
        )


def check_variable(name: str) -> str:
    """The name of an environment variable; a key in its place is refused, and not repeated."""
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or looks_like_a_key(name):
        raise SetupError(
            "must be the name of an environment variable, such as GATEWAY_KEY, and not the "
            "key itself"
        )
    return name


def key_in(variable: str) -> str:
    """The key that an environment variable holds."""
    if not os.environ.get(variable, "").strip():
        raise KeyMissing(
            "the environment variable {variable}, which is to hold the API key, is not set",
            variable=variable,
        )
    return os.environ[variable]


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise SetupError("{name!r} is not a name of a header", name=name)
    if name.lower() in _MADE_HERE:
        raise SetupError(
            "the header {name} describes the request itself, and cannot be set", name=name
        )


def _check_variables(name: str, value: str) -> None:
    for variable in _variables(value):
        if not os.environ.get(variable, "").strip():
            raise SetupError(
                "the header {name} holds ${variable}, and that environment variable is not set",
                name=name,
                variable=variable,
            )


def _check_value(name: str, value: str) -> None:
    if not value.isascii() or not value.isprintable():
        raise SetupError(
            "the value of the header {name} contains characters that no header has", name=name
        )


def _variables(value: str) -> list[str]:
    return [plain or braced for plain, braced in _VARIABLE.findall(value) if plain or braced]


def _filled(value: str) -> str:
    return _VARIABLE.sub(
        lambda found: os.environ[found[1] or found[2]].strip() if found[1] or found[2] else "$",
        value,
    )


def _held(values: Iterable[str]) -> set[str]:
    """What the variables hold, and its last word: ``Bearer abc`` is a secret because of ``abc``."""
    held = {os.environ[variable].strip() for value in values for variable in _variables(value)}
    return held | {each.rpartition(" ")[2] for each in held}
