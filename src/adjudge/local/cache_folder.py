"""Where this user's weights and replies are kept."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from adjudge.errors import SetupError


def cache_folder() -> Path:
    """``$ADJUDGE_CACHE``, else ``$XDG_CACHE_HOME/adjudge``, else the place this system keeps caches in."""
    if own := os.environ.get("ADJUDGE_CACHE"):
        return Path(own).expanduser().absolute()
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared).absolute() / "adjudge"
    usual = {"darwin": "Library/Caches", "win32": "AppData/Local"}.get(sys.platform, ".cache")
    try:
        return Path.home() / usual / "adjudge"
    except RuntimeError as error:
        raise SetupError("this user has no home folder to keep weights in: set ADJUDGE_CACHE to a folder") from error
