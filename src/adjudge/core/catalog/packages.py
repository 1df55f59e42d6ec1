"""Criteria of installed packages, by the entry point ``adjudge.criteria``."""

from __future__ import annotations

import re
from types import ModuleType

from adjudge.core.catalog.criteria_file import parse_entries
from adjudge.core.catalog.entry import CatalogEntry
from adjudge.errors import SetupError
from adjudge.messages import Message
from adjudge.plugins import Parts

CRITERIA: Parts[ModuleType] = Parts("criteria")
PACKAGED = re.compile(r"[\w.-]*\w/[\w-]+")


def packaged_entry(name: str, language: str) -> CatalogEntry:
    """Return the criteria ``package/name``, from the file ``name.yaml`` of the package's entry
    point.

    The file is in the entry point's module, or in its folder for the language if there is one.
    Raise SetupError if it is missing or holds several criteria.
    """
    package, _, short_name = name.partition("/")
    if package not in CRITERIA:
        there = ", ".join(
            file_there for file_there in CRITERIA if file_there not in CRITERIA.ours
        ) or Message("none")
        raise SetupError(
            "no installed package provides criteria named {package!r} (entry point "
            "adjudge.criteria); available: {there}",
            package=package,
            there=there,
        )
    from importlib.resources import files  # slow to import; not needed for built-in criteria

    folder = files(CRITERIA[package].__name__)
    language_folder = folder / language
    folder = language_folder if language_folder.is_dir() else folder
    file = folder / f"{short_name}.yaml"
    if not file.is_file():
        names = sorted(
            file_there.name.removesuffix(".yaml")
            for file_there in folder.iterdir()
            if file_there.name.endswith(".yaml")
        )
        raise SetupError(
            "{package!r} has no criterion {own!r}; it has {names}",
            package=package,
            own=short_name,
            names=", ".join(names) or Message("none"),
        )
    entries = parse_entries(file.read_text(encoding="utf-8"), f"{name}.yaml", language)
    if len(entries) != 1:
        raise SetupError(
            "{name}.yaml of {package!r} must contain one criterion, not {count}",
            name=name,
            package=package,
            count=len(entries),
        )
    return entries[0]
