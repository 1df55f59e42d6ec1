"""Clean up next to the weights: partial files of killed processes, and unused weights.

Each adapter and each precision needs its own file of hundreds of megabytes. Versions of adjudge
that share a cache folder do not know each other's files, so each notes when it uses its own, and
files that were not used for long are deleted.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from time import time

from adjudge.core.aio.files import PART, locked
from adjudge.features.local.weights.store import LOCK

SCRATCH = ".pull-"
"""Prefix of the folders for downloads."""
_DAY = 86_400
_UNUSED = 14 * _DAY


def sweep(folder: Path) -> None:
    """Delete temporary files that killed processes left. The caller must hold the lock."""
    for scratch in folder.glob(f"{SCRATCH}*"):
        shutil.rmtree(scratch)
    for part in folder.glob(f"*{PART}"):
        part.unlink(missing_ok=True)


def note_use(weights: Path) -> None:
    """Record once a day that ``weights`` are in use, and clean up their folder."""
    with suppress(OSError):
        if time() - seal_of(weights).stat().st_mtime > _DAY:
            os.utime(seal_of(weights))
            tidy(weights.parent)


def tidy(folder: Path) -> None:
    """Delete leftovers, unless another process holds the lock or the folder is read-only."""
    with suppress(OSError), locked(folder / LOCK, wait=False) as is_locked:
        if is_locked:
            sweep(folder)
            forget_unused(folder)


def forget_unused(folder: Path) -> None:
    """Delete converted weights that have not been used for two weeks; they can be recreated.

    The caller must hold the lock.
    """
    for weights in folder.glob("*.safetensors"):
        if time() - _last_used(weights) > _UNUSED:
            with suppress(OSError):  # Windows keeps what is open
                weights.unlink()
                seal_of(weights).unlink(missing_ok=True)


def seal_of(weights: Path) -> Path:
    """Return the file with the hash of converted weights, dated at their last use."""
    return weights.with_suffix(".json")


def _last_used(weights: Path) -> float:
    """Return the time of the last use."""
    stats = [file.stat() for file in (weights, seal_of(weights)) if file.exists()]
    # Versions that do not note their use still read the file, and most systems store the day of
    # access.
    return max((max(stat.st_mtime, stat.st_atime) for stat in stats), default=time())
