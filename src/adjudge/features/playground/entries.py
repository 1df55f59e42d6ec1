"""Criteria by what the playground calls them: ready-made ones by name, those of the user's files as
``FILE#NAME``, and those of earlier versions of the test case as ``v2``.
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
from adjudge.web.home import chosen
from adjudge.web.plan import find_ready_made, own_criteria

_VERSION = re.compile(r"v(\d{1,6})")


def find_own(home: Path, file: str, name: str) -> CatalogEntry:
    """One of the criteria of a file of the user's own."""
    entries = read_entries(chosen(own_criteria(home), file, term("page", "file of criteria")).path)
    found = next(
        (one for one in entries if one.criteria.name == name), None if name else entries[0]
    )
    if found is None:
        raise SetupError(
            "{file} has no criteria {name!r}; it has {entries}",
            file=file,
            name=name,
            entries=", ".join(repr(one.criteria.name) for one in entries),
        )
    return found


def find_entry(home: Path, name: str, language: str, case: str) -> CatalogEntry:
    """The criterion of that name; ``case``: the test case whose versions are meant."""
    if case and (version := _VERSION.fullmatch(name)):
        return CaseStore(home).read(case, int(version[1]))[0].entry
    if name in catalog.all_names():
        return find_ready_made(name, language)
    file, _, own = name.partition("#")
    if file in own_criteria(home):
        return find_own(home, file, own)
    raise SetupError("unknown criteria {name!r}: choose from the list", name=name)


def list_names(home: Path, language: str, case: str) -> list[str]:
    """What ``find_entry`` knows, the versions first."""
    versions = [f"v{one.number}" for one in CaseStore(home).versions(case)] if case else []
    return [*versions, *_own_names(home), *catalog.all_names(language)]


def _own_names(home: Path) -> Iterator[str]:
    for file, found in own_criteria(home).items():
        with suppress(AdjudgeError):  # its page says what is wrong with it
            yield from (f"{file}#{one.criteria.name}" for one in read_entries(found.path))
