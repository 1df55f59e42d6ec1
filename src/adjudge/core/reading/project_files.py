"""Files that may hold a project's settings. Light, because every command searches them."""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from pathlib import Path

FILE, PYPROJECT = "adjudge.toml", "pyproject.toml"
_HEADING = re.compile(r"""\[\s*tool\s*\.\s*["']?adjudge\b""")


def project_files(folder: Path) -> Iterator[Path]:
    """Yield the settings files from ``folder`` upwards, the nearest first."""
    for above in (folder, *folder.parents):
        for path in (above / FILE, above / PYPROJECT):
            if _is_there(path) and (path.name == FILE or _has_table(path)):
                yield path


def _is_there(path: Path) -> bool:
    """Return True for files and folders. A pipe or device is never opened: it could block
    forever.
    """
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def _has_table(path: Path) -> bool:
    try:
        return bool(_HEADING.search(path.read_text(encoding="utf-8", errors="replace")))
    except OSError:
        return True  # reading it later reports the error
