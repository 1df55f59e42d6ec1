"""A project's defaults: ``adjudge.toml``, or ``[tool.adjudge]`` in ``pyproject.toml``; the nearest one up the tree."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import ClassVar

from adjudge.errors import SetupError
from adjudge.gateway.prices import VARIABLE
from adjudge.gateway.redact import secrets_in
from adjudge.gateway.registry import is_url
from adjudge.prompts.template import LANGUAGES
from adjudge.reading.toml_text import load_toml
from adjudge.reading.types import Record, Text, WholeNumber, Word, key
from adjudge.reading.values import Place
from adjudge.runs.model_entry import ModelEntry, ServerEntry, same_server

FILE, PYPROJECT = "adjudge.toml", "pyproject.toml"
_TABLE = ("tool", "adjudge")
_HEADING = re.compile(r"""\[\s*tool\s*\.\s*["']?adjudge\b""")


@dataclass(frozen=True, kw_only=True)
class Project(ServerEntry):
    """What holds in a project unless a command or an eval file says otherwise."""

    REFUSED: ClassVar[Mapping[str, str]] = {
        "api_key": "keys do not belong in files: put it into an environment variable, and name that with api_key_env"
    }
    model: str | None = key(Text(), "The model to ask when none is named.", None)
    language: str | None = key(Word(LANGUAGES), "Of prompts, explanations, ready-made criteria and reports.", None)
    max_concurrency: int | None = key(WholeNumber(least=1), "Requests at once, per model.", None)
    prices: str | None = key(Text(), "A file of your own prices, relative to this one.", None)
    path: Path | None = field(default=None)
    """The file it was read from; None where there is none."""

    @property
    def prices_path(self) -> Path | None:
        """The file of prices, seen from where we are; None where the environment names one."""
        return self.path.parent / self.prices if self.path and self.prices and VARIABLE not in os.environ else None

    @property
    def given(self) -> list[str]:
        """The keys that the file has."""
        return [one.name for one in fields(self) if one.name != "path" and getattr(self, one.name)]

    def filled_in(self, entry: ModelEntry) -> ModelEntry:
        """``entry`` with what it leaves open. The key and the headers go to the project's own server and to no other."""
        entry = replace(entry, max_concurrency=entry.max_concurrency or self.max_concurrency)
        if not self.says_anything or not same_server(entry.model, entry.base_url, self.model, self.base_url):
            return entry
        return (replace(self, base_url=None) if is_url(entry.model) else self).below(entry)


def find_project(folder: Path | None = None) -> Project:
    """The nearest file from ``folder``, or from here, up the tree; without one, a project that says nothing."""
    for path, table in _places((folder or Path.cwd()).absolute()):
        if found := _read(path, table):
            return found
    return Project()


def _places(folder: Path) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Files that may say something, and the table that does."""
    for above in (folder, *folder.parents):
        yield above / FILE, ()
        yield above / PYPROJECT, _TABLE


def _read(path: Path, table: tuple[str, ...]) -> Project | None:
    content = _content(path)
    if content is None or (table and not _HEADING.search(content)):
        return None
    found = load_toml(content, Place(str(path)), table)
    if found is None:
        return None
    _check_owner(path)
    project: Project = Record(Project).read(found.value, found)
    if secrets_in(project.base_url or ""):
        raise found.at("base_url").wrong(
            "holds a password or a key: put it into an environment variable, and name that in a header"
        )
    if project.has_credentials and not (project.base_url or project.model):
        raise found.at("api_key_env" if project.api_key_env else "headers").wrong(
            "belongs to a server: say which, with base_url or model"
        )
    return replace(project, path=path)


def _content(path: Path) -> str | None:
    if not os.access(path, os.F_OK):
        return None
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SetupError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise SetupError(f"{path} is not UTF-8 (byte {error.start}): save it as UTF-8") from error


def _check_owner(path: Path) -> None:
    """Where everybody may put files, as in /tmp, one of somebody else must not send our keys elsewhere."""
    if os.name != "posix":
        return
    others_write = path.parent.stat().st_mode & 0o002
    if others_write and path.stat().st_uid not in (os.getuid(), 0):
        raise SetupError(
            f"{path} belongs to another user, in a folder that everybody may write to: it is not used. Work elsewhere"
        )
