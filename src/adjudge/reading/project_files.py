"""Where a project's settings may stand; light, since every command looks there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from adjudge.lazy import lazy_pattern

FILE, PYPROJECT = "adjudge.toml", "pyproject.toml"
_HEADING = lazy_pattern(r"""\[\s*tool\s*\.\s*["']?adjudge\b""")


def project_files(folder: Path) -> Iterator[Path]:
    """The files from ``folder`` up the tree that say something, the nearest first."""
    for above in (folder, *folder.parents):
        for path in (above / FILE, above / PYPROJECT):
            if os.access(path, os.F_OK) and (path.name == FILE or _has_table(path)):
                yield path


def _has_table(path: Path) -> bool:
    try:
        return bool(_HEADING.search(path.read_text(encoding="utf-8", errors="replace")))
    except OSError:
        return True  # who reads it says what is wrong
