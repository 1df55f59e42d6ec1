"""A project's defaults: the nearest ``adjudge.toml``, or ``[tool.adjudge]`` in ``pyproject.toml``,
up the tree.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field, fields, replace
from pathlib import Path
from typing import ClassVar, TypeVar, cast

from adjudge.core.domain.frozen_mapping import NOTHING, FrozenDict, text_hash
from adjudge.core.domain.json_types import JsonValue
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.gateway.headers import check_variable, check_written, is_credential
from adjudge.core.gateway.prices import VARIABLE
from adjudge.core.gateway.providers.parameters import EFFORTS, check_parameters
from adjudge.core.gateway.redaction import secrets_in
from adjudge.core.gateway.registry import is_url, server_of
from adjudge.core.prompts.languages import LANGUAGES
from adjudge.core.reading.project_files import PYPROJECT, project_files
from adjudge.core.reading.toml_text import load_toml
from adjudge.core.reading.types import (
    FilePath,
    Flag,
    Json,
    Names,
    Number,
    Record,
    Schema,
    Text,
    WholeNumber,
    Word,
    key,
    keys_of,
)
from adjudge.core.reading.values import Place, WrongValue, mapping, text_in
from adjudge.errors import SetupError
from adjudge.messages import Message

DEFAULT_BELOW = 0.8
"""Probability below which verdicts are uncertain."""
E = TypeVar("E", bound="ServerEntry")
M = TypeVar("M", bound="ModelEntry")


class HeadersType:
    """HTTP headers. Values refer to keys by the names of environment variables."""

    def read(self, value: object, place: Place) -> tuple[tuple[str, str], ...]:
        headers = Names().read(value, place)
        for name, text in headers:
            try:
                check_written(name, text)
            except SetupError as error:
                raise place.at(name).wrong(str(error)) from None
        return headers

    def schema(self) -> Schema:
        return Names().schema()


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


class ParametersType:
    """Provider-specific parameters, frozen so that equal entries share a model."""

    def read(self, value: object, place: Place) -> FrozenDict[JsonValue]:
        parameters = mapping(value, place)
        read = {name: Json().read(each, place.at(name)) for name, each in parameters.items()}
        try:
            check_parameters(read, "a model")
        except SetupError as error:
            raise place.wrong(str(error)) from None
        return cast("FrozenDict[JsonValue]", _frozen(read))

    def schema(self) -> Schema:
        return {"type": "object"}


def _frozen(value: JsonValue) -> object:
    if isinstance(value, Mapping):
        return FrozenDict({name: _frozen(each) for name, each in value.items()})
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value


@light_dataclass(frozen=True, kw_only=True)
class ServerEntry:
    """A server, as a file or a command line describes it."""

    base_url: str | None = key(
        Text(), "Another base URL of the provider's API, such as a gateway.", None
    )
    api_key_env: str | None = key(VariableType(), "Environment variable with the key.", None)
    headers: tuple[tuple[str, str], ...] = key(
        HeadersType(),
        "Additional headers; $VARIABLE in a value is replaced by that environment variable.",
        (),
    )

    @property
    def says_anything(self) -> bool:
        """Return True if any setting was given."""
        return bool(self.base_url or self.api_key_env or self.headers)

    @property
    def has_credentials(self) -> bool:
        """Return True if a setting is a secret that must only be sent to this server."""
        return bool(
            self.api_key_env
            or any(is_credential(name) or "$" in value for name, value in self.headers)
        )

    def over(self, entry: E) -> E:
        """Return ``entry`` overridden by these settings. If they have a base URL, the entry's key
        and headers are dropped.
        """
        if self.base_url is not None:
            return replace(
                entry, base_url=self.base_url, api_key_env=self.api_key_env, headers=self.headers
            )
        return replace(
            entry,
            api_key_env=self.api_key_env or entry.api_key_env,
            headers=together(self.headers, below=entry.headers),
        )

    def below(self, entry: E) -> E:
        """Return ``entry``, with these settings as defaults."""
        return replace(
            entry,
            base_url=entry.base_url or self.base_url,
            api_key_env=entry.api_key_env or self.api_key_env,
            headers=together(entry.headers, below=self.headers),
        )


@light_dataclass(frozen=True, kw_only=True)
class ModelEntry(ServerEntry):
    """A model, and how it is asked."""

    REFUSED: ClassVar[Mapping[str, str]] = {
        "api_key": Message(
            "keys do not belong in files: set the provider's environment variable, such as "
            "OPENAI_API_KEY, or name another with api_key_env"
        )
    }
    model: str = key(Text(), "Model id, such as openai/gpt-4o-mini.")
    temperature: float | None = key(
        Number(least=0), "Default, unless the judge sets its own.", None
    )
    seed: int | None = key(WholeNumber(), "Default, unless the judge sets its own.", None)
    max_concurrency: int | None = key(WholeNumber(least=1), "Maximum concurrent requests.", None)
    requests_per_minute: float | None = key(Number(above=0), "Maximum requests per minute.", None)
    tokens_per_minute: float | None = key(Number(above=0), "Maximum tokens per minute.", None)
    timeout: float | None = key(Number(above=0), "Seconds to wait for a reply.", None)
    reasoning_effort: str | None = key(Word(EFFORTS), "Reasoning effort of the model.", None)
    parameters: FrozenDict[JsonValue] = key(
        ParametersType(),
        "Additional request parameters, named as in the provider's API.",
        NOTHING,
    )
    prompt_caching: bool = key(
        Flag(),
        "Ask the provider to cache the common part of all prompts.",
        False,
    )
    window: int | None = key(
        WholeNumber(least=1000),
        "The model's context window: the maximum tokens of a prompt and its reply together. "
        "Needed for models that adjudge does not know.",
        None,
    )


@light_dataclass(frozen=True, kw_only=True)
class StepEntry(ModelEntry):
    """A step of a cascade: a model, and how often it is asked."""

    votes: int | None = key(
        WholeNumber(least=1),
        "Votes of this step, instead of the judge's.",
        None,
        aliases=("strictness",),
    )

    @property
    def asked(self) -> ModelEntry:
        return ModelEntry(
            **{setting.name: getattr(self, setting.name) for setting in fields(ModelEntry)}
        )


@light_dataclass(frozen=True, kw_only=True)
class ExplainEntry(ModelEntry):
    """The model that explains rows that failed or are uncertain, and which rows those are."""

    below_: float = key(
        Number(least=0, most=1),
        "Probability below which verdicts are uncertain.",
        DEFAULT_BELOW,
    )
    calibration: str | None = key(
        FilePath((".json",)),
        "The output file of 'adjudge calibrate RUN --probabilities -o FILE', whose temperatures "
        "are applied to the probabilities; relative to this file.",
        None,
    )

    @property
    def asked(self) -> ModelEntry:
        return ModelEntry(
            **{setting.name: getattr(self, setting.name) for setting in fields(ModelEntry)}
        )


def together(
    headers: tuple[tuple[str, str], ...], *, below: tuple[tuple[str, str], ...]
) -> tuple[tuple[str, str], ...]:
    """Return ``headers``, preceded by those headers in ``below`` that have other names."""
    names = {name.lower() for name, _ in headers}
    return (*(header for header in below if header[0].lower() not in names), *headers)


def same_server(
    model: str, base_url: str | None, other: str | None, other_base_url: str | None
) -> bool:
    """Return True if a model's server is that of another model, or of a base URL.

    If only the base URL is given, it is assumed to serve any model that has a server.
    """
    if base_url is None and other_base_url is not None and not is_url(model):
        return server_of_or_none(model) != ""
    mine = base_url or server_of_or_none(model) or ""
    theirs = other_base_url or (server_of_or_none(other) if other else "") or ""
    return bool(mine) and mine.rstrip("/") == theirs.rstrip("/")


def server_of_or_none(model: str) -> str | None:
    """Return the server of a model; None if its name is only valid together with a base URL."""
    try:
        return server_of(model)
    except SetupError:
        return None


_TABLE = ("tool", "adjudge")


@light_dataclass(frozen=True, kw_only=True)
class Project(ServerEntry):
    """The defaults of a project, for everything that a command or an eval file leaves open."""

    REFUSED: ClassVar[Mapping[str, str]] = {
        "api_key": (
            Message(
                "keys do not belong in files: put it into an environment variable, and name "
                "that with api_key_env"
            )
        )
    }
    model: str | None = key(Text(), "The model to ask if none is named.", None)
    language: str | None = key(
        Word(LANGUAGES), "Language of prompts, explanations, ready-made criteria and reports.", None
    )
    max_concurrency: int | None = key(
        WholeNumber(least=1), "Maximum concurrent requests per model.", None
    )
    prices: str | None = key(Text(), "A file with your own prices, relative to this file.", None)
    path: Path | None = field(default=None)
    """The file that it was read from; None without a file."""
    digest: str = ""
    """The hash of the text that was read."""

    @property
    def prices_path(self) -> Path | None:
        """The path of the price file. None if there is none, or if the environment names one."""
        return (
            self.path.parent / self.prices
            if self.path and self.prices and VARIABLE not in os.environ
            else None
        )

    @property
    def given(self) -> list[str]:
        """The keys that are set."""
        return [name for name in keys_of(Project) if getattr(self, name)]

    def with_defaults(self, entry: M) -> M:
        """Return ``entry`` with the project's defaults.

        The key and the headers are only added if the model is at the project's own server.
        """
        entry = replace(entry, max_concurrency=entry.max_concurrency or self.max_concurrency)
        if not self.says_anything or not same_server(
            entry.model, entry.base_url, self.model, self.base_url
        ):
            return entry
        return (replace(self, base_url=None) if is_url(entry.model) else self).below(entry)


def find_project(folder: Path | None = None) -> Project:
    """Return the nearest project, searching upwards from ``folder`` or the working folder.

    Without a project file, return a project without settings.
    """
    for path in project_files((folder or Path.cwd()).absolute()):
        if project := _read(path):
            return project
    return Project()


def _read(path: Path) -> Project | None:
    text = text_in(path)
    table = load_toml(text, Place(str(path)), _TABLE if path.name == PYPROJECT else ())
    if table is None:
        return None
    _check_owner(path)
    project: Project = Record(Project).read(table.value, table)
    if secrets_in(project.base_url or ""):
        raise table.at("base_url").wrong(
            "contains a password or a key: put it into an environment variable, and name that in "
            "a header"
        )
    if project.has_credentials and not (project.base_url or project.model):
        raise table.at("api_key_env" if project.api_key_env else "headers").wrong(
            "belongs to a server: name the server with base_url or model"
        )
    return replace(project, path=path, digest=text_hash(text))


def _check_owner(path: Path) -> None:
    """Refuse another user's file in a world-writable folder such as /tmp, since it could redirect
    our keys.
    """
    if os.name != "posix":
        return
    others_write = path.parent.stat().st_mode & 0o002
    if others_write and path.stat().st_uid not in (os.getuid(), 0):
        raise SetupError(
            "{path} is not used, because it belongs to another user and is in a folder that "
            "everyone can write to. Work in another folder",
            path=path,
        )
