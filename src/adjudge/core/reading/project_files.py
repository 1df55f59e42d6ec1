"""Where a project's settings may stand; light, since every command looks there."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from pathlib import Path

FILE, PYPROJECT = "adjudge.toml", "pyproject.toml"
_HEADING = re.compile(r"""\[\s*tool\s*\.\s*["']?adjudge\b""")


def project_files(folder: Path) -> Iterator[Path]:
    """The files from ``folder`` up the tree that say something, the nearest first."""
    for above in (folder, *folder.parents):
        for path in (above / FILE, above / PYPROJECT):
            if _is_there(path) and (path.name == FILE or _has_table(path)):
                yield path


def _is_there(path: Path) -> bool:
    """What is not a file may be named, too, but a pipe or a device is never waited for."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def _has_table(path: Path) -> bool:
    try:
        return bool(_HEADING.search(path.read_text(encoding="utf-8", errors="replace")))
    except OSError:
        return True  # who reads it says what is wrong
