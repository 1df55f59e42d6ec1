"""What is made when it is first used, so that importing a package stays light: public names, and
patterns.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

__all__ = ["lazy_pattern", "loader"]

if TYPE_CHECKING:
    from re import compile as lazy_pattern
else:

    class lazy_pattern:
        """As ``re.compile``: a command loads seventy patterns, and uses ten."""

        def __init__(self, text: str | bytes, flags: int = 0) -> None:
            self._given = text, flags

        def __getattr__(self, name: str) -> object:
            found = getattr(re.compile(*self._given), name)
            setattr(self, name, found)
            return found


def loader(package: str, home_of: Mapping[str, str]) -> Callable[[str], object]:
    """The ``__getattr__`` of ``package``.

    ``home_of``: the module below ``adjudge`` in which each name lives.
    """

    def load(name: str) -> object:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(f"adjudge.{home_of[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return load
