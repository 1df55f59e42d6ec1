"""``target`` in eval files: the source of answers for rows without one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Literal

from adjudge.core.domain.json_types import JsonValue
from adjudge.core.domain.light_dataclass import light_dataclass
from adjudge.core.gateway.redaction import without_secrets
from adjudge.core.gateway.registry import is_known, is_url
from adjudge.core.reading.types import (
    Json,
    Many,
    Number,
    Record,
    Schema,
    Text,
    WholeNumber,
    Word,
    key,
)
from adjudge.core.reading.user_code import is_reference
from adjudge.core.reading.values import Place
from adjudge.errors import SetupError
from adjudge.runs.project import ServerEntry

Method = Literal["POST", "GET"]
_KINDS = ("model", "command", "url", "function", "mcp")
_LIMITS = ("max_concurrency", "requests_per_minute", "timeout", "max_retries")
_PATHS = ("answer", "contexts", "tool_calls", "state")
_SETTINGS: Mapping[str, tuple[str, ...]] = {
    "model": ("base_url", "api_key_env", "headers", "prompts", "temperature", *_LIMITS[:-1]),
    "command": (*_PATHS, *_LIMITS),
    "url": ("method", "headers", "body", *_PATHS, *_LIMITS),
    "function": (*_PATHS, *_LIMITS),
    "mcp": ("tool", "body", *_PATHS, *_LIMITS),
}
"""The settings that a kind of target reads. Another one would have no effect."""


@light_dataclass(frozen=True, kw_only=True)
class TargetEntry(ServerEntry):
    """One application and the way to call it."""

    name: str | None = key(Text(), "Name in reports.", None)
    model: str | None = key(Text(), "A model that answers the prompts.", None)
    command: tuple[str, ...] = key(
        Many(Text()),
        "A program: it reads the row as JSON, or takes {column} as an argument; no shell.",
        (),
    )
    url: str | None = key(Text(), "An HTTP endpoint.", None)
    function: str | None = key(Text(), "Your own function: file.py:name or module:name.", None)
    mcp: tuple[str, ...] = key(
        Many(Text()), "An MCP server, given as a program, whose tool answers. No shell.", ()
    )
    tool: str | None = key(Text(), "The server's tool; optional if there is only one.", None)
    method: Method = key(Word[Method](("POST", "GET")), "HTTP method of the endpoint.", "POST")
    body: JsonValue = key(
        Json(), "The data sent to the endpoint or tool: JSON with {column}. Default: the row.", None
    )
    answer: str | None = key(Text(), "Path of the answer in its JSON, such as data.text.", None)
    contexts: str | None = key(Text(), "Path of the retrieved texts.", None)
    tool_calls: str | None = key(Text(), "Path of the called tools.", None)
    state: str | None = key(
        Text(), "Path of the application's state after the answer, for conversations.", None
    )
    prompts: tuple[str, ...] = key(
        Many(Text()), "Prompts of a model: files with {column}, relative to this file.", ()
    )
    temperature: float | None = key(Number(least=0), "Temperature of a model.", None)
    max_concurrency: int | None = key(WholeNumber(least=1), "Maximum concurrent requests.", None)
    requests_per_minute: float | None = key(Number(above=0), "Maximum requests per minute.", None)
    timeout: float | None = key(Number(above=0), "Seconds to wait for an answer.", None)
    max_retries: int | None = key(WholeNumber(least=0), "Retries after a transient failure.", None)

    @property
    def kind(self) -> str:
        """Which of model, command, url, function and mcp is set. Raises a SetupError unless exactly
        one is.
        """
        kinds = [name for name in _KINDS if getattr(self, name)]
        if len(kinds) != 1:
            raise SetupError("a target is one of model, command, url, function and mcp: name one")
        return kinds[0]

    def check(self) -> None:
        """Raise a SetupError unless the settings are those of exactly one kind."""
        known = ("name", self.kind, *_SETTINGS[self.kind])
        for setting in fields(self):
            if setting.name not in known and getattr(self, setting.name) != setting.default:
                raise SetupError(
                    "{name} has no effect on a target with {kind}: leave it out",
                    name=setting.name,
                    kind=self.kind,
                )

    @property
    def title(self) -> str:
        """The target's name in reports."""
        if self.name:
            return self.name
        if self.kind == "command":
            return Path(self.command[0].split()[0]).name if len(self.command) == 1 else "command"
        if self.kind == "mcp":
            return self.tool or "mcp"
        return without_secrets(str(getattr(self, self.kind)))


class TargetType:
    """A target, or a text from which its kind is inferred."""

    def read(self, value: object, place: Place) -> TargetEntry:
        entry_of_text = self._of_text(str(value)) if isinstance(value, str) else None
        entry = entry_of_text or Record(TargetEntry).read(value, place)
        try:
            entry.check()
        except SetupError as error:
            raise place.wrong("{error}", error=error) from None
        return entry

    def _of_text(self, text: str) -> TargetEntry:
        name = text.strip()
        if is_url(name) and "#" not in name:
            return TargetEntry(url=name)
        if is_url(name) or is_known(name):
            return TargetEntry(model=name)
        if is_reference(name):
            return TargetEntry(function=name)
        return TargetEntry(command=(name,))

    def schema(self) -> Schema:
        return {"anyOf": [Text().schema(), Record(TargetEntry).schema()]}


TARGETS = Many(TargetType())


def read_targets(texts: Sequence[str]) -> tuple[TargetEntry, ...]:
    """Read targets from a command line."""
    return tuple(TargetType().read(name, Place("--target")) for name in texts)
