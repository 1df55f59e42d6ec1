"""Criteria that installed packages bring along, by the entry point ``adjudge.criteria``."""

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
    """The criteria ``package/name``: the file ``name.yaml`` of the module that the package's entry
    point names, or of the folder of the language in it.
    """
    package, _, own = name.partition("/")
    if package not in CRITERIA:
        there = ", ".join(one for one in CRITERIA if one not in CRITERIA.ours) or Message("none")
        raise SetupError(
            "no installed package brings criteria called {package!r} (entry point "
            "adjudge.criteria); there are: {there}",
            package=package,
            there=there,
        )
    from importlib.resources import files  # not loaded by those who use ours

    folder = files(CRITERIA[package].__name__)
    beside = folder / language
    folder = beside if beside.is_dir() else folder
    file = folder / f"{own}.yaml"
    if not file.is_file():
        names = sorted(
            one.name.removesuffix(".yaml") for one in folder.iterdir() if one.name.endswith(".yaml")
        )
        raise SetupError(
            "{package!r} has no criterion {own!r}; it has {names}",
            package=package,
            own=own,
            names=", ".join(names) or Message("none"),
        )
    entries = parse_entries(file.read_text(encoding="utf-8"), f"{name}.yaml", language)
    if len(entries) != 1:
        raise SetupError(
            "{name}.yaml of {package!r} must hold one criterion, and holds {count}",
            name=name,
            package=package,
            count=len(entries),
        )
    return entries[0]
