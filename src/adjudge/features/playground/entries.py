"""Names of criteria in the playground.

Ready-made criteria keep their names, those in the user's files are ``FILE#NAME``, and earlier
versions of the test case are ``v2`` and so on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from adjudge.core.catalog import criteria as catalog
from adjudge.core.catalog.criteria_file import read_entries
from adjudge.core.catalog.entry import CatalogEntry
from adjudge.errors import AdjudgeError, SetupError
from adjudge.features.playground.store import CaseStore
from adjudge.messages import term
from adjudge.web.home import find_file
from adjudge.web.plan import find_ready_made, own_criteria

_VERSION = re.compile(r"v(\d{1,6})")


def find_own(home: Path, file: str, name: str) -> CatalogEntry:
    """Return an entry of one of the user's criteria files; without a name, the first."""
    entries = read_entries(
        find_file(own_criteria(home), file, term("page", "file of criteria")).path
    )
    match = next(
        (entry for entry in entries if entry.criteria.name == name), None if name else entries[0]
    )
    if match is None:
        raise SetupError(
            "{file} has no criteria {name!r}; it has {entries}",
            file=file,
            name=name,
            entries=", ".join(repr(entry.criteria.name) for entry in entries),
        )
    return match


def find_entry(home: Path, name: str, language: str, case: str) -> CatalogEntry:
    """Return a criterion: a version, a ready-made one, or one in a file of the user's.

    ``case`` is the test case that a version such as ``v2`` belongs to.
    """
    if case and (version := _VERSION.fullmatch(name)):
        return CaseStore(home).read(case, int(version[1]))[0].entry
    if name in catalog.all_names():
        return find_ready_made(name, language)
    file, _, criterion = name.partition("#")
    if file in own_criteria(home):
        return find_own(home, file, criterion)
    raise SetupError("unknown criteria {name!r}: choose from the list", name=name)


def list_names(home: Path, language: str, case: str) -> list[str]:
    """Return all names that ``find_entry`` knows, the versions first."""
    versions = [f"v{version.number}" for version in CaseStore(home).versions(case)] if case else []
    return [*versions, *_own_names(home), *catalog.all_names(language)]


def _own_names(home: Path) -> Iterator[str]:
    for file, choice in own_criteria(home).items():
        with suppress(AdjudgeError):  # its page says what is wrong with it
            yield from (f"{file}#{entry.criteria.name}" for entry in read_entries(choice.path))
