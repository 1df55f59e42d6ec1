"""Public names that are loaded when first used, so that importing a package stays light."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module


def loader(package: str, home_of: Mapping[str, str]) -> Callable[[str], object]:
    """Return a ``__getattr__`` for ``package``.

    ``home_of``: the module below ``adjudge`` in which each name lives.
    """

    def load(name: str) -> object:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(f"adjudge.{home_of[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return load
