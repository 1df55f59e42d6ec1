"""The Python inside a sandbox: the standard library of the running one, and what it needs
to start.
"""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

_SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/share/zoneinfo", "/etc/ld.so.cache")


def interpreter() -> Path:
    """Return the base interpreter, not the one of a virtual environment."""
    return Path(getattr(sys, "_base_executable", None) or sys.executable).resolve()


def readable() -> list[Path]:
    """Return the paths that the interpreter may have to read."""
    paths = [interpreter(), Path(sysconfig.get_path("stdlib")), Path(sys.base_prefix, "lib")]
    return [path for path in dict.fromkeys([*paths, *map(Path, _SYSTEM)]) if path.exists()]


def command(child: Path | str, folder: Path, python: Path | str = "") -> list[str]:
    """Return the command of the sandboxed process, without site packages, environment variables or
    import folders.

    The scratch folder is the last argument only to be visible in process lists.
    """
    return [str(python or interpreter()), "-I", "-S", "-B", "-X", "utf8", str(child), str(folder)]
