"""Criteria that installed packages bring along, by the entry point ``adjudge.criteria``."""

from __future__ import annotations

import re
from importlib.resources import files

from adjudge.catalog.criteria_file import parse_entries
from adjudge.catalog.entry import CatalogEntry
from adjudge.errors import SetupError
from adjudge.messages import Message

GROUP = "adjudge.criteria"
PACKAGED = re.compile(r"[\w.-]*\w/[\w-]+")
"""package/name."""


def packaged_entry(name: str, language: str = "en") -> CatalogEntry:
    """The criteria ``package/name``: the file ``name.yaml`` of the module that the package's entry
    point names.
    """
    from importlib.metadata import (
        entry_points,
    )  # takes long to load, and few criteria come from packages

    package, _, own = name.partition("/")
    known = entry_points(group=GROUP)
    modules = sorted({one.value for one in known if one.name == package})
    if not modules:
        there = ", ".join(sorted(known.names)) or Message("none")
        raise SetupError(
            "no installed package brings criteria called {package!r} (entry point {group}); "
            "there are: {there}",
            package=package,
            group=GROUP,
            there=there,
        )
    if len(modules) > 1:
        raise SetupError(
            "several installed packages bring criteria called {package!r}: {modules}; "
            "remove all but one",
            package=package,
            modules=", ".join(modules),
        )
    try:
        folder = files(modules[0])
    except Exception as error:  # a package runs code of its own when it is imported
        raise SetupError(
            "the criteria of {package!r} cannot be loaded: {error}", package=package, error=error
        ) from error
    file = folder / f"{own}.yaml"
    if not file.is_file():
        names = sorted(
            one.name.removesuffix(".yaml") for one in folder.iterdir() if one.name.endswith(".yaml")
        )
        raise SetupError(
            "{package!r} has no criteria {own!r}; it has {names}",
            package=package,
            own=own,
            names=", ".join(names) or Message("none"),
        )
    entries = parse_entries(file.read_text(encoding="utf-8"), f"{name}.yaml", language)
    if len(entries) != 1:
        raise SetupError(
            "{name}.yaml of {package!r} must hold one criteria, and holds {count}",
            name=name,
            package=package,
            count=len(entries),
        )
    return entries[0]
