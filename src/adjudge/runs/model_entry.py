"""A model as a file or a command line describes it. Base URL, key and headers are given, and left behind, together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

from adjudge.errors import SetupError
from adjudge.gateway.headers import check_variable, check_written, is_credential
from adjudge.gateway.registry import is_url, server_of
from adjudge.reading.types import Names, Number, Schema, Text, WholeNumber, key
from adjudge.reading.values import Place, WrongValue

E = TypeVar("E", bound="ServerEntry")


@dataclass(frozen=True)
class HeadersType:
    """Headers with their values; a key stands there as the name of its variable."""

    def read(self, value: object, place: Place) -> tuple[tuple[str, str], ...]:
        found = Names().read(value, place)
        for name, text in found:
            try:
                check_written(name, text)
            except SetupError as error:
                raise place.at(name).wrong(str(error)) from None
        return found

    def schema(self) -> Schema:
        return Names().schema()


@dataclass(frozen=True)
class VariableType:
    """The name of an environment variable."""

    def read(self, value: object, place: Place) -> str:
        try:
            return check_variable(Text().read(value, place))
        except WrongValue:
            raise
        except SetupError as error:
            raise place.wrong(str(error)) from None

    def schema(self) -> Schema:
        return {"type": "string", "pattern": r"^[A-Za-z_]\w*$"}


@dataclass(frozen=True, kw_only=True)
class ServerEntry:
    """A server, as a file or a command line describes it."""

    base_url: str | None = key(Text(), "Another address of the provider's interface, such as that of a gateway.", None)
    api_key_env: str | None = key(VariableType(), "The environment variable that holds the key.", None)
    headers: tuple[tuple[str, str], ...] = key(
        HeadersType(), "Further headers; $VARIABLE in a value is that environment variable.", ()
    )

    @property
    def says_anything(self) -> bool:
        """Whether any of it was given."""
        return bool(self.base_url or self.api_key_env or self.headers)

    @property
    def has_credentials(self) -> bool:
        """Whether there is something in it that only its server may see."""
        return bool(self.api_key_env or any(is_credential(name) or "$" in value for name, value in self.headers))

    def over(self, entry: E) -> E:
        """``entry`` with this in its place: another base URL leaves the entry's key and headers behind."""
        if self.base_url is not None:
            return replace(entry, base_url=self.base_url, api_key_env=self.api_key_env, headers=self.headers)
        return replace(
            entry, api_key_env=self.api_key_env or entry.api_key_env, headers=together(self.headers, below=entry.headers)
        )

    def below(self, entry: E) -> E:
        """``entry`` with this where it says nothing itself."""
        return replace(
            entry,
            base_url=entry.base_url or self.base_url,
            api_key_env=entry.api_key_env or self.api_key_env,
            headers=together(entry.headers, below=self.headers),
        )


@dataclass(frozen=True, kw_only=True)
class ModelEntry(ServerEntry):
    """A model, and how it is asked."""

    REFUSED: ClassVar[Mapping[str, str]] = {
        "api_key": "keys do not belong in files: set the provider's environment variable, such as OPENAI_API_KEY, "
        "or name another with api_key_env"
    }
    model: str = key(Text(), "Its id, such as openai/gpt-4o-mini.")
    temperature: float | None = key(Number(least=0), "Unless the judge has its own.", None)
    seed: int | None = key(WholeNumber(), "Unless the judge has its own.", None)
    max_concurrency: int | None = key(WholeNumber(least=1), "Requests at once.", None)
    requests_per_minute: float | None = key(Number(above=0), "No more than this.", None)
    tokens_per_minute: float | None = key(Number(above=0), "No more than this.", None)
    timeout: float | None = key(Number(above=0), "Seconds to wait for a reply.", None)


def together(headers: tuple[tuple[str, str], ...], *, below: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """``headers``, and those ``below`` of other names."""
    names = {name.lower() for name, _ in headers}
    return (*(one for one in below if one[0].lower() not in names), *headers)


def same_server(model: str, base_url: str | None, other: str | None, other_base_url: str | None) -> bool:
    """Whether a model is at the server that another model, or a base URL alone, names."""
    if base_url is None and other_base_url is not None and not is_url(model):
        return server_of_or_none(model) != ""
    mine = base_url or server_of_or_none(model) or ""
    theirs = other_base_url or (server_of_or_none(other) if other else "") or ""
    return bool(mine) and mine.rstrip("/") == theirs.rstrip("/")


def server_of_or_none(model: str) -> str | None:
    """The server of a model, or None where only a base URL makes sense of its name."""
    try:
        return server_of(model)
    except SetupError:
        return None
