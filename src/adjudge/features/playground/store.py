"""Saved test cases: a folder per test case, and in it a file per version.

A version is written once and never again. Names are those of the files themselves; no path is taken
from an address.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from adjudge.core.aio.files import write_new
from adjudge.errors import SetupError
from adjudge.messages import Message
from adjudge.runs.case_file import CaseAgreement, TestCase, parse_case
from adjudge.web.home import is_own, make_folder
from adjudge.web.text_differences import line_difference

FOLDER = "test-cases"
CRITERIA_FOLDER = "criteria"
ANOTHER_NAME = Message("choose another name")
_NAME = re.compile(r"\w[\w .()+-]{0,79}")
_NOTE = re.compile(r"^note: (.*)$", re.MULTILINE)
_AGREEMENT = re.compile(r"^agreement:\n  agreed: (\d{1,9})\n  count: (\d{1,9})$", re.MULTILINE)
_VERSION = re.compile(r"v(\d{1,6})\.yaml")
_LARGEST = 10_000_000
_MOST_DIFFS = 50
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
"""Names that Windows keeps for itself."""


@dataclass(frozen=True)
class SavedVersion:
    """One version of a saved test case."""

    number: int
    note: str
    at: float
    agreement: CaseAgreement | None = None
    diff: tuple[str, ...] = ()
    """Changes since the previous version, for the newest versions only."""


class CaseStore:
    """The saved test cases of one folder."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def names(self) -> list[str]:
        return sorted(name for name, _ in self._folders())

    def versions(self, name: str) -> list[SavedVersion]:
        """Return the versions of a test case, the newest first."""
        files = sorted(self._files(self._find(name)), reverse=True)
        previous = {newer: older for (newer, _), (older, _) in pairwise(files[:_MOST_DIFFS])}
        return [
            SavedVersion(
                number,
                *_read_head(path),
                tuple(self.difference(name, previous[number], number))
                if number in previous
                else (),
            )
            for number, path in files
        ]

    def read(self, name: str, version: int | None = None) -> tuple[TestCase, int]:
        """Return a version, by default the newest, and its number."""
        number, path = self._version(name, version)
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise SetupError(
                "{name} of test case {name2!r} is not UTF-8 text", name=path.name, name2=name
            ) from error
        return parse_case(text, f"{FOLDER}/{name}/v{number}.yaml"), number

    def save(self, name: str, case: TestCase, base: int | None) -> int:
        """Save a new version and return its number.

        Raise a SetupError if the name is taken, or if another version was saved since ``base`` was
        read.
        """
        folder = self._folder_for(name)
        latest = max((number for number, _ in self._files(folder)), default=0)
        if latest and base is None:
            raise SetupError(
                "a test case with that name exists: open it to see the difference, or save under "
                "another name"
            )
        if latest != (base or 0):
            raise SetupError(
                "version {latest} was saved after you opened version {base}: open it to see the "
                "difference, or save under another name",
                latest=latest,
                base=base,
            )
        write_new(folder / f"v{latest + 1}.yaml", case.to_yaml(), ANOTHER_NAME)
        return latest + 1

    def delete(self, name: str) -> None:
        """Delete all versions. If the folder has other files, it stays with them."""
        folder = self._find(name)
        for _, path in list(self._files(folder)):
            path.unlink()
        with suppress(OSError):
            folder.rmdir()

    def difference(self, name: str, one: int, other: int) -> list[str]:
        """Return the lines of a unified diff between two versions, without its header."""
        paths = (self._version(name, number)[1] for number in (one, other))
        return line_difference(*(path.read_text("utf-8", "replace") for path in paths))

    def _version(self, name: str, version: int | None) -> tuple[int, Path]:
        files = dict(self._files(self._find(name)))
        if version is not None and version not in files:
            raise SetupError(
                "test case {name!r} has no version {version}; it has {files}",
                name=name,
                version=version,
                files=", ".join(map(str, sorted(files))),
            )
        number = max(files) if version is None else version
        path = files[number]
        if path.stat().st_size > _LARGEST:
            raise SetupError(
                "{name} of test case {name2!r} is larger than {most} MB",
                name=path.name,
                name2=name,
                most=_LARGEST // 1_000_000,
            )
        return number, path

    def _find(self, name: str) -> Path:
        folder = dict(self._folders()).get(name)
        if folder is None:
            raise SetupError(
                "{folder} has no test case {name!r}: see the list",
                name=name,
                folder=FOLDER,
            )
        return folder

    def _folders(self) -> Iterator[tuple[str, Path]]:
        root = self._home / FOLDER
        for folder in root.iterdir() if is_own(root, self._home) and root.is_dir() else ():
            if is_own(folder, root) and folder.is_dir() and any(True for _ in self._files(folder)):
                yield folder.name, folder

    def _files(self, folder: Path) -> Iterator[tuple[int, Path]]:
        for path in folder.iterdir() if folder.is_dir() else ():
            if (
                (match := _VERSION.fullmatch(path.name))
                and path.is_file()
                and not path.is_symlink()
            ):
                yield int(match[1]), path

    def _folder_for(self, name: str) -> Path:
        check_name(name)
        return make_folder(self._home, FOLDER, name)


def check_name(name: str) -> None:
    """Raise a SetupError for a name that is not safe as a file name on every system."""
    if not _NAME.fullmatch(name) or _RESERVED.fullmatch(name) or name.endswith((".", " ")):
        raise SetupError(
            "{name!r} cannot be a file's name: use letters, digits, spaces, - and _, at most 80",
            name=name,
        )


def _read_head(path: Path) -> tuple[str, float, CaseAgreement | None]:
    """Read the note, the time and the agreement of a version, if the file has them."""
    text = path.read_text(encoding="utf-8", errors="replace")[:_LARGEST]
    head = text.partition("\ninstances:")[0]
    note, agreement = _NOTE.search(head), _AGREEMENT.search(head)
    return (
        note[1].strip("'\"") if note else "",
        path.stat().st_mtime,
        CaseAgreement(agreed=int(agreement[1]), count=int(agreement[2])) if agreement else None,
    )
